"""How rows are fitted to a table: the changes that it needs, an expression for each column, and what does not fit.

    fitted = fit(table_fields, incoming, policy)
    for change in fitted.changes:                     # AddField, WidenField, MakeNullable, to be made first
        alter(change)
    df.selectExpr(*fitted.select)                     # of rows for which none of fitted.misfits is true

The counterpart of `connect.data.evolution` in SQL: the rows themselves are in Spark's executors. A column that is null
where the table has none does not count as an unknown one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from connect.data.evolution import AddField, MakeNullable, Path, WidenField
from connect.data.evolution_policy import ADD, NULLABLE, WIDEN, EvolutionPolicy
from connect.errors import SchemaError
from spark_sink.tables.types import (
    VOID,
    Field,
    Type,
    fields,
    fits,
    literal,
    quoted,
    requires,
    same,
    sql_name,
    widest,
    without_void,
)

Change = AddField[Type] | WidenField[Type] | MakeNullable


@dataclass(frozen=True, slots=True)
class Incoming:
    """A column of the incoming rows.

    Attributes:
        name: its name in the table.
        type: see `spark_sink.tables.types`.
        sql: the expression of its value.
        cast_from: where the type is a hint of the user's: the expression of the record's own value, else None.
    """

    name: str
    type: Type
    sql: str
    nullable: bool = True
    cast_from: str | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """How incoming rows become the table's.

    Attributes:
        changes: to be made to the table first.
        columns: the table's columns that are written, with the expression for each.
        misfits: conditions in SQL, never null, under which a row does not fit, with the reason.
        ignored: fields that are left out by the policy.
        untyped: fields that are left out because they have only been null so far.
        others: nullable columns of the table that no row has.
    """

    changes: tuple[Change, ...]
    columns: Mapping[str, str]
    misfits: tuple[tuple[str, str], ...] = ()
    ignored: tuple[Path, ...] = ()
    untyped: tuple[Path, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def select(self) -> list[str]:
        """The columns as an argument list for `selectExpr`."""
        return [f"{sql} AS {quoted(name)}" for name, sql in self.columns.items()]


def columns_of(kind: Type, sql: str) -> list[Incoming]:
    """The fields of a struct as columns."""
    return [
        Incoming(each["name"], each["type"], f"{sql}.{quoted(each['name'])}", each.get("nullable", True))
        for each in fields(kind)
    ]


def new_columns(incoming: Sequence[Incoming], rescued: str | None = None) -> list[tuple[str, Type]]:
    """The columns of a new table for such rows. `rescued` as for `fit`.

    Raises:
        SchemaError: names differ only in case, there is no column, or `rescued` is one of the rows.
    """
    if rescued is not None:
        _no_field(incoming, rescued)
    _no_doubles([each.name for each in incoming], ())
    typed = [(each.name, without_void(each.type)) for each in incoming]
    found = [(name, kind) for name, kind in typed if kind is not None]
    if not found:
        raise SchemaError("The records have no field that could be a column of a table.")
    return found if rescued is None else [*found, (rescued, "string")]


def _no_field(incoming: Sequence[Incoming], rescued: str) -> None:
    if any(column.name.lower() == rescued.lower() for column in incoming):
        raise SchemaError(f'"{rescued}" is a field of the records. Name another rescued.data.column.')


def hinted(columns: Sequence[Incoming], hints: Mapping[str, Type]) -> list[Incoming]:
    """Columns with the types that a user says, by their names in lower case."""
    return [_cast(column, hints.get(column.name.lower())) for column in columns]


def _cast(column: Incoming, kind: Type | None) -> Incoming:
    if kind is None or same(kind, column.type):
        return column
    return replace(column, type=kind, sql=f"try_cast({column.sql} AS {sql_name(kind)})", cast_from=column.sql)


def fit(
    table: Sequence[Field], incoming: Sequence[Incoming], policy: EvolutionPolicy, rescued: str | None = None
) -> Fitted:
    """Compare rows with a table.

    Args:
        table: its columns.
        incoming: the columns of the rows.
        policy: what may be changed.
        rescued: the column for what does not fit, which is added where it is missing; None for none: then rows that
            have such values do not fit.

    Raises:
        SchemaError: names differ only in case, or `rescued` is a column of the rows.
    """
    fitter = _Fitter(policy, rescued is not None)
    if rescued is None:
        return fitter.rows(table, incoming)
    _no_field(incoming, rescued)
    own = next((each["name"] for each in table if each["name"].lower() == rescued.lower()), None)
    fitted = fitter.rows([each for each in table if each["name"] != own], incoming)
    added = () if own is not None else (AddField((rescued,), "string"),)
    columns = {**fitted.columns, own or rescued: fitter.rescued_json()}
    return replace(fitted, changes=(*fitted.changes, *added), columns=columns)


@dataclass
class _Fitter:
    policy: EvolutionPolicy
    rescues: bool = False
    changes: list[Change] = field(default_factory=list)
    misfits: list[tuple[str, str]] = field(default_factory=list)
    ignored: list[Path] = field(default_factory=list)
    untyped: list[Path] = field(default_factory=list)
    rescued: list[tuple[Path, str, str]] = field(default_factory=list)  # path, condition, value
    depth: int = 0

    def rows(self, table: Sequence[Field], incoming: Sequence[Incoming]) -> Fitted:
        _no_doubles([each.name for each in incoming], ())
        by_name = {each.name.lower(): each for each in incoming}
        columns: dict[str, str] = {}
        others: list[str] = []
        for mine in table:
            other = by_name.pop(mine["name"].lower(), None)
            if other is None:
                self.absent(mine, (mine["name"],))
                if mine.get("nullable", True) and not set(mine.get("metadata", ())) - {"comment"}:
                    others.append(mine["name"])
            else:
                columns[mine["name"]] = self.present(mine, other, (mine["name"],), "true")
        for new in by_name.values():
            if (kind := self.added(new, (new.name,))) is not None:
                if new.cast_from is not None:
                    self.uncast(new, (new.name,))
                columns[new.name] = self.value(kind, new.type, new.sql, (new.name,))
        changes = tuple(sorted(self.changes, key=lambda change: isinstance(change, AddField)))
        return Fitted(changes, columns, tuple(self.misfits), tuple(self.ignored), tuple(self.untyped), tuple(others))

    def rescued_json(self) -> str:
        """An expression: what does not fit of a row, as JSON by path; null if all of it does."""
        if not self.rescued:
            return "CAST(NULL AS string)"
        conditions: dict[tuple[Path, str], list[str]] = {}
        for path, condition, sql in self.rescued:
            conditions.setdefault((path, sql), []).append(condition)
        parts = (
            f"{literal('.'.join(path))}, IF({' OR '.join(those)}, {sql}, NULL)"
            for (path, sql), those in conditions.items()
        )
        return f"nullif(to_json(named_struct({', '.join(parts)}), map('ignoreNullFields', 'true')), '{{}}')"

    def unfit(self, path: Path, condition: str, sql: str, why: str) -> None:
        """A value does not fit where the condition, which is never null, is true: it is rescued, or its row refused."""
        if self.rescues:
            self.rescued.append((path, condition, sql))
        else:
            self.misfits.append((condition, why))

    def added(self, new: Incoming, path: Path) -> Type | None:
        """The type of a field that is added to the table; None if it is not added."""
        kind = without_void(new.type)
        if kind is None:
            self.untyped.append(path)
        elif ADD in self.policy.allowed:
            self.changes.append(AddField(path, kind))
            return kind
        elif self.policy.ignore_unknown and not self.rescues:
            self.ignored.append(path)
        else:
            why = f'The table has no column "{".".join(path)}", and schema.evolution does not say that it may be added.'
            self.unfit(path, f"{new.sql} IS NOT NULL", new.sql, why)
        return None

    def absent(self, mine: Field, path: Path) -> None:
        """A column of the table that no row has: null, or the table's own default."""
        if not mine.get("nullable", True) and not mine.get("metadata") and NULLABLE in self.policy.allowed:
            self.changes.append(MakeNullable(path))

    def present(self, mine: Field, other: Incoming, path: Path, where: str) -> str:
        """The expression for a field that both have, in a struct that is not null where `where` is true."""
        if not mine.get("nullable", True) and other.nullable:
            if NULLABLE in self.policy.allowed:
                self.changes.append(MakeNullable(path))
            else:
                why = f'The column "{".".join(path)}" is null, and the table requires it.'
                self.misfits.append((f"({where} AND {other.sql} IS NULL)", why))
        # What is null in place of a value that does not fit may not be null in a required column.
        fitter = self if mine.get("nullable", True) else replace(self, rescues=False)
        if other.cast_from is not None:
            fitter.uncast(other, path)
        value = fitter.value(mine["type"], other.type, other.sql, path)
        self.depth = fitter.depth
        return value

    def uncast(self, column: Incoming, path: Path) -> None:
        """Of a column with a hint: the values of which its type cannot be made."""
        assert column.cast_from is not None
        condition = f"({column.cast_from} IS NOT NULL AND {column.sql} IS NULL)"
        name = ".".join(path)
        why = f'The value of the column "{name}" cannot be cast to {sql_name(column.type)}, as schema.hints says.'
        self.unfit(path, condition, column.cast_from, why)

    def value(self, mine: Type, other: Type, sql: str, path: Path) -> str:
        """An expression of the table's type (after the changes) for a value of another one."""
        if same(mine, other) and not requires(mine):
            return sql
        if not isinstance(mine, str) and not isinstance(other, str) and mine["type"] == other["type"]:
            if mine["type"] == "struct":
                return self.struct(mine, other, sql, path)
            if mine["type"] == "array":
                return self.array(mine, other, sql, path)
            if mine["type"] == "map":
                return self.map(mine, other, sql, path)
        if other == VOID:
            return f"CAST(NULL AS {sql_name(mine)})"
        return self.plain(mine, other, sql, path)

    def plain(self, mine: Type, other: Type, sql: str, path: Path) -> str:
        wider = widest(mine, other)
        if wider is not None and same(wider, mine):
            return f"CAST({sql} AS {sql_name(mine)})"
        if wider is not None and WIDEN in self.policy.allowed:
            self.changes.append(WidenField(path, mine, wider))
            return sql if same(wider, other) else f"CAST({sql} AS {sql_name(wider)})"
        holds = fits(mine, other)
        name, has, comes = ".".join(path), sql_name(mine), sql_name(other)
        if holds is None:
            why = f'The column "{name}" is of type {has}, and the value is of type {comes}.'
            self.unfit(path, f"{sql} IS NOT NULL", sql, why)
            return f"CAST(NULL AS {has})"
        why = f'The column "{name}" is of type {has}, and the value of type {comes} is too large or too exact for it.'
        condition = f"coalesce(NOT ({holds(sql)}), false)"
        self.unfit(path, condition, sql, why)
        return f"IF({condition}, NULL, try_cast({sql} AS {has}))" if self.rescues else f"try_cast({sql} AS {has})"

    def struct(self, mine: Mapping[str, Any], other: Mapping[str, Any], sql: str, path: Path) -> str:
        _no_doubles([each["name"] for each in other["fields"]], path)
        by_name = {each["name"].lower(): each for each in other["fields"]}
        inner: list[tuple[str, str]] = []
        for own in mine["fields"]:
            here, theirs = (*path, own["name"]), by_name.pop(own["name"].lower(), None)
            there = Incoming(own["name"], VOID, f"CAST(NULL AS {sql_name(own['type'])})")
            if theirs is not None:
                value = f"{sql}.{quoted(theirs['name'])}"
                there = Incoming(own["name"], theirs["type"], value, theirs.get("nullable", True))
            inner.append((own["name"], self.present(own, there, here, f"{sql} IS NOT NULL")))
        for new in by_name.values():
            here = (*path, new["name"])
            there = Incoming(new["name"], new["type"], f"{sql}.{quoted(new['name'])}")
            if (kind := self.added(there, here)) is not None:
                inner.append((new["name"], self.value(kind, new["type"], there.sql, here)))
        made = ", ".join(f"{literal(name)}, {value}" for name, value in inner)
        return f"IF({sql} IS NULL, NULL, named_struct({made}))"

    def array(self, mine: Mapping[str, Any], other: Mapping[str, Any], sql: str, path: Path) -> str:
        one, here = self.variable(), (*path, "element")
        value = self.inner(mine["elementType"], other["elementType"], here, sql, sql, one)
        return sql if value == one else f"transform({sql}, {one} -> {value})"

    def map(self, mine: Mapping[str, Any], other: Mapping[str, Any], sql: str, path: Path) -> str:
        key, one, before = self.variable(), self.variable(), len(self.rescued)
        keys = self.inner(mine["keyType"], other["keyType"], (*path, "key"), sql, f"map_keys({sql})", key)
        no_keys = " OR ".join(condition for _, condition, _ in self.rescued[before:])
        values = self.inner(mine["valueType"], other["valueType"], (*path, "value"), sql, f"map_values({sql})", one)
        made = sql
        if values != one:
            made = f"transform_values({made}, ({key}, {one}) -> {values})"
        if keys != key:
            made = f"transform_keys({made}, ({key}, {one}) -> {keys})"
        return f"IF({no_keys}, NULL, {made})" if no_keys else made  # no key of a map is null

    def inner(self, mine: Type, other: Type, path: Path, whole: str, items: str, variable: str) -> str:
        """The expression for the items of an array or a map. If one item does not fit, the whole does not.

        Where values are rescued, the whole is, and the table's has null in place of the items that do not fit.
        """
        inside = replace(self, misfits=[], rescues=False)
        value = inside.value(mine, other, variable, path)
        self.depth = inside.depth
        for sql, why in inside.misfits:
            self.unfit(path[:-1], f"coalesce(exists({items}, {variable} -> {sql}), false)", whole, why)
        return value

    def variable(self) -> str:
        """The name of a lambda's variable that is no column's."""
        self.depth += 1
        return f"_each_{self.depth}"


def _no_doubles(names: Sequence[str], path: Path) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(name.lower(), name)) is not name:
            where = f' of "{".".join(path)}"' if path else ""
            raise SchemaError(
                f'The fields{where} "{other}" and "{name}" differ in upper and lower case at most, which Spark\'s '
                "tables do not tell apart. Rename one of them with the transformation ReplaceField."
            )
