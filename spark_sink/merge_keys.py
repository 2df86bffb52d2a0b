"""The keys of merges: which of two records of a key is newer, and where its row is looked for."""

from __future__ import annotations

from typing import Final, NamedTuple

from connect import settings
from connect.data.unavailable import UNAVAILABLE
from spark_sink.column_names import distinct

#: Words of `cdc.format`.
DEBEZIUM: Final = "debezium"
NONE: Final = "none"

#: Words of `delete.mode`.
HARD: Final = "hard"
SOFT: Final = "soft"

MERGING: Final = "Merging"


class Ends(NamedTuple):
    """The columns that say when a version was valid."""

    valid_from: str
    valid_to: str
    is_current: str


class MergeOptions(settings.Options):
    """The keys of mode=upsert beside those of the key itself."""

    sequence = settings.List(
        "merge.sequence.by",
        default=[],
        group=MERGING,
        width="LONG",
        validator=distinct,
        convert=tuple[str, ...],
        doc="Columns that say which record of a key is newer, the first one first: fields of the value, or columns of "
        "metadata.columns. A record with a smaller sequence than its key's row changes nothing, however late it comes; "
        "null is smaller than any value. Empty: the order in Kafka decides.",
    )
    merge_condition = settings.String(
        "merge.condition",
        default=None,
        importance="LOW",
        group=MERGING,
        width="LONG",
        convert=lambda written: written or None,
        doc="A condition in SQL on the table's row, t, and the record's, s, beside the equality of keys: t.day >= "
        "'2026-01-01', for example, so that older files are not read. It must be true for each key's row, or the "
        "record becomes a second row.",
    )
    delete_mode = settings.String(
        "delete.mode",
        default=HARD,
        group=MERGING,
        validator=settings.one_of(HARD, SOFT),
        doc="hard: a deletion removes its key's row. soft: the row stays as it was, and delete.column says that it is "
        "deleted; a later record of the key makes it alive again, a late one does not (merge.sequence.by).",
    )
    delete_column = settings.String(
        "delete.column",
        default="_deleted",
        importance="LOW",
        group=MERGING,
        validator=settings.non_empty,
        doc="With delete.mode=soft: the column that says whether a row is deleted.",
    )
    delete_column_type = settings.String(
        "delete.column.type",
        default="boolean",
        importance="LOW",
        group=MERGING,
        validator=settings.one_of("boolean", "timestamp"),
        doc="boolean: true for a deleted row. timestamp: the timestamp of the record that deleted it, null for a row "
        "that is alive.",
    )
    scd_type = settings.String(
        "scd.type",
        default="1",
        group=MERGING,
        validator=settings.one_of("1", "2"),
        doc="1: a table has one row for each key. 2: it has a row for each version of a key (slowly changing dimension "
        "of type 2), from when to when it was valid.",
    )
    valid_from = settings.String(
        "scd.valid.from.column",
        default="valid_from",
        importance="LOW",
        group=MERGING,
        validator=settings.non_empty,
        doc="With scd.type=2: the column for when a version began, of the sequence's type.",
    )
    valid_to = settings.String(
        "scd.valid.to.column",
        default="valid_to",
        importance="LOW",
        group=MERGING,
        validator=settings.non_empty,
        doc="With scd.type=2: the column for when the next version began, or the key was deleted; null until then.",
    )
    is_current = settings.String(
        "scd.current.column",
        default="is_current",
        importance="LOW",
        group=MERGING,
        validator=settings.non_empty,
        doc="With scd.type=2: the column that is true for the newest version of a key that was not deleted.",
    )
    cdc_format = settings.String(
        "cdc.format",
        default=NONE,
        group=MERGING,
        validator=settings.one_of(NONE, DEBEZIUM),
        doc="debezium: values are change events of Debezium (before, after, op, source), with a schema or without. The "
        "sink merges the row of each, and deletes by op=d. none: values are rows.",
    )
    cdc_position = settings.String(
        "cdc.position.column",
        default="_source_position",
        importance="LOW",
        group=MERGING,
        validator=settings.non_empty,
        doc="With cdc.format=debezium: the column that holds an event's position in its source's log, as a text that "
        "sorts as the log does. It is the sequence, unless merge.sequence.by says otherwise.",
    )
    cdc_timestamp = settings.String(
        "cdc.timestamp.column",
        default="_source_timestamp",
        importance="LOW",
        group=MERGING,
        validator=settings.non_empty,
        doc="With cdc.format=debezium: the column that holds when the source made the change (source.ts_ms).",
    )
    cdc_truncate = settings.String(
        "cdc.truncate",
        default="fail",
        importance="LOW",
        group=MERGING,
        validator=settings.one_of("fail", "ignore"),
        doc="With cdc.format=debezium: what an event means that says that the source's table was emptied: fail (it is "
        "an error, or a dead letter), ignore (the rows stay).",
    )
    cdc_unavailable = settings.String(
        "cdc.unavailable.value.placeholder",
        default=UNAVAILABLE,
        importance="LOW",
        group=MERGING,
        doc="With cdc.format=debezium: what stands for a value that the database did not send, because an update did "
        "not change it (unavailable.value.placeholder of the source). The column keeps its content. Empty: the "
        "placeholder is written as any value.",
    )
