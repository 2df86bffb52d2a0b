"""The keys of the Spark sink connector: which table, how it is written, maintained and changed.

The names of the same keys in other projects' connectors are accepted as well. Nothing here imports Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect import settings
from connect.data import evolution_policy
from connect.settings.variables import enclosed
from spark_sink.column_names import distinct
from spark_sink.merge_keys import NONE, Ends, MergeOptions

DELTA: Final = "delta"
PARQUET: Final = "parquet"
ICEBERG: Final = "iceberg"
JSON: Final = "json"
CONSOLE: Final = "console"
FORMATS: Final = (DELTA, PARQUET, ICEBERG, JSON, CONSOLE)

APPEND: Final = "append"
UPSERT: Final = "upsert"
OVERWRITE: Final = "overwrite"

#: What `table` may contain, to be replaced for each record.
TOPIC: Final = "${topic}"
FIELD: Final = "${field}"

#: What `metadata.columns` may name, with the columns that hold it by default and their types in Spark's SQL.
METADATA: Final[Mapping[str, tuple[str, str]]] = {
    "topic": ("_topic", "string"),
    "partition": ("_partition", "int"),
    "offset": ("_offset", "bigint"),
    "timestamp": ("_timestamp", "timestamp"),
    "key": ("_key", "the key's"),
}

#: Prefixes of keys that are handed on without them: properties of the table, options of the storage (engine=worker).
TABLE_PROPERTY: Final = "table.property."
STORAGE: Final = "storage."

_TABLE, _WRITING, _COLUMNS, _RUNNING, _CARE = "Table", "Writing", "Columns", "Running", "Maintenance"


def _table(name: str, value: str) -> None:
    if wrong := [found.inside for found in enclosed(value) if found.inside not in ("topic", "field")]:
        raise ValueError(f'"${{{wrong[0]}}}" means nothing here. Write ${{topic}}, or ${{field}} with table.field.')
    if (value and not value.strip("/")) or "`" in value or "\n" in value:
        raise ValueError(f'"{value}" is not a table. Write a path such as /lake/orders, or a name such as shop.orders.')


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


# Why keys of others do nothing.
_ROUTES: Final = "table says where records go: ${topic}, or ${field} with table.field"
_COMMITS: Final = "a task commits what it wrote by itself, with its offsets, and needs no topic for that"

_TRUE_ADDS: Final = {"true": "add", "false": "none"}


class _Written(settings.Options):
    """Which table, and how it is written."""

    format = settings.String(
        "format",
        default=DELTA,
        importance="HIGH",
        group=_TABLE,
        validator=settings.one_of(*FORMATS),
        doc="delta, parquet or json, or console, which prints rows. iceberg is refused: Iceberg has no jar for Spark "
        "4.2 yet, and the newest, for 4.1, cannot be loaded there.",
    )
    written_table = settings.String(
        "table",
        default=None,
        importance="HIGH",
        group=_TABLE,
        width="LONG",
        validator=_table,
        doc="A path or URI (/lake/orders, s3a://lake/orders), or a name in a catalog (shop.orders). What has a slash "
        "or a colon is a path. ${topic} is replaced by the record's topic, ${field} by the value of table.field. "
        "Required, except for the console.",
    )
    table_field = settings.String(
        "table.field",
        default=None,
        importance="LOW",
        group=_TABLE,
        width="MEDIUM",
        convert=lambda written: written or None,
        doc="A field of the value that names a record's table, if table has ${field}: letters, digits, dots, dashes "
        "and underscores. A dot leads into a struct.",
    )
    auto_create = settings.Boolean(
        "auto.create",
        default=True,
        group=_TABLE,
        doc="Whether the sink creates a missing table, with the columns of the first records.",
    )
    partition_by = settings.List(
        "partition.by",
        default=[],
        group=_TABLE,
        width="LONG",
        validator=distinct,
        convert=tuple[str, ...],
        doc="Columns that the table is partitioned by, when it is created. Few values each; for others cluster.by.",
    )
    cluster_by = settings.List(
        "cluster.by",
        default=[],
        group=_TABLE,
        width="LONG",
        validator=distinct,
        doc="Columns that the table is clustered by (liquid clustering), when it is created: at most four. Takes "
        "effect when rows are compacted, see compaction.interval.ms.",
    )
    column_mapping = settings.String(
        "column.mapping",
        default="none",
        importance="LOW",
        group=_TABLE,
        validator=settings.one_of("none", "name", "id"),
        doc="name or id: delta.columnMapping.mode of a table that is created. Allows any character in names, and "
        "columns to be renamed and dropped. Readers must support it.",
    )
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


class TableKeys(
    _Written,
    MergeOptions,
    evolution_policy.EvolutionOptions,
    aliases={
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
        "iceberg.tables.evolve-schema-enabled": settings.Alias(
            "schema.evolution", words={"true": "full", "false": "none"}
        ),
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
    },
    without_effect={
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
    },
):
    """The keys, each by itself."""

    allowed = evolution_policy.EvolutionOptions.allowed.replaced(
        default=[evolution_policy.ADD, evolution_policy.NULLABLE],
        doc="How the table may be changed so that records fit: add (new columns), widen (a type that holds more, int "
        "to bigint; it needs a newer version of Delta in every reader), nullable (NOT NULL is dropped). Several with "
        "commas; full for all, none for none.",
    )
    mismatch = evolution_policy.EvolutionOptions.mismatch.replaced(
        validator=settings.one_of("fail", "quarantine"),
        doc="What happens to a record that does not fit the table: fail (the task fails), quarantine (it becomes a row "
        "of errors.deadletter.table, the others are written).",
    )
    trigger = settings.String(
        "trigger",
        default="interval",
        group=_RUNNING,
        validator=settings.one_of("interval", "available_now", "once", "real_time"),
        doc="When batches are made: interval (every trigger.interval.ms), available_now (read what the topics hold "
        "now, then rest until a restart; once is the same). real_time is refused: Delta and files cannot do it.",
    )
    interval_s = settings.Long(
        "trigger.interval.ms",
        default=5000,
        group=_RUNNING,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="The time from the start of one batch to that of the next, in milliseconds; 0 for as soon as there is "
        "something. Each batch is a commit and some files: seconds, not milliseconds.",
    )
    flush_records = settings.Long(
        "flush.size",
        default=0,
        group=_RUNNING,
        validator=settings.at_least(0),
        doc="With engine=worker: the sink writes after so many records, whatever trigger.interval.ms says; 0 for no "
        "such limit.",
    )
    flush_bytes = settings.Long(
        "flush.bytes",
        default=64 << 20,
        importance="LOW",
        group=_RUNNING,
        validator=settings.between(1 << 10, 1 << 30),
        doc="With engine=worker: the sink writes when rows take so many bytes of memory, in all of a task's tables. "
        "Consumption pauses while it cannot.",
    )
    checkpoint_location = settings.String(
        "checkpoint.location",
        default=None,
        group=_RUNNING,
        width="LONG",
        doc="The folder for the connector's progress. Default: _checkpoints/<connector> in the folder of the table's "
        "path. Required if table is a name.",
    )
    compaction_s = settings.Long(
        "compaction.interval.ms",
        default=0,
        group=_CARE,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How often small files are joined into larger ones (OPTIMIZE), in milliseconds, after a batch; 0 never. "
        "An hour, 3600000, suits a table that nothing else maintains.",
    )
    vacuum_s = settings.Long(
        "vacuum.interval.ms",
        default=0,
        group=_CARE,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How often files that the table no longer needs are deleted (VACUUM), in milliseconds, after a batch; "
        "0 never. A day is 86400000.",
    )
    retention_hours = settings.Int(
        "vacuum.retention.hours",
        default=168,
        importance="LOW",
        group=_CARE,
        validator=settings.at_least(0),
        doc="How long VACUUM keeps these files, for running queries and for reading older versions.",
    )
    dead_letters = settings.String(
        "errors.deadletter.table",
        default=None,
        group="Error Handling",
        order=20,
        width="LONG",
        validator=_table,
        doc="A Delta table, by path or name, that gets a row for each record that cannot be converted, transformed "
        "or written, with errors.tolerance=all. Created when it is missing.",
    )
    console_rows = settings.Int(
        "console.rows",
        default=20,
        importance="LOW",
        group=_TABLE,
        validator=settings.at_least(1),
        doc="For format=console: how many rows of a batch are printed at most.",
    )


_TIMESTAMP: Final = ("timestamp", METADATA["timestamp"][0])


class TableOptions(TableKeys):
    """The meaning of the keys together.

    Attributes:
        table: without a slash at its end; empty for none.
        metadata: what becomes a column (of `METADATA`) and the column's name, in order.
        properties: of a table that is created.
        sequence: the columns that say which record of a key is newer.
        key_in_value: whether the key consists of fields of the value. Of change events the key is made before that.
        storage: options of the table's storage, for engine=worker.
        policy: how tables may be changed.
    """

    def __init__(self, config: settings.Config) -> None:
        super().__init__(config)
        self.table = (self.written_table or "").rstrip("/")
        self.properties = config.prefixed(TABLE_PROPERTY)
        self.storage = config.prefixed(STORAGE)
        self.policy = evolution_policy.EvolutionPolicy.of(config)
        is_cdc = self.cdc_format != NONE
        self.key_in_value = not self.pk_from_key and not is_cdc
        if is_cdc and not self.sequence:
            self.sequence = (self.cdc_timestamp if self.ends else self.cdc_position,)
        elif self.ends and not self.sequence:
            if "timestamp" not in dict(self.metadata):
                self.metadata = (*self.metadata, _TIMESTAMP)
            self.sequence = (dict(self.metadata)["timestamp"],)

    @property
    def ends(self) -> Ends | None:
        """The columns for when a version was valid, if a table has a row for each version of a key."""
        if self.mode != UPSERT or self.scd_type != "2":
            return None
        return Ends(self.valid_from, self.valid_to, self.is_current)

    @property
    def deletes(self) -> bool:
        """Whether a tombstone deletes its key's row."""
        return self.mode == UPSERT and self.delete_enabled and not self.key_in_value


def is_path(table: str) -> bool:
    """Whether a table is given by its path or URI, rather than by its name in a catalog."""
    return "/" in table or ":" in table


def checkpoint_location(config: Mapping[str, str]) -> str | None:
    """The folder of a connector's checkpoints: as written, or beside the table.

    None where it has to be configured: the table is a name, or a whole bucket. None for the console too, which stores
    nothing.
    """
    known = TableOptions.definition().named(config)
    if written := (known.get("checkpoint.location") or "").strip():
        return written
    table = (known.get("table") or "").strip().rstrip("/")
    if not is_path(table) or known.get("format") == CONSOLE:
        return None
    scheme, double_slash, rest = table.partition("://")
    root, path = (scheme + double_slash, rest) if double_slash else ("", table)
    folder, slash, _ = path.partition("${")[0].rpartition("/")
    if not slash or (root and scheme != "file" and not folder):
        return None
    return f"{root}{folder}/_checkpoints/{known.get('name', '')}"
