"""A record at one point of the chain, in plain JSON values, and its differences from an earlier point.

Values that JSON lacks are written so: bytes `{"text": ...}` where they are UTF-8 and `{"base64": ...}` elsewhere, a
decimal, a date or a moment as text in ISO 8601.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec

from connect.converters import json_schema
from connect.data.record import Record, SinkRecord
from connect.data.schema import Schema, Type

Part = Literal["key", "value", "headers"]

#: All that converters make values of.
PARTS: Final[frozenset[Part]] = frozenset({"key", "value", "headers"})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A record between two steps.

    Attributes:
        record: its headers are pairs of key and bytes where they are raw.
        raw: the parts that are bytes as stored in Kafka, and not values.
    """

    record: Record
    raw: frozenset[Part]

    def headers(self) -> list[tuple[str, Any, Schema | None]]:
        """Key, value and schema of each header, in order."""
        found: Any = self.record.headers
        if "headers" in self.raw:
            return [(key, data, None) for key, data in found or ()]
        return [(header.key, header.value, header.schema) for header in found]

    def side(self, part: Literal["key", "value"]) -> tuple[Any, Schema | None]:
        """The key or the value with its schema; raw bytes have none."""
        record = self.record
        value, schema = (record.key, record.key_schema) if part == "key" else (record.value, record.value_schema)
        return value, None if part in self.raw else schema


class SeenHeader(msgspec.Struct):
    """One header. `schema` in the form of JsonConverter's envelope; None without one."""

    key: str
    value: Any
    schema: dict[str, Any] | None = None


class SeenRecord(msgspec.Struct, omit_defaults=True):
    """A record for programs. `offset` only of one that was consumed; `timestamp` in milliseconds since the epoch."""

    topic: str
    partition: int | None
    timestamp: int | None
    key: Any
    value: Any
    headers: list[SeenHeader]
    key_schema: dict[str, Any] | None = None
    value_schema: dict[str, Any] | None = None
    offset: int | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> SeenRecord:
        record = snapshot.record
        key, key_schema = snapshot.side("key")
        value, value_schema = snapshot.side("value")
        return cls(
            record.topic,
            record.partition,
            record.timestamp,
            plain(key),
            plain(value),
            [SeenHeader(name, plain(one), _described(schema)) for name, one, schema in snapshot.headers()],
            _described(key_schema),
            _described(value_schema),
            record.offset if isinstance(record, SinkRecord) else None,
        )


class Change(msgspec.Struct):
    """One change of a step to a record. A missing value is absent.

    Attributes:
        path: such as `topic`, `value.address.city`, `value.tags[2]` or `headers.trace`.
        before, after: plain values.
        before_type, after_type: the schema's types there, such as `INT64?`; absent without a schema.
    """

    path: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET
    before_type: str | msgspec.UnsetType = msgspec.UNSET
    after_type: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def sign(self) -> Literal["+", "-", "~"]:
        """Added, removed or changed."""
        if self.before is msgspec.UNSET:
            return "+"
        return "-" if self.after is msgspec.UNSET else "~"


def changes(before: Snapshot, after: Snapshot) -> list[Change]:
    """The differences, in the order topic, partition, timestamp, key, value, headers."""
    found = [
        Change(name, getattr(before.record, name), getattr(after.record, name))
        for name in ("topic", "partition", "timestamp")
        if getattr(before.record, name) != getattr(after.record, name)
    ]
    for part in ("key", "value"):
        (old, old_schema), (new, new_schema) = before.side(part), after.side(part)
        found += _between(part, old, old_schema, new, new_schema, converted=(part in before.raw) != (part in after.raw))
    return found + _between_headers(before.headers(), after.headers())


def plain(value: Any) -> Any:
    """A value in JSON's own types. Converted parts are copied."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes() | bytearray() | memoryview():
            data = bytes(value)
            try:
                return {"text": data.decode()}
            except UnicodeDecodeError:
                return {"base64": base64.b64encode(data).decode()}
        case Mapping():
            return {key if isinstance(key, str) else str(plain(key)): plain(one) for key, one in value.items()}
        case Decimal():
            return str(value)
        case dt.datetime():
            utc = value.astimezone(dt.UTC) if value.tzinfo is not None else value
            return utc.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
        case dt.date() | dt.time():
            return value.isoformat()
        case list() | tuple():
            return [plain(one) for one in value]
    return str(value)


def _described(schema: Schema | None) -> dict[str, Any] | None:
    return None if schema is None else json_schema.to_json(schema, lambda _, default: plain(default))


def _between(
    path: str, old: Any, old_schema: Schema | None, new: Any, new_schema: Schema | None, *, converted: bool
) -> list[Change]:
    if converted:
        if old is None and new is None and old_schema is None and new_schema is None:
            return []
        return [Change(path, plain(old), plain(new), _whole(old_schema), _whole(new_schema))]
    if old is new and old_schema is new_schema:
        return []
    values = dict(_differing(path, plain(old), plain(new), typed=(old, new)))
    old_types, new_types = _types(path, old_schema), _types(path, new_schema)
    places = list(values)
    places += [at for at in {**old_types, **new_types} if at not in values and old_types.get(at) != new_types.get(at)]
    found = []
    for at in sorted(places, key=lambda place: place not in values):
        was, now = values.get(at, (msgspec.UNSET, msgspec.UNSET))
        if at not in values:  # only the schema is another there
            if _below_any(at, values):
                continue
            was, now = _at(path, at, plain(old)), _at(path, at, plain(new))
            if was is msgspec.UNSET and now is msgspec.UNSET:
                was = now = None
        types = old_types.get(at, msgspec.UNSET), new_types.get(at, msgspec.UNSET)
        found.append(Change(at, was, now, *types))
    return found


def _differing(path: str, old: Any, new: Any, typed: tuple[Any, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The differing paths of two plain values. `typed` are the values before they were made plain."""
    one, other = typed
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        by_name = {key if isinstance(key, str) else str(plain(key)): key for key in (*one, *other)}
        for name in {**old, **new}:
            at = f"{path}.{name}"
            if name not in old:
                yield at, (msgspec.UNSET, new[name])
            elif name not in new:
                yield at, (old[name], msgspec.UNSET)
            else:
                key = by_name[name]
                yield from _differing(at, old[name], new[name], (one.get(key), other.get(key)))
    elif _is_list(one) and _is_list(other):
        for place in range(max(len(one), len(other))):
            at = f"{path}[{place}]"
            if place >= len(one):
                yield at, (msgspec.UNSET, new[place])
            elif place >= len(other):
                yield at, (old[place], msgspec.UNSET)
            else:
                yield from _differing(at, old[place], new[place], (one[place], other[place]))
    elif old != new or type(one) is not type(other):
        yield path, (old, new)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)


def _between_headers(
    old: Sequence[tuple[str, Any, Schema | None]], new: Sequence[tuple[str, Any, Schema | None]]
) -> list[Change]:
    """Headers are a sequence; the n-th of a key is compared with the n-th of that key."""
    before, after = _numbered(old), _numbered(new)
    found = []
    for place in {**before, **after}:
        was, old_schema = before.get(place, (msgspec.UNSET, None))
        now, new_schema = after.get(place, (msgspec.UNSET, None))
        if was != now or type(was) is not type(now) or old_schema != new_schema:
            before_value, after_value = (one if one is msgspec.UNSET else plain(one) for one in (was, now))
            found.append(Change(place, before_value, after_value, _whole(old_schema), _whole(new_schema)))
    return found


def _numbered(headers: Sequence[tuple[str, Any, Schema | None]]) -> dict[str, tuple[Any, Schema | None]]:
    found: dict[str, tuple[Any, Schema | None]] = {}
    seen: dict[str, int] = {}
    for key, value, schema in headers:
        number = seen[key] = seen.get(key, 0) + 1
        found[f"headers.{key}" if number == 1 else f"headers.{key}[{number - 1}]"] = (value, schema)
    return found


def _whole(schema: Schema | None) -> str | msgspec.UnsetType:
    return msgspec.UNSET if schema is None else repr(schema)


def _types(path: str, schema: Schema | None) -> dict[str, str]:
    """The types of a schema by path; of a struct its name, of its fields their types."""
    if schema is None:
        return {}
    if schema.type is not Type.STRUCT:
        return {path: repr(schema)}
    name = f"{schema.name}:" if schema.name else ""
    found = {path: f"{name}STRUCT{'?' if schema.optional else ''}"}
    for field in schema.fields:
        found |= _types(f"{path}.{field.name}", field.schema)
    return found


def _below_any(place: str, others: Mapping[str, Any]) -> bool:
    return any(place.startswith((f"{other}.", f"{other}[")) for other in others)


def _at(root: str, place: str, value: Any) -> Any:
    """The value at a path of `_types`; UNSET where there is none."""
    rest = place[len(root) :]
    while rest:
        if not isinstance(value, dict):
            return msgspec.UNSET
        # A field's name may hold dots: take the longest that fits.
        name = max((key for key in value if rest == f".{key}" or rest.startswith(f".{key}.")), key=len, default=None)
        if name is None:
            return msgspec.UNSET
        value, rest = value[name], rest[len(name) + 1 :]
    return value
