"""Runs of the S3 source in memory, on a real bucket."""

import json
from collections.abc import Iterable
from typing import Any

from connect.testing import SourceRun
from connectors.s3.source import S3SourceConnector
from tests.servers.s3 import S3Bucket


def source_run(bucket: S3Bucket, *, offsets: Any = (), timeout: float = 20.0, **config: str) -> SourceRun:
    """A run that looks for objects all the time; keys with `__` for `.`."""
    told = {key.replace("__", "."): value for key, value in config.items()}
    quick = {"s3.poll.interval.ms": "10", "s3.retry.backoff.ms": "1", "input.format": "jsonl"}
    if "mode" not in told and "file.name.template" not in told:
        quick["topic"] = "t"
    return SourceRun(S3SourceConnector, {**bucket.config, **quick, **told}, offsets=offsets, timeout=timeout)


def lines(numbers: Iterable[int], width: int = 0) -> bytes:
    """JSON lines of these numbers, each with so much beside it."""
    return b"".join(json.dumps({"n": n, "x": "x" * width}).encode() + b"\n" for n in numbers)


def numbers(run: SourceRun) -> list[int]:
    """Those of the records."""
    return [record.value["n"] for record in run.records]
