"""`python -m bench.mirror`: one cluster into another, beside MirrorMaker 2's source connector.

Two brokers on this machine, a topic of 1,000,000 records of 100 bytes with a key and a timestamp in one partition, and
once more with a header each. Both connectors run in a standalone worker at the target, one task each, with the same
configuration. Rate and CPU are those of the worker's whole process tree from the first record on; its start is told
beside that. At the end the copies are counted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench import tree
from bench.jdbc import Memory
from bench.machine import introduce, say
from bench.workers import HEAP, JVM_OPTIONS, free_port, stop
from connect.jvm.jars import classpath
from connect.jvm.java import find_java
from connect.kafka.broker import ensure_running
from connect.kafka.broker import stop as stop_broker

ROWS = 1_000_000
_LOOK_S = 0.05
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_CONVERTERS = dict.fromkeys(("key.converter", "value.converter", "header.converter"), _BYTES)


class Run(NamedTuple):
    """What one run took, from the first record on.

    Attributes:
        start: seconds from the worker's start to the first record.
        rate: records a second.
        cpu: seconds of CPU for 1,000,000 records.
        memory: the most, in MB, each shared page divided among those who share it.
    """

    start: float
    rate: float
    cpu: float
    memory: float


def fill(bootstrap: str, topic: str, rows: int, *, headers: bool) -> None:
    """Make the topic of the source."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 500_000})
    each: Any = [("trace", b"0123456789abcdef")] if headers else None
    for number in range(rows):
        while True:
            try:
                producer.produce(topic, b"%090d" % number, b"key %06d" % (number % 1_000_000), headers=each)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


@contextmanager
def worker(side: str, bootstrap: str, folder: Path, connector: Mapping[str, str]) -> Iterator[int]:
    """A standalone worker with one connector; its process id."""
    folder.mkdir(parents=True)
    settings = {
        "bootstrap.servers": bootstrap,
        "offset.storage.file.filename": str(folder / "offsets"),
        "listeners": f"http://127.0.0.1:{free_port()}",
        **_CONVERTERS,
    }
    if side == "java":
        main = ["-cp", classpath("kafka-connect"), "org.apache.kafka.connect.cli.ConnectStandalone"]
        command = [str(find_java().path), *JVM_OPTIONS, HEAP["source"], *main]
    else:
        command = [sys.executable, "-m", "connect.cli", "standalone"]
    for name, values in (("worker.properties", settings), ("connector.properties", connector)):
        lines = (f"{key}={value}\n" for key, value in values.items())
        (folder / name).write_text("".join(lines), encoding="utf-8")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "worker.properties", "connector.properties"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )
    try:
        yield process.pid
        if process.poll() is not None:
            raise RuntimeError((folder / "log").read_text(encoding="utf-8")[-3000:])
    finally:
        stop(process)


def run(side: str, source: str, target: str, topic: str, rows: int, folder: Path) -> Run:
    """Copy the topic once, under an alias that nobody has used."""
    alias = folder.name
    config = {
        "name": alias,
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "tasks.max": "1",
        "source.cluster.alias": alias,
        "source.cluster.bootstrap.servers": source,
        "target.cluster.bootstrap.servers": target,
        "topics": topic,
        "heartbeats.replication.enabled": "false",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
    }
    began = time.monotonic()
    with worker(side, target, folder, config) as pid, Memory(pid) as memory:
        count, first, at_first, cpu = 0, 0, 0.0, 0.0
        while count < rows:
            count = _records(target, f"{alias}.{topic}")
            if count and not first:
                first, at_first, cpu = count, time.monotonic(), tree.cpu(pid)
            if time.monotonic() - began > 300:
                raise TimeoutError((folder / "log").read_text(encoding="utf-8")[-3000:])
            time.sleep(_LOOK_S)
        seconds, used = time.monotonic() - at_first, tree.cpu(pid) - cpu
    if count != rows:
        raise RuntimeError(f"{side} copied {count:,} records")
    done = rows - first
    return Run(at_first - began, done / seconds, used / done * 1e6, memory.most)


def _records(bootstrap: str, topic: str) -> int:
    """How many records a topic has; 0 while there is none."""
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import AdminClient, OffsetSpec

    if bootstrap not in _admins:
        _admins[bootstrap] = AdminClient({"bootstrap.servers": bootstrap})
    place = TopicPartition(topic, 0)
    try:
        # All topics: asking for one would make it.
        if topic not in _admins[bootstrap].list_topics(timeout=5).topics:
            return 0
        spec: Any = OffsetSpec
        answer = _admins[bootstrap].list_offsets({place: spec.latest()}, request_timeout=5)
        return max(0, int(answer[place].result().offset))
    except KafkaException:
        return 0


_admins: dict[str, Any] = {}


def main() -> None:
    """Measure, and print all figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="of each (default: 3)")
    parser.add_argument("--records", type=int, default=ROWS, help="of each topic")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    introduce()
    runs: dict[str, list[Run]] = {}
    with tempfile.TemporaryDirectory(prefix="connect-bench-") as name:
        folder = Path(name)
        brokers = [ensure_running(folder / side, port=0).bootstrap_servers for side in ("source", "target")]
        try:
            for topic in ("plain", "headers"):
                say(f"filling a topic with {args.records:,} records: {topic}")
                fill(brokers[0], topic, args.records, headers=topic == "headers")
                for number in range(args.rounds):
                    for side in ("java", "ours"):
                        found = run(
                            side, brokers[0], brokers[1], topic, args.records, folder / f"{side}{topic}{number}"
                        )
                        runs.setdefault(f"{topic} {side}", []).append(found)
                        say(
                            f"{topic}, {side}: {found.rate:,.0f} records a second, {found.cpu:.1f} s of CPU for"
                            f" 1,000,000, {found.memory:.0f} MB, first record after {found.start:.1f} s"
                        )
        finally:
            _admins.clear()
            for side in ("source", "target"):
                stop_broker(folder / side)
    figures = {
        name: {key: statistics.median(getattr(each, key) for each in found) for key in Run._fields}
        for name, found in runs.items()
    }
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
