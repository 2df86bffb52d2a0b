"""A bucket in memory, as boto3's client for the source, and what tests do with both ways to read it."""

import datetime as dt
import hashlib
import io
import json
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from connect.testing import SourceRun
from connectors.s3.source import S3SourceConnector
from tests.support.read_plans import Offsets, Planner


class Stored:
    """The objects of one bucket. Each that is put is a second younger than the last.

    Attributes:
        failing: for each of the next requests of an operation, whether it fails.
        pieces: how many bytes of an object come before its stream breaks, for each of the next streams.
    """

    def __init__(self) -> None:
        self._objects: dict[str, tuple[bytes, dt.datetime]] = {}
        self._now = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
        self.failing: dict[str, deque[bool]] = {}
        self.pieces: deque[int] = deque()

    def keys(self) -> list[str]:
        return sorted(self._objects, key=str.encode)

    def put(self, key: str, content: bytes) -> None:
        self._now += dt.timedelta(seconds=1)
        self._objects[key] = (content, self._now)

    def delete(self, key: str) -> None:
        del self._objects[key]

    # As boto3's client.

    def list_objects_v2(self, *, Prefix: str, MaxKeys: int, StartAfter: str = "", **more: Any) -> Any:  # noqa: N803
        self._pass("list_objects_v2")
        after = more.get("ContinuationToken", StartAfter).encode()
        keys = [key for key in self.keys() if key.startswith(Prefix) and key.encode() > after]
        told = [
            {"Key": key, "ETag": _etag(self._objects[key][0]), "Size": len(self._objects[key][0]),
             "LastModified": self._objects[key][1]}
            for key in keys[:MaxKeys]
        ]  # fmt: skip
        cut = len(keys) > MaxKeys
        return {"Contents": told, "IsTruncated": cut, **({"NextContinuationToken": told[-1]["Key"]} if cut else {})}

    def head_object(self, *, Key: str, **_: Any) -> Any:  # noqa: N803
        self._pass("head_object")
        content, modified = self._found(Key)
        return {"ETag": _etag(content), "ContentLength": len(content), "LastModified": modified}

    def get_object(self, *, Key: str, IfMatch: str = "", Range: str = "bytes=0-", **_: Any) -> Any:  # noqa: N803
        self._pass("get_object")
        content, _modified = self._found(Key)
        if IfMatch and IfMatch != _etag(content):
            raise _error("PreconditionFailed", 412)
        start, _dash, end = Range.removeprefix("bytes=").partition("-")
        asked = content[int(start) : int(end) + 1 if end else None]
        whole = len(asked)
        if self.pieces:
            return {"Body": _Breaking(asked[: self.pieces.popleft()]), "ContentLength": whole}
        return {"Body": io.BytesIO(asked), "ContentLength": whole}

    def delete_object(self, *, Key: str, **_: Any) -> None:  # noqa: N803
        self._objects.pop(Key, None)

    def close(self) -> None:
        pass

    def _found(self, key: str) -> tuple[bytes, dt.datetime]:
        if key not in self._objects:
            raise _error("NoSuchKey", 404)
        return self._objects[key]

    def _pass(self, operation: str) -> None:
        failing = self.failing.get(operation)
        if failing and failing.popleft():
            raise _error("SlowDown", 503)


class _Breaking(io.BytesIO):
    """A stream whose connection breaks at its end."""

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(size)
        if not found:
            raise ConnectionResetError
        return found


def _etag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _error(code: str, status: int) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "it")  # type: ignore[typeddict-item]


def lines(numbers: Iterable[int], width: int = 0) -> bytes:
    """JSON lines of these numbers, each with so much beside it."""
    return b"".join(json.dumps({"n": n, "x": "x" * width}).encode() + b"\n" for n in numbers)


def config_of(**more: str) -> dict[str, str]:
    """A configuration that looks for objects all the time; keys with `__` for `.`."""
    told = {name.replace("__", "."): value for name, value in more.items()}
    quick = {"s3.bucket.name": "b", "s3.poll.interval.ms": "1", "s3.retry.backoff.ms": "1", "input.format": "jsonl",
             "aws.access.key.id": "k", "aws.secret.access.key": "very-secret"}  # fmt: skip
    return {**quick, **({} if "mode" in told else {"topic": "t"}), **told}


def planner_of(offsets: Offsets = (), **more: str) -> Planner:
    """The planning instance of the one task, with what is stored."""
    connector = S3SourceConnector()
    connector.start(config_of(**more))
    (config,) = connector.task_configs(1)
    return Planner(connector, config, offsets)


def run_of(offsets: Any = (), **more: str) -> SourceRun:
    """The same on the worker's own engine."""
    return SourceRun(S3SourceConnector, config_of(**more), offsets=offsets)


def stored_of(planner: Planner) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The offsets that a planner's plans have stored."""
    return list(planner.stored.all("c"))
