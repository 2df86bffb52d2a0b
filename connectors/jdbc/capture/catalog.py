"""The database's catalog of tables and types, beyond the content of a relation message."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

log = logging.getLogger(__name__)

#: Runs a statement and gives its rows: a psycopg connection's `execute`, with `fetchall`.
Query = Any


@dataclass(frozen=True, slots=True)
class PgType:
    """A type. `kind` is pg_type's typtype: b(ase), d(omain), e(num), r(ange)...

    Attributes:
        element: the oid of an array's elements, else 0.
        base, modifier: of a domain: what it is made of.
        labels: of an enum.
    """

    oid: int
    name: str
    kind: str
    element: int
    base: int
    modifier: int
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column's current definition. `default` is its expression, as PostgreSQL writes it."""

    name: str
    type_oid: int
    modifier: int
    not_null: bool
    default: str | None


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table's current definition.

    Attributes:
        columns: without generated ones, which logical replication leaves out.
        key: the columns of its primary key, or of a unique index without nulls, in their order there; may be empty.
        partitioned: whether its rows are those of its partitions.
    """

    oid: int
    schema: str
    name: str
    columns: tuple[ColumnFacts, ...]
    key: tuple[str, ...]
    partitioned: bool

    @property
    def full_name(self) -> str:
        """`schema.table`."""
        return f"{self.schema}.{self.name}"

    @property
    def in_sql(self) -> str:
        """What its rows are selected from: without those of tables that inherit from it, as in the stream."""
        return f"{'' if self.partitioned else 'ONLY '}{quoted(self.schema)}.{quoted(self.name)}"


@dataclass(frozen=True, slots=True)
class TableId:
    """A table that could be captured. `parent`: it has partitions; `partition`: it is one."""

    oid: int
    schema: str
    name: str
    parent: bool
    partition: bool

    @property
    def full_name(self) -> str:
        """`schema.table`."""
        return f"{self.schema}.{self.name}"


@dataclass
class Types:
    """The types of one database, read once and again when one is missing."""

    query: Query
    known: dict[int, PgType] = field(default_factory=dict)

    def __getitem__(self, oid: int) -> PgType:
        if oid not in self.known:
            self.read()
        if oid not in self.known:
            log.warning("Rows have values of a type that was dropped since (number %d): they are written as text.", oid)
            self.known[oid] = PgType(oid, "text", "b", 0, 0, -1)
        return self.known[oid]

    def read(self) -> None:
        """Read them all. Those that were dropped meanwhile are kept: older rows have values of them."""
        rows = self.query(
            "SELECT t.oid, t.typname, t.typtype, t.typelem, t.typbasetype, t.typtypmod, t.typcategory, "
            "(SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum e "
            "WHERE e.enumtypid = t.oid) FROM pg_catalog.pg_type t"
        )
        self.known |= {
            oid: PgType(oid, name, kind, element if category == "A" else 0, base, modifier, tuple(labels or ()))
            for oid, name, kind, element, base, modifier, category, labels in rows
        }


def tables(query: Query) -> list[TableId]:
    """All tables that logical replication can have, by name."""
    rows = query(
        "SELECT c.oid, n.nspname, c.relname, c.relkind = 'p', c.relispartition "
        "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND n.nspname <> 'information_schema' "
        "AND n.nspname NOT LIKE 'pg\\_%' ORDER BY n.nspname, c.relname"
    )
    return [TableId(*row) for row in rows]


def table(query: Query, oid: int) -> TableFacts | None:
    """The current definition of a table; None when it no longer exists."""
    named: Sequence[Any] = query(
        "SELECT n.nspname, c.relname, c.relkind = 'p' FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s",
        [oid],
    )
    if not named:
        return None
    columns = query(
        "SELECT a.attname, a.atttypid, a.atttypmod, a.attnotnull, pg_catalog.pg_get_expr(d.adbin, d.adrelid) "
        "FROM pg_catalog.pg_attribute a "
        "LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
        "WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum",
        [oid],
    )
    keys = query(
        "SELECT array_agg(a.attname::text ORDER BY k.place), bool_and(a.attnotnull) "
        "FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid "
        "CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place) "
        "JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number "
        "WHERE i.indrelid = %s AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL "
        "AND k.place <= i.indnkeyatts GROUP BY i.indexrelid, i.indisprimary, c.relname "
        "ORDER BY i.indisprimary DESC, c.relname",
        [oid],
    )
    key = next((tuple(names) for names, complete in keys if complete), ())
    of_schema, name, partitioned = named[0]
    return TableFacts(oid, of_schema, name, tuple(ColumnFacts(*row) for row in columns), key, partitioned)


def quoted(name: str) -> str:
    """A quoted identifier in SQL."""
    return '"' + name.replace('"', '""') + '"'
