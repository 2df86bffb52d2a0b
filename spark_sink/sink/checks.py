"""Contradictions in a Spark sink's configuration: one line each, with what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connect.data.evolution_policy import EvolutionPolicy
from connect.errors import ConfigError
from spark_sink.layout_keys import CONSOLE, DELTA, FIELD, GENERATED, ICEBERG, TABLE_PROPERTY, TOPIC, is_path
from spark_sink.merge_keys import NONE, SOFT
from spark_sink.row_keys import APPEND, METADATA, OVERWRITE, UPSERT
from spark_sink.rows.sql_types import schema_of_sql
from spark_sink.table_rules import SAFE_HOURS, table_for
from spark_sink.table_settings import TableKeys, checkpoint_location

_NO_SEQUENCE: Final = (
    "is a field of the value, and a record without a value, which ends a version, has none. Write "
    "delete.enabled=false, or leave merge.sequence.by out: then the record's timestamp counts."
)
Problem = tuple[str, str]

_DELETION_VECTORS: Final = "delta.enabledeletionvectors"
_NO_ICEBERG: Final = (
    "iceberg is not possible: Iceberg has no jar for Spark 4.2 yet, and its newest, for 4.1, cannot be loaded there. "
    "Write format=delta, or use IcebergSinkConnector, which needs no Spark."
)
_SHORT_RETENTION: Final = (
    "is less than the 168 that Delta thinks safe. Write 168, or, where no query and no writer takes that long, "
    "spark.databricks.delta.retentionDurationCheck.enabled=false as well."
)


def problems(options: TableKeys, engine: str) -> Iterator[Problem]:
    """Key and message of every contradiction, for one of the engines, "spark" or "worker"."""
    yield from _table(options)
    yield from _mode(options)
    yield from _merging(options)
    yield from _layout(options)
    yield from _running(options, engine)
    yield from _care(options)
    yield from _errors(options, engine)
    if engine == "worker":
        yield from _without_spark(options)


def _table(options: TableKeys) -> Iterator[Problem]:
    table, kind, field = options.written_table or "", options.format, options.table_field
    if kind == ICEBERG:
        yield "format", _NO_ICEBERG
    if kind in (CONSOLE, ICEBERG):
        return
    if not table and not options.hook:
        yield "table", "is required and has no default. Write a path such as /lake/orders, or a table's name."
    elif table and kind in ("parquet", "json") and not is_path(table):
        yield "table", f'"{table}" is not a path, and format={kind} writes files in a folder. Write a path: ./{table}.'
    if field and FIELD not in table:
        yield "table.field", "has no effect: table does not contain ${field}. Write table=/lake/${field}, for example."
    if FIELD in table and not field:
        yield "table", "contains ${field}, and table.field names no field. Write table.field=country, for example."
    yield from _topics_of_one_table(options)


def _topics_of_one_table(options: TableKeys) -> Iterator[Problem]:
    """Topics whose rows would replace each other's. Transformations may give topics other names."""
    table, raw = options.written_table or "", options.config.raw
    if options.mode == APPEND or TOPIC not in table or is_path(table) or (raw.get("transforms") or "").strip():
        return
    first: dict[str, str] = {}
    for topic in filter(None, map(str.strip, (raw.get("topics") or "").split(","))):
        name = table_for(table, topic, None)
        if (other := first.setdefault(name.lower(), topic)) != topic:
            advice = "Write a path, or give one of them another name with RegexRouter."
            yield (
                "table",
                f'makes one of the topics "{other}" and "{topic}", which replace each other\'s rows. {advice}',
            )


def _mode(options: TableKeys) -> Iterator[Problem]:
    mode, kind, raw = options.mode, options.format, options.config.raw
    if mode != APPEND and kind not in (DELTA, ICEBERG):
        yield "mode", f"{mode} is not possible with format={kind}: files are only added. Write mode=append."
    if mode == UPSERT and not options.pk_from_key and not options.pk_fields:
        yield "pk.fields", "is required by mode=upsert with pk.mode=record_value. Name the fields that make the key."
    in_value = not options.pk_from_key and options.cdc_format == NONE
    if mode == UPSERT and in_value and _is_true(raw.get("delete.enabled")):
        yield "delete.enabled", "needs pk.mode=record_key: a record without a value has no fields that name a row."
    if mode == UPSERT and FIELD in (options.written_table or "") and _is_true(raw.get("delete.enabled")):
        yield (
            "delete.enabled",
            "excludes ${field} in table: a record without a value has no field that names its table.",
        )
    if mode != UPSERT and _is_true(raw.get("delete.enabled")):
        yield "delete.enabled", f"needs mode=upsert: with mode={mode} rows have no keys to be deleted by."
    if mode == OVERWRITE and not options.partition_by and not options.replace_where:
        yield "mode", "overwrite needs partition.by, or replace.where: they say what each batch replaces."
    if options.replace_where and (mode != OVERWRITE or kind != DELTA):
        yield "replace.where", "needs mode=overwrite and format=delta."


def _merging(options: TableKeys) -> Iterator[Problem]:
    for key, written in (("merge.sequence.by", options.sequence), ("merge.condition", options.merge_condition)):
        if written and options.mode != UPSERT:
            yield key, f"needs mode=upsert: with mode={options.mode} no row is changed by a record."
    if options.cdc_format != NONE and options.mode != UPSERT:
        yield "cdc.format", f"needs mode=upsert. With mode={options.mode} use the transformation ExtractNewRecordState."
    if options.cdc_format == NONE:
        for key in ("cdc.position.column", "cdc.truncate", "cdc.unavailable.value.placeholder"):
            if options.config.raw.get(key) is not None:
                yield key, "needs cdc.format=debezium."
    yield from _deleting(options)
    yield from _versions(options)
    columns = {column.lower() for _, column in options.metadata}
    keys = {name.lower() for name in options.pk_fields}
    for name in options.sequence:
        default = [what for what, (column, _) in METADATA.items() if column == name.lower()]
        if default and name.lower() not in columns:
            yield (
                "merge.sequence.by",
                f'"{name}" is not among the columns. Write metadata.columns={default[0]} as well.',
            )
        if name.lower() in keys:
            yield "merge.sequence.by", f'"{name}" is part of the key, and so the same in all records of a key.'


def _deleting(options: TableKeys) -> Iterator[Problem]:
    soft, raw = options.delete_mode == SOFT, options.config.raw
    if soft and options.mode != UPSERT:
        yield "delete.mode", f"soft needs mode=upsert: with mode={options.mode} no row is deleted."
    elif soft and not options.delete_enabled:
        yield "delete.mode", "soft contradicts delete.enabled=false, which leaves deletions out."
    elif soft and not options.pk_from_key and options.cdc_format == NONE:
        yield "delete.mode", "soft needs pk.mode=record_key: a record without a value has no fields that name a row."
    elif soft and FIELD in (options.written_table or ""):
        yield "delete.mode", "soft excludes ${field} in table: a record without a value has no field that names it."
    for key in ("delete.column", "delete.column.type"):
        if raw.get(key) is not None and not soft:
            yield key, "needs delete.mode=soft."


def _versions(options: TableKeys) -> Iterator[Problem]:
    raw = options.config.raw
    if options.scd_type != "2":
        for key in ("scd.valid.from.column", "scd.valid.to.column", "scd.current.column"):
            if raw.get(key) is not None:
                yield key, "needs scd.type=2."
        return
    if options.mode != UPSERT:
        yield "scd.type", f"2 needs mode=upsert: with mode={options.mode} rows have no keys, and so no versions."
    if options.delete_mode == SOFT:
        yield "delete.mode", "soft excludes scd.type=2, where a deletion ends a version and removes nothing."
    if options.merge_condition:
        yield "merge.condition", "excludes scd.type=2, which needs all versions of a key."
    if len(options.sequence) > 1:
        yield "merge.sequence.by", "takes one column with scd.type=2: the one that says when a version begins."
    of_record = {column.lower() for _, column in options.metadata}
    tombstones = options.pk_from_key and options.delete_enabled and options.cdc_format == NONE
    if tombstones and options.sequence and options.sequence[0].lower() not in of_record:
        yield "merge.sequence.by", _NO_SEQUENCE


def _layout(options: TableKeys) -> Iterator[Problem]:
    kind = options.format
    if options.cluster_by and kind != DELTA:
        yield "cluster.by", f"needs format=delta; {kind} knows no clustering. Write partition.by, or leave it out."
    if options.cluster_by and options.partition_by:
        yield "cluster.by", "excludes partition.by: a table is clustered or partitioned. Leave one of them out."
    if len(options.cluster_by) > 4:
        yield "cluster.by", f"names {len(options.cluster_by)} columns, and Delta takes four at most."
    if options.column_mapping != "none" and kind != DELTA:
        yield "column.mapping", "needs format=delta."
    if kind not in (DELTA, ICEBERG) and options.config.prefixed(TABLE_PROPERTY):
        yield "format", f"{kind} has no table properties: leave out the keys that start with {TABLE_PROPERTY}"
    if kind not in (DELTA, ICEBERG) and options.config.prefixed(GENERATED):
        yield "format", f"{kind} has no generated columns: leave out the keys that start with {GENERATED}"
    if kind not in (DELTA, ICEBERG) and options.rescued:
        yield "rescued.data.column", f"needs format=delta. With {kind} the files of a batch have its own columns."
    if kind not in (DELTA, ICEBERG, CONSOLE) and options.hints:
        yield "schema.hints", "needs format=delta. Or cast with the transformation Cast."


def _running(options: TableKeys, engine: str) -> Iterator[Problem]:
    if options.trigger == "real_time":
        yield "trigger", "real_time is not for tables: Delta and files refuse it. Write trigger=interval."
    if options.starting_offsets and options.starting_ms is not None:
        yield "starting.offsets", "excludes starting.timestamp. Give one of them."
    if options.ending_offsets and options.ending_ms is not None:
        yield "ending.offsets", "excludes ending.timestamp. Give one of them."
    for key, ends in (("ending.offsets", options.ending_offsets), ("ending.timestamp", options.ending_ms is not None)):
        if ends and options.trigger not in {"available_now", "once"}:
            yield key, "needs trigger=available_now, with which the connector rests when it has read all."
    table = options.written_table
    needs_checkpoint = options.format not in (CONSOLE, ICEBERG) and engine != "worker"
    if (table or options.hook) and needs_checkpoint and checkpoint_location(options.config.raw) is None:
        what = "is a bucket as a whole or begins with a variable" if is_path(table or "") else "is a name"
        what = what if table else "is empty"
        yield "checkpoint.location", f"is required because table {what}. Write a folder that all workers reach."


def _care(options: TableKeys) -> Iterator[Problem]:
    for key, seconds in (("compaction.interval.ms", options.compaction_s), ("vacuum.interval.ms", options.vacuum_s)):
        if seconds and options.format != DELTA:
            yield key, f"needs format=delta: files of format={options.format} are never touched again. Write 0."
    if options.zorder and options.cluster_by:
        yield "optimize.zorder.by", "excludes cluster.by, which orders a table's rows as well. Leave one of them out."
    if options.optimized and options.cluster_by:
        yield "optimize.where", "excludes cluster.by: it chooses partitions, and a clustered table has none."
    if not options.compaction_s:
        for key, value in (("optimize.zorder.by", options.zorder), ("optimize.where", options.optimized)):
            if value:
                yield key, "has no effect without compaction.interval.ms. Write compaction.interval.ms=3600000 as well."
    partitions = {name.lower() for name in options.partition_by}
    if both := next((name for name in options.zorder if name.lower() in partitions), None):
        yield "optimize.zorder.by", f'"{both}" is of partition.by: the rows of a file have one value of it anyway.'
    unchecked = str(options.config.raw.get("spark.databricks.delta.retentionDurationCheck.enabled", "")).strip().lower()
    if options.vacuum_s and options.retention_hours < SAFE_HOURS and unchecked != "false":
        yield "vacuum.retention.hours", _SHORT_RETENTION


def _errors(options: TableKeys, engine: str) -> Iterator[Problem]:
    dead, kind = options.dead_letters, options.format
    try:
        EvolutionPolicy.of(options.config)
    except ConfigError as error:
        yield "schema.evolution", f"{error.key} {error.message}"
    if options.mismatch == "quarantine" and not dead and engine != "worker":
        yield "schema.evolution.on.mismatch", "quarantine needs errors.deadletter.table, where such records go."
    if not dead:
        return
    if kind != DELTA:
        yield "errors.deadletter.table", f"needs format=delta; with format={kind} use a dead letter topic."
    if TOPIC in dead or FIELD in dead:
        yield "errors.deadletter.table", "contains a variable, and there is one for all topics. Write a plain path."
    if dead.rstrip("/") == (options.written_table or "").rstrip("/"):
        yield "errors.deadletter.table", "is the table itself. Give dead letters a table of their own."
    if str(options.config.raw.get("errors.tolerance") or "none").strip() != "all":
        yield "errors.deadletter.table", "needs errors.tolerance=all: with none the first bad record fails the task."


def _without_spark(options: TableKeys) -> Iterator[Problem]:
    if options.format != DELTA:
        yield "format", f"{options.format} needs engine=spark. Write format=delta, or leave engine out."
    if options.written_table and not is_path(options.written_table):
        yield "table", "is a name, and engine=worker knows no catalog. Write the table's path."
    if options.column_mapping != "none":
        yield "column.mapping", "needs engine=spark: the deltalake package cannot write such tables in full."
    if options.cluster_by:
        yield "cluster.by", "needs engine=spark: the deltalake package knows no clustering. partition.by works."
    if options.scd_type == "2" and any(
        name.lower() == _DELETION_VECTORS and _is_true(value)
        for name, value in options.config.prefixed(TABLE_PROPERTY).items()
    ):
        yield (
            "scd.type",
            "2 needs engine=spark for tables with deletion vectors, which the deltalake package cannot read.",
        )
    if options.starting_offsets:
        yield "starting.offsets", "needs engine=spark. Alter the connector's offsets, or write starting.timestamp."
    if options.trigger in {"available_now", "once"}:
        yield "trigger", f"{options.trigger} needs engine=spark. Write trigger=interval, or leave it out."
    if options.hook:
        yield "foreach.batch", "needs engine=spark: the worker has no DataFrames. Or write a transformation, or a sink."
    if generated := options.config.prefixed(GENERATED):
        yield GENERATED + next(iter(generated)), "needs engine=spark: the deltalake package cannot make such tables."
    for name, kind in options.hints:
        try:
            schema_of_sql(kind)
        except ValueError as problem:
            why = f'"{kind}", of the column "{name}", is not a type of engine=worker: {problem}.'
            yield "schema.hints", f"{why} Write another, or engine=spark."
    if options.dead_letters:
        yield "errors.deadletter.table", "needs engine=spark. Name a topic: errors.deadletterqueue.topic.name."


def _is_true(written: object) -> bool:
    return str(written).strip().lower() == "true"
