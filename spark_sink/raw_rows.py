"""Rows that are records as stored in Kafka, before any converter, and rows that are only ranges of offsets."""

from __future__ import annotations

from typing import Final

#: The columns and their types in Spark's SQL. `timestamp` is in ms since the epoch; it and `headers` are null where the
#: record has none.
RAW_COLUMNS: Final = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "bigint",
    "timestamp_type": "string",
    "key": "binary",
    "value": "binary",
    "headers": "array<struct<key:string,value:binary>>",
}
#: The same as a schema that Spark parses; that takes a JVM.
RAW_SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in RAW_COLUMNS.items())
#: Rows that are ranges of offsets: from `start` up to, not including, `end`.
RANGES_SCHEMA: Final = "topic string, partition int, start bigint, end bigint"
