"""What contradicts itself in a Spark sink's configuration: one line each, with what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connect.data.evolution_policy import EvolutionPolicy
from connect.errors import ConfigError
from connect.settings import Config
from spark_sink.table_settings import (
    APPEND,
    CONSOLE,
    DELTA,
    FIELD,
    ICEBERG,
    OVERWRITE,
    TABLE_PROPERTY,
    TOPIC,
    UPSERT,
    checkpoint_location,
    is_path,
)

Problem = tuple[str, str]

_NO_ICEBERG: Final = (
    "iceberg is not possible: Iceberg has no jar for Spark 4.2 yet, and its newest, for 4.1, cannot be loaded there. "
    "Write format=delta."
)
_SHORT_RETENTION: Final = (
    "is less than the 168 that Delta thinks safe. Write 168, or, where no query and no writer takes that long, "
    "spark.databricks.delta.retentionDurationCheck.enabled=false as well."
)


def problems(parsed: Config, engine: str) -> Iterator[Problem]:
    """Key and message of everything that does not go together.

    Args:
        parsed: as `TableOptions.definition()` parses them.
        engine: "spark" or "worker".
    """
    yield from _table(parsed)
    yield from _mode(parsed)
    yield from _layout(parsed)
    yield from _running(parsed, engine)
    yield from _care(parsed)
    yield from _errors(parsed, engine)
    if engine == "worker":
        yield from _without_spark(parsed)


def _table(parsed: Config) -> Iterator[Problem]:
    table, kind, field = parsed["table"] or "", parsed["format"], parsed["table.field"]
    if kind == ICEBERG:
        yield "format", _NO_ICEBERG
    if kind in (CONSOLE, ICEBERG):
        return
    if not table:
        yield "table", "is required and has no default. Write a path such as /lake/orders, or a table's name."
    elif kind in ("parquet", "json") and not is_path(table):
        yield "table", f'"{table}" is no path, and format={kind} writes files in a folder. Write a path: ./{table}.'
    if field and FIELD not in table:
        yield "table.field", "has no effect: table does not contain ${field}. Write table=/lake/${field}, for example."
    if FIELD in table and not field:
        yield "table", "contains ${field}, and table.field names no field. Write table.field=country, for example."


def _mode(parsed: Config) -> Iterator[Problem]:
    mode, kind, raw = parsed["mode"], parsed["format"], parsed.raw
    if mode != APPEND and kind not in (DELTA, ICEBERG):
        yield "mode", f"{mode} is not possible with format={kind}: files are only added. Write mode=append."
    if mode == UPSERT and parsed["pk.mode"] == "record_value" and not parsed["pk.fields"]:
        yield "pk.fields", "is required by mode=upsert with pk.mode=record_value. Name the fields that make the key."
    if mode == UPSERT and parsed["pk.mode"] == "record_value" and _is_true(raw.get("delete.enabled")):
        yield "delete.enabled", "needs pk.mode=record_key: a record without a value has no fields that name a row."
    if mode == UPSERT and FIELD in (parsed["table"] or "") and _is_true(raw.get("delete.enabled")):
        yield (
            "delete.enabled",
            "excludes ${field} in table: a record without a value has no field that names its table.",
        )
    if mode != UPSERT and _is_true(raw.get("delete.enabled")):
        yield "delete.enabled", f"needs mode=upsert: with mode={mode} rows have no keys to be deleted by."
    if mode == OVERWRITE and not parsed["partition.by"] and not parsed["replace.where"]:
        yield "mode", "overwrite needs partition.by, or replace.where: they say what each batch replaces."
    if parsed["replace.where"] and (mode != OVERWRITE or kind != DELTA):
        yield "replace.where", "needs mode=overwrite and format=delta."


def _layout(parsed: Config) -> Iterator[Problem]:
    kind = parsed["format"]
    if parsed["cluster.by"] and kind != DELTA:
        yield "cluster.by", f"needs format=delta; {kind} knows no clustering. Write partition.by, or leave it out."
    if parsed["cluster.by"] and parsed["partition.by"]:
        yield "cluster.by", "excludes partition.by: a table is clustered or partitioned. Leave one of them out."
    if len(parsed["cluster.by"]) > 4:
        yield "cluster.by", f"names {len(parsed['cluster.by'])} columns, and Delta takes four at most."
    if parsed["column.mapping"] != "none" and kind != DELTA:
        yield "column.mapping", "needs format=delta."
    if kind not in (DELTA, ICEBERG) and parsed.prefixed(TABLE_PROPERTY):
        yield "format", f"{kind} has no table properties: leave out the keys that start with {TABLE_PROPERTY}"


def _running(parsed: Config, engine: str) -> Iterator[Problem]:
    if parsed["trigger"] == "real_time":
        yield "trigger", "real_time is not for tables: Delta and files refuse it. Write trigger=interval."
    needs_checkpoint = parsed["format"] not in (CONSOLE, ICEBERG) and parsed["table"] and engine != "worker"
    if needs_checkpoint and checkpoint_location(parsed.raw) is None:
        what = "is a bucket as a whole or begins with a variable" if is_path(parsed["table"]) else "is a name"
        yield "checkpoint.location", f"is required because table {what}. Write a folder that all workers reach."


def _care(parsed: Config) -> Iterator[Problem]:
    for key in ("compaction.interval.ms", "vacuum.interval.ms"):
        if parsed[key] and parsed["format"] != DELTA:
            yield key, f"needs format=delta: files of format={parsed['format']} are never touched again. Write 0."
    unchecked = str(parsed.raw.get("spark.databricks.delta.retentionDurationCheck.enabled", "")).strip().lower()
    if parsed["vacuum.interval.ms"] and parsed["vacuum.retention.hours"] < 168 and unchecked != "false":
        yield "vacuum.retention.hours", _SHORT_RETENTION


def _errors(parsed: Config, engine: str) -> Iterator[Problem]:
    dead, kind = parsed["errors.deadletter.table"], parsed["format"]
    try:
        EvolutionPolicy.of(parsed)
    except ConfigError as error:
        yield "schema.evolution", f"{error.key} {error.message}"
    if parsed["schema.evolution.on.mismatch"] == "quarantine" and not dead and engine != "worker":
        yield "schema.evolution.on.mismatch", "quarantine needs errors.deadletter.table, where such records go."
    if not dead:
        return
    if kind != DELTA:
        yield "errors.deadletter.table", f"needs format=delta; with format={kind} use a dead letter topic."
    if TOPIC in dead or FIELD in dead:
        yield "errors.deadletter.table", "contains a variable, and there is one for all topics. Write a plain path."
    if dead.rstrip("/") == (parsed["table"] or "").rstrip("/"):
        yield "errors.deadletter.table", "is the table itself. Give dead letters a table of their own."
    if str(parsed.raw.get("errors.tolerance") or "none").strip() != "all":
        yield "errors.deadletter.table", "needs errors.tolerance=all: with none the first bad record fails the task."


def _without_spark(parsed: Config) -> Iterator[Problem]:
    if parsed["format"] != DELTA:
        yield "format", f"{parsed['format']} needs engine=spark. Write format=delta, or leave engine out."
    if parsed["table"] and not is_path(parsed["table"]):
        yield "table", "is a name, and engine=worker knows no catalog. Write the table's path."
    if parsed["column.mapping"] != "none":
        yield "column.mapping", "needs engine=spark: the deltalake package cannot write such tables in full."
    if parsed["cluster.by"]:
        yield "cluster.by", "needs engine=spark: the deltalake package knows no clustering. partition.by works."
    if parsed["trigger"] in {"available_now", "once"}:
        yield "trigger", f"{parsed['trigger']} needs engine=spark. Write trigger=interval, or leave it out."
    if parsed["errors.deadletter.table"]:
        yield "errors.deadletter.table", "needs engine=spark. Name a topic: errors.deadletterqueue.topic.name."


def _is_true(written: object) -> bool:
    return str(written).strip().lower() == "true"
