"""What tests of the sink share: a run over a bucket, waiting for what is durable, reading what is there."""

import gzip
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from connect import TopicPartition
from connect.testing import SinkRun
from connectors.s3.sink import S3SinkConnector
from tests.servers.s3 import S3Bucket

PLACE = TopicPartition("test", 0)
QUICK = {"s3.part.retries": "0", "retry.backoff.ms": "0"}


def sink_run(bucket: S3Bucket, config: Mapping[str, str] | None = None, **more: Any) -> SinkRun:
    """A run of the sink into a bucket."""
    return SinkRun(S3SinkConnector, {**bucket.config, **QUICK, **(config or {})}, **more)


def await_committed(run: SinkRun, offset: int, place: TopicPartition = PLACE) -> None:
    """Wait until the records before an offset are durable."""
    deadline = time.monotonic() + 30
    while run.committed.get(place, 0) < offset:
        assert time.monotonic() < deadline, f"only {run.committed} is durable"
        run.put_nothing()
        run.commit()
        time.sleep(0.01)


def await_objects(run: SinkRun, bucket: S3Bucket, count: int) -> list[str]:
    """Wait until there are so many objects; their keys."""
    deadline = time.monotonic() + 30
    while len(found := bucket.keys()) < count:
        assert time.monotonic() < deadline, found
        run.put_nothing()
        time.sleep(0.01)
    return found


def json_lines(bucket: S3Bucket, key: str) -> list[Any]:
    """The records of an object of JSON."""
    data = bucket.get(key)
    return [json.loads(line) for line in (gzip.decompress(data) if key.endswith(".gz") else data).splitlines()]


class Numbers:
    """The field n of all records in a bucket, each object read once: nobody replaces one."""

    def __init__(self, bucket: S3Bucket) -> None:
        self._bucket = bucket
        self._known: dict[str, list[int]] = {}

    def __call__(self) -> list[int]:
        for key in self._bucket.keys():  # noqa: SIM118
            if key not in self._known:
                with suppress(self._bucket.client.exceptions.NoSuchKey):  # S3Proxy lists it a moment before it has it
                    self._known[key] = [record["n"] for record in json_lines(self._bucket, key)]
        return sorted(n for found in self._known.values() for n in found)


def numbers(bucket: S3Bucket) -> list[int]:
    """The field n of all records in all objects, sorted."""
    return sorted(record["n"] for key in bucket.keys() for record in json_lines(bucket, key))  # noqa: SIM118


def put_for_long(run: SinkRun) -> None:
    """Put records until something fails."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        run.put({"n": 1})


def until_taken(run: SinkRun) -> None:
    """Hand the batch in again that was refused, until it is not."""
    deadline = time.monotonic() + 30
    before = -1
    while run.retries != before:
        assert time.monotonic() < deadline
        before = run.retries
        run.deliver(1)
        time.sleep(0.05)
