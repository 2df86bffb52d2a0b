"""Keys of other projects' connectors for tables: what they are called here, or why they have no effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect import settings
from spark_sink.row_keys import APPEND, UPSERT

_ROUTES: Final = "table says where records go: ${topic}, or ${field} with table.field"
_COMMITS: Final = "a task commits what it wrote by itself, with its offsets, and needs no topic for that"

_TRUE_ADDS: Final = {"true": "add", "false": "none"}

ALIASES: Final[Mapping[str, str | settings.Alias]] = {
    # The JDBC sinks.
    "insert.mode": settings.Alias("mode", words={"insert": APPEND, "upsert": UPSERT}),
    "table.name.format": "table",
    "auto.evolve": settings.Alias("schema.evolution", words=_TRUE_ADDS),
    # kafka-delta-ingest.
    "table_location": "table",
    "dlq_table_location": "errors.deadletter.table",
    # Databricks' Delta Lake sink of Confluent.
    "delta.lake.table.auto.create": "auto.create",
    "flush.interval.ms": "trigger.interval.ms",
    # Iceberg's sink.
    "iceberg.tables": "table",
    "iceberg.tables.auto-create-enabled": "auto.create",
    "iceberg.tables.default-id-columns": "pk.fields",
    "iceberg.tables.default-partition-by": "partition.by",
    "iceberg.tables.evolve-schema-enabled": settings.Alias("schema.evolution", words={"true": "full", "false": "none"}),
    "iceberg.control.commit.interval-ms": "trigger.interval.ms",
    # Options of Spark's own writers.
    "path": "table",
    "outputMode": settings.Alias("mode", words={"append": APPEND, "update": UPSERT}),
    "partitionBy": "partition.by",
    "clusterBy": "cluster.by",
    "merge.schema": settings.Alias("schema.evolution", words=_TRUE_ADDS),
    "mergeSchema": settings.Alias("schema.evolution", words=_TRUE_ADDS),
    "replaceWhere": "replace.where",
    "checkpointLocation": "checkpoint.location",
}

WITHOUT_EFFECT: Final[Mapping[str, str | settings.WithoutEffect]] = {
    # Iceberg's sink.
    "iceberg.tables.dynamic-enabled": settings.WithoutEffect(_ROUTES, unless=("false",)),
    "iceberg.tables.route-field": _ROUTES,
    "iceberg.table.*": "all tables are written in one way. A connector for each has its own keys",
    "iceberg.tables.default-commit-branch": "tables of Delta have no branches",
    "iceberg.tables.schema-force-optional": settings.WithoutEffect(
        "columns are as fields are. schema.evolution=nullable lets them be null", unless=("false",)
    ),
    "iceberg.tables.schema-case-insensitive": settings.WithoutEffect(
        "names of columns never differ in case alone", unless=("true",)
    ),
    "iceberg.tables.auto-create-props.*": "table.property.* has the properties of a table",
    "iceberg.tables.write-props.*": "table.property.* has the properties of a table",
    "iceberg.catalog*": "table names a table of Delta, by its path or in Spark's catalog",
    "iceberg.control.*": _COMMITS,
    "iceberg.connect.group-id": _COMMITS,
    "iceberg.coordinator*": _COMMITS,
    "iceberg.kafka.*": _COMMITS,
    "iceberg.hadoop*": "spark.hadoop.* has Hadoop's settings",
    # kafka-delta-ingest.
    "dlq_transform": "a row of errors.deadletter.table is the record as it came",
}
