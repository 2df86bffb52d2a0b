"""The keys of which table, in which format and layout."""

from __future__ import annotations

from typing import Final

from connect import settings
from connect.settings.variables import enclosed
from spark_sink.column_names import distinct

DELTA: Final = "delta"
PARQUET: Final = "parquet"
ICEBERG: Final = "iceberg"
JSON: Final = "json"
CONSOLE: Final = "console"
FORMATS: Final = (DELTA, PARQUET, ICEBERG, JSON, CONSOLE)

#: What `table` may contain, to be replaced for each record.
TOPIC: Final = "${topic}"
FIELD: Final = "${field}"

#: Prefixes of keys that are handed on without them: properties of the table, expressions of its
#: generated columns, options of the storage (engine=worker).
TABLE_PROPERTY: Final = "table.property."
GENERATED: Final = "generated.column."
STORAGE: Final = "storage."

_TABLE: Final = "Table"


def check_table(name: str, value: str) -> None:
    """A validator: what a table can be called."""
    if wrong := [found.inside for found in enclosed(value) if found.inside not in ("topic", "field")]:
        raise ValueError(f'"${{{wrong[0]}}}" means nothing here. Write ${{topic}}, or ${{field}} with table.field.')
    if (value and not value.strip("/")) or "`" in value or "\n" in value:
        raise ValueError(f'"{value}" is not a table. Write a path such as /lake/orders, or a name such as shop.orders.')


class LayoutOptions(settings.Options):
    """Which table, and how it is laid out."""

    format = settings.String(
        "format",
        default=DELTA,
        importance="HIGH",
        group=_TABLE,
        validator=settings.one_of(*FORMATS),
        doc="delta, parquet or json, or console, which prints rows. iceberg is refused: Iceberg has no jar for Spark "
        "4.2 yet, and the newest, for 4.1, cannot be loaded there. IcebergSinkConnector writes such tables without "
        "Spark.",
    )
    written_table = settings.String(
        "table",
        default=None,
        importance="HIGH",
        group=_TABLE,
        width="LONG",
        validator=check_table,
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
        doc="Columns that the table is clustered by (liquid clustering): at most four. A change of them "
        "changes a table that exists. Takes effect when rows are compacted, see compaction.interval.ms.",
    )
    column_mapping = settings.String(
        "column.mapping",
        default="none",
        importance="LOW",
        group=_TABLE,
        validator=settings.one_of("none", "name", "id"),
        doc="name or id: the table's delta.columnMapping.mode; one that exists can get name only. Allows any character "
        "in names, and columns to be renamed and dropped. Readers must support it.",
    )
    console_rows = settings.Int(
        "console.rows",
        default=20,
        importance="LOW",
        group=_TABLE,
        validator=settings.at_least(1),
        doc="For format=console: how many rows of a batch are printed at most.",
    )


def is_path(table: str) -> bool:
    """Whether a table is given by its path or URI, rather than by its name in a catalog."""
    return "/" in table or ":" in table
