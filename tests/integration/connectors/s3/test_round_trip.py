"""What the sink writes the source reads back: the same bytes, in the same partitions, in the same order."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.kafka.broker.embedded import Broker
from tests.integration.worker.conftest import herd
from tests.servers.s3 import S3Bucket

__all__ = ["herd"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

COUNT = 1000
JSON = {"value__converter": "org.apache.kafka.connect.json.JsonConverter", "value__converter__schemas__enable": "false"}
ENVELOPE = {"value__converter": "org.apache.kafka.connect.json.JsonConverter"}
STRING = {"value__converter": "org.apache.kafka.connect.storage.StringConverter"}
BYTES = {"value__converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}


def _json(number: int) -> bytes:
    return json.dumps(
        {"n": number, "text": "größe", "deep": {"list": [1.5, None]}}, separators=(",", ":"), ensure_ascii=False
    ).encode()


def _envelope(number: int) -> bytes:
    fields = [
        {"type": "int64", "optional": False, "field": "n"},
        {"type": "string", "optional": True, "field": "text"},
    ]
    schema = {"type": "struct", "fields": fields, "optional": False, "name": "row"}
    return json.dumps(
        {"schema": schema, "payload": {"n": number, "text": f"t {number}" if number % 3 else None}},
        separators=(",", ":"),
    ).encode()


def _text(number: int) -> bytes:
    return f"line {number} größe".encode()


CASES: dict[str, tuple[Callable[[int], bytes], dict[str, str], dict[str, str], dict[str, str]]] = {
    "json": (
        _json,
        JSON,
        {"format__class": "io.confluent.connect.s3.format.json.JsonFormat", "s3__compression__type": "gzip"},
        {},
    ),
    "avro": (_envelope, ENVELOPE, {"format__class": "io.confluent.connect.s3.format.avro.AvroFormat"}, {}),
    "parquet": (_envelope, ENVELOPE, {"format__class": "io.confluent.connect.s3.format.parquet.ParquetFormat"}, {}),
    "bytes": (_text, BYTES, {"format__class": "io.confluent.connect.s3.format.bytearray.ByteArrayFormat"}, {}),
    "time": (
        _json,
        JSON,
        {
            "format__class": "json",
            "s3__compression__type": "zstd",
            "partitioner__class": "hourly",
            "timestamp__extractor": "Record",
            "locale": "en",
            "timezone": "UTC",
        },
        {},
    ),
    "aiven": (
        _json,
        JSON,
        {
            "file__name__template": "in/{{topic}}-{{partition}}-{{start_offset}}",
            "format__output__type": "jsonl",
            "format__output__fields": "value",
            "format__output__envelope": "false",
            "file__compression__type": "snappy",
        },
        {"file__name__template": "in/{{topic}}-{{partition}}-{{start_offset}}", "input__format": "jsonl"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_from_a_topic_into_a_bucket_and_back(
    case: str, herd: Any, broker: Broker, s3_bucket: S3Bucket, new_topic: Callable[..., str], read: Any
) -> None:
    value, converter, sink, source = CASES[case]
    topic = new_topic(partitions=2)
    again = new_topic(name=f"{topic}-again", partitions=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(COUNT):
        producer.produce(topic, value(number), partition=number % 2)
    assert producer.flush(30) == 0
    bucket = {key.replace(".", "__"): each for key, each in s3_bucket.config.items()}
    run = herd()
    run.run(
        name=f"out-{topic}",
        connector__class="io.confluent.connect.s3.S3SinkConnector",
        topics=topic,
        flush__size="100",
        **bucket,
        **converter,
        **sink,
    )
    run.until(lambda: len(s3_bucket.keys()) == COUNT // 100, lambda: (s3_bucket.keys(), run.task(f"out-{topic}")))
    shared = {key: each for key, each in sink.items() if key in ("format__class", "partitioner__class")}
    run.run(
        name=f"back-{topic}",
        connector__class="io.confluent.connect.s3.source.S3SourceConnector",
        s3__poll__interval__ms="200",
        transforms="again",
        transforms__again__type="org.apache.kafka.connect.transforms.RegexRouter",
        transforms__again__regex="(.*)",
        transforms__again__replacement="$1-again",
        **bucket,
        **converter,
        **(source or shared),
    )
    found = read(broker.bootstrap_servers, again, COUNT)
    assert len(found) == COUNT, run.task(f"back-{topic}")
    for partition in range(2):
        got = [message.value() for message in found if message.partition() == partition]
        wanted = [value(number) for number in range(partition, COUNT, 2)]
        if case == "parquet":  # which keeps no names of schemas
            assert [json.loads(each)["payload"] for each in got] == [json.loads(each)["payload"] for each in wanted]
        elif case == "avro":
            assert [json.loads(each) for each in got] == [json.loads(each) for each in wanted]
        else:
            assert got == wanted
