"""Makes dead letters as a sink does."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Producer

from connect.pipeline.error_headers import ErrorContext

#: Of topics whose records have old timestamps: the broker would delete them soon.
KEPT = {"retention.ms": "-1"}
OWN = [("trace", b"abc"), ("n", None), ("trace", b"\xff\x00")]


def letter(topic: str, partition: int, offset: int, **more: Any) -> list[tuple[str, bytes | None]]:
    """The headers of a dead letter: the record's own, then those of its error."""
    about = {
        "connector": "orders",
        "stage": "VALUE_CONVERTER",
        "class_name": "org.apache.kafka.connect.json.JsonConverter",
        "exception": "org.apache.kafka.connect.errors.DataException",
        "message": f"This is not JSON at character {offset}",
        "stacktrace": f"Traceback\n  at {offset}",
    }
    return [*OWN, *ErrorContext(topic=topic, partition=partition, offset=offset, **{**about, **more}).headers()]


def write(servers: str, topic: str, records: list[dict[str, Any]]) -> None:
    """Write records, each as arguments of `Producer.produce`; partition 0 and a timestamp by place unless given."""
    producer = Producer({"bootstrap.servers": servers})
    for place, record in enumerate(records):
        producer.produce(topic, **{"partition": 0, "timestamp": 1_000_000 + place * 1000, **record})
    assert producer.flush(30) == 0
