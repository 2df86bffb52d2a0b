"""The columns of one table, and how they grow so that records fit: what the user allows and what the format can change.

Rows are made strictly (`connect.data.tables`). Only for values that do not fit does it find out what they would need. A
record that needs what is not allowed is unfit, and an unfit record changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from connect.data.evolution import AddField, Change, Evolution, MakeNullable, Mismatch, Path, WidenField
from connect.data.evolution_policy import ADD, NULLABLE, QUARANTINE, WIDEN, EvolutionPolicy
from connect.data.schema import Schema, Type
from connect.data.struct_columns import StructColumns
from connect.data.values import GroupedValues, Values
from connect.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

#: The column of values that are not structs.
VALUE: Final = "value"

_GROWTH: Final = frozenset({ADD, NULLABLE})


@dataclass(frozen=True, slots=True)
class Fit:
    """Rows for a table.

    Attributes:
        rows: a struct for each of `kept`, null for a record without a value.
        kept: which of the values they are, ascending.
        mismatches: the other values, each with its reason.
    """

    rows: pa.StructArray
    kept: Sequence[int]
    mismatches: Sequence[Mismatch]


class Format(Protocol):
    """What a table format makes of schemas, and which changes of a table it refuses.

    Attributes:
        ignores_case: whether names that differ only in case are one column.
        widens: whether an existing column's type can change.
        requires: whether columns of a new table are required where the first records' schema says so.
    """

    ignores_case: bool
    requires: bool
    widens: bool

    def stored(self, schema: Schema) -> Schema:
        """The schema as a table of this format has it: without what it does not keep."""

    def refusal(self, change: Change, *, exists: bool) -> str | None:
        """Why a table cannot be changed so, as a clause; None if it can. `exists`: not only planned."""


class Shape:
    """The columns of a table, including those that the waiting rows will add.

    Args:
        table_format: see `Format`.
        policy: what the user allows.
        schema: what the table has; None when there is none yet, and then everything is allowed.
        told: types of columns that do not depend on the records, whose values may come without a schema, by their names
            without upper case (`str.casefold`).
    """

    def __init__(
        self,
        table_format: Format,
        policy: EvolutionPolicy,
        schema: Schema | None,
        told: Mapping[str, Schema] = MappingProxyType({}),
    ) -> None:
        self._format = table_format
        self._policy = policy
        self._exists = schema is not None
        self._respells = False  # whether records write the name of a column in other letters
        self._lenient = False  # whether fields were seen that are not to be written
        self.schema = schema
        self._told = told

    def found(self, schema: Schema) -> None:
        """Take over the columns of a table that was created or changed. Columns that the waiting rows will add stay.

        Raises:
            SchemaError: rows that wait cannot be written to such a table.
        """
        planned, self.schema, self._exists = self.schema, schema, True
        if planned is not None and planned != schema and planned.fields:
            allowed = _GROWTH | {WIDEN} if self._format.widens else _GROWTH
            verdict = Evolution(EvolutionPolicy(allowed, mismatch=QUARANTINE), schema).judge(Values([{}], planned))
            if verdict.mismatches:
                raise SchemaError(
                    "Another writer changed it, and rows that wait to be written do not fit it: "
                    + verdict.mismatches[0].reason
                )
            self.schema = verdict.target

    def column(self, name: str) -> Shape:
        """A shape of its own with one of the columns, and with what has that name in other letters; empty for none."""
        fields = () if self.schema is None else self.schema.fields
        shape = self.within(Schema.struct({f.name: f.schema for f in fields if f.name.casefold() == name.casefold()}))
        shape._told = self._told
        return shape

    def within(self, struct: Schema) -> Shape:
        """A shape of its own, by the same rules, for a struct within the table: nothing is told of its fields."""
        shape = Shape(self._format, self._policy, struct)
        shape._exists = self._exists
        return shape

    def fit(self, values: Values) -> Fit:
        """Make rows of these values. The shape grows where the policy allows it."""
        from connect.data.tables import Unfit, rows_of

        everything = range(len(values))
        if self._respells and self._format.ignores_case:
            values = spelled_as(self.schema, values)
        if self.schema is not None and self.schema.fields:
            try:
                rows = rows_of(values, self.schema, wrap=VALUE, unknown="ignore" if self._lenient else "reject")
            except Unfit:
                pass
            else:
                return Fit(rows, everything, ())
        if (
            self.schema is not None
            and self._format.ignores_case
            and not self._respells
            and (respelled := spelled_as(self.schema, values)) is not values
        ):
            self._respells = True
            return self.fit(respelled)
        return self._grow(values)

    def _grow(self, values: Values) -> Fit:
        from connect.data.tables import Unfit, rows_of, schema_of

        unfit: dict[int, str] = {}
        if self._format.ignores_case and not (self._exists and self._policy.ignore_unknown):  # columns may be added
            values = _respelled_by(_spellings(self.schema, values), values)
            unfit.update(_twice(values))
        while True:
            kept = [row for row in range(len(values)) if row not in unfit]
            some = values.take(kept) if unfit else values
            refused: list[str] = []
            try:
                needed = schema_of(some, self.schema, wrap=VALUE)
                grown = self._grown(self._as_told(needed), refused)
                rows = rows_of(some, grown, wrap=VALUE, unknown="ignore" if self._policy.ignore_unknown else "reject")
            except Unfit as error:
                hint = f" ({refused[0]})" if refused else ""
                unfit.update({kept[each.row]: each.reason + hint for each in error.mismatches})
            except SchemaError as error:  # there can be no such column
                unfit.update(dict.fromkeys(self._at_fault(values, kept), str(error)))
            else:
                break
        if not grown.fields:
            unfit.update((kept[row], _NOTHING) for row, there in enumerate(rows.is_valid().to_pylist()) if there)
            kept = [row for row in kept if row not in unfit]
            rows = rows_of(values.take(kept), grown)
        else:
            self.schema = grown
            self._tell_ignored(needed, grown)
        return Fit(rows, kept, [Mismatch(row, why) for row, why in sorted(unfit.items())])

    def _at_fault(self, values: Values, kept: Sequence[int]) -> list[int]:
        """The first of these rows with which the others before it make no table, and those of its schema."""
        from connect.data.tables import Unfit, schema_of

        def fails(count: int) -> bool:
            try:
                self._grown(self._as_told(schema_of(values.take(kept[:count]), self.schema, wrap=VALUE)), [])
            except Unfit:
                return False
            except SchemaError:
                return True
            return False

        low, high = 1, len(kept)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if fails(middle) else (middle + 1, high)
        row, left = kept[low - 1], set(kept)
        for rows, group in values.groups():
            if row in rows and group.schemas[0] is not None:
                return [each for each in rows if each in left and each >= row]
        return [row]

    def _tell_ignored(self, needed: Schema, grown: Schema) -> None:
        """Log the fields that are left out, once; later batches are not searched for them."""
        ignored = [each for each in _paths(needed) if each not in set(_paths(grown))]
        if ignored and self._policy.ignore_unknown:
            names = ", ".join(".".join(each) for each in ignored)
            log.warning("Fields that the table does not have are not written: %s.", names)
            self._lenient = self._respells = True

    def _as_told(self, needed: Schema) -> Schema:
        """Add the told types of the columns that the table does not have yet."""
        known = set() if self.schema is None else {field.name for field in self.schema.fields}
        fields = {field.name: field.schema for field in needed.fields}
        told = {name: kind for name in fields if name not in known and (kind := self._told.get(name.casefold()))}
        return Schema.struct(fields | told)

    def _grown(self, needed: Schema, refused: list[str]) -> Schema:
        # A table does not keep names of structs and defaults, so they are not planned.
        needed = self._format.stored(needed)
        grown = _changed(self.schema or Schema.struct({}), needed, (), lambda change: self._may(change, refused))
        if self.schema is None and self._format.requires:
            kept = {field.name: field.schema for field in needed.fields if grown.field(field.name) is not None}
            return needed if len(kept) == len(needed.fields) else Schema.struct(kept)
        return grown

    def _may(self, change: Change, refused: list[str]) -> bool:
        why = self._format.refusal(change, exists=self._exists)
        if why is None and isinstance(change, AddField) and self._format.ignores_case and self._differs_in_case(change):
            why = f'the table has "{change.path[-1]}", and does not tell upper from lower case'
        if not self._exists:
            if why is None:
                return True
        elif change.word not in self._policy.allowed:
            return False
        if why is not None:
            refused.append(why)
        return why is None

    def _differs_in_case(self, change: AddField[Schema]) -> bool:
        beside = _at(self.schema or Schema.struct({}), change.path[:-1])
        return any(field.name.casefold() == change.path[-1].casefold() for field in beside.fields)


_NOTHING: Final = "none of its fields has a value that tells its type, so no column can be made of it."


def declared(values: Values) -> list[tuple[Sequence[int], frozenset[str] | None]]:
    """The fields of each schema, with its rows; None for values that have no schema."""
    found: list[tuple[Sequence[int], frozenset[str] | None]] = []
    for rows, group in values.groups():
        own = group.schemas[0] if len(group) else None
        if own is not None and own.type is Type.STRUCT:
            found.append((rows, frozenset(field.name for field in own.fields)))
        else:
            there = any(item is not None for item in group.to_list())
            found.append((rows, None if there else frozenset()))
    return found


def spelled_as(schema: Schema | None, values: Values) -> Values:
    """Structs whose fields are spelt as in the table: the table does not tell upper from lower case.

    Returns the same values if nothing changes. Fields of nested structs keep their names.
    """
    return _respelled_by(
        {} if schema is None else {field.name.casefold(): field.name for field in schema.fields}, values
    )


def _spellings(schema: Schema | None, values: Values) -> dict[str, str]:
    """How the fields of a table and of new records are spelt: as the first one is."""
    names = {} if schema is None else {field.name.casefold(): field.name for field in schema.fields}
    for _, group in values.groups():
        for name in _names(group):
            names.setdefault(name.casefold(), name)
    return names


def _twice(values: Values) -> dict[int, str]:
    """The records with two fields of one name."""
    found: dict[int, str] = {}
    for rows, group in values.groups():
        own, names = group.schemas[0] if len(group) else None, _names(group)
        if len({name.casefold() for name in names}) == len(names):
            continue
        for row, item in zip(rows, group.to_list(), strict=True):
            seen: dict[str, str] = {}
            for name in names if own is not None and item is not None else _names(Values([item])):
                if (before := seen.setdefault(name.casefold(), name)) != name:
                    found[row] = (
                        f'its fields "{before}" and "{name}" differ only in case, and the table does not tell upper '
                        "from lower case."
                    )
    return found


def _names(group: Values) -> list[str]:
    own = group.schemas[0] if len(group) else None
    if own is not None:
        return [field.name for field in own.fields] if own.type is Type.STRUCT else []
    items = [item for item in group.to_list() if isinstance(item, dict)]
    return list(dict.fromkeys(name for item in items for name in item if isinstance(name, str)))


def _respelled_by(names: Mapping[str, str], values: Values) -> Values:
    groups = [(rows, _respelled(names, group)) for rows, group in values.groups()]
    if all(new is group for (_, new), (_, group) in zip(groups, values.groups(), strict=True)):
        return values
    return groups[0][1] if len(groups) == 1 else GroupedValues(len(values), groups)


def _respelled(names: Mapping[str, str], group: Values) -> Values:
    held, own = group.struct_columns, group.schemas[0] if len(group) else None
    if held is not None:
        struct = _respelled_schema(names, held.struct)
        return group if struct is held.struct else StructColumns(struct, held.fields)
    items = group.to_list()
    new = [_respelled_keys(names, item) if isinstance(item, dict) else item for item in items]
    if all(map(is_, new, items)):
        return group
    return Values(new, None if own is None else _respelled_schema(names, own))


def _respelled_schema(names: Mapping[str, str], schema: Schema) -> Schema:
    fields = _respelled_keys(names, {field.name: field.schema for field in schema.fields})
    return schema if list(fields) == [field.name for field in schema.fields] else schema.replace(fields=fields)


def _respelled_keys(names: Mapping[str, str], item: dict[str, Any]) -> dict[str, Any]:
    wrong = {
        key: right
        for key in item
        if isinstance(key, str) and (right := names.get(key.casefold(), key)) != key and right not in item
    }
    if not wrong or len(set(wrong.values())) < len(wrong):
        return item  # the same field twice fits nowhere
    return {wrong.get(key, key): value for key, value in item.items()}


def _at(schema: Schema, path: Path) -> Schema:
    """The schema at a path; an empty struct where there is none yet."""
    for name in path:
        field = schema.field(name) if schema.type is Type.STRUCT else None
        inner = schema.key_schema if name == "key" else schema.value_schema
        schema = (field.schema if field else None) or inner or Schema.struct({})
    return schema


def _paths(schema: Schema, path: Path = ()) -> list[Path]:
    """The paths of all fields within a struct."""
    found: list[Path] = []
    for name, inner in [(field.name, field.schema) for field in schema.fields] + [
        (name, inner) for name, inner in (("key", schema.key_schema), ("value", schema.value_schema)) if inner
    ]:
        here = (*path, name)
        found += [here, *_paths(inner, here)]
    return found


def _changed(was: Schema, now: Schema, path: Path, may: Callable[[Change], bool]) -> Schema:
    """`was` with the allowed changes towards `now`; `was` itself if there are none."""
    if was is now or was == now:
        return was
    if was.type is Type.STRUCT and now.type is Type.STRUCT:
        fields = {field.name: field.schema for field in was.fields}
        for field in now.fields:
            here = (*path, field.name)
            known = was.field(field.name)
            if known is not None:
                fields[field.name] = _value(known.schema, field.schema, here, may)
            elif may(AddField(here, field.schema.as_optional())):
                fields[field.name] = field.schema.as_optional()
        same = len(fields) == len(was.fields) and all(fields[field.name] is field.schema for field in was.fields)
        return was if same else was.replace(fields=fields)
    inner = {
        each: _value(before, after, (*path, name), may)
        for each, name in (("key_schema", "key"), ("value_schema", "element" if was.type is Type.ARRAY else "value"))
        if (before := getattr(was, each)) is not None and (after := getattr(now, each)) is not None
    }
    return was if all(inner[each] is getattr(was, each) for each in inner) else was.replace(**inner)


def _value(was: Schema, now: Schema, path: Path, may: Callable[[Change], bool]) -> Schema:
    result = was
    if (was.type, was.name, was.parameters) != (now.type, now.name, now.parameters):
        if may(WidenField(path, was, now)):
            result = now.replace(optional=was.optional)
    elif not was.type.is_primitive:
        result = _changed(was, now, path, may)
    if now.optional and not was.optional and may(MakeNullable(path)):
        result = result.as_optional()
    return result
