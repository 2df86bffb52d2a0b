"""Change the types of fields, or of the whole value: Cast.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.Cast
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from connect import Schema, SchemaAndValue, Type, Values, logical, settings
from connect.data.arrow_column import ArrowColumn
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.settings import Config
from transforms.fields import Columns, Fields, FieldsTransformation, Plan, Struct
from transforms.java_casts import TARGETS, cast_list
from transforms.paths import SYNTAX, VERSION, Path, parse
from transforms.rows import beside_nulls
from transforms.structs import DEFAULTS, WITH_DEFAULTS, copied, defaults_of, schema_around, with_default


def _spec(name: str, value: list[str]) -> None:
    """Validates the list of casts."""
    _parsed(value)


def _parsed(spec: list[str]) -> dict[str, Type] | Type:
    """Types by field, or the type of the whole value."""
    if not spec:
        raise ValueError("must name at least one field and its type, as in id:int64.")
    fields: dict[str, Type] = {}
    for item in spec:
        parts = [part.strip() for part in item.split(":")]
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
        if len(parts) > 2:
            raise ValueError(f'"{item}" has too many colons. Write field:type.')
        target = TARGETS.get(parts[-1].upper())
        if target is None:
            raise ValueError(f'"{parts[-1]}" is not a type. Write one of {", ".join(TARGETS).lower()}.')
        if len(parts) == 1:
            if len(spec) > 1:
                raise ValueError(f'"{item}" is a type for the whole value, which must be the only entry.')
            return target
        fields[parts[0]] = target
    return fields


class Cast(FieldsTransformation):
    """Casts fields, or with a type alone the whole value, to numbers, booleans or strings as Java does.

    Null stays null. Integers that are too big lose their upper bits, and floats lose their fraction. A string that is
    not a number of the target type is an error.
    """

    purpose = "casting types"
    settings = (
        settings.define(
            settings.List(
                "spec",
                importance="HIGH",
                validator=_spec,
                doc="field:type for each field to cast, or one type for the whole value. Types are int8, int16, int32, "
                "int64, float32, float64, boolean and string.",
            )
        )
        | DEFAULTS
        | SYNTAX
    )

    def configure(self, config: Config) -> None:
        self._with_defaults: bool = config[WITH_DEFAULTS]
        self._whole: Type | None = None
        parsed = _parsed(config["spec"])
        by_parent: dict[Path, dict[str, Type]] = {}
        if isinstance(parsed, Type):
            self._whole = parsed
        else:
            for name, target in parsed.items():
                path = parse(name, config[VERSION], "spec")
                by_parent.setdefault(path[:-1], {})[path[-1]] = target
        self.changes = {parent: partial(self._cast, targets) for parent, targets in by_parent.items()}

    # Whole values.

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        if self._whole is None or value is None:
            return super().convert(schema, value)
        return SchemaAndValue(_whole_schema(schema, self._whole), cast_list(schema, self._whole, [value])[0])

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        if self._whole is None:
            return super().convert_column(schema, items)
        present = [row for row, item in enumerate(items) if item is not None] if None in items else range(len(items))
        if not present:
            return Values(items, schema)
        cast = cast_list(schema, self._whole, [items[row] for row in present])
        return beside_nulls(Values(cast, _whole_schema(schema, self._whole)), present, len(items), schema)

    def convert_arrow(self, column: StructColumns) -> Values | None:
        return super().convert_arrow(column) if self._whole is None else None

    # Fields.

    def _cast(self, targets: dict[str, Type], schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, partial(_items, targets, {}, []), maps=partial(_maps, targets))
        known = {name: target for name, target in targets.items() if schema.field(name) is not None}
        sources = {field.name: field.schema for field in schema.fields}
        fields = sources | {name: _field_schema(sources[name], target) for name, target in known.items()}
        return Plan(
            schema_around(schema, fields, optional=schema.optional),
            partial(_items, known, sources, defaults_of(schema, replace_null=self._with_defaults)),
            partial(self._columns, known),
        )

    def _columns(self, targets: dict[str, Type], column: StructColumns) -> Fields:
        columns: list[Any] = [with_default(field) if self._with_defaults else field for field in column.fields]
        for name, target in targets.items():
            field = column.struct.field(name)
            assert field is not None
            columns[field.index] = _cast_column(columns[field.index], target)
        return columns


def _items(
    targets: dict[str, Type], sources: dict[str, Schema], defaults: list[tuple[str, Any]], structs: list[Struct]
) -> list[Struct]:
    copies = copied(structs, defaults)
    for name, target in targets.items():
        values = cast_list(sources.get(name), target, [copy.get(name) for copy in copies])
        for copy, value in zip(copies, values, strict=True):
            copy[name] = value
    return copies


def _maps(targets: dict[str, Type], columns: Columns) -> Columns:
    cast = dict(columns)
    length = len(next(iter(columns.values())))
    for name, target in targets.items():
        cast[name] = _cast_values(columns.get(name, [None] * length), target)
    return cast


#: Other whole numbers and doubles would have these in Python, too, but another type in Arrow.
_KEPT: Final = frozenset({Type.INT64, Type.FLOAT64, Type.STRING, Type.BOOLEAN})


def _cast_values(values: Sequence[Any], target: Type) -> Sequence[Any]:
    """Schemaless values; one that is absent becomes null."""
    if isinstance(values, ArrowColumn) and target in _KEPT:
        from transforms.arrow_casts import cast_array

        array = cast_array(values.field.schema, values.array, target)
        if array is not None:
            return ArrowColumn(array)
    return cast_list(None, target, list(values))


def _cast_column(column: FieldColumn, target: Type) -> Any:
    if column.is_arrow:
        from transforms.arrow_casts import cast_array

        made = cast_array(column.schema, column.array, target)
        if made is not None:
            return made
    return cast_list(column.schema, target, column.items)


def _field_schema(schema: Schema, target: Type) -> Schema:
    """A field's schema after the cast: only optional and the default are kept."""
    return Schema(target, optional=schema.optional, default=_default(schema, target))


def _whole_schema(schema: Schema | None, target: Type) -> Schema | None:
    """A value's schema after the cast: the type changes, and a logical type's name, version and parameters go."""
    if schema is None:
        return None
    new = schema.replace(type=target, default=_default(schema, target))
    return new if logical.python_type(schema) is None else new.replace(name=None, version=None, parameters=None)


def _default(schema: Schema, target: Type) -> Any:
    return cast_list(schema, target, [schema.default])[0]


class CastKey(Cast):
    """Cast for keys."""

    part = "keys"


class CastValue(Cast):
    """Cast for values."""
