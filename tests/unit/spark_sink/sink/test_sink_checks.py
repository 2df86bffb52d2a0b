"""Which configurations of the Spark sink are refused, with which words, and what others call the same."""

import subprocess
import sys

import pytest

from connect.plugins import PluginKind, Plugins
from spark_sink.sink.connector import SparkSinkConnector
from spark_sink.table_settings import TableOptions, checkpoint_location

GOOD = {"name": "orders", "topics": "orders", "table": "/lake/orders"}


def errors(changes: dict[str, str]) -> dict[str, list[str]]:
    values = SparkSinkConnector().validate({**GOOD, **changes})
    return {value.name: value.errors for value in values if value.errors}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mode": "upsert"},
        {"mode": "upsert", "pk.mode": "record_value", "pk.fields": "id,line"},
        {"mode": "overwrite", "partition.by": "day"},
        {"mode": "overwrite", "replace.where": "day = '2026-01-01'"},
        {"cluster.by": "customer", "compaction.interval.ms": "3600000"},
        {"table": "shop.orders", "checkpoint.location": "/lake/_checkpoints"},
        {"table": "/lake/${field}", "table.field": "country"},
        {"format": "console", "table": ""},
        {"format": "json"},
        {"errors.deadletter.table": "/lake/dead", "errors.tolerance": "all"},
        {"vacuum.interval.ms": "1", "vacuum.retention.hours": "168"},
        {
            "vacuum.interval.ms": "1",
            "vacuum.retention.hours": "0",
            "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        },
        {"engine": "worker"},
        {"mode": "upsert", "merge.sequence.by": "lsn,_offset", "metadata.columns": "offset"},
        {"mode": "upsert", "cdc.format": "debezium", "cdc.truncate": "ignore"},
        {"mode": "upsert", "delete.mode": "soft", "delete.column.type": "timestamp"},
        {"mode": "upsert", "scd.type": "2"},
        {"mode": "upsert", "scd.type": "2", "cdc.format": "debezium"},
        {"mode": "upsert", "scd.type": "2", "merge.sequence.by": "at", "delete.enabled": "false"},
        {
            "mode": "upsert",
            "cdc.format": "debezium",
            "pk.mode": "record_value",
            "pk.fields": "id",
            "delete.enabled": "true",
        },
        {"mode": "upsert", "merge.condition": "t.day = s.day", "engine": "worker"},
        {"compaction.interval.ms": "1", "optimize.zorder.by": "id", "optimize.where": "day > '2026'"},
        {"compaction.interval.ms": "1", "optimize.zorder.by": "id", "engine": "worker"},
        {"mode": "upsert", "scd.type": "2", "table.property.delta.enableDeletionVectors": "true"},
        {"mode": "upsert", "topics": "a.b,a_b", "table": "/lake/${topic}"},
        {"mode": "append", "topics": "a.b,a_b", "table": "lake.${topic}", "checkpoint.location": "/lake/_checkpoints"},
        {"foreach.batch": "shop.batches:take"},
        {"foreach.batch": "batches:take", "table": "", "checkpoint.location": "/lake/_checkpoints"},
    ],
)
def test_a_configuration_that_makes_sense_is_taken(changes: dict[str, str]) -> None:
    assert errors(changes) == {}


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"table": ""}, "table", "is required"),
        ({"table": "/lake/${day}"}, "table", '"${day}" means nothing'),
        ({"table": "/"}, "table", "is not a table"),
        ({"table": "/lake/${field}"}, "table", "table.field names no field"),
        ({"table.field": "country"}, "table.field", "has no effect"),
        ({"table": "orders"}, "checkpoint.location", "is a name"),
        ({"table": "s3a://lake"}, "checkpoint.location", "is a bucket"),
        ({"mode": "upsert", "topics": "a.b, a_B", "table": "l.${topic}"}, "table", 'of the topics "a.b" and "a_B"'),
        ({"format": "csv"}, "format", '"csv" is not one of'),
        ({"format": "parquet", "table": "orders"}, "table", "./orders"),
        ({"format": "parquet", "mode": "upsert"}, "mode", "files are only added"),
        ({"format": "iceberg", "table": "lake.shop.orders"}, "format", "no jar for Spark 4.2 yet"),
        ({"format": "json", "table.property.delta.appendOnly": "true"}, "format", "no table properties"),
        ({"mode": "upsert", "pk.mode": "record_value"}, "pk.fields", "is required"),
        (
            {"mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", "delete.enabled": "true"},
            "delete.enabled",
            "needs pk.mode=record_key",
        ),
        ({"delete.enabled": "true"}, "delete.enabled", "needs mode=upsert"),
        ({"mode": "overwrite"}, "mode", "needs partition.by"),
        ({"replace.where": "true"}, "replace.where", "needs mode=overwrite"),
        ({"cluster.by": "a", "partition.by": "b"}, "cluster.by", "excludes partition.by"),
        ({"cluster.by": "a,b,c,d,e"}, "cluster.by", "names 5 columns"),
        ({"partition.by": "a,A"}, "partition.by", "twice"),
        ({"metadata.columns": "offset,headers"}, "metadata.columns", '"headers" is not one of'),
        ({"metadata.columns": "offset:x,topic:X"}, "metadata.columns", "twice"),
        ({"trigger": "real_time"}, "trigger", "not for tables"),
        ({"ending.timestamp": "2026-01-02"}, "ending.timestamp", "needs trigger=available_now"),
        ({"ending.offsets": "latest"}, "ending.offsets", "needs trigger=available_now"),
        ({"starting.offsets": "earliest", "starting.timestamp": "1"}, "starting.offsets", "excludes"),
        (
            {"trigger": "available_now", "ending.offsets": "latest", "ending.timestamp": "1"},
            "ending.offsets",
            "excludes",
        ),
        ({"vacuum.interval.ms": "1", "vacuum.retention.hours": "1"}, "vacuum.retention.hours", "168"),
        ({"format": "json", "compaction.interval.ms": "1"}, "compaction.interval.ms", "needs format=delta"),
        ({"errors.deadletter.table": "/lake/dead"}, "errors.deadletter.table", "errors.tolerance=all"),
        (
            {"errors.deadletter.table": "/lake/orders/", "errors.tolerance": "all"},
            "errors.deadletter.table",
            "is the table itself",
        ),
        ({"schema.evolution.on.mismatch": "quarantine"}, "schema.evolution.on.mismatch", "errors.deadletter.table"),
        ({"schema.evolution.on.mismatch": "pass"}, "schema.evolution.on.mismatch", "not one of"),
        ({"schema.evolution": "none", "auto.evolve": "true"}, "schema.evolution", "contradicts"),
        ({"cdc.format": "debezium"}, "cdc.format", "ExtractNewRecordState"),
        ({"mode": "upsert", "cdc.format": "canal"}, "cdc.format", "not one of"),
        ({"mode": "upsert", "cdc.truncate": "fail"}, "cdc.truncate", "needs cdc.format"),
        (
            {"mode": "upsert", "cdc.unavailable.value.placeholder": "-"},
            "cdc.unavailable.value.placeholder",
            "needs cdc.format",
        ),
        ({"scd.type": "2"}, "scd.type", "needs mode=upsert"),
        ({"mode": "upsert", "scd.current.column": "now"}, "scd.current.column", "needs scd.type=2"),
        ({"mode": "upsert", "scd.type": "2", "delete.mode": "soft"}, "delete.mode", "excludes scd.type=2"),
        ({"mode": "upsert", "scd.type": "2", "merge.condition": "true"}, "merge.condition", "excludes scd.type=2"),
        ({"mode": "upsert", "scd.type": "2", "merge.sequence.by": "at"}, "merge.sequence.by", "delete.enabled=false"),
        (
            {"mode": "upsert", "scd.type": "2", "merge.sequence.by": "a,b", "delete.enabled": "false"},
            "merge.sequence.by",
            "one column",
        ),
        ({"delete.mode": "soft"}, "delete.mode", "needs mode=upsert"),
        ({"mode": "upsert", "delete.mode": "soft", "delete.enabled": "false"}, "delete.mode", "contradicts"),
        (
            {"mode": "upsert", "delete.mode": "soft", "pk.mode": "record_value", "pk.fields": "id"},
            "delete.mode",
            "record_key",
        ),
        (
            {"mode": "upsert", "delete.mode": "soft", "table": "/lake/${field}", "table.field": "c"},
            "delete.mode",
            "excludes ${field}",
        ),
        ({"mode": "upsert", "delete.column": "gone"}, "delete.column", "needs delete.mode=soft"),
        ({"merge.sequence.by": "lsn"}, "merge.sequence.by", "needs mode=upsert"),
        ({"merge.condition": "true"}, "merge.condition", "needs mode=upsert"),
        ({"mode": "upsert", "merge.sequence.by": "a,A"}, "merge.sequence.by", "twice"),
        ({"mode": "upsert", "merge.sequence.by": "_offset"}, "merge.sequence.by", "metadata.columns=offset"),
        ({"mode": "upsert", "pk.fields": "id", "merge.sequence.by": "ID"}, "merge.sequence.by", "part of the key"),
        ({"optimize.where": "day > '2026'"}, "optimize.where", "compaction.interval.ms=3600000"),
        ({"optimize.zorder.by": "id"}, "optimize.zorder.by", "has no effect without"),
        ({"compaction.interval.ms": "1", "optimize.zorder.by": "a,A"}, "optimize.zorder.by", "twice"),
        (
            {"compaction.interval.ms": "1", "optimize.zorder.by": "DAY", "partition.by": "day"},
            "optimize.zorder.by",
            "is of partition.by",
        ),
        (
            {"compaction.interval.ms": "1", "optimize.zorder.by": "id", "cluster.by": "day"},
            "optimize.zorder.by",
            "excludes cluster.by",
        ),
        (
            {"compaction.interval.ms": "1", "optimize.where": "day > 1", "cluster.by": "day"},
            "optimize.where",
            "excludes cluster.by",
        ),
        (
            {
                "engine": "worker",
                "mode": "upsert",
                "scd.type": "2",
                "table.property.delta.enableDeletionVectors": "true",
            },
            "scd.type",
            "needs engine=spark for tables with deletion vectors",
        ),
        ({"foreach.batch": "take"}, "foreach.batch", "Write its module and its name"),
        ({"foreach.batch": "a b:take"}, "foreach.batch", "is not a function"),
        ({"foreach.batch": "batches:take", "table": ""}, "checkpoint.location", "is empty"),
        ({"foreach.batch": "batches:take", "engine": "worker"}, "foreach.batch", "needs engine=spark"),
        ({"engine": "worker", "format": "json"}, "format", "needs engine=spark"),
        ({"engine": "worker", "table": "shop.orders"}, "table", "knows no catalog"),
    ],
)
def test_what_contradicts_itself_is_refused_with_advice(changes: dict[str, str], key: str, words: str) -> None:
    found = errors(changes)
    assert key in found, found
    assert any(words in message for message in found[key]), found
    assert all("\n" not in message for messages in found.values() for message in messages)


def test_keys_of_other_projects_are_understood_and_ours_win() -> None:
    jdbc = TableOptions.definition().named(
        {"insert.mode": "upsert", "table.name.format": "/lake/${topic}", "auto.evolve": "false"}
    )
    assert (jdbc["mode"], jdbc["table"], jdbc["schema.evolution"]) == ("upsert", "/lake/${topic}", "none")
    assert TableOptions.definition().named({"path": "/theirs", "table": "/ours"})["table"] == "/ours"
    assert TableOptions.parse({"path": "/lake/o", "partitionBy": "day,hour"}).partition_by == ("day", "hour")


@pytest.mark.parametrize(
    ("table", "folder"),
    [
        ("/lake/orders", "/lake/_checkpoints/c"),
        ("/lake/orders/", "/lake/_checkpoints/c"),
        ("/lake/in-${topic}/rows", "/lake/_checkpoints/c"),
        ("lake/orders", "lake/_checkpoints/c"),
        ("/orders", "/_checkpoints/c"),
        ("s3a://bucket/orders", "s3a://bucket/_checkpoints/c"),
        ("file:///lake/orders", "file:///lake/_checkpoints/c"),
        ("s3a://bucket", None),
        ("s3a://${topic}/orders", None),
        ("shop.orders", None),
    ],
)
def test_checkpoints_are_beside_the_table(table: str, folder: str | None) -> None:
    assert checkpoint_location({"name": "c", "table": table}) == folder
    assert checkpoint_location({"name": "c", "table": table, "checkpoint.location": "/mine"}) == "/mine"


def test_metadata_columns_have_names_of_their_own_if_asked() -> None:
    options = TableOptions.parse({"metadata.columns": "offset, timestamp:arrived"})
    assert options.metadata == (("offset", "_offset"), ("timestamp", "arrived"))


@pytest.mark.parametrize(
    "name", ["SparkSink", "SparkSinkConnector", "DeltaSinkConnector", "SparkDeltaSink", "DatabricksDeltaLakeSink"]
)
def test_the_connector_is_found_by_each_of_its_names(name: str) -> None:
    found = Plugins.discover().find(PluginKind.SINK, name)
    assert found.target == "spark_sink.sink.connector:SparkSinkConnector"


def test_a_configuration_is_checked_without_spark() -> None:
    code = (
        "import sys\n"
        "from spark_sink.sink.connector import SparkSinkConnector\n"
        "SparkSinkConnector().validate({'name': 'o', 'table': '/lake/o'})\n"
        "print(sorted({'pyspark', 'deltalake', 'pyarrow'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
