"""The keys of the two source connectors. Nothing here imports Spark."""

from __future__ import annotations

import datetime as dt
from typing import Final

from connect import settings

CHANGES, APPENDS = "changes", "appends"
BATCH, STREAM = "batch", "stream"
NONE, DEBEZIUM, FLAT = "none", "debezium", "flat"

TABLE_VARIABLE: Final = "${table}"
#: Options of the source that a streaming query reads are handed on without this.
OPTION: Final = "source.option."
#: A transaction more for each writer and batch: more than this seldom pays.
_MOST_WRITERS: Final = 16

_TABLE, _QUERY, _RECORDS, _RUNNING = "Table", "Query", "Records", "Running"


def _version(name: str, value: str) -> None:
    if value.strip().lower() != "latest" and not value.strip().isdecimal():
        raise ValueError(f'"{value}" is not a version. Write a whole number from 0 on, or latest.')


def _timestamp(name: str, value: str) -> None:
    try:
        dt.datetime.fromisoformat(value.strip())
    except ValueError:
        raise ValueError(f'"{value}" is not a moment. Write 2024-05-06T07:08:09Z, or a day.') from None


def _size(name: str, value: str) -> None:
    if not value.strip().rstrip("bkmgtBKMGT").isdecimal():
        raise ValueError(f'"{value}" is not a size. Write 512m, or 10g.')


def _distinct(name: str, value: list[str]) -> None:
    if "" in value or len(set(value)) < len(value):
        raise ValueError("names a column twice, or has an empty name between its commas.")


def _table(name: str, value: str) -> None:
    if not value.strip() or "`" in value or "\n" in value:
        raise ValueError(f'"{value}" is not a table. Write a path such as /lake/orders, or a name such as shop.orders.')


class RowOptions(settings.Options):
    """How keys and values are made."""

    key_fields = settings.List(
        "key.fields",
        default=[],
        group=_RECORDS,
        importance="HIGH",
        validator=_distinct,
        doc="Columns of plain types that make the key, a struct of them. Records of one key are written in order. "
        "Without, keys are null.",
    )
    columns_included = settings.List(
        "columns.include",
        default=[],
        group=_RECORDS,
        validator=_distinct,
        doc="The columns of the value. By default all.",
    )
    columns_excluded = settings.List(
        "columns.exclude",
        default=[],
        group=_RECORDS,
        validator=_distinct,
        doc="Columns that the value leaves out. A key may still have them.",
    )
    order_by = settings.List(
        "order.by",
        default=[],
        group=_RECORDS,
        validator=_distinct,
        doc="Columns that sort the rows of a batch, ascending, after any other order.",
    )


class WriteOptions(settings.Options):
    """How batches are written."""

    written_writers = settings.Int(
        "kafka.writers",
        default=None,
        group=_RUNNING,
        validator=settings.between(1, 1000),
        doc="Into how many parts a batch is cut, each written by one task of an executor, with exactly-once in one "
        f"transaction. By default spark.sql.shuffle.partitions, {_MOST_WRITERS} at most.",
    )
    exactly_once = settings.Boolean(
        "exactly.once",
        default=False,
        group=_RUNNING,
        doc="Whether to write exactly once also where the worker does not (exactly.once.source.support=enabled in "
        "distributed mode): exactly.once.topic then lists the committed batches.",
    )
    exactly_once_topic = settings.String(
        "exactly.once.topic",
        default=None,
        group=_RUNNING,
        importance="LOW",
        doc="With exactly.once=true: the compacted topic of committed batches, made if it does not exist. By default "
        "connect-batches-<connector>.",
    )

    def writers(self, shuffle_partitions: int) -> int:
        """The value of `kafka.writers`, or its default."""
        return self.written_writers or max(1, min(shuffle_partitions, _MOST_WRITERS))


class _TableOptions(settings.Options):
    table = settings.String(
        "table",
        group=_TABLE,
        importance="HIGH",
        width="LONG",
        validator=_table,
        doc="The Delta table: a path (/lake/orders, s3a://lake/orders) or a name of Spark's catalog (shop.orders).",
    )
    written_topic = settings.String(
        "topic",
        group=_TABLE,
        importance="HIGH",
        validator=settings.non_empty,
        listed=settings.Listed.TOPICS,
        doc=f"The topic. {TABLE_VARIABLE} stands for the table's name, or the last part of its path.",
    )
    mode = settings.String(
        "mode",
        default=CHANGES,
        group=_TABLE,
        importance="HIGH",
        validator=settings.one_of(CHANGES, APPENDS),
        doc="batch: the query runs at an interval. stream: a streaming query.",
    )
    starting_version = settings.String(
        "starting.version",
        default=None,
        group=_TABLE,
        validator=_version,
        doc="The version whose changes come first, or latest: what comes after the connector has begun. By default "
        "the table as it is, then its changes.",
    )
    starting_timestamp = settings.String(
        "starting.timestamp",
        default=None,
        group=_TABLE,
        validator=_timestamp,
        doc="Instead of a version: changes from this moment on.",
    )
    skip_change_commits = settings.Boolean(
        "skip.change.commits",
        default=False,
        group=_TABLE,
        doc="With mode=appends: whether to skip versions that change or delete rows. Otherwise they fail the task.",
    )
    envelope = settings.String(
        "envelope",
        default=NONE,
        group=_RECORDS,
        importance="HIGH",
        validator=settings.one_of(NONE, DEBEZIUM, FLAT),
        doc="With mode=changes, the form of a value. none: the row. debezium: the row before and after (op, before, "
        "after, source). flat: each row of the feed with _change_type, _commit_version and _commit_timestamp.",
    )


class _FeedOptions(settings.Options):
    written_tombstones = settings.Boolean(
        "tombstones",
        default=None,
        group=_RECORDS,
        doc="With mode=changes: whether a null value follows a deletion: with envelope=none instead of the row, "
        "otherwise after the event. By default yes with key.fields, except for envelope=flat.",
    )
    most_files = settings.Int(
        "max.files.per.trigger",
        default=1000,
        group=_RUNNING,
        validator=settings.at_least(1),
        doc="About the most files of the table that one batch reads. A version's changes are never cut.",
    )
    most_bytes = settings.String(
        "max.bytes.per.trigger",
        default=None,
        group=_RUNNING,
        validator=_size,
        doc="About the largest part of the table that one batch reads: 512m, 10g.",
    )


class DeltaSourceOptions(_TableOptions, RowOptions, _FeedOptions, WriteOptions):
    """The keys of the source of a Delta table."""

    @property
    def topic(self) -> str:
        """The topic, the variable filled in."""
        last = self.table.rstrip("/").rpartition("/")[2].rpartition(".")[2]
        return self.written_topic.strip().replace(TABLE_VARIABLE, last)

    @property
    def tombstones(self) -> bool:
        """The value of `tombstones`, or its default."""
        if self.written_tombstones is not None:
            return self.written_tombstones
        return bool(self.key_fields) and self.envelope != FLAT


class _QueryOptions(settings.Options):
    query = settings.String(
        "query",
        group=_QUERY,
        importance="HIGH",
        width="LONG",
        validator=settings.non_empty,
        doc="The query, in Spark's SQL. A streaming one reads STREAM(table), or the view source (see source.format).",
    )
    topic = settings.String(
        "topic",
        group=_QUERY,
        importance="HIGH",
        validator=settings.non_empty,
        convert=str.strip,
        listed=settings.Listed.TOPICS,
        doc="The topic that rows go to.",
    )
    mode = settings.String(
        "mode",
        default=BATCH,
        group=_QUERY,
        importance="HIGH",
        validator=settings.one_of(BATCH, STREAM),
        doc="batch: the query is run again and again. stream: a streaming query.",
    )
    poll_interval = settings.Long(
        "poll.interval.ms",
        default=60_000,
        group=_QUERY,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="With mode=batch: the time from the start of one run to that of the next.",
    )
    incrementing_column = settings.String(
        "incrementing.column.name",
        default=None,
        group=_QUERY,
        doc="With mode=batch: a column of whole numbers that only grow. Each run reads the rows above the last one. "
        "Without this and timestamp.column.name each run reads all rows.",
    )
    timestamp_column = settings.String(
        "timestamp.column.name",
        default=None,
        group=_QUERY,
        doc="With mode=batch: a column with the time of a row's last change. incrementing.column.name distinguishes "
        "rows of the same moment.",
    )
    timestamp_delay_ms = settings.Long(
        "timestamp.delay.interval.ms",
        default=0,
        group=_QUERY,
        validator=settings.at_least(0),
        doc="The source reads rows when their timestamp is so old: for transactions that come late.",
    )
    source_format = settings.String(
        "source.format",
        default=None,
        group=_QUERY,
        doc="With mode=stream: a format that Spark reads as a stream (delta, parquet, rate, ...). The query finds it "
        f"as the view source. Its options stand under {OPTION}*.",
    )
    source_schema = settings.String(
        "source.schema",
        default=None,
        group=_QUERY,
        width="LONG",
        doc="With source.format, for formats that need it: the columns, as in CREATE TABLE.",
    )
    output_mode = settings.String(
        "output.mode",
        default="append",
        group=_QUERY,
        validator=settings.one_of("append", "update", "complete"),
        doc="With mode=stream, for queries that aggregate: which rows a batch returns.",
    )


class SqlSourceOptions(_QueryOptions, RowOptions, WriteOptions):
    """The keys of the source of a query."""


def is_path(table: str) -> bool:
    """Whether a table is given by its path."""
    return "/" in table
