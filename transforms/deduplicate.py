"""Drop duplicate records: Deduplicate."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any, NamedTuple

from connect import SinkRecord, Transformation, settings
from connect.settings import Config

_Place = tuple[str, int, int]


class _Seen(NamedTuple):
    """The record that passed: its timestamp, its topic, and where it was consumed (None in a source)."""

    timestamp: int | None
    topic: str
    place: _Place | None


class Deduplicate(Transformation):
    """Passes the first record of each identity, and drops those that follow within a window.

    The identities seen are in the task's memory only: they are bounded, and gone after a restart and in another task. A
    record that is consumed again (a sink rewinds, partitions move away and return, it waited in a retry topic) passes
    again; it is not a duplicate of itself.
    """

    settings = settings.define(
        settings.List(
            "fields",
            default=[],
            importance="HIGH",
            doc="Fields of the value that identify a record. Empty, and without header: the key.",
        ),
        settings.String(
            "header",
            default=None,
            importance="HIGH",
            doc="A header that identifies a record, such as an event's id.",
        ),
        settings.Boolean(
            "per.topic",
            default=True,
            doc="Whether equal records of two topics both pass. Otherwise they are duplicates.",
        ),
        settings.Int(
            "window.records",
            default=100_000,
            validator=settings.at_least(1),
            doc="How many identities the task remembers, about 350 bytes each. It forgets the oldest first.",
        ),
        settings.Long(
            "window.ms",
            default=-1,
            validator=settings.at_least(-1),
            doc="How long the task remembers a record, by the timestamps of records. -1 for no limit. Records without "
            "a timestamp do not expire.",
        ),
    )

    def configure(self, config: Config) -> None:
        self._fields = [name for name in config["fields"] if name]
        self._header: str | None = config["header"] or None
        self._per_topic: bool = config["per.topic"]
        self._most: int = config["window.records"]
        self._window: int | None = None if config["window.ms"] < 0 else config["window.ms"]
        self._seen: OrderedDict[bytes, _Seen] = OrderedDict()

    def apply(self, record: Any) -> Any:
        identity = self._identity(record)
        if identity is None:
            return record
        place = _place(record)
        known = self._seen.get(identity)
        if known is not None and self._within(known.timestamp, record.timestamp):
            return record if _is_itself(known, record, place) else None
        self._seen[identity] = _Seen(record.timestamp, record.topic, place)
        self._seen.move_to_end(identity)
        if len(self._seen) > self._most:
            self._seen.popitem(last=False)
        return record

    def close(self) -> None:
        """Forget everything."""
        self._seen = OrderedDict()

    def _within(self, seen: int | None, now: int | None) -> bool:
        if self._window is None or seen is None or now is None:
            return True
        return abs(now - seen) < self._window

    def _identity(self, record: Any) -> bytes | None:
        """16 bytes that identify a record; None for a record without any identifying part."""
        parts: list[Any] = []
        if self._header is not None:
            header = record.headers.last(self._header)
            parts.append(None if header is None else header.value)
        if self._fields:
            value = record.value if isinstance(record.value, dict) else {}
            parts += [value.get(name) for name in self._fields]
        if not parts:
            parts.append(record.key)
        if all(part is None for part in parts):
            return None
        written = [_written(part) for part in parts]
        if self._per_topic:
            written.append(record.topic)
        # The length in front of each part keeps different lists of parts apart.
        joined = "".join([f"{len(part)}:{part}" for part in written])
        return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _is_itself(known: _Seen, record: Any, place: _Place | None) -> bool:
    """Whether this is the same record that passed, consumed again.

    A record from a retry topic has its original topic and timestamp, and another position. Where two topics were
    merged, two different records may look like that too; then a duplicate passes, which is better than a lost record.
    """
    if place is None or known.place is None:
        return False
    moved = place[0] != known.place[0] and (record.topic, record.timestamp) == (known.topic, known.timestamp)
    return place == known.place or moved


def _place(record: Any) -> _Place | None:
    if not isinstance(record, SinkRecord):
        return None
    return record.original_topic, record.original_partition, record.original_offset


def _written(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return f"s{value}"
    return f"i{int(value)}" if kind is int or _is_whole(value) else repr(_canonical(value))


def _canonical(value: Any) -> Any:
    """A value in a form that is the same for equal values: without the order of an object, and 1.0 as 1."""
    if isinstance(value, dict):
        return sorted((repr(_canonical(key)), _canonical(item)) for key, item in value.items() if item is not None)
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return int(value) if _is_whole(value) else value


def _is_whole(value: Any) -> bool:
    return isinstance(value, float) and value == value // 1 and abs(value) < 1 << 63
