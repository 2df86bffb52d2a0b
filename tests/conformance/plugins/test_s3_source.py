"""The S3 source passes the suite that every plug-in should pass, in each order, from a real server."""

import json
from typing import Any

import pytest

from connect.testing.conformance import SourceConformance
from connectors.s3.source import S3SourceConnector
from tests.servers.s3 import S3Bucket


class TestLines(SourceConformance):
    """A few objects of several lines each, in the order of their names."""

    connector = S3SourceConnector
    per_object = 3

    @pytest.fixture(autouse=True)
    def _bucket(self, s3_bucket: S3Bucket) -> None:
        self.bucket = s3_bucket

    def config(self) -> dict[str, str]:
        return {
            **self.bucket.config,
            "aws.s3.prefix": "in/",
            "topic": "things",
            "input.format": "jsonl",
            "s3.poll.interval.ms": "20",
            "object.shares": "1",
        }

    def value(self, number: int) -> Any:
        return {"number": number, "text": "x" * 100}

    def name(self, first: int) -> str:
        return f"in/{first:08}.jsonl"

    def produce(self, first: int, count: int) -> None:
        size = self.per_object if count < 100 else 5000
        for start in range(first, first + count, size):
            lines = [json.dumps(self.value(n)) for n in range(start, min(start + size, first + count))]
            self.bucket.put(self.name(start), "\n".join(lines).encode())


@pytest.mark.slow
class TestSharesOfTwoTasks(TestLines):
    """The same in several shares, by two tasks."""

    def config(self) -> dict[str, str]:
        return {**super().config(), "object.shares": "4", "tasks.max": "2"}


@pytest.mark.slow
class TestByTime(TestLines):
    """In the order of their times."""

    def config(self) -> dict[str, str]:
        return {**super().config(), "object.order": "time"}


@pytest.mark.slow
class TestByPartition(TestLines):
    """Names of a sink, in the order of each partition; few records at a time."""

    most_rows = 500

    def config(self) -> dict[str, str]:
        config = {**super().config(), "aws.s3.prefix": "", "max.poll.records": "500"}
        del config["topic"]
        return config

    def name(self, first: int) -> str:
        partition = first % 2
        return f"topics/things/partition={partition}/things+{partition}+{first:010}.json"


@pytest.mark.slow
class TestDeleted(TestLines):
    """Objects are deleted when they were read: what is gone cannot be read again after an earlier offset."""

    every_offset_resumes = False

    def config(self) -> dict[str, str]:
        return {**super().config(), "done.action": "delete"}
