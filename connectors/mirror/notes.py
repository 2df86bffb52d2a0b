"""The bytes of offset syncs, checkpoints and heartbeats, as MirrorMaker 2 writes them (KIP-382).

Fields of Kafka's protocol: texts have their length in two bytes before them, numbers are big-endian. Checkpoints and
heartbeats have a version in the first two bytes of their values; only version 0 exists.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from connect.data.record import TopicPartition

_VERSION: Final = b"\x00\x00"


class OffsetSync(NamedTuple):
    """The record at `upstream` of the source became the one at `downstream` of the target."""

    partition: TopicPartition
    upstream: int
    downstream: int

    @property
    def key(self) -> bytes:
        """The partition of the source."""
        return _text(self.partition.topic) + struct.pack(">i", self.partition.partition)

    @property
    def value(self) -> bytes:
        """Both offsets."""
        return struct.pack(">qq", self.upstream, self.downstream)

    @classmethod
    def read(cls, key: bytes, value: bytes) -> OffsetSync:
        """Raises ValueError for bytes that are none."""
        topic, at = _read_text(key, 0)
        (partition,) = _unpack(">i", key, at)
        return cls(TopicPartition(topic, partition), *_unpack(">qq", value, 0))


class Checkpoint(NamedTuple):
    """A group's position, in offsets of both clusters.

    Attributes:
        group: of the source.
        partition: the partition at the target.
        upstream: what the group has committed at the source.
        downstream: where it continues at the target, missing nothing.
        metadata: of the committed offset.
    """

    group: str
    partition: TopicPartition
    upstream: int
    downstream: int
    metadata: str

    @property
    def key(self) -> bytes:
        """The group and the partition."""
        return _text(self.group) + _text(self.partition.topic) + struct.pack(">i", self.partition.partition)

    @property
    def value(self) -> bytes:
        """Both offsets and the text."""
        return _VERSION + struct.pack(">qq", self.upstream, self.downstream) + _text(self.metadata)

    @classmethod
    def read(cls, key: bytes, value: bytes) -> Checkpoint:
        """Raises ValueError for bytes that are none, or of a version that we do not know."""
        _known_version(value)
        group, at = _read_text(key, 0)
        topic, at = _read_text(key, at)
        (partition,) = _unpack(">i", key, at)
        upstream, downstream = _unpack(">qq", value, 2)
        metadata, _ = _read_text(value, 18)
        return cls(group, TopicPartition(topic, partition), upstream, downstream, metadata)


class Heartbeat(NamedTuple):
    """One cluster is mirrored into another, at this time, in ms since the epoch."""

    source: str
    target: str
    timestamp: int

    @property
    def key(self) -> bytes:
        """Both aliases."""
        return _text(self.source) + _text(self.target)

    @property
    def value(self) -> bytes:
        """The moment."""
        return _VERSION + struct.pack(">q", self.timestamp)

    @classmethod
    def read(cls, key: bytes, value: bytes) -> Heartbeat:
        """Raises ValueError for bytes that are none, or of a version that we do not know."""
        _known_version(value)
        source, at = _read_text(key, 0)
        target, _ = _read_text(key, at)
        return cls(source, target, *_unpack(">q", value, 2))


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = _unpack(">h", data, at)
    begin, end = at + 2, at + 2 + length
    if length < 0 or end > len(data):
        raise ValueError("a text goes beyond the end")
    return data[begin:end].decode(), end


def _unpack(form: str, data: bytes, at: int) -> tuple[int, ...]:
    try:
        return struct.unpack_from(form, data, at)
    except struct.error as error:
        raise ValueError(str(error)) from error


def _known_version(value: bytes) -> None:
    if value[:2] != _VERSION:
        raise ValueError(f"version {value[:2].hex()} is not known")
