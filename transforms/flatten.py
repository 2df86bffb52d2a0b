"""Bring the fields of nested structs and maps to the top: Flatten.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.Flatten (KIP-66)
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from connect import DataError, Schema, Type, settings
from connect.data.struct_columns import StructColumns
from transforms.fields import Fields, FieldsTransformation, Plan, Struct, unique_fields
from transforms.paths import Path, column_at, values_at

if TYPE_CHECKING:
    from connect.settings import Config

#: What a schemaless map may hold, besides maps.
_PLAIN: Final = frozenset({type(None), bool, int, float, str, bytes, bytearray, memoryview, list, tuple})


class Flatten(FieldsTransformation):
    """Names nested fields by their path, with a delimiter between the names, as fields of one flat struct or map.

    With a schema: what lies in an optional struct becomes optional, a field that is null gets its default, and of the
    schemas of structs only the outer one's name, version, doc and parameters remain. Arrays stay as they are. A MAP in
    a struct is a `DataError`. Empty maps and structs without fields vanish.
    """

    settings = settings.define(
        settings.String("delimiter", default=".", doc="What stands between the names of a path in the new name.")
    )
    purpose = "flattening"

    def configure(self, config: Config) -> None:
        self._delimiter: str = config["delimiter"]
        self._names: dict[str, _Names] = {}
        self.changes = {(): self._flat}

    def _flat(self, schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, self._maps)
        leaves: list[tuple[str, Schema, Path]] = []
        self._collect(schema, (), "", schema.optional, leaves)
        new = schema.replace(
            fields=unique_fields([(name, leaf) for name, leaf, _ in leaves]), optional=False, default=None
        )

        def items(structs: list[Struct]) -> list[Struct]:
            return _structs(schema, structs, leaves)

        def columns(column: StructColumns) -> Fields:
            return [column_at(column, path) for _, _, path in leaves]

        return Plan(new, items, columns if leaves else None)

    # With a schema.

    def _collect(
        self, schema: Schema, at: Path, prefix: str, optional: bool, leaves: list[tuple[str, Schema, Path]]
    ) -> None:
        """Find each field that holds no struct: its new name, its new schema and where it is."""
        for field in schema.fields:
            name, path = self._name(prefix, field.name), (*at, field.name)
            within = optional or field.schema.optional
            if field.schema.type is Type.MAP:
                raise DataError(f'Flatten cannot take apart the MAP in the field "{name}": its schema names no fields.')
            if field.schema.type is Type.STRUCT:
                self._collect(field.schema, path, name, within, leaves)
            else:
                leaves.append((name, field.schema.as_optional() if within else field.schema, path))

    def _name(self, prefix: str, name: Any) -> str:
        return f"{prefix}{self._delimiter}{'null' if name is None else name}" if prefix else name

    # Without one.

    def _maps(self, maps: list[Struct]) -> list[Struct]:
        """Flatten many maps at once; those that are unlike the first ones, one by one."""
        kinds = set(map(type, chain.from_iterable(map(dict.values, maps))))
        if kinds <= _PLAIN:
            return maps
        seen = {name: None for each in maps[:20] for name, value in each.items() if type(value) is dict and name}
        nested = [(name, self._names_below(name)) for name in seen]
        flat: list[Struct] = []
        unlike = set()
        for row, each in enumerate(maps):
            taken = each.copy()
            expected = len(taken)
            for name, names in nested:
                inner = taken.pop(name, None)
                if type(inner) is dict:
                    expected += len(inner) - 1
                    for key, value in inner.items():
                        taken[names[key]] = value
            if len(taken) != expected:  # not a map after all, or two fields of one name
                unlike.add(row)
            flat.append(taken)
        if set(map(type, chain.from_iterable(map(dict.values, flat)))) <= _PLAIN:
            for row in unlike:
                flat[row] = self._one(maps[row], "", {})
            return flat
        return [
            each if set(map(type, each.values())) <= _PLAIN and row not in unlike else self._one(maps[row], "", {})
            for row, each in enumerate(flat)
        ]

    def _one(self, each: Struct, prefix: str, flat: Struct) -> Struct:
        for key, value in each.items():
            name = self._name(prefix, key)
            if isinstance(value, dict):
                self._one(value, name, flat)
            elif isinstance(value, tuple(_PLAIN)):
                flat[name] = value
            else:
                raise DataError(
                    f'The field "{name}" holds a {type(value).__name__}, which needs a schema to be flattened.'
                )
        return flat

    def _names_below(self, prefix: str) -> _Names:
        if prefix not in self._names:
            self._names[prefix] = _Names(self, prefix)
        return self._names[prefix]


class _Names(dict[Any, str]):
    """The new names of the fields below one field. A map's keys may be without number: not all are remembered."""

    def __init__(self, flatten: Flatten, prefix: str) -> None:
        self._flatten = flatten
        self._prefix = prefix

    def __missing__(self, key: Any) -> str:
        if len(self) > 10_000:
            self.clear()
        name = self[key] = self._flatten._name(self._prefix, key)
        return name


def _structs(schema: Schema, structs: list[Struct], leaves: list[tuple[str, Schema, Path]]) -> list[Struct]:
    """Flatten many structs of one schema at once."""
    flat = [struct.copy() for struct in structs]
    for field in schema.fields:
        if field.schema.type is Type.STRUCT:
            for struct in flat:
                struct.pop(field.name, None)
    for name, leaf, path in leaves:
        if len(path) > 1:
            for struct, value in zip(flat, values_at(schema, structs, path), strict=True):
                struct[name] = value
        elif leaf.default is not None:
            for struct in flat:
                if struct.get(name) is None:
                    struct[name] = leaf.default
    return flat


class FlattenKey(Flatten):
    """Flatten$Key."""

    part = "keys"


class FlattenValue(Flatten):
    """Flatten$Value."""

    part = "values"
