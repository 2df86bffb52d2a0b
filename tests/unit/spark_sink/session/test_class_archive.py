"""Spark's classes in a file: which JVMs map it, and when a task has it made."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from connect.errors import ConnectError, RetriableError
from connect.jvm import class_archive as archives
from connect.jvm.java import Java

pytest.importorskip("pyspark")

from spark_sink.session import archiving, class_archive
from spark_sink.session.archiving import free_memory

OPTIONS = "spark.driver.extraJavaOptions"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file, which is there."""
    found = tmp_path / "spark-1.jsa"
    found.touch()
    monkeypatch.setattr(class_archive, "_archive", lambda java, home: found)
    monkeypatch.setattr(class_archive, "archive_of_local", lambda: found)
    monkeypatch.setattr(archiving, "archive_of_local", lambda: found)
    for name in class_archive._OPTIONS_IN:
        monkeypatch.delenv(name, raising=False)
    return found


@pytest.fixture
def ended() -> list[int]:
    """The exit code of those processes, once they have ended."""
    return []


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, ended: list[int]) -> list[list[str]]:
    """The commands of the processes that were begun in the background."""
    commands: list[list[str]] = []

    class Process:
        def __init__(self, command: list[str], **_: Any) -> None:
            commands.append(command)

        def poll(self) -> int | None:
            return ended[-1] if ended else None

        def kill(self) -> None:
            commands.append(["kill"])

        def wait(self) -> None:
            pass

    monkeypatch.setattr(subprocess, "Popen", Process)
    return commands


def shared(**conf: str) -> bool:
    return bool(class_archive.sharing(Java(Path("/java"), 17), Path("/spark"), conf))


def test_a_jvm_maps_it_unless_its_user_says_something_about_archives(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = class_archive.sharing(Java(Path("/java"), 17), Path("/spark"), {OPTIONS: "-Dx=y"})
    assert options[0] == f"-XX:SharedArchiveFile={archive}"
    assert not shared(**{OPTIONS: "-XX:SharedArchiveFile=/mine.jsa"})
    assert not shared(**{OPTIONS: "-Xshare:off"})
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-XX:ArchiveClassesAtExit=/mine.jsa")
    assert not shared()
    monkeypatch.delenv("SPARK_SUBMIT_OPTS")
    archive.unlink()
    assert not shared()


def test_a_task_has_it_made_once_where_there_is_none(archive: Path, begun: list[list[str]]) -> None:
    archive.unlink()
    maker = class_archive.Maker({"spark.master": "local[2]"})
    maker.start()
    maker.start()
    ((*_, folder),) = begun
    assert begun[0][-4:-1] == ["-m", "spark_sink.session.archiving", "--in-background"]
    assert Path(folder).is_dir()
    maker.stop()
    maker.stop()
    assert begun[1:] == [["kill"]]
    assert not Path(folder).exists()


def test_a_process_that_has_ended_leaves_nothing(archive: Path, begun: list[list[str]], ended: list[int]) -> None:
    archive.unlink()
    maker = class_archive.Maker({})
    maker.start()
    folder = Path(begun[0][-1])
    maker.start()
    assert folder.is_dir()
    ended.append(0)
    maker.start()
    assert not folder.exists()
    maker.start()
    assert len([command for command in begun if command != ["kill"]]) == 1


@pytest.mark.parametrize(
    "config",
    [
        {"spark.master": "local[2]", "spark.class.archive": "never"},
        {"spark.master": "spark://here:7077"},
        {"spark.remote": "sc://here:15002"},
    ],
)
def test_nothing_is_made_that_nobody_would_use(archive: Path, begun: list[list[str]], config: dict[str, str]) -> None:
    archive.unlink()
    class_archive.Maker(config).start()
    assert begun == []


def test_nothing_is_made_where_it_is_could_not_be_or_options_are_the_user_s(
    archive: Path, begun: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class_archive.Maker({}).start()
    archive.unlink()
    refusal = class_archive.refusal(archive)
    refusal.touch()
    class_archive.Maker({}).start()
    refusal.unlink()
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dx=y")
    class_archive.Maker({}).start()
    assert begun == []


@pytest.fixture
def background(archive: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the background, on a machine with room; the file is not there."""
    archive.unlink()
    monkeypatch.setattr(archiving.os, "nice", lambda by: by)
    monkeypatch.setattr(archiving, "free_memory", lambda: 4 << 30)
    return archive


def test_in_the_background_a_failure_is_noted_so_that_nobody_tries_again(
    background: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(folder: Path) -> Path:
        raise ConnectError("Java cannot.")

    monkeypatch.setattr(archiving, "make", fails)
    assert archiving.main(["--in-background", "/tmp"]) == 0
    assert class_archive.refusal(background).read_text() == "Java cannot.\n"
    assert archiving.main([]) == 1
    assert capsys.readouterr().err == "Java cannot.\n"


def test_in_the_background_what_may_pass_is_tried_again(background: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(folder: Path) -> Path:
        raise RetriableError("No network.")

    monkeypatch.setattr(archiving, "make", fails)
    assert archiving.main(["--in-background", "/tmp"]) == 0
    assert not class_archive.refusal(background).exists()


def test_in_the_background_nothing_begins_without_room(background: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiving, "free_memory", lambda: 1 << 30)
    monkeypatch.setattr(archiving, "make", lambda folder: pytest.fail("it began"))
    assert archiving.main(["--in-background", "/tmp"]) == 0
    assert not class_archive.refusal(background).exists(), "there may be room the next time"


def test_free_memory_is_the_container_s_or_the_machine_s_whichever_is_less(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 8000 kB\nMemAvailable:    4000 kB\n")
    assert free_memory(tmp_path, meminfo) == 4000 << 10
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("3000\n")
    (tmp_path / "memory.stat").write_text("anon 2000\ninactive_file 500\n")
    assert free_memory(tmp_path, meminfo) == 4000 << 10
    (tmp_path / "memory.max").write_text("10000\n")
    assert free_memory(tmp_path, meminfo) == 7500
    assert free_memory(tmp_path / "none", tmp_path / "none") is None


def test_a_file_that_the_jvm_did_not_write_is_said(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.unlink()
    monkeypatch.setattr(archiving, "_write", lambda archive, folder: None)
    with pytest.raises(ConnectError, match="has written no archive of its classes"):
        archiving.make(archive.parent)
    monkeypatch.setattr(archiving, "_write", lambda archive, folder: archive.touch())
    assert archiving.make(archive.parent) == archive
    monkeypatch.setattr(archiving, "_write", lambda archive, folder: pytest.fail("it is there"))
    assert archiving.make(archive.parent) == archive
    assert archives.folder() != archive.parent
