"""Changing fields of structs and maps, also of nested ones.

A transformation that changes, removes, renames or adds fields defines what happens in the struct that holds them; this
module changes the structs around it::

    class Upper(FieldsTransformation):
        settings = settings.define(settings.List("fields")) | SYNTAX
        purpose = "upper case"

        def configure(self, config):
            fields = [parse(name, config[VERSION], "fields") for name in config["fields"]]
            self.changes = {
                parent: partial(self._upper, names) for parent, names in by_parent(fields).items()
            }

        def _upper(self, names, schema):
            def items(structs):
                return [{**struct, **{n: struct[n].upper() for n in names if n in struct}} for struct in structs]

            return Plan(schema, items)
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from connect import DataError, Schema, SchemaAndValue, SchemaError, Type, Values
from connect.data.map_columns import MapColumns
from connect.data.struct_columns import FieldColumn, StructColumns
from transforms.part import PartTransformation
from transforms.paths import Path, written
from transforms.rows import beside_nulls

if TYPE_CHECKING:
    import pyarrow as pa

Struct = dict[str, Any]
Fields = Sequence["FieldColumn | pa.Array | list[Any]"]
#: The values of each key of maps.
Columns = Mapping[str, Sequence[Any]]


class Plan(NamedTuple):
    """How to change the structs of one schema (or maps without one). Made once for each schema.

    Attributes:
        schema: the new schema; None for schemaless.
        items: returns the changed structs for a list of structs, none of them null. It may return the same objects
            where nothing changes, and never changes them.
        columns: the same for structs held field by field: returns the new schema's columns, as `StructColumns` takes
            them. None, or returning None: not available for this schema, or for these columns.
        maps: the same for schemaless maps that all have the same keys: the columns by key, in the order that `items`
            gives them. None, or returning None: not available.
    """

    schema: Schema | None
    items: Callable[[list[Struct]], list[Struct]]
    columns: Callable[[StructColumns], Fields | None] | None = None
    maps: Callable[[Columns], Columns | None] | None = None


#: Makes the plan for a struct's schema (None: schemaless).
Change = Callable[[Schema | None], Plan]


class FieldsTransformation(PartTransformation, ABC):
    """Changes fields of the key or the value. Null stays null; a value that is not a struct or map is a `DataError`.

    Attributes:
        purpose: what it does, for the message of that error: "field replacement".
        changes: set in `configure`: the change of the struct at each path, where () is the value itself. Deeper paths
            are changed first.
        create: whether structs that are missing or null on a path are created (optional ones, empty before the
            change). Otherwise the value stays as it is.
    """

    purpose: str = "field access"
    changes: Mapping[Path, Change]
    create: bool = False

    def plan(self, schema: Schema | None) -> Plan:
        """The plan for values of a schema. Called once for each schema."""
        return combined(schema, self.changes, create=self.create)

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        if value is None:
            return SchemaAndValue(schema, None)
        self._check(schema, [value])
        plan = self._plan(schema)
        return SchemaAndValue(plan.schema, plan.items([value])[0])

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        if set(map(type, items)) == {dict} and (schema is None or schema.type is Type.STRUCT):
            plan = self._plan(schema)
            return Values(plan.items(items), plan.schema)
        present = [row for row, item in enumerate(items) if item is not None]
        structs = [items[row] for row in present]
        if not structs:
            return Values(items, schema)
        self._check(schema, structs)
        plan = self._plan(schema)
        return beside_nulls(Values(plan.items(structs), plan.schema), present, len(items), schema)

    def _of_one_schema(self, column: Values) -> Values:
        if len(column) and column.schemas.constant and column.schemas[0] is None:
            plan = self._plan(None)
            maps = column.maps if plan.maps is not None else None
            changed = plan.maps(maps.columns) if plan.maps is not None and maps is not None else None
            if changed:
                return MapColumns(changed)
        return super()._of_one_schema(column)

    def convert_arrow(self, column: StructColumns) -> Values | None:
        plan = self._plan(column.struct)
        columns = plan.columns(column) if plan.columns is not None else None
        if columns is None or plan.schema is None or not columns:
            return None
        return StructColumns(plan.schema, columns)

    def _check(self, schema: Schema | None, items: list[Any]) -> None:
        if schema is not None and schema.type is not Type.STRUCT:
            raise DataError(f"Only structs can be used for {self.purpose}, but the schema is {schema.type.name}.")
        for item in items:
            if not isinstance(item, dict):
                what = "maps can be used without a schema" if schema is None else "structs can be used"
                raise DataError(f"Only {what} for {self.purpose}, but this is {type(item).__name__}.")

    @cached_property
    def _plan(self) -> Callable[[Schema | None], Plan]:
        return lru_cache(maxsize=100)(self.plan)


def combined(schema: Schema | None, changes: Mapping[Path, Change], *, create: bool = False) -> Plan:
    """One plan for changes in several structs of a value, deeper ones first. Arguments as in `FieldsTransformation`."""
    plans = []
    for parent in sorted(changes, key=len, reverse=True):
        plans.append(nested(schema, parent, changes[parent], create=create))
        schema = plans[-1].schema
    if len(plans) == 1:
        return plans[0]

    def items(structs: list[Struct]) -> list[Struct]:
        for plan in plans:
            structs = plan.items(structs)
        return structs

    def columns(column: StructColumns) -> Fields | None:
        for plan in plans:
            changed = plan.columns(column) if plan.columns is not None else None
            if not changed or plan.schema is None:
                return None
            column = StructColumns(plan.schema, changed)
        return column.fields

    return Plan(schema, items, columns)


def nested(schema: Schema | None, parent: Path, change: Change, *, create: bool = False) -> Plan:
    """The plan for a value in which the struct at `parent` is changed.

    The structs on the path keep all metadata of their schemas; the struct at its end stays optional if it was.

    Raises:
        DataError: the path leads through something that is not a struct.
    """
    if not parent:
        return change(schema)
    name, rest = parent[0], parent[1:]
    if schema is None:
        inside = nested(None, rest, change, create=create)
        return Plan(None, lambda structs: _items(structs, parent, inside, create=create))
    field = schema.field(name)
    if field is None and not create:
        return Plan(schema, lambda structs: structs, lambda column: column.fields)
    old = field.schema if field is not None else Schema(Type.STRUCT, optional=True)
    if old.type is not Type.STRUCT:
        raise DataError(f'"{name}" on the path {written(parent)} is {old.type.name}, but only a STRUCT has fields.')
    inside = nested(old, rest, change, create=create)
    assert inside.schema is not None
    if inside.schema is old:
        new = old
    else:
        default = None if old.default is None else inside.items([old.default])[0]
        new = inside.schema.replace(optional=old.optional, default=default)
    schemas = {f.name: f.schema for f in schema.fields} | {name: new}

    def columns(column: StructColumns) -> Fields | None:
        return (
            _columns(column, parent, inside, create=create)
            if inside.columns is not None and field is not None
            else None
        )

    return Plan(
        schema if new is old else schema.replace(fields=schemas),
        lambda structs: _items(structs, parent, inside, create=create),
        columns,
    )


def _items(structs: list[Struct], parent: Path, inside: Plan, *, create: bool) -> list[Struct]:
    name = parent[0]
    found = [struct.get(name) for struct in structs]
    return [
        struct if new is old else {**struct, name: new}
        for struct, old, new in zip(structs, found, _inner(found, parent, inside, create=create), strict=True)
    ]


def _inner(found: list[Any], parent: Path, inside: Plan, *, create: bool) -> list[Any]:
    """The changed structs at the first name of a path; some may be null."""
    if set(map(type, found)) == {dict}:
        return inside.items(found)
    changed = [{} if item is None and create else item for item in found]
    rows = [row for row, item in enumerate(changed) if item is not None]
    for row in rows:
        if not isinstance(changed[row], dict):
            what = type(changed[row]).__name__
            raise DataError(f'"{parent[0]}" on the path {written(parent)} is a value of type {what}, not a map.')
    if rows:
        for row, new in zip(rows, inside.items([changed[row] for row in rows]), strict=True):
            changed[row] = new
    return changed


def _columns(column: StructColumns, parent: Path, inside: Plan, *, create: bool) -> Fields | None:
    field = column.struct.field(parent[0])
    assert field is not None
    held = column.fields[field.index]
    if create and held.is_arrow and held.array.null_count:
        return None
    changed = _array(held, inside) if held.is_arrow else _inner(held.items, parent, inside, create=create)
    if changed is None:
        return None
    fields: list[FieldColumn | pa.Array | list[Any]] = list(column.fields)
    fields[field.index] = changed
    return fields


def _array(held: FieldColumn, inside: Plan) -> pa.Array | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    from connect.data.arrow import arrow_type
    from connect.data.table_columns import scattered

    structs = held.array
    assert inside.schema is not None
    assert inside.columns is not None
    present = structs.drop_null() if structs.null_count else structs
    if not len(present):
        kind = arrow_type(inside.schema)
        return None if kind is None else pa.nulls(len(structs), kind)
    fields = inside.columns(StructColumns(held.schema, present.flatten()))
    if not fields:
        return None
    children = StructColumns(inside.schema, fields).columns
    made = pa.StructArray.from_arrays(children, [member.name for member in inside.schema.fields])
    if present is structs:
        return made
    return scattered(made, pc.indices_nonzero(structs.is_valid()).to_pylist(), len(structs))


def unique_fields(fields: Sequence[tuple[str, Schema]]) -> dict[str, Schema]:
    """The fields of a new struct schema. Raises `SchemaError` when a name is empty or not unique."""
    schemas = dict(fields)
    if "" in schemas:
        raise SchemaError("A field of a struct needs a name, but one would have none.")
    if len(schemas) < len(fields):
        names = [name for name, _ in fields]
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f'Two fields would have the name "{twice}".')
    return schemas
