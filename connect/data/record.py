"""Records for simple plug-ins: one object each, made from a batch on demand.

Records are immutable and cheap (a C struct without cycle collection, 0.1 us each). `record.replace(value=...)` returns
a changed copy, as `ConnectRecord.newRecord` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import msgspec

from connect.data.headers import NO_HEADERS, Headers
from connect.data.schema import Schema


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Origin(NamedTuple):
    """Where a record was consumed, before any transformation changed its topic or partition (KIP-793)."""

    topic: str
    partition: int
    offset: int


class SourceRecord(msgspec.Struct, frozen=True, gc=False):
    """A record that a source task read, for a topic.

    Attributes:
        topic: its destination.
        value: any Python value that fits `value_schema`; anything JSON-like when there is no schema.
        value_schema: None for schemaless.
        key: as value.
        key_schema: as value_schema.
        source_partition: the part of the source that it comes from, such as ``{"filename": "a.txt"}``.
        source_offset: where in that part reading continues after this record, such as ``{"position": 120}``.
        partition: of the topic; None leaves it to the partitioner.
        timestamp: milliseconds since the epoch; None, or -1 as in Java, leaves it to the producer.
        headers: see `Headers`.
    """

    topic: str
    value: Any
    value_schema: Schema | None = None
    key: Any = None
    key_schema: Schema | None = None
    source_partition: Mapping[str, Any] = {}
    source_offset: Mapping[str, Any] = {}
    partition: int | None = None
    timestamp: int | None = None
    headers: Headers = NO_HEADERS

    def replace(self, **changes: Any) -> Self:
        """A copy with these attributes changed."""
        return msgspec.structs.replace(self, **changes)


class SinkRecord(msgspec.Struct, frozen=True, gc=False):
    """A record that was consumed from a topic, for a sink task.

    Attributes:
        topic: where it was consumed, unless a transformation changed it: see `original_topic`.
        value, value_schema, key, key_schema, headers: as in `SourceRecord`.
        partition: as topic.
        offset: never changes.
        timestamp: milliseconds since the epoch, or None.
        timestamp_type: "CreateTime", "LogAppendTime" or "NoTimestampType".
        origin: where it was consumed, when a transformation changed topic or partition, else None.
    """

    topic: str
    value: Any
    value_schema: Schema | None = None
    key: Any = None
    key_schema: Schema | None = None
    partition: int = 0
    offset: int = 0
    timestamp: int | None = None
    timestamp_type: str = "CreateTime"
    headers: Headers = NO_HEADERS
    origin: Origin | None = None

    @property
    def original_topic(self) -> str:
        """The topic that the record was consumed from."""
        return self.origin.topic if self.origin is not None else self.topic

    @property
    def original_partition(self) -> int:
        """The partition that the record was consumed from."""
        return self.origin.partition if self.origin is not None else self.partition

    @property
    def original_offset(self) -> int:
        """The offset that the record was consumed at."""
        return self.origin.offset if self.origin is not None else self.offset

    def replace(self, **changes: Any) -> Self:
        """A copy with these attributes changed. Topic and partition of origin are kept."""
        if self.origin is None and ("topic" in changes or "partition" in changes):
            changes["origin"] = Origin(self.topic, self.partition, self.offset)
        return msgspec.structs.replace(self, **changes)


Record = SourceRecord | SinkRecord
