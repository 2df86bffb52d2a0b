"""`python -m bench.mirror`: one cluster into another, beside MirrorMaker 2's source connector.

Two brokers on this machine, a topic of 1,000,000 records of 100 bytes with a key and a timestamp in one partition, and
once more with a header each. Both connectors run in a standalone worker at the target, one task each, with the same
configuration. Rate and CPU are those of the worker's whole process tree from the first record on; its start is told
beside that. At the end the copies are counted.
"""

import sys
import time
from pathlib import Path
from typing import Any

from bench import one
from bench.document import Rows
from bench.machine import kafka_connect, say, versions
from bench.part import Settings
from bench.standalone import MeasurementFailed, Memory, watch, worker
from bench.tables import CPU, MEMORY, RATE, START, compare
from bench.topics import produce
from bench.workers import SIDES
from connect.jvm.jars import classpath
from connect.kafka.broker import embedded as broker

_LOOK_S = 0.05
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_CONVERTERS = dict.fromkeys(("key.converter", "value.converter", "header.converter"), _BYTES)


def run(side: str, source: str, target: str, topic: str, count: int, folder: Path) -> dict[str, float]:
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
    copy = f"{alias}.{topic}"
    with worker(side, target, folder, config, _CONVERTERS) as pid, Memory(pid) as memory:
        found = watch(lambda: _records(target, copy), count, pid, time.monotonic(), folder / "log", _LOOK_S)
    if (copied := _records(target, copy)) != count:
        raise MeasurementFailed(f"{side} copied {copied:,} records")
    return {**found, "pss_mb": memory.most}


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


def measure(settings: Settings) -> dict[str, Any]:
    """Both topics by both sides in turn."""
    count, rounds = settings.count(1_000_000, 60_000), settings.repeat()
    rows = Rows({"ours": ["java"]})
    classpath("kafka-connect")
    try:
        source, target = (
            broker.ensure_running(settings.folder / side, port=0).bootstrap_servers for side in ("source", "target")
        )
        for topic in filter(settings.wants, ("plain", "headers")):
            say(f"filling a topic with {count:,} records: {topic}")
            produce(
                source,
                topic,
                (b"%090d" % number for number in range(count)),
                key=lambda number: b"key %06d" % (number % 1_000_000),
                headers=[("trace", b"0123456789abcdef")] if topic == "headers" else None,
            )
            for number in range(rounds):
                for side in reversed(SIDES) if number % 2 else SIDES:
                    found = run(side, source, target, topic, count, settings.folder / f"{side}{topic}{number}")
                    rows.add(topic, side, found, number)
                    say(
                        f"{topic}, {side}: {found['rate']:,.0f} records a second, {found['cpu_us']:.1f} us of CPU a "
                        f"record, {found['pss_mb']:.0f} MB, first record after {found['start_s']:.1f} s"
                    )
    finally:
        _admins.clear()
        for side in ("source", "target"):
            broker.stop(settings.folder / side)
    return {
        "settings": {"rounds": rounds, "records": count},
        "versions": {**kafka_connect(), **versions("connect-runtime", "confluent-kafka")},
        "rows": rows.as_json(),
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    rows = {"plain": "key and timestamp", "headers": "with a header each"}
    return compare(document, rows, (RATE, CPU, MEMORY, START), ("java", "MirrorMaker 2"))


if __name__ == "__main__":
    sys.exit(one.main("bench.mirror", "mirror"))
