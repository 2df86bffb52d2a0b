"""Connectors of Apache Kafka Connect move to workers of ours: into another pool by files, or within their group."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.integration.group.java_worker import JavaWorker, java_worker

from .pool import Pool, Rest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

JAVA = "org.apache.kafka.connect.file.FileStream"


def connect(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command as users do."""
    command = [sys.executable, "-m", "connect.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)


def done(*arguments: str | Path) -> str:
    ran = connect(*arguments)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def seen_as(java: JavaWorker) -> Rest:
    return Rest(int(java.id.rpartition(":")[2]))


def create(rest: Rest, folder: Path) -> None:
    """Lines of a file go to a topic, and from there to another file."""
    topic = f"{folder.name}-lines"
    source = {"connector.class": f"{JAVA}SourceConnector", "file": str(folder / "in"), "topic": topic}
    rest.create("lines-in", {**source, "api.password": "hunter22"})
    rest.create("lines-out", {"connector.class": f"{JAVA}SinkConnector", "file": str(folder / "out"), "topics": topic})


def lines(folder: Path) -> list[str]:
    out = folder / "out"
    return out.read_text().splitlines() if out.exists() else []


def append(folder: Path, begin: int, count: int) -> None:
    with (folder / "in").open("a") as file:
        file.writelines(f"line {number}\n" for number in range(begin, begin + count))


def test_connectors_move_into_another_pool_with_their_offsets(pool: Pool, tmp_path: Path) -> None:
    append(tmp_path, 0, 100)
    out = tmp_path / "moved"
    with java_worker(pool.bootstrap, f"{pool.name}-java", "sessioned", tmp_path) as java:
        java.until(lambda: java.get("/connectors"))
        theirs = seen_as(java)
        create(theirs, tmp_path)
        pool.until(lambda: len(lines(tmp_path)) == 100, "lines arrive")
        migrate = ("migrate", "--url", java.url, "--worker", tmp_path / f"{theirs.port}.properties", "--out", out)
        told = json.loads(done(*migrate, "--json"))
        assert {each["name"]: each["outcome"] for each in told["connectors"]} == {
            "lines-in": "python",
            "lines-out": "python",
        }
        assert told["connectors"][0]["measured"]["rate"] > 1
        for name in ("lines-in", "lines-out"):
            done("stop", name, "--url", java.url)
            pool.until(lambda: theirs.runs(name, 0, "STOPPED"), "it is stopped")  # noqa: B023
        shown = done(*migrate)  # once more, for the last offsets
        assert "2 on Python's own connectors." in shown
        assert "hunter22" not in shown + json.dumps(told)
    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.json"))
    assert files == ["connectors/lines-in.json", "connectors/lines-out.json", "offsets/lines-in.json"]
    assert all(stat.S_IMODE((out / file).stat().st_mode) == 0o600 for file in files)
    assert json.loads((out / files[0]).read_text())["config"]["api.password"] == "hunter22"

    append(tmp_path, 100, 50)
    (ours,) = pool.start(1)
    url = f"http://127.0.0.1:{ours.port}"
    done("apply", "-f", out / "connectors", "--yes", "--url", url)
    pool.until(lambda: ours.runs("lines-in", 0, "STOPPED"), "it is there")
    done("offsets", "set", "lines-in", "-f", out / "offsets" / "lines-in.json", "--yes", "--url", url)
    done("resume", "lines-in", "lines-out", "--url", url)
    append(tmp_path, 150, 50)
    pool.until(lambda: len(lines(tmp_path)) >= 200, "all lines arrive")
    assert lines(tmp_path) == [f"line {number}" for number in range(200)]


@contextmanager
def growing(folder: Path) -> Iterator[list[int]]:
    """Lines come all the time. Yields a list with their number so far, and ends with the block."""
    ended, count = threading.Event(), [0]

    def write() -> None:
        while not ended.wait(0.01):
            append(folder, count[0], 5)
            count[0] += 5

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield count
    finally:
        ended.set()
        thread.join()


def counted(found: list[str], sent: int) -> tuple[int, int]:
    """Lines that are lost, and repeats."""
    times = Counter(found)
    return sum(times[f"line {number}"] == 0 for number in range(sent)), sum(times.values()) - len(times)


@pytest.mark.parametrize("successor", ["java", "python"])
def test_a_rolling_replacement_loses_and_repeats_nothing(pool: Pool, tmp_path: Path, successor: str) -> None:
    """As a rolling restart of Java's workers: one more worker joins, and the first one is stopped as operators do."""
    pool.settings |= {"offset.storage.partitions": "1", "status.storage.partitions": "1"}
    (tmp_path / "in").touch()
    with ExitStack() as stack:

        def start_java() -> JavaWorker:
            java = stack.enter_context(java_worker(pool.bootstrap, pool.name, "sessioned", tmp_path))
            java.until(lambda: java.get("/connectors"))
            return java

        first = start_java()
        create(seen_as(first), tmp_path)
        with growing(tmp_path) as sent:
            pool.until(lambda: len(lines(tmp_path)) > 100, "lines arrive")
            second: Rest = seen_as(start_java()) if successor == "java" else pool.start(1)[0]
            pool.until(lambda: second.runs("lines-in", 1) and second.runs("lines-out", 1), "all of it runs")
            first.process.terminate()
            assert first.process.wait(60) is not None
            at = sent[0]
            pool.until(lambda: all(_at(second, name) for name in ("lines-in", "lines-out")), "the second has it all")
            pool.until(lambda: len(set(lines(tmp_path))) > at, "new lines arrive")
        pool.until(lambda: f"line {sent[0] - 1}" in lines(tmp_path), "the last line arrives")
        lost, repeated = counted(lines(tmp_path), sent[0])
        assert (lost, repeated) == (0, 0), f"of {sent[0]} lines, {lost} are lost and {repeated} repeated"


def _at(worker: Rest, name: str) -> bool:
    states = worker.states(name)
    return set(states) == {"connector", "0"} and all(each == ("RUNNING", worker.id) for each in states.values())
