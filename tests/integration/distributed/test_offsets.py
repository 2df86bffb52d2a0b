"""Offsets of a stopped connector, read and changed at any worker (KIP-875)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .pool import Pool, PoolWorker

LINES = [f"line {number}" for number in range(10)]


@pytest.fixture
def follower(two: Pool) -> PoolWorker:
    return two.followers()[0]


def stop(pool: Pool, worker: PoolWorker, name: str) -> None:
    worker.do("PUT", f"/connectors/{name}/stop")
    pool.until(lambda: all(each.runs(name, 0, "STOPPED") for each in pool.workers), "it is stopped")


def change(pool: Pool, worker: PoolWorker, method: str, name: str, offsets: Any = None) -> None:
    """Tasks that were told to stop may need a moment until they have."""
    body = None if offsets is None else {"offsets": offsets}

    def changed() -> bool:
        answer = worker.ask(method, f"/connectors/{name}/offsets", body)
        assert answer.status in (200, 400, 500), answer
        return answer.status == 200

    pool.until(changed, f"{method} of the offsets")


def position(worker: PoolWorker, path: str) -> int | None:
    """How far a file source has read."""
    entries = (worker.get(path) or {"offsets": []})["offsets"]
    return entries[0]["offset"]["position"] if len(entries) == 1 else None


def test_a_source(two: Pool, follower: PoolWorker, name: str, tmp_path: Path, read: Any) -> None:
    file = tmp_path / "in.txt"
    file.write_text("".join(f"{line}\n" for line in LINES))
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": name}
    follower.create(name, config)
    path = f"/connectors/{name}/offsets"
    partition = {"filename": str(file)}
    two.until(lambda: all(position(worker, path) == file.stat().st_size for worker in two.workers), "all is read")
    after_seven = len("line 0\n") * 7
    there = [{"partition": partition, "offset": {"position": after_seven}}]
    refused = follower.ask("PATCH", path, {"offsets": there})
    assert refused.status == 400
    assert "STOPPED" in refused.body["message"]
    stop(two, follower, name)
    change(two, follower, "PATCH", name, there)
    two.until(lambda: all(worker.get(path) == {"offsets": there} for worker in two.workers), "all see the change")
    follower.do("PUT", f"/connectors/{name}/resume")
    records = read(two.bootstrap, name, 13)
    assert [record.value().decode() for record in records] == LINES + LINES[7:]
    stop(two, follower, name)
    change(two, follower, "DELETE", name)
    two.until(lambda: all(worker.get(path) == {"offsets": []} for worker in two.workers), "all see it is reset")
    follower.do("PUT", f"/connectors/{name}/resume")
    assert len(read(two.bootstrap, name, 23)) == 23
    follower.do("DELETE", f"/connectors/{name}")


def test_a_sink(two: Pool, follower: PoolWorker, name: str, tmp_path: Path, new_topic: Any) -> None:
    topic = new_topic()
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in LINES))
    follower.create(
        f"{name}-source", {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": topic}
    )
    out = tmp_path / "out.txt"
    follower.create(name, {"connector.class": "FileStreamSink", "file": str(out), "topics": topic})
    path = f"/connectors/{name}/offsets"
    place = {"kafka_topic": topic, "kafka_partition": 0}
    end = [{"partition": place, "offset": {"kafka_offset": 10}}]
    two.until(lambda: all(worker.get(path) == {"offsets": end} for worker in two.workers), "all is written")
    assert follower.ask("DELETE", path).status == 400
    stop(two, follower, name)
    change(two, follower, "PATCH", name, [{"partition": place, "offset": {"kafka_offset": 8}}])
    follower.do("PUT", f"/connectors/{name}/resume")
    two.until(lambda: out.read_text().splitlines() == LINES + LINES[8:], "two lines come again")
    stop(two, follower, name)
    change(two, follower, "DELETE", name)
    two.until(lambda: all(worker.get(path) == {"offsets": []} for worker in two.workers), "all see it is reset")
    follower.do("PUT", f"/connectors/{name}/resume")
    two.until(lambda: out.read_text().splitlines() == LINES + LINES[8:] + LINES, "all lines come again")
    for each in (name, f"{name}-source"):
        follower.do("DELETE", f"/connectors/{each}")


@pytest.mark.parametrize(
    ("kind", "offsets"),
    [
        ("FileStreamSource", [{"partition": {"filename": "other"}, "offset": {"position": "x"}}]),
        ("FileStreamSink", [{"partition": {"kafka_topic": "t"}, "offset": {"kafka_offset": 1}}]),
        ("FileStreamSink", [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": -1}}]),
        ("FileStreamSink", [{"partition": {"kafka_topic": "t", "kafka_partition": "x"}, "offset": None}]),
        ("FileStreamSink", []),
    ],
)
def test_offsets_that_cannot_be_are_refused_everywhere(
    two: Pool, follower: PoolWorker, name: str, tmp_path: Path, kind: str, offsets: Any
) -> None:
    where = "topics" if kind == "FileStreamSink" else "topic"
    follower.create(name, {"connector.class": kind, "file": str(tmp_path / "f"), where: name}, "STOPPED")
    two.until(lambda: all(worker.runs(name, 0, "STOPPED") for worker in two.workers), "it is there")
    for worker in two.workers:
        answer = worker.ask("PATCH", f"/connectors/{name}/offsets", {"offsets": offsets})
        assert answer.status == 400
    follower.do("DELETE", f"/connectors/{name}")
