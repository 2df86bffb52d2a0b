"""Move the fields of nested structs and maps to the top level: Flatten.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.Flatten (KIP-66)
"""

from __future__ import annotations

from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from connect import DataError, Schema, Type, settings
from connect.data.arrow_column import ArrowColumn
from connect.data.map_columns import columns_of
from connect.data.struct_columns import StructColumns
from transforms.fields import Columns, Fields, FieldsTransformation, Plan, Struct, unique_fields
from transforms.paths import Path, column_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connect.settings import Config

#: What a schemaless map may hold, besides maps.
_PLAIN: Final = frozenset({type(None), bool, int, float, str, bytes, bytearray, memoryview, list, tuple})
_PLAIN_TYPES: Final = tuple(_PLAIN)
#: Stands for a struct that is null.
_NONE: Final[Struct] = {}


class Flatten(FieldsTransformation):
    """Makes one flat struct or map, whose fields are named by their paths, with a delimiter between the names.

    With a schema: fields of an optional struct become optional, a null field gets its default, and only the outer
    schema's name, version, doc and parameters are kept. Arrays stay as they are. A MAP in a struct is a `DataError`.
    Empty maps and structs without fields disappear.

    Without a schema: first the fields that are not maps, in their order, then the fields of maps, sorted by name. So
    the result for a record never depends on the records beside it, and the bytes of equal keys stay equal.
    """

    settings = settings.define(
        settings.String("delimiter", default=".", doc="The separator between the names of a path in the new name.")
    )
    purpose = "flattening"

    def configure(self, config: Config) -> None:
        self._delimiter: str = config["delimiter"]
        self.changes = {(): self._flat}

    def _flat(self, schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, self._maps, maps=self._map_columns)
        leaves: list[tuple[str, Schema, Path]] = []
        level = self._level(schema, (), "", schema.optional, schema.default, leaves)
        fields = unique_fields([(name, leaf) for name, leaf, _ in leaves])

        def columns(column: StructColumns) -> Fields:
            return [column_at(column, path, struct_defaults=False) for _, _, path in leaves]

        new = schema.replace(fields=fields, optional=False, default=None)
        return Plan(new, partial(_structs, level), columns if leaves else None)

    def _level(
        self,
        schema: Schema,
        at: Path,
        prefix: str,
        optional: bool,
        default: Struct | None,
        leaves: list[tuple[str, Schema, Path]],
    ) -> _Level:
        """Take a schema apart, and collect each field that is not a struct: new name, new schema and path.

        The default of a struct is the default of its fields, unless they have their own.
        """
        level = _Level([], [])
        for field in schema.fields:
            name, path = self._name(prefix, field.name), (*at, field.name)
            within = optional or field.schema.optional
            stand_in = field.schema.default
            if stand_in is None and default is not None:
                stand_in = default.get(field.name)
            if field.schema.type is Type.MAP:
                raise DataError(f'The field "{name}" is a MAP, which Flatten cannot flatten: its schema has no fields.')
            if field.schema.type is Type.STRUCT:
                level.inner.append((field.name, self._level(field.schema, path, name, within, stand_in, leaves)))
            else:
                level.leaves.append((field.name, name, field.schema.default))
                leaf = field.schema.as_optional() if within else field.schema
                leaves.append((name, leaf if stand_in is leaf.default else leaf.replace(default=stand_in), path))
        return level

    # Without a schema.

    def _name(self, prefix: str, name: Any) -> str:
        return f"{prefix}{self._delimiter}{'null' if name is None else name}" if prefix else name

    def _maps(self, maps: list[Struct]) -> list[Struct]:
        """Flatten many maps: by columns where the same fields hold maps, else one by one."""
        for sample in (maps[:20], maps):
            nested = {name: None for each in sample for name, value in each.items() if type(value) is dict}
            if not nested and _kinds(maps) <= _PLAIN:
                return maps
            flat = self._alike(maps, list(nested)) if nested else None
            if flat is not None:
                return flat
        return [self._one(each) for each in maps]

    def _alike(self, maps: list[Struct], nested: list[str]) -> list[Struct] | None:
        """Flatten maps that hold maps only under these names. None: under others too, or two names collide."""
        flat = list(map(dict.copy, maps))
        found = []
        for name in sorted(nested, key=str):
            above = flat
            inner: list[Any] = list(map(dict.get, maps, repeat(name)))
            if set(map(type, inner)) != {dict}:
                rows = [row for row, each in enumerate(inner) if type(each) is dict]
                above, inner = [flat[row] for row in rows], [inner[row] for row in rows]
            for each in above:
                del each[name]
            found.append((name, above, inner))
        if not _kinds(flat) <= _PLAIN:
            return None
        size = sum(map(len, flat))
        for name, above, inner in found:
            put = self._bring_up(above, inner, name) if name else None
            if put is None:
                return None
            size += put
        return flat if sum(map(len, flat)) == size else None  # fewer: two fields got the same name

    def _bring_up(self, above: list[Struct], maps: list[Struct], prefix: str) -> int | None:
        """Put the fields of maps into the structs above them.

        Returns:
            How many fields were moved; None where the maps hold maps and are not alike.
        """
        plain = _kinds(maps) <= _PLAIN
        put = 0
        try:
            for key in sorted(_keys(maps), key=str):
                name = self._name(prefix, key)
                kinds = set() if plain else {type(each[key]) for each in maps}
                if kinds == {dict}:
                    inner = self._bring_up(above, [each[key] for each in maps], name)
                    if inner is None:
                        return None
                    put += inner
                elif kinds <= _PLAIN:
                    for struct, each in zip(above, maps, strict=True):
                        struct[name] = each[key]
                    put += len(maps)
                else:
                    return None
        except KeyError:
            return self._bring_up_each(above, maps, prefix) if plain else None
        return put

    def _bring_up_each(self, above: list[Struct], maps: list[Struct], prefix: str) -> int:
        names: dict[tuple[Any, ...], list[tuple[Any, str]]] = {}
        for struct, each in zip(above, maps, strict=True):
            keys = tuple(each)
            named = names.get(keys)
            if named is None:
                named = names[keys] = [(key, self._name(prefix, key)) for key in sorted(keys, key=str)]
            for key, name in named:
                struct[name] = each[key]
        return sum(map(len, maps))

    def _map_columns(self, columns: Columns) -> Columns | None:
        """Flatten maps that all have the same keys, and within them the same again. None: they have not."""
        kinds = {
            # Of a column in Arrow no value is a map.
            name: set() if isinstance(items, ArrowColumn) else set(map(type, items))
            for name, items in columns.items()
        }
        flat = {name: items for name, items in columns.items() if kinds[name] <= _PLAIN}
        for name in sorted(columns.keys() - flat.keys(), key=str):
            if kinds[name] != {dict} or not name or not self._bring_up_columns(flat, columns[name], name):
                return None
        return flat

    def _bring_up_columns(self, flat: dict[str, Sequence[Any]], maps: Sequence[Any], prefix: str) -> bool:
        inner = columns_of(maps)
        if inner is None:
            return False
        for key in sorted(inner, key=str):
            name, kinds = self._name(prefix, key), set(map(type, inner[key]))
            if kinds == {dict}:
                if not self._bring_up_columns(flat, inner[key], name):
                    return False
            elif kinds <= _PLAIN and name not in flat:  # of two with the same name one by one finds the later one
                flat[name] = inner[key]
            else:
                return False
        return True

    def _one(self, each: Struct) -> Struct:
        found = self._leaves(each, "", {})
        flat = {name: found[name] for name, value in each.items() if not isinstance(value, dict)}
        for name in self._names(each, ""):
            flat.setdefault(name, found[name])
        return flat

    def _leaves(self, each: Struct, prefix: str, flat: Struct) -> Struct:
        """The values by their new names; of two with the same name the later one."""
        for key, value in each.items():
            name = self._name(prefix, key)
            if isinstance(value, dict):
                self._leaves(value, name, flat)
            elif isinstance(value, _PLAIN_TYPES):
                flat[name] = value
            else:
                raise DataError(
                    f'The field "{name}" holds a {type(value).__name__}, which Flatten supports only with a schema.'
                )
        return flat

    def _names(self, each: Struct, prefix: str) -> Iterator[Any]:
        for key in sorted(each, key=str):
            name = self._name(prefix, key)
            if isinstance(each[key], dict):
                yield from self._names(each[key], name)
            else:
                yield name


def _keys(maps: list[Struct]) -> Struct:
    """The keys of the first map. Raises `KeyError` where another one has more or fewer; they may still differ."""
    if set(map(len, maps)) != {len(maps[0])}:
        raise KeyError
    return maps[0]


def _kinds(maps: list[Struct]) -> set[type]:
    return set(map(type, chain.from_iterable(map(dict.values, maps))))


class _Level(NamedTuple):
    """A struct's schema, taken apart: plain fields with old name, new name and default, and nested structs."""

    leaves: list[tuple[str, str, Any]]
    inner: list[tuple[str, _Level]]


def _structs(level: _Level, structs: list[Struct]) -> list[Struct]:
    """Flatten many structs of one schema at once."""
    flat = [struct.copy() for struct in structs]
    found = [(inner, [struct.pop(name, None) for struct in flat]) for name, inner in level.inner]
    for name, _, default in level.leaves:
        if default is not None:
            for struct in flat:
                if struct.get(name) is None:
                    struct[name] = default
    for inner, below in found:
        _bring_up(inner, flat, below)
    return flat


def _bring_up(level: _Level, above: list[Struct], structs: list[Any]) -> None:
    """Put the fields of structs, some of which may be null, into the structs above them."""
    present = [_NONE if struct is None else struct for struct in structs] if None in structs else structs
    for name, new, default in level.leaves:
        if default is None:
            for struct, below in zip(above, present, strict=True):
                struct[new] = below.get(name)
        else:
            for struct, below in zip(above, present, strict=True):
                value = below.get(name)
                struct[new] = default if value is None and below is not _NONE else value
    for name, inner in level.inner:
        _bring_up(inner, above, [struct.get(name) for struct in present])


class FlattenKey(Flatten):
    """Flatten$Key."""

    part = "keys"


class FlattenValue(Flatten):
    """Flatten$Value."""
