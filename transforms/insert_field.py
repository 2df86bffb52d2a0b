"""Add fields with a record's metadata or a fixed value: InsertField.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.InsertField
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from connect import Batch, ConfigError, DataError, Schema, SinkBatch, SinkRecord, Values, logical, settings
from connect.data.column import Column, Constant
from connect.data.schema import INT32, INT64, STRING
from connect.data.struct_columns import StructColumns
from connect.data.times import EPOCH
from connect.data.values import GroupedValues
from connect.settings import Config
from transforms.fields import Columns, Fields, FieldsTransformation, Plan, Struct, unique_fields
from transforms.paths import SYNTAX, VERSION, Path, by_parent, parse
from transforms.structs import DEFAULTS, WITH_DEFAULTS, copied, defaults_of, schema_around, with_default

B = TypeVar("B", bound=Batch[Any])

_SCHEMAS: Final = {
    "topic": STRING,
    "partition": INT32,
    "offset": INT64,
    "timestamp": logical.TIMESTAMP,
    "static": STRING,
}


class _Insertion(NamedTuple):
    """A field to add: its path, its content (a key of `_SCHEMAS`), and its schema."""

    path: Path
    what: str
    schema: Schema


class InsertField(FieldsTransformation):
    """Adds the record's topic, partition, offset or timestamp, or a fixed string, as fields.

    Null stays null. Without a schema a timestamp is a whole number, and nulls are left out. With a schema a name that
    already exists is an error.
    """

    purpose = "inserting fields"
    create = True
    settings = (
        settings.define(
            settings.String(
                "topic.field",
                default=None,
                doc="The field for the topic. Here and in the keys below a ! after the name makes the field required; "
                "without it, or with a ?, the field is optional.",
            ),
            settings.String("partition.field", default=None, doc="The field for the partition."),
            settings.String(
                "offset.field",
                default=None,
                doc="The field for the offset. For sinks only: records of a source are refused.",
            ),
            settings.String(
                "timestamp.field",
                default=None,
                doc="The field for the record's timestamp: a Timestamp, or milliseconds without a schema.",
            ),
            settings.String("static.field", default=None, doc="The field for static.value."),
            settings.String("static.value", default=None, doc="The string for static.field."),
        )
        | DEFAULTS
        | SYNTAX
    )

    def configure(self, config: Config) -> None:
        self._with_defaults: bool = config[WITH_DEFAULTS]
        self._static: str | None = config["static.value"]
        self._insertions: list[_Insertion] = []
        for what, schema in _SCHEMAS.items():
            name: str | None = config[f"{what}.field"]
            if name is None:
                continue
            path = parse(name[:-1] if name.endswith(("!", "?")) else name, config[VERSION], f"{what}.field")
            self._insertions.append(_Insertion(path, what, schema if name.endswith("!") else schema.as_optional()))
        if not self._insertions:
            raise ConfigError("topic.field", "or another of the keys that end in .field must name a field to insert.")
        if config["static.field"] is not None and self._static is None:
            raise ConfigError("static.value", "is required if static.field is set.")
        self.changes = {
            parent: partial(self._insert, [each for each in self._insertions if each.path[:-1] == parent])
            for parent in by_parent(each.path for each in self._insertions)
        }
        self._names = {each.path for each in self._insertions}  # fewer where one is inserted over another
        #: The columns to insert into the current rows, by their content; empty while there are no current rows.
        self._inserted: dict[str, Column[Any]] = {}

    def apply(self, record: Any) -> Any:
        present = record.key if self.part == "keys" else record.value
        if present is None:
            return record
        if any(each.what == "offset" for each in self._insertions) and not isinstance(record, SinkRecord):
            raise _no_offset()
        self._inserted = {
            each.what: Constant(self._static if each.what == "static" else getattr(record, each.what), 1)
            for each in self._insertions
        }
        return super().apply(record)

    def apply_batch(self, batch: B) -> B:
        values: Values = getattr(batch, self.part)
        if any(each.what == "offset" for each in self._insertions) and not isinstance(batch, SinkBatch):
            if all(value is None for value in values):
                return batch
            raise _no_offset()
        columns: dict[str, Column[Any]] = {
            each.what: Constant(self._static, len(batch)) if each.what == "static" else getattr(batch, f"{each.what}s")
            for each in self._insertions
        }
        groups: list[tuple[Sequence[int], Values]] = []
        for rows, group in values.groups():
            whole = len(rows) == len(batch)
            self._inserted = columns if whole else {what: column.take(rows) for what, column in columns.items()}
            groups.append((rows, self._of_one_schema(group)))
        self._inserted = {}
        if not groups:
            return batch
        changed = groups[0][1] if len(groups) == 1 else GroupedValues(len(batch), groups)
        return batch.with_columns(**{self.part: changed})

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        if None in items:
            present = [row for row, item in enumerate(items) if item is not None]
            self._inserted = {what: column.take(present) for what, column in self._inserted.items()}
        return super().convert_column(schema, items)

    def plan(self, schema: Schema | None) -> Plan:
        # A struct on the path may have a default, which changes with the schema. Nothing is inserted into a default.
        inserted, self._inserted = self._inserted, {}
        try:
            return super().plan(schema)
        finally:
            self._inserted = inserted

    def _insert(self, insertions: list[_Insertion], schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, partial(self._into_maps, insertions), maps=partial(self._into_map_columns, insertions))
        old = [(field.name, field.schema) for field in schema.fields]
        fields = unique_fields(old + [(each.path[-1], each.schema) for each in insertions])
        defaults = defaults_of(schema, replace_null=self._with_defaults)
        return Plan(
            schema_around(schema, fields),
            partial(self._into_structs, insertions, defaults),
            partial(self._into_columns, insertions),
        )

    def _into_maps(self, insertions: list[_Insertion], structs: list[Struct]) -> list[Struct]:
        constants = {}
        varying = []
        for each in insertions:
            column = self._inserted[each.what]
            if not isinstance(column, Constant) or len(self._names) < len(self._insertions):
                varying.append((each.path[-1], column))
            elif column.value is not None:
                constants[each.path[-1]] = column.value
        copies = [{**struct, **constants} for struct in structs]
        for name, column in varying:
            for copy, value in zip(copies, column, strict=True):
                if value is not None:
                    copy[name] = value
        return copies

    def _into_map_columns(self, insertions: list[_Insertion], columns: Columns) -> Columns | None:
        if len(self._names) < len(self._insertions):
            return None
        inserted = [(each.path[-1], self._inserted[each.what]) for each in insertions]
        fixed = [(name, column) for name, column in inserted if isinstance(column, Constant)]
        varying = [(name, column.to_list()) for name, column in inserted if not isinstance(column, Constant)]
        if any(None in items for _, items in varying):  # nulls are left out: the maps have not the same keys
            return None
        constants = {name: column.to_list() for name, column in fixed if column.value is not None}
        return {**columns, **constants, **dict(varying)}

    def _into_structs(
        self, insertions: list[_Insertion], defaults: list[tuple[str, Any]], structs: list[Struct]
    ) -> list[Struct]:
        copies = copied(structs, defaults)
        for each in insertions:
            column = self._inserted.get(each.what)
            if column is None:
                continue
            name = each.path[-1]
            for copy, value in zip(copies, _times(column) if each.what == "timestamp" else column, strict=True):
                copy[name] = value
        return copies

    def _into_columns(self, insertions: list[_Insertion], column: StructColumns) -> Fields:
        columns: list[Any] = [with_default(field) if self._with_defaults else field for field in column.fields]
        for each in insertions:
            items = self._inserted[each.what].to_list()
            if each.what == "timestamp" and any(field.is_arrow for field in column.fields):
                import pyarrow as pa

                from transforms.arrow_casts import from_ms

                made = from_ms(pa.array(items, pa.int64()), "Timestamp")
                if made is None:
                    raise _outside()
                columns.append(made)
            else:
                columns.append(list(_times(items)) if each.what == "timestamp" else items)
        return columns


def _times(milliseconds: Sequence[int | None]) -> list[dt.datetime | None]:
    try:
        return [None if ms is None else EPOCH + dt.timedelta(milliseconds=ms) for ms in milliseconds]
    except OverflowError:
        raise _outside() from None


def _outside() -> DataError:
    return DataError("A record's timestamp is outside the years 1 to 9999.")


def _no_offset() -> DataError:
    return DataError("Only records of a sink have offsets. Remove offset.field.")


class InsertFieldKey(InsertField):
    """InsertField for keys."""

    part = "keys"


class InsertFieldValue(InsertField):
    """InsertField for values."""
