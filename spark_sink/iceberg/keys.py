"""The keys of the Iceberg sink: those of Iceberg's own connector for Kafka Connect, and of Tabular's before it.

https://iceberg.apache.org/docs/latest/kafka-connect/#configuration
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from connect import settings
from connect.data.evolution_policy import ALL, QUARANTINE, EvolutionPolicy
from connect.settings.java_regex import java_regex

CATALOG: Final = "iceberg.catalog."
TABLE: Final = "iceberg.table."
CREATE: Final = "iceberg.tables.auto-create-props."
WRITE: Final = "iceberg.tables.write-props."
MAIN: Final = "main"

#: What `iceberg.table.<table>.` may be followed by.
ROUTE, ID_COLUMNS, PARTITION_BY, BRANCH = "route-regex", "id-columns", "partition-by", "commit-branch"
OF_A_TABLE: Final = (ROUTE, ID_COLUMNS, PARTITION_BY, BRANCH)

_TABLES, _CATALOG, _WRITING, _SCHEMA = "Tables", "Catalog", "Writing", "Schema"

_COMMITS: Final = "each task commits what it wrote by itself, with its offsets, and needs no topic for that"
_HADOOP: Final = "there is no Hadoop here. iceberg.catalog.* has what the storage needs"


def split_expressions(text: str | None) -> tuple[str, ...]:
    """What stands between commas that are not in parentheses: `day(at), bucket(id, 16)` are two."""
    found, depth, start = [], 0, 0
    for at, letter in enumerate(text or ""):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append((text or "")[start:at])
            start = at + 1
    found.append((text or "")[start:])
    return tuple(each.strip() for each in found if each.strip())


def _tables(name: str, value: list[str]) -> None:
    for each in value:
        table_name(name, each)


def table_name(name: str, value: str) -> None:
    """A name of a table with its namespace."""
    parts = value.split(".")
    if len(parts) < 2 or not all(parts):
        raise ValueError(f'"{value}" is not the name of a table. Write its namespace before it: shop.orders.')


class IcebergKeys(
    settings.Options,
    without_effect={
        "iceberg.control.topic": _COMMITS,
        "iceberg.control.group-id-prefix": _COMMITS,
        "iceberg.control.commit.timeout-ms": _COMMITS,
        "iceberg.control.commit.threads": _COMMITS,
        "iceberg.control.commit.max-consecutive-failures": _COMMITS,
        "iceberg.connect.group-id": _COMMITS,
        "iceberg.coordinator.transactional.prefix": _COMMITS,
        "iceberg.coordinator-executor-keep-alive-timeout-ms": _COMMITS,
        "iceberg.kafka.*": _COMMITS,
        "iceberg.hadoop-conf-dir": _HADOOP,
        "iceberg.hadoop.*": _HADOOP,
    },
):
    """The keys, each by itself."""

    tables = settings.List(
        "iceberg.tables",
        default=[],
        importance="HIGH",
        group=_TABLES,
        width="LONG",
        validator=_tables,
        convert=tuple[str, ...],
        listed=settings.Listed.BY_CONNECTOR,
        doc="The tables to write, each with its namespace: shop.orders. Every record goes to all of them, unless "
        "iceberg.tables.route-field says which. Required, unless iceberg.tables.dynamic-enabled.",
    )
    dynamic = settings.Boolean(
        "iceberg.tables.dynamic-enabled",
        default=False,
        group=_TABLES,
        doc="Whether a record itself names its table, in the field iceberg.tables.route-field, in any case.",
    )
    route_field = settings.String(
        "iceberg.tables.route-field",
        default=None,
        group=_TABLES,
        convert=lambda written: written or None,
        doc="A field of the value that chooses the record's tables: those whose iceberg.table.<table>.route-regex "
        "matches it as a whole, or the one it names. A dot leads into a struct. Without such a table a record is left "
        "out.",
    )
    auto_create = settings.Boolean(
        "iceberg.tables.auto-create-enabled",
        default=False,
        group=_TABLES,
        doc="Whether the sink creates a missing table, and its namespace, with the columns of the first records.",
    )
    default_partition_by = settings.String(
        "iceberg.tables.default-partition-by",
        default=None,
        group=_TABLES,
        width="LONG",
        doc="How tables are partitioned that the sink creates: columns, year(c), month(c), day(c), hour(c), bucket(c, "
        "n), truncate(c, n), with commas.",
    )
    default_id_columns = settings.String(
        "iceberg.tables.default-id-columns",
        default=None,
        group=_TABLES,
        width="LONG",
        doc="The columns that make a row's key, with commas: for iceberg.tables.upsert-mode-enabled.",
    )
    default_branch = settings.String(
        "iceberg.tables.default-commit-branch",
        default=None,
        group=_TABLES,
        convert=lambda written: written or None,
        doc="The branch of a table that is written; main by default. It begins where main is, if it does not exist.",
    )
    catalog = settings.String(
        "iceberg.catalog",
        default="iceberg",
        importance="LOW",
        group=_CATALOG,
        validator=settings.non_empty,
        doc="The catalog's name. In a SQL database it is part of a table's key.",
    )
    catalog_type = settings.String(
        "iceberg.catalog.type",
        default=None,
        importance="HIGH",
        group=_CATALOG,
        doc="rest, sql (jdbc is the same), glue, hive, dynamodb or bigquery. Or name Iceberg's class for it in "
        "iceberg.catalog.catalog-impl. Without both, iceberg.catalog.uri tells.",
    )
    catalog_impl = settings.String(
        "iceberg.catalog.catalog-impl",
        default=None,
        importance="LOW",
        group=_CATALOG,
        width="LONG",
        doc="Iceberg's class for the catalog, such as org.apache.iceberg.aws.glue.GlueCatalog, in place of "
        "iceberg.catalog.type.",
    )
    catalog_uri = settings.String(
        "iceberg.catalog.uri",
        default=None,
        importance="HIGH",
        group=_CATALOG,
        width="LONG",
        doc="Where the catalog is: https://catalog:8181, thrift://hive:9083, postgresql://user:password@host/db, "
        "sqlite:////data/catalog.db; JDBC's addresses too, with jdbc.user and jdbc.password.",
    )
    warehouse = settings.String(
        "iceberg.catalog.warehouse",
        default=None,
        group=_CATALOG,
        width="LONG",
        doc="Where tables are that the sink creates: s3://bucket/warehouse, file:///data/warehouse; of a REST catalog "
        "the warehouse's name.",
    )
    credential = settings.Password(
        "iceberg.catalog.credential", default=None, group=_CATALOG, doc="id:secret for a REST catalog's OAuth 2."
    )
    token = settings.Password(
        "iceberg.catalog.token", default=None, group=_CATALOG, doc="A token for a REST catalog, in place of a login."
    )
    interval_s = settings.Long(
        "iceberg.control.commit.interval-ms",
        default=300_000,
        group=_WRITING,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How long rows wait before a task commits them, in milliseconds. Each commit is a snapshot of the table, "
        "and some files.",
    )
    flush_bytes = settings.Long(
        "flush.bytes",
        default=128 << 20,
        importance="LOW",
        group=_WRITING,
        validator=settings.between(1 << 10, 4 << 30),
        doc="A task commits earlier when rows take so many bytes of memory, in all of its tables. Consumption pauses "
        "while it cannot. Only here, not in Iceberg's connector.",
    )
    upserts = settings.Boolean(
        "iceberg.tables.upsert-mode-enabled",
        default=False,
        group=_WRITING,
        doc="Whether the newest record of a key is its row: the key is in the id columns. A record without a value "
        "deletes the row of its key. Files that hold the rows are rewritten.",
    )
    cdc_field = settings.String(
        "iceberg.tables.cdc-field",
        default=None,
        group=_WRITING,
        convert=lambda written: written or None,
        doc="A field of the value that says what the record is: a deletion if it begins with D, in any case. Any other "
        "is its key's row. It implies iceberg.tables.upsert-mode-enabled. A dot leads into a struct.",
    )
    unavailable = settings.String(
        "unavailable.value.placeholder",
        default=None,
        importance="LOW",
        group=_WRITING,
        doc="With iceberg.tables.upsert-mode-enabled: what stands for a value that the source database did not send, "
        "because an update did not change it. A row that is there keeps its own. Empty: it is written as any value. "
        "Only here, not in Iceberg's connector.",
    )
    evolves = settings.Boolean(
        "iceberg.tables.evolve-schema-enabled",
        default=False,
        group=_SCHEMA,
        doc="Whether a table is changed so that records fit: fields that it lacks are added, int becomes long, float "
        "double, a decimal longer, and a required column optional. If not, such fields are left out.",
    )
    force_optional = settings.Boolean(
        "iceberg.tables.schema-force-optional",
        default=False,
        group=_SCHEMA,
        doc="Whether all new columns are optional. If not, they are as the record's schema says.",
    )
    ignores_case = settings.Boolean(
        "iceberg.tables.schema-case-insensitive",
        default=False,
        group=_SCHEMA,
        doc="Whether a field is written to a column whose name differs in case alone.",
    )


@dataclass(frozen=True, slots=True)
class TablePlan:
    """How one table is written.

    Attributes:
        name: with its namespace.
        route: what the value of the route field has to match as a whole; None for nothing.
        id_columns: that make a row's key.
        partition_by: expressions of Iceberg.
        branch: that is written.
    """

    name: str
    route: re.Pattern[str] | None
    id_columns: tuple[str, ...]
    partition_by: tuple[str, ...]
    branch: str


class IcebergOptions(IcebergKeys):
    """The meaning of the keys together.

    Attributes:
        keyed: whether rows are merged by their key.
        create_props: properties of a table that is created.
        write_props: properties that count for what we write, before those of the table.
        catalog_props: of the catalog, as Iceberg calls them. They hold secrets.
        policy: how tables may be changed.
    """

    def __init__(self, config: settings.Config) -> None:
        super().__init__(config)
        self.keyed = self.upserts or self.cdc_field is not None
        self.create_props = config.prefixed(CREATE)
        self.write_props = config.prefixed(WRITE)
        self.catalog_props: dict[str, str] = config.prefixed(CATALOG)
        allowed = ALL if self.evolves else frozenset[str]()
        self.policy = EvolutionPolicy(allowed, ignore_unknown=not self.evolves, mismatch=QUARANTINE)

    @property
    def one_table(self) -> str | None:
        """The table that all records go to; None if there may be several."""
        return self.tables[0] if len(self.tables) == 1 and not self.route_field and not self.dynamic else None

    def plan(self, table: str) -> TablePlan:
        """How a table is written."""
        own = self.config.prefixed(f"{TABLE}{table}.")
        route = own.get(ROUTE)
        return TablePlan(
            table,
            java_regex(route) if route else None,
            split_expressions(own.get(ID_COLUMNS, self.default_id_columns)),
            split_expressions(own.get(PARTITION_BY, self.default_partition_by)),
            (own.get(BRANCH) or self.default_branch or MAIN).strip(),
        )
