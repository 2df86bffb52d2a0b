"""One Delta table, by its path or its name in a catalog, through SQL alone: so that it works over Spark Connect too."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.data.evolution import AddField, MakeNullable, WidenField
from connect.errors import ConfigError, ConnectError
from spark_sink.layout_keys import GENERATED, is_path
from spark_sink.table_properties import Protocol
from spark_sink.table_rules import odd_name
from spark_sink.tables.fitting import Change
from spark_sink.tables.settings import TableSettings
from spark_sink.tables.types import Field, Type, literal, quoted, sql_name

log = logging.getLogger(__name__)

#: Spark's conditions that say that there is no table.
_MISSING: Final = frozenset(
    {
        "PATH_NOT_FOUND",
        "DELTA_TABLE_NOT_FOUND",
        "DELTA_MISSING_DELTA_TABLE",
        "DELTA_PATH_DOES_NOT_EXIST",
        "TABLE_OR_VIEW_NOT_FOUND",
        "SCHEMA_NOT_FOUND",
    }
)
COLUMN_MAPPING: Final = "delta.columnMapping.mode"
#: The property that says how long VACUUM keeps files.
RETENTION: Final = "delta.deletedFileRetentionDuration"


@dataclass(frozen=True, slots=True)
class Layout:
    """By which columns a table's files are divided.

    Attributes:
        partitions: each file has one value of each.
        clusters: files have ranges of values.
    """

    partitions: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableState:
    """What a table is, beside its columns.

    Attributes:
        layout: of its files.
        properties: that it stores.
        protocol: what its readers and writers must know.
    """

    layout: Layout
    properties: Mapping[str, str]
    protocol: Protocol


class Table:
    """A Delta table.

    Args:
        spark: the session.
        name: its path, or its name.
    """

    def __init__(self, spark: Any, name: str) -> None:
        self._spark = spark
        self.name = name
        self.is_path = is_path(name)
        self.sql = f"delta.{quoted(name)}" if self.is_path else ".".join(quoted(part) for part in name.split("."))

    def columns(self) -> list[Field] | None:
        """Its current columns; None when there is no such table."""
        from pyspark.errors import AnalysisException

        reader = self._spark.read
        try:
            frame = reader.format("delta").load(self.name) if self.is_path else reader.table(self.sql)
            found: list[Field] = frame.schema.jsonValue()["fields"]
        except AnalysisException as error:
            if error.getCondition() in _MISSING:
                return None
            raise
        return found

    def state(self) -> TableState:
        """What it is now. It must exist."""
        detail = self._spark.sql(f"DESCRIBE DETAIL {self.sql}").collect()[0].asDict()
        return TableState(
            Layout(tuple(detail["partitionColumns"]), tuple(detail.get("clusteringColumns") or ())),
            dict(detail["properties"]),
            Protocol(detail["minReaderVersion"], detail["minWriterVersion"], frozenset(detail["tableFeatures"] or ())),
        )

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set properties, in one commit. Raises what Spark raises."""
        self._run(f"ALTER TABLE {self.sql} SET TBLPROPERTIES ({_properties(list(properties.items()))})")

    def cluster(self, columns: Sequence[str]) -> None:
        """Cluster by other columns what is written from now on. Raises what Spark raises."""
        self._run(f"ALTER TABLE {self.sql} CLUSTER BY ({_columns(columns)})")

    def newest_transaction(self, app_id: str) -> int | None:
        """The version of an application's newest transaction; None where there is none, or it is unknown.

        SQL has no statement for it, and Spark Connect has only SQL.
        """
        if self.columns() is None or (jvm := getattr(self._spark, "_jvm", None)) is None:
            return None
        location = self._spark.sql(f"DESCRIBE DETAIL {self.sql}").collect()[0]["location"]
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self._spark._jsparkSession, location)
        found = log.unsafeVolatileSnapshot().transactions().get(app_id)
        return int(found.get()) if found.isDefined() else None

    def create(self, columns: Sequence[tuple[str, Type]], settings: TableSettings) -> None:
        """Create it, unless another writer was faster.

        Raises:
            ConfigError: it may not be created, or not like this.
            ConnectError: something else has its name.
        """
        from pyspark.errors import AnalysisException

        generated = self._generated(columns, settings)
        self._check_new([*columns, *((name, kind) for name, kind, _ in generated)], settings)
        parts = [f"{quoted(name)} {sql_name(kind)}" for name, kind in columns]
        parts += [f"{quoted(name)} {sql_name(kind)} GENERATED ALWAYS AS ({sql})" for name, kind, sql in generated]
        inner = ", ".join(parts)
        layout = ""
        if settings.partition_by:
            layout += f" PARTITIONED BY ({', '.join(map(quoted, settings.partition_by))})"
        if settings.cluster_by:
            layout += f" CLUSTER BY ({_columns(settings.cluster_by)})"
        if settings.properties:
            layout += f" TBLPROPERTIES ({_properties(settings.properties)})"
        try:
            self._spark.sql(f"CREATE TABLE {self.sql} ({inner}) USING delta{layout}").collect()
        except AnalysisException as error:
            if error.getCondition() != "TABLE_OR_VIEW_ALREADY_EXISTS" or not self.is_path:
                if self.columns() is not None:
                    return
                raise
            if self.columns() is not None:
                return
            if generated:
                raise ConfigError(
                    f"{GENERATED}{generated[0][0]}",
                    f'cannot be made in the folder "{self.name}", which exists and is no table. Remove it.',
                ) from None
            self._create_in_folder(columns, settings)
        log.info("Created the table %s.", self.name)

    def alter(self, changes: Sequence[Change]) -> None:
        """Make changes. Raises what Spark raises: nothing of a failed change is made."""
        added = [change for change in changes if isinstance(change, AddField)]
        if any(isinstance(change, WidenField) for change in changes):
            self.set_properties({"delta.enableTypeWidening": "true"})
        for change in changes:
            if isinstance(change, WidenField):
                self._run(f"ALTER TABLE {self.sql} ALTER COLUMN {_path(change.path)} TYPE {sql_name(change.schema)}")
                was, now = sql_name(change.was), sql_name(change.schema)
                log.info("Widened %s of %s from %s to %s.", ".".join(change.path), self.name, was, now)
            elif isinstance(change, MakeNullable):
                self._run(f"ALTER TABLE {self.sql} ALTER COLUMN {_path(change.path)} DROP NOT NULL")
                log.info("Took NOT NULL from %s of %s.", ".".join(change.path), self.name)
        if added:
            inner = ", ".join(f"{_path(change.path)} {sql_name(change.schema)}" for change in added)
            self._run(f"ALTER TABLE {self.sql} ADD COLUMNS ({inner})")
            log.info("Added %s to %s.", ", ".join(".".join(change.path) for change in added), self.name)

    def optimize(self, where: str | None = None, zorder: Sequence[str] = ()) -> None:
        """Join small files into larger ones.

        Args:
            where: a condition for partitions: of the others no file is joined.
            zorder: columns by whose values rows are put near each other; then all files are written anew.
        """
        which = f" WHERE {where}" if where else ""
        order = f" ZORDER BY ({_columns(zorder)})" if zorder else ""
        self._run(f"OPTIMIZE {self.sql}{which}{order}")

    def vacuum(self, hours: int, retention: str) -> None:
        """Delete files that were not needed for this many hours.

        Args:
            hours: as whole hours.
            retention: the same as a table property, which newer versions of Delta use.
        """
        properties = {row[0]: row[1] for row in self._spark.sql(f"SHOW TBLPROPERTIES {self.sql}").collect()}
        if properties.get(RETENTION) != retention:
            self.set_properties({RETENTION: retention})
        self._run(f"VACUUM {self.sql} RETAIN {hours} HOURS")

    def append(self, frame: Any, options: dict[str, str]) -> None:
        """Add rows, in one transaction."""
        writer = frame.write.format("delta").mode("append").options(**options)
        writer.save(self.name) if self.is_path else writer.saveAsTable(self.sql)

    def overwrite(self, frame: Any, options: dict[str, str], where: str | None) -> None:
        """Replace the rows for which a condition is true, or those of the rows' partitions; in one transaction."""
        if self.is_path:
            what = {"partitionOverwriteMode": "dynamic"} if where is None else {"replaceWhere": where}
            frame.write.format("delta").mode("overwrite").options(**options, **what).save(self.name)
        elif where is None:
            frame.writeTo(self.sql).options(**options).overwritePartitions()
        else:
            from pyspark.sql.functions import expr

            frame.writeTo(self.sql).options(**options).overwrite(expr(where))

    def _run(self, statement: str) -> None:
        self._spark.sql(statement).collect()

    def _generated(self, columns: Sequence[tuple[str, Type]], settings: TableSettings) -> list[tuple[str, Type, str]]:
        """The generated columns of a new table: name, type, expression.

        Raises:
            ConfigError: an expression is wrong, or its column is one of the records'.
        """
        from pyspark.errors import AnalysisException

        names = {name.lower() for name, _ in columns}
        of_rows = ", ".join(f"CAST(NULL AS {sql_name(kind)}) AS {quoted(name)}" for name, kind in columns)
        found = []
        for name, sql in settings.generated:
            if name.lower() in names:
                raise ConfigError(GENERATED + name, "is a field of the records. Write another name.")
            try:
                schema = self._spark.sql(f"SELECT ({sql}) AS made FROM (SELECT {of_rows})").schema
            except AnalysisException as error:
                words = str(error).split("\n", 1)[0][:300]
                raise ConfigError(GENERATED + name, f"is no expression of the table's columns: {words}") from None
            found.append((name, schema.jsonValue()["fields"][0]["type"], sql))
        return found

    def _check_new(self, columns: Sequence[tuple[str, Type]], settings: TableSettings) -> None:
        if not settings.create:
            raise ConfigError("table", f'"{self.name}" does not exist, and auto.create=false. Create it first.')
        names = {name.lower() for name, _ in columns}
        for key, wanted in (("partition.by", settings.partition_by), ("cluster.by", settings.cluster_by)):
            if missing := [
                name for name in wanted if name.lower() not in names and name.split(".")[0].lower() not in names
            ]:
                there = ", ".join(name for name, _ in columns)
                raise ConfigError(
                    key, f'"{missing[0]}" is not a column of the new table {self.name}, which has: {there}.'
                )
        mapped = dict(settings.properties).get(COLUMN_MAPPING, "none") != "none"
        odd = odd_name(_names(columns))
        if odd is not None and not mapped:
            raise ConfigError(
                "column.mapping",
                f'The field "{odd}" has a character that columns have with column.mapping=name only. Write that, or '
                "rename the field with the transformation ReplaceField.",
            )
        if not self.is_path and self._forgets():
            raise ConfigError(
                "table",
                f'"{self.name}" is not in the catalog, and this Spark forgets its catalog when it ends. Write a path, '
                "or bring a catalog that lasts: spark.sql.catalogImplementation=hive, for example.",
            )

    def _forgets(self) -> bool:
        """Whether the table would be in a catalog in the memory of the session's JVM."""
        conf = self._spark.conf
        if conf.get("spark.sql.catalogImplementation") != "in-memory":
            return False
        if not conf.get("spark.sql.catalog.spark_catalog", "").endswith(".DeltaCatalog"):
            return False
        parts = self.name.split(".")
        catalog = parts[0] if len(parts) > 2 else self._spark.catalog.currentCatalog()
        return bool(catalog == "spark_catalog")

    def _create_in_folder(self, columns: Sequence[tuple[str, Type]], settings: TableSettings) -> None:
        """Create it in an existing folder, which CREATE TABLE refuses."""
        others = (
            self._spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(self.name).inputFiles()
        )
        if others:
            raise ConnectError(
                f'"{self.name}" is not a Delta table, and other files are in it, such as {others[0]}. Name a folder '
                "that is empty or does not exist."
            )
        inner = ", ".join(f"CAST(NULL AS {sql_name(kind)}) AS {quoted(name)}" for name, kind in columns)
        writer = self._spark.sql(f"SELECT {inner} LIMIT 0").write.format("delta").mode("append")
        writer = writer.options(**dict(settings.properties))
        if settings.partition_by:
            writer = writer.partitionBy(*settings.partition_by)
        writer.save(self.name)
        if settings.cluster_by:
            self.cluster(settings.cluster_by)


def _path(path: Sequence[str]) -> str:
    return ".".join(map(quoted, path))


def _columns(columns: Sequence[str]) -> str:
    return ", ".join(_path(column.split(".")) for column in columns)


def _properties(properties: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties)


def _names(columns: Sequence[tuple[str, Type]]) -> list[str]:
    """The names of columns and of all nested fields."""
    found = []
    for name, kind in columns:
        found.append(name)
        found += _inner_names(kind)
    return found


def _inner_names(kind: Type) -> list[str]:
    if isinstance(kind, str):
        return []
    if kind["type"] == "struct":
        return _names([(field["name"], field["type"]) for field in kind["fields"]])
    return [
        name for part in ("elementType", "keyType", "valueType") if part in kind for name in _inner_names(kind[part])
    ]
