"""The layout of a query's rows, and which of them are not rows of a table at all.

    _topic string, _partition int, _offset bigint, _timestamp timestamp,    after transformations
    _origin struct<topic, partition, offset>                               where the record was consumed
    _key struct, _value struct (null: a tombstone)
    _whole boolean                                                         of rows that change others, see below
    _lacks array<string>                                                   of those, where records may lack columns
    _failure struct<stage, class, exception, message, trace, key, value, headers>   null unless it was given up

Only `_value` is always there: the reader adds what `TableSettings` needs.

A record without a schema is the whole row (`_whole`): columns that it does not have become null. One with a schema
keeps columns that its schema does not have, even where other records of the query have them (`_lacks`, in lower case).
So the effect of a record depends on no other record, and not on when the query saw which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from connect.errors import ConfigError, SchemaError
from spark_sink.cdc import CHANGE, DELETED
from spark_sink.layout_keys import FIELD, TOPIC
from spark_sink.merge_rules import missing_sequence
from spark_sink.reading.plan import is_known
from spark_sink.row_keys import METADATA, UPSERT
from spark_sink.table_rules import NO_PART_OF_A_NAME, PART_OF_A_NAME
from spark_sink.tables.fitting import Incoming, columns_of, hinted
from spark_sink.tables.settings import TableSettings
from spark_sink.tables.types import Field, Type, fields, literal, quoted, sql_name

#: A condition in SQL, never null, under which a row is refused, and why.
Refusal = tuple[str, str]

NO_COLUMNS: Final = (
    "The records' values are not structs, or structs without fields, and a row of a table needs columns. "
    "Wrap them with the transformation HoistField."
)

_METADATA_SQL: Final = {
    "topic": "_origin.topic",
    "partition": "_origin.partition",
    "offset": "_origin.offset",
    "timestamp": "_timestamp",
}
_NAME_SQL: Final = literal(f"^{PART_OF_A_NAME}$")
_METADATA_TYPE: Final = {"string": "string", "int": "integer", "bigint": "long", "timestamp": "timestamp"}


@dataclass(frozen=True)
class Rows:
    """The columns of a query's rows.

    Attributes:
        columns: with their types.
        settings: of the sink.
        hints: the types that columns have whatever records have, by their names in lower case.
    """

    columns: Mapping[str, Type]
    settings: TableSettings
    hints: Mapping[str, Type] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Sequence[Field], settings: TableSettings, hints: Mapping[str, Type] | None = None) -> Rows:
        """From the fields of a DataFrame's schema. `hints` as above.

        Raises:
            SchemaError: values are not structs.
        """
        rows = cls({each["name"]: each["type"] for each in schema}, settings, hints or {})
        if not fields(rows.columns["_value"]):
            raise SchemaError(NO_COLUMNS)
        return rows

    def knows(self, column: str) -> bool:
        """Whether the content of `_key` or `_value` is known: see `spark_sink.reading.plan.NOTHING_KNOWN`."""
        return is_known([each["name"] for each in fields(self.columns[column])])

    def key_columns(self) -> list[Incoming]:
        """For upsert: the columns of the key.

        Raises:
            ConfigError: a field of `pk.fields` is missing.
        """
        settings = self.settings
        if settings.mode != UPSERT:
            return []
        where = "_value" if settings.key_in_value else "_key"
        if not (kind := self.columns.get(where)):
            raise ConfigError(
                "pk.mode", "is record_key, and the records have no keys. Write record_value, and pk.fields."
            )
        there = {column.name.lower(): column for column in hinted(columns_of(kind, where), self.hints)}
        if missing := [name for name in settings.key_fields if name.lower() not in there]:
            found = ", ".join(column.name for column in there.values())
            raise ConfigError("pk.fields", f'"{missing[0]}" is not a field of the {where[1:]}, which has: {found}.')
        return [there[name.lower()] for name in settings.key_fields] or list(there.values())

    def incoming(self) -> list[Incoming]:
        """The columns for the table: the key's, the value's, the metadata's.

        Raises:
            ConfigError: `metadata.columns` and the fields have a name in common.
        """
        keys = self.key_columns()
        names = {column.name.lower() for column in keys} | ({CHANGE} if self.settings.events else set())
        values = hinted(columns_of(self.columns["_value"], "_value"), self.hints) if self.knows("_value") else []
        columns = keys + [column for column in values if column.name.lower() not in names]
        names |= {column.name.lower() for column in columns}
        for what, name in self.settings.metadata:
            if name.lower() in names:
                raise ConfigError("metadata.columns", f'"{name}" is a field of the records. Write {what}:another_name.')
            columns.append(self._metadata(what, name))
        return columns + self._own(columns)

    def _own(self, columns: Sequence[Incoming]) -> list[Incoming]:
        """The columns that the sink adds by itself."""
        settings = self.settings
        names = {column.name.lower() for column in columns}
        if settings.ends is not None:
            if taken := next((name for name in settings.ends if name.lower() in names), None):
                raise ConfigError("scd.type", f'"{taken}" is a field of the records. Name other columns, with scd.*.')
            at = self.began(columns)
            nothing = f"CAST(NULL AS {sql_name(at.type)})"
            return [
                Incoming(settings.ends.valid_from, at.type, at.sql),
                Incoming(settings.ends.valid_to, at.type, nothing),
                Incoming(settings.ends.is_current, "boolean", "true"),
            ]
        if (name := settings.delete_column) is None:
            return []
        if name.lower() in names:
            raise ConfigError("delete.column", f'"{name}" is a field of the records. Write another name.')
        if settings.delete_time:
            return [Incoming(name, "timestamp", f"IF({self.deleted()}, _timestamp, NULL)")]
        return [Incoming(name, "boolean", self.deleted())]

    def began(self, columns: Sequence[Incoming]) -> Incoming:
        """The column that says when a version began. Raises ConfigError."""
        wanted = self.settings.sequence[0]
        found = next((column for column in columns if column.name.lower() == wanted.lower()), None)
        if found is None:
            raise ConfigError("merge.sequence.by", missing_sequence(self.settings.table, wanted))
        return found

    def refusals(self) -> list[Refusal]:
        """Why a row is not one of its table, whatever its columns are."""
        keys = self.key_columns()
        found = [(f"{key.sql} IS NULL", f'The column "{key.name}" of its key is null.') for key in keys]
        if self.settings.ends is not None:
            at = self.began(self.incoming())
            found.append((f"{at.sql} IS NULL", f'Its "{at.name}" is null, and that says when its version began.'))
        return found

    def parts(self) -> tuple[str, str]:
        """Expressions for ${topic} and ${field} in the table's name; null where one is missing."""
        found = []
        for variable in (TOPIC, FIELD):
            if variable in self.settings.table:
                sql = "_topic" if variable == TOPIC else self._field()
                found.append(f"CASE WHEN {sql} RLIKE {_NAME_SQL} THEN {sql} END")
            else:
                found.append("''")
        return found[0], found[1]

    def no_key(self) -> str | None:
        """Why no row can be merged; None where rows have keys."""
        if self.settings.mode != UPSERT or self.settings.key_in_value or self.knows("_key"):
            return None
        return "It has no key, and pk.mode=record_key merges rows by their keys."

    def no_table(self) -> Refusal:
        """The condition under which a row has no table, and the reason."""
        topic, field = self.parts()
        what = f'field "{".".join(self.settings.table_field)}"' if FIELD in self.settings.table else "topic"
        return f"({topic} IS NULL OR {field} IS NULL)", f"Its {what} {NO_PART_OF_A_NAME}"

    def place(self) -> str:
        """An expression: the words that identify the record."""
        if "_origin" not in self.columns:
            return literal("A record")
        return "concat('Topic ', _origin.topic, ', partition ', _origin.partition, ', offset ', _origin.offset)"

    def deleted(self) -> str:
        """A condition, never null: the row deletes."""
        if self.settings.events and self.knows("_value"):
            return f"(_value IS NULL OR coalesce(_value.{quoted(CHANGE)} = '{DELETED}', false))"
        return "_value IS NULL"

    def wanted(self) -> str:
        """A condition, never null: the row is to be written, or deletes one."""
        parts = ["_failure IS NULL"] if "_failure" in self.columns else []
        if not self.settings.deletes:
            parts.append(f"NOT {self.deleted()}" if self.settings.events else "_value IS NOT NULL")
        return " AND ".join(parts) or "true"

    def _metadata(self, what: str, name: str) -> Incoming:
        if what != "key":
            return Incoming(name, _METADATA_TYPE[METADATA[what][1]], _METADATA_SQL[what])
        kind = self.columns["_key"]
        inner = fields(kind)
        if len(inner) == 1 and inner[0]["name"] == self.settings.wrap_key:
            return Incoming(name, inner[0]["type"], f"_key.{quoted(inner[0]['name'])}")
        return Incoming(name, kind, "_key")

    def _field(self) -> str:
        """The expression for `table.field`."""
        if not self.knows("_value"):
            return "CAST(NULL AS string)"
        kind: Type = self.columns["_value"]
        for depth, name in enumerate(self.settings.table_field):
            there = {each["name"]: each["type"] for each in fields(kind)}
            if name not in there:
                path = ".".join(self.settings.table_field[: depth + 1])
                raise ConfigError(
                    "table.field", f'"{path}" is not a field of the records, which have: {", ".join(there)}.'
                )
            kind = there[name]
        inner = ".".join(["_value", *map(quoted, self.settings.table_field)])
        return f"CAST({inner} AS string)"
