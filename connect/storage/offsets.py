"""Offsets of source connectors: the interface of an offset store, its keys, and a store in memory.

A key is JSON without spaces, `["orders",{"filename":"a.txt"}]`, byte for byte as a Java worker writes it: a
partition's entries keep their order. Two partitions with the same entries are the same partition whatever the order;
Java treats them as two.
"""

from __future__ import annotations

import base64
import json
import math
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from connect.data.text import java_double
from connect.errors import ConnectError, DataError

Partition = Mapping[str, Any]
Offset = Mapping[str, Any]


class OffsetStoreError(ConnectError):
    """Offsets cannot be read or written. The message says where, and what to do."""


class OffsetStore(ABC):
    """Keeps the offset from which reading continues, for each source partition of each connector.

    Safe to use from many threads. Partitions and offsets are flat: names with strings, numbers, booleans, bytes or
    None. Bytes are read back as base64 strings, as in Java.

    Source: Kafka Connect's OffsetBackingStore and OffsetStorageReader (KIP-26).
    """

    def start(self) -> None:  # noqa: B027 - most need no start
        """Read the stored offsets. Raises ConnectError."""

    @abstractmethod
    def get(self, connector: str, partitions: Sequence[Partition]) -> list[Offset | None]:
        """The stored offset of each partition, None where there is none."""

    @abstractmethod
    def set(self, connector: str, entries: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Store offsets, all or none; None forgets a partition. Durable on return.

        Raises:
            OffsetStoreError: they could not be stored; nothing has changed.
            DataError: a partition or an offset holds a value that JSON cannot represent.
        """

    @abstractmethod
    def all(self, connector: str) -> list[tuple[Partition, Offset]]:
        """Every stored partition of a connector with its offset."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections. No offset is lost when this is not called."""


def key(connector: str, partition: Partition) -> bytes:
    """The key of a source partition as Java writes it to the offsets topic and file. DataError as in `set`."""
    return f"[{_text(connector)},{to_json(partition)}]".encode()


def identity(partition: Partition) -> str:
    """A string that is equal for equal partitions, whatever the order of their entries."""
    return to_json({name: partition[name] for name in sorted(partition)})


def to_json(value: Any) -> str:
    """JSON as Kafka's JsonConverter writes it without a schema: no spaces, bytes as base64, Java's numbers."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return java_double(value) if math.isfinite(value) else f'"{java_double(value)}"'
        case str():
            return _text(value)
        case bytes() | bytearray() | memoryview():
            return f'"{base64.b64encode(value).decode()}"'
        case Mapping():
            return "{" + ",".join(f"{_name(name)}:{to_json(one)}" for name, one in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(to_json, value)) + "]"
    raise DataError(
        f"A source partition or offset holds a {type(value).__name__}. "
        "It may hold strings, numbers, booleans, bytes and None."
    )


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise DataError(
            f"A source partition or offset has the {type(name).__name__} {name} as a name. Names are strings."
        )
    return _text(name)


def _text(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


# What Java escapes: quotes, control characters and surrogate pairs. Python represents a byte of a file name that is not
# text as a lone surrogate, which has to be read back unchanged.
_ESCAPED = re.compile(r'["\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(match: re.Match[str]) -> str:
    if short := _SHORT.get(match[0]):
        return short
    units = match[0].encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


#: For each connector: by the identity of a partition, the partition and its offset.
Offsets = dict[str, dict[str, tuple[dict[str, Any], dict[str, Any]]]]


class MemoryOffsetStore(OffsetStore):
    """Offsets that last as long as the process."""

    def __init__(self) -> None:
        self._offsets: Offsets = {}
        self._lock = threading.Lock()

    def get(self, connector: str, partitions: Sequence[Partition]) -> list[Offset | None]:
        with self._lock:
            stored = self._offsets.get(connector, {})
            found = [stored.get(identity(partition)) for partition in partitions]
        return [dict(entry[1]) if entry else None for entry in found]

    def set(self, connector: str, entries: Sequence[tuple[Partition, Offset | None]]) -> None:
        with self._lock:
            changed = updated(self._offsets, connector, entries)
            self._save(changed)
            self._offsets = changed

    def all(self, connector: str) -> list[tuple[Partition, Offset]]:
        with self._lock:
            return [(dict(partition), dict(offset)) for partition, offset in self._offsets.get(connector, {}).values()]

    def close(self) -> None:
        pass

    def _save(self, offsets: Offsets) -> None:
        """Make them durable before `get` returns them."""


def updated(offsets: Offsets, connector: str, entries: Sequence[tuple[Partition, Offset | None]]) -> Offsets:
    """A copy of the offsets in which some of one connector's are changed. Raises DataError."""
    stored = dict(offsets.get(connector, {}))
    for partition, offset in entries:
        name = identity(partition)
        if offset is None:
            stored.pop(name, None)
        else:
            # As from any other store, `get` returns plain JSON that no caller shares.
            stored[name] = json.loads(to_json(partition)), json.loads(to_json(offset))
    changed = {**offsets, connector: stored}
    return {name: entries_of for name, entries_of in changed.items() if entries_of}
