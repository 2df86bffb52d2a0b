"""Contradictions in an Iceberg sink's configuration: one line each, with what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connect.errors import ConfigError
from connect.settings.java_regex import java_regex
from spark_sink.iceberg.catalog import catalog_type
from spark_sink.iceberg.keys import (
    CREATE,
    OF_A_TABLE,
    PARTITION_BY,
    ROUTE,
    TABLE,
    WRITE,
    IcebergOptions,
    split_expressions,
)
from spark_sink.iceberg.partitions import parse

Problem = tuple[str, str]

_TABLES: Final = "iceberg.tables"
_DYNAMIC: Final = "iceberg.tables.dynamic-enabled"
_FIELD: Final = "iceberg.tables.route-field"
_FORMAT: Final = "write.format.default"


def problems(options: IcebergOptions) -> Iterator[Problem]:
    """Key and message of every contradiction."""
    yield from _routes(options)
    yield from _catalog(options)
    yield from _keyed(options)
    yield from _partitions(options)
    for prefix in (CREATE, WRITE):
        written = options.config.prefixed(prefix).get(_FORMAT, "parquet").strip().lower()
        if written != "parquet":
            yield _TABLES, f"{prefix}{_FORMAT}={written} is not possible: files are of Parquet. Leave it out."


def warnings(options: IcebergOptions) -> Iterator[Problem]:
    """Key and message of what may not be as intended."""
    for key in options.config.prefixed(TABLE):
        table = next((each for each in options.tables if key.startswith(f"{each}.")), None)
        if not key.endswith(tuple(f".{what}" for what in OF_A_TABLE)):
            yield _TABLES, f"{TABLE}{key} is not known. A table has {', '.join(OF_A_TABLE)}."
        elif table is None and not options.dynamic:
            yield _TABLES, f"{TABLE}{key} has no effect: {_TABLES} does not name the table."
    for table in options.tables:
        if options.route_field and not options.plan(table).route:
            yield _TABLES, f"{table} gets no record: {_FIELD} is set, and {TABLE}{table}.{ROUTE} is not."
    if options.default_id_columns and not options.keyed:
        yield (
            "iceberg.tables.default-id-columns",
            "has no effect without iceberg.tables.upsert-mode-enabled=true: rows are appended.",
        )
    if options.unavailable and not options.keyed:
        yield (
            "unavailable.value.placeholder",
            "has no effect without iceberg.tables.upsert-mode-enabled=true: there is no row whose value stays.",
        )


def _routes(options: IcebergOptions) -> Iterator[Problem]:
    if options.tables and options.dynamic:
        yield _DYNAMIC, f"true excludes {_TABLES}: records name their tables. Leave one of them out."
    elif not options.tables and not options.dynamic:
        yield _TABLES, f"is required. Name tables, such as shop.orders, or write {_DYNAMIC}=true."
    if options.dynamic and not options.route_field:
        yield _FIELD, f"is required by {_DYNAMIC}=true: the field that names a record's table."
    for table in options.tables:
        written = options.config.prefixed(f"{TABLE}{table}.").get(ROUTE)
        if written:
            try:
                java_regex(written)
            except ValueError as error:
                yield _TABLES, f"{TABLE}{table}.{ROUTE}: {error}"
        if written and not options.route_field:
            yield _FIELD, f"is required by {TABLE}{table}.{ROUTE}: the field that it is compared with."


def _catalog(options: IcebergOptions) -> Iterator[Problem]:
    properties = options.catalog_props
    try:
        kind = catalog_type(properties)
    except ConfigError as error:
        yield error.key, error.message
        return
    uri = properties.get("uri")
    if kind is None and not uri:
        yield "iceberg.catalog.type", "is required, or iceberg.catalog.uri: they say which catalog knows the tables."
    if kind in ("rest", "sql", "hive") and not uri:
        yield "iceberg.catalog.uri", f"is required by a catalog of type {kind}."
    if kind == "sql" and not options.warehouse:
        yield "iceberg.catalog.warehouse", "is required by a catalog of type sql. Write s3://bucket/warehouse."


def _keyed(options: IcebergOptions) -> Iterator[Problem]:
    if not options.keyed:
        return
    key = "iceberg.tables.upsert-mode-enabled" if options.upserts else "iceberg.tables.cdc-field"
    if options.dynamic and not options.default_id_columns:
        yield key, "needs iceberg.tables.default-id-columns: the columns that make a row's key."
    for table in options.tables:
        if not options.plan(table).id_columns:
            yield key, f"needs the columns that make a row's key: iceberg.table.{table}.id-columns, or those for all."


def _partitions(options: IcebergOptions) -> Iterator[Problem]:
    written = [("iceberg.tables.default-partition-by", options.default_partition_by)]
    written += [
        (_TABLES, text) for key, text in options.config.prefixed(TABLE).items() if key.endswith(f".{PARTITION_BY}")
    ]
    for key, text in written:
        names: set[str] = set()
        for expression in split_expressions(text):
            try:
                name = parse(expression).name
            except ValueError as error:
                yield key, str(error)
                continue
            if name in names:
                yield key, f'"{expression.strip()}" makes a second partition field "{name}". Leave one of them out.'
            names.add(name)
