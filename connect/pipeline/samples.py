"""Sample records from JSON: the input of `connect try` and `connect test`.

    {"topic": "orders", "key": "k1", "value": {"id": 5}, "headers": {"trace": "abc"}, "timestamp": 1700000000000}

For a sink key, value and headers are bytes: text stands for its UTF-8, `{"base64": "..."}` for any bytes, and other
JSON for its own text. For a source they are values: any JSON, `{"schema": {...}, "payload": ...}` for a value with a
schema as JsonConverter writes it, `{"base64": "..."}` for bytes. The output of `kcat -J` is accepted as well.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import orjson

from connect.converters import JsonConverter
from connect.data.headers import Header, Headers
from connect.data.record import Record, SinkRecord, SourceRecord
from connect.data.schema import OPTIONAL_BYTES, Schema
from connect.errors import ConnectError, one_line

Kind = Literal["sink", "source"]

FIELDS: Final = frozenset({"topic", "partition", "offset", "timestamp", "key", "value", "headers"})
#: How kcat calls them, and what else it prints.
_OF_KCAT: Final = {"payload": "value", "ts": "timestamp"}
_IGNORED: Final = frozenset({"tstype", "broker", "mask"})
#: A moment, so that transformations which need one have one: 2026-01-01T00:00:00Z.
_MOMENT: Final = 1_767_225_600_000


class SampleError(ConnectError):
    """The form of a sample is wrong. `field` says where: "value", or empty for the whole."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


def sample(kind: Kind, written: Any, topic: str, offset: int = 0) -> Record:
    """A record from its written form.

    Args:
        kind: of the connector.
        written: parsed JSON, an object.
        topic: the default.
        offset: likewise.

    Raises:
        SampleError: the form is wrong.
    """
    fields = _fields(written)
    name = fields.get("topic") or topic
    if not isinstance(name, str):
        raise SampleError("topic", "is text.")
    partition = _whole(fields, "partition")
    timestamp = _whole(fields, "timestamp") if "timestamp" in fields else _MOMENT
    headers = _headers(fields.get("headers"))
    if kind == "source":
        key, key_schema = _value("key", fields.get("key"))
        value, value_schema = _value("value", fields.get("value"))
        named = [(header, *_value(f"headers.{header}", one)) for header, one in headers]
        return SourceRecord(
            name,
            value,
            value_schema,
            key,
            key_schema,
            {},
            {},
            partition,
            timestamp,
            Headers(Header(header, one, schema) for header, one, schema in named),
        )
    raw: Any = [(header, _bytes(f"headers.{header}", one)) for header, one in headers]
    return consumed(
        name,
        _bytes("value", fields.get("value")),
        _bytes("key", fields.get("key")),
        partition or 0,
        offset if fields.get("offset") is None else _whole(fields, "offset") or 0,
        timestamp,
        raw,
    )


def consumed(
    topic: str,
    value: bytes | None,
    key: bytes | None,
    partition: int,
    offset: int,
    timestamp: int | None,
    headers: Sequence[tuple[str, bytes | None]] | None,
    timestamp_type: str = "CreateTime",
) -> SinkRecord:
    """A record as stored in Kafka: the input of a sink's chain."""
    raw: Any = list(headers) if headers else None
    return SinkRecord(
        topic, value, OPTIONAL_BYTES, key, OPTIONAL_BYTES, partition, offset, timestamp, timestamp_type, raw
    )


def _fields(written: Any) -> dict[str, Any]:
    if not isinstance(written, Mapping):
        raise SampleError("", 'a record is an object: {"key": ..., "value": ...}.')
    fields = {_OF_KCAT.get(key) or str(key): one for key, one in written.items() if key not in _IGNORED}
    if unknown := sorted(fields.keys() - FIELDS):
        known = ", ".join(sorted(FIELDS))
        raise SampleError(
            unknown[0], f'is not a field of a record; known are {known}. A value alone is written {{"value": ...}}.'
        )
    return fields


def _whole(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise SampleError(name, "is a whole number.")
    return value


def _headers(written: Any) -> list[tuple[str, Any]]:
    """Pairs, from an object, from a list of pairs or of {"key", "value"}, or from kcat's flat list."""
    if written is None:
        return []
    if isinstance(written, Mapping):
        return [(str(key), one) for key, one in written.items()]
    if not isinstance(written, list):
        raise SampleError("headers", 'are an object, or a list of [key, value]: {"trace": "abc"}.')
    if written and len(written) % 2 == 0 and all(isinstance(one, str | None) for one in written):
        return [(str(key), one) for key, one in zip(written[::2], written[1::2], strict=True)]
    found = []
    for one in written:
        if isinstance(one, Mapping) and one.keys() <= {"key", "value"} and isinstance(one.get("key"), str):
            found.append((one["key"], one.get("value")))
        elif isinstance(one, list) and len(one) == 2 and isinstance(one[0], str):
            found.append((one[0], one[1]))
        else:
            raise SampleError("headers", "each of a list is [key, value].")
    return found


def _bytes(where: str, written: Any) -> bytes | None:
    if written is None or isinstance(written, bytes):
        return written
    if isinstance(written, str):
        return written.encode()
    if isinstance(written, Mapping) and len(written) == 1:
        if "base64" in written:
            return _base64(where, written["base64"])
        if "text" in written:
            return str(written["text"]).encode()
    try:
        return orjson.dumps(written)
    except TypeError:
        return json.dumps(written, ensure_ascii=False, separators=(",", ":")).encode()  # whole numbers beyond 64 bits


def _base64(where: str, text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise SampleError(where, "this is not base64.") from None


_ENVELOPE: Final = JsonConverter()
_ENVELOPE.configure({"schemas.enable": "true"}, is_key=False)


def _value(where: str, written: Any) -> tuple[Any, Schema | None]:
    if isinstance(written, Mapping):
        if written.keys() == {"schema", "payload"}:
            try:
                made = _ENVELOPE.to_connect_data("", json.dumps(written).encode())
            except (ConnectError, TypeError, ValueError) as error:
                raise SampleError(where, one_line(error)) from error
            return made.value, made.schema
        if written.keys() == {"base64"}:
            return _base64(where, written["base64"]), OPTIONAL_BYTES
    return written, None
