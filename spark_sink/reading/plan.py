"""What is read, and in which shape. Travels pickled to the executors, and is never shown."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from connect.data.record import TopicPartition
from connect.data.schema import OPTIONAL_STRING, Schema
from connect.errors import ConnectError
from connect.settings.java_regex import java_regex

#: Offsets as Spark keeps them: for each topic, for each partition (as text), the offset of the next record.
OffsetMap = dict[str, dict[str, int]]

_FOUND: Final = re.compile(r"new fields at ([a-zA-Z0-9._-]+)-(\d+)@(\d+)")

_NOTHING: Final = "_connect_nothing_known"
#: The schema of values where no record that was seen says which columns there are, because they are tombstones or fail;
#: and of keys where none has one. The first that does say it does not fit: the query restarts with its schema.
NOTHING_KNOWN: Final = Schema.struct({_NOTHING: OPTIONAL_STRING})


@dataclass(frozen=True)
class RowShape:
    """Records as rows of a table: converters and transformations have run.

    Attributes:
        values: the Connect schema of the values, a STRUCT; `NOTHING_KNOWN` for now.
        keys: that of the keys, None where they are not needed.
        wrap: the name of the single column of values that are not structs.
        wrap_key: the same of keys.
        metadata: whether `_topic`, `_partition`, `_offset`, `_timestamp` and `_origin` are needed.
        failures: whether records that the error policy gives up become rows.
        unknown: what happens to fields that `values` does not have: "reject" restarts the query with them, "ignore"
            leaves them out.
        events: whether values are change events, as the connector's configuration says: see `spark_sink.cdc`.
        merged: whether `_whole` is needed, for rows that change others: see `spark_sink.tables.rows`.
        partial: whether `_lacks` is needed, too. Until then the first record that lacks a column restarts the query.
    """

    values: Schema
    keys: Schema | None = None
    wrap: str = "value"
    wrap_key: str = "key"
    metadata: bool = False
    failures: bool = False
    merged: bool = False
    partial: bool = False
    events: bool = False
    unknown: Literal["reject", "ignore"] = "reject"


@dataclass(frozen=True)
class ReadPlan:
    """What one query reads.

    Attributes:
        connector: its name.
        topics: their names; empty with a pattern.
        pattern: a Java regular expression for the names of topics, where topics are not listed.
        worker, config: the worker's and the connector's configuration, secrets filled in.
        plugin_path: folders of plug-ins.
        start: where a new query begins; other partitions begin with their first record.
        rows: the shape of rows; None for raw records.
        only_ranges: whether a row is a range of offsets instead of a record: for a reader that reads each topic in a
            shape of its own (`spark_sink.reading.frame`). `rows` is None then.
        most_records: of a batch; 0 for no limit.
        most_bytes: of a batch's keys and values, about; 0 for no limit.
        most_per_second: records a second; 0 for no limit.
        record_bytes: the size of a record's key and value, if known; else 0.
        parts: the minimum number of parts of a large batch of rows; raw records stay in one part for each partition, in
            order.
        end: before which offsets reading ends; none of a partition that it does not name.
        lease_file: the file of `spark_sink.lease_file`; None for none.
        fail_on_data_loss: see `RangeConsumer`.
        id: equal for plans that can share clients, converters and transformations: those that differ only in the shape
            of rows.
    """

    connector: str
    topics: tuple[str, ...]
    pattern: str
    worker: Mapping[str, str] = field(repr=False)
    config: Mapping[str, str] = field(repr=False)
    plugin_path: tuple[str, ...] = ()
    start: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    end: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    rows: RowShape | None = None
    only_ranges: bool = False
    most_records: int = 0
    most_bytes: int = 0
    most_per_second: int = 0
    record_bytes: float = 0.0
    parts: int = 0
    lease_file: str | None = None
    fail_on_data_loss: bool = True
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    def subscription(self) -> list[str] | re.Pattern[str]:
        """Names, or a compiled pattern."""
        return list(self.topics) or java_regex(self.pattern)


def is_known(columns: Sequence[str]) -> bool:
    """Whether these are columns, rather than `NOTHING_KNOWN`."""
    return list(columns) != [_NOTHING]


def as_map(offsets: Mapping[TopicPartition, int]) -> OffsetMap:
    """In Spark's form."""
    made: OffsetMap = {}
    for partition, offset in sorted(offsets.items()):
        made.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return made


def as_offsets(offsets: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """From Spark's form."""
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, parts in offsets.items()
        for partition, offset in parts.items()
    }


class SchemaChanged(ConnectError):
    """Records arrived that the query's shape does not hold: the query restarts with one that holds this record.

    Its text carries it from an executor to the driver through Spark's error.
    """

    def __init__(self, topic: str, partition: int, offset: int) -> None:
        super().__init__(f"new fields at {topic}-{partition}@{offset}")
        self._origin = (topic, partition, offset)

    def __reduce__(self) -> tuple[type[SchemaChanged], tuple[str, int, int]]:
        return SchemaChanged, self._origin


def changed_at(error: BaseException) -> tuple[TopicPartition, int] | None:
    """Where the schema changed, if that is what an error of Spark says."""
    text = str(error)
    found = _FOUND.search(text) if "SchemaChanged" in text else None
    return None if found is None else (TopicPartition(found[1], int(found[2])), int(found[3]))
