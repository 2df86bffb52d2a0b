"""The keys of how records become rows: the mode, the key, further columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from connect import settings
from spark_sink.column_names import distinct

APPEND: Final = "append"
UPSERT: Final = "upsert"
OVERWRITE: Final = "overwrite"

#: What `metadata.columns` may name, with the columns that hold it by default and their types in Spark's SQL.
METADATA: Final[Mapping[str, tuple[str, str]]] = {
    "topic": ("_topic", "string"),
    "partition": ("_partition", "int"),
    "offset": ("_offset", "bigint"),
    "timestamp": ("_timestamp", "timestamp"),
    "key": ("_key", "the key's"),
}

_WRITING, _COLUMNS = "Writing", "Columns"

_COLUMN: Final = re.compile(r"(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<name>\w+))\s+(?P<type>[A-Za-z][\w\s(),<>:`]*)")


def _metadata(value: list[str]) -> tuple[tuple[str, str], ...]:
    columns = []
    for item in value:
        what, _, column = item.partition(":")
        if what not in METADATA:
            raise ValueError(f'"{what}" is not one of {", ".join(METADATA)}. Write offset, or offset:its_column.')
        columns.append((what, column or METADATA[what][0]))
    if len({column.lower() for _, column in columns}) < len(columns):
        raise ValueError("names a column twice.")
    return tuple(columns)


def hinted(written: str) -> tuple[tuple[str, str], ...]:
    """Columns and their types in SQL, as ``amount decimal(18,2), day date`` has them.

    Raises:
        ValueError: it is not such a list, or names a column twice.
    """
    found: list[tuple[str, str]] = []
    for part in filter(None, map(str.strip, _split(written))):
        match = _COLUMN.fullmatch(part)
        if match is None:
            raise ValueError(f'"{part}" is not a column and its type. Write amount decimal(18,2), day date.')
        found.append(((match["quoted"] or match["name"]).replace("``", "`"), match["type"]))
    if len({name.lower() for name, _ in found}) < len(found):
        raise ValueError("names a column twice.")
    return tuple(found)


def _split(written: str) -> list[str]:
    """The parts between commas that are in no brackets."""
    parts, depth = [""], 0
    for char in written:
        depth += (char in "(<") - (char in ")>")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _hinted(_: str, value: str) -> None:
    hinted(value)


class RowOptions(settings.Options):
    """How records become rows."""

    mode = settings.String(
        "mode",
        default=APPEND,
        importance="HIGH",
        group=_WRITING,
        validator=settings.one_of(APPEND, UPSERT, OVERWRITE),
        doc="append: each record is a row. upsert: the newest record of a key is its row. overwrite: the records of a "
        "batch replace the partitions that they belong to, or the rows of replace.where.",
    )
    pk_from_key = settings.String(
        "pk.mode",
        default="record_key",
        group=_WRITING,
        validator=settings.one_of("record_key", "record_value"),
        convert=lambda word: word == "record_key",
        doc="For upsert: whether the key is the record's key, or made of fields of its value (record_value).",
    )
    pk_fields = settings.List(
        "pk.fields",
        default=[],
        group=_WRITING,
        width="LONG",
        validator=distinct,
        convert=tuple[str, ...],
        doc="For upsert: the columns that make the key. With record_key and a struct as key: some of its "
        "fields, all when empty. With any other key: the one column that holds it, key when empty. With "
        "record_value: required.",
    )
    delete_enabled = settings.Boolean(
        "delete.enabled",
        default=True,
        group=_WRITING,
        doc="For upsert: whether a tombstone (a record without a value) deletes the row of its key. If not, and in "
        "other modes, the sink leaves it out, as with pk.mode=record_value, where a tombstone names no key.",
    )
    replace_where = settings.String(
        "replace.where",
        default=None,
        importance="LOW",
        group=_WRITING,
        width="LONG",
        convert=lambda written: written or None,
        doc="For overwrite: a condition in SQL. Each batch replaces the rows that it is true for, and all "
        "records of the batch must make it true. Without, each batch replaces the partitions that it has "
        "records of.",
    )
    metadata = settings.List(
        "metadata.columns",
        default=[],
        group=_COLUMNS,
        width="LONG",
        convert=_metadata,
        doc="Further columns beside the value's fields: topic, partition, offset, timestamp (of the record, where it "
        "was consumed), key. Named _topic and so on, or as said: offset:kafka_offset.",
    )
    hints = settings.String(
        "schema.hints",
        default="",
        group="Schema",
        width="LONG",
        validator=_hinted,
        convert=hinted,
        doc="The types of columns, in SQL: amount decimal(18,2), day date. What records have under these names is cast "
        "to them (SQL's try_cast), whatever it is; a value of which nothing can be made does not fit the table.",
    )
    rescued = settings.String(
        "rescued.data.column",
        default=None,
        group="Schema",
        convert=lambda written: written or None,
        doc="A column that keeps, as a text of JSON, what of a record does not fit the table: values of other types, "
        "and fields that may not be added. The record is written with null in their place. Without it such a record "
        "does not fit, and schema.evolution.on.mismatch decides.",
    )
