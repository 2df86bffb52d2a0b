"""Schema evolution, shared by all sinks: what a batch would change in a target, and which records do not fit.

A sink describes its table, index or file as a struct `Schema` and asks what a batch would change:

    evolution = Evolution(EvolutionPolicy.of(config), columns)
    verdict = evolution.judge(batch.values)
    for change in verdict.changes:           # AddField, WidenField, MakeNullable
        alter(change)
    evolution.target = verdict.target        # the target's schema now
    batch = verdict.settle(batch, reporter)  # without the records that do not fit

Nothing here changes a target. What a schema needs is computed once for each schema object, not for each record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from connect.data import widening
from connect.data.batch import Batch
from connect.data.evolution_policy import ADD, NULLABLE, WIDEN, EvolutionOptions, EvolutionPolicy
from connect.data.schema import Field, Schema, Type, is_required
from connect.data.values import Values
from connect.errors import SchemaError

#: Where a field is: names from the outside in; `element`, `key` and `value` for what arrays and maps contain.
Path = tuple[str, ...]


#: What says a field's type: a `Schema`, or what a target has instead.
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AddField(Generic[T]):
    """The target gets a field. `schema` is optional, or has a default, since existing rows have no value for it."""

    word: ClassVar = ADD
    path: Path
    schema: T


@dataclass(frozen=True, slots=True)
class WidenField(Generic[T]):
    """A field's type changes to one that holds all existing values. Whether it is optional does not change."""

    word: ClassVar = WIDEN
    path: Path
    was: T
    schema: T


@dataclass(frozen=True, slots=True)
class MakeNullable:
    """A required field becomes nullable."""

    word: ClassVar = NULLABLE
    path: Path


#: `word` is what allows it, of `schema.evolution`.
Change = AddField[Schema] | WidenField[Schema] | MakeNullable


class Reporter(Protocol):
    """The part of `connect.api.ErrantRecordReporter` that is needed here."""

    def report(self, record: Any, error: Exception) -> None:
        """This record cannot be written."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why a row does not fit. `row` counts from 0 within the batch."""

    row: int
    reason: str


B = TypeVar("B", bound=Batch[Any])

__all__ = [
    "AddField",
    "Change",
    "Comparison",
    "Evolution",
    "EvolutionOptions",
    "EvolutionPolicy",
    "MakeNullable",
    "Mismatch",
    "Path",
    "Reporter",
    "Verdict",
    "WidenField",
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a batch requires of a target.

    Attributes:
        changes: to make before the batch is written, outer fields before inner ones.
        target: its schema after them.
        mismatches: the rows that do not fit even then, in order.
        ignored: fields that must not be written.
        policy: that was applied.
    """

    changes: tuple[Change, ...]
    target: Schema
    mismatches: tuple[Mismatch, ...]
    ignored: frozenset[Path]
    policy: EvolutionPolicy

    def settle(self, batch: B, reporter: Reporter | None) -> B:
        """The batch that may be written; the other records are passed to the reporter.

        Raises:
            SchemaError: a record does not fit, and the policy is to fail or there is no reporter.
        """
        if not self.mismatches or self.policy.mismatch == "pass":
            return batch
        records = batch.records()
        for mismatch in self.mismatches:
            error = SchemaError(f"The record does not fit the target: {mismatch.reason}")
            if self.policy.mismatch == "fail" or reporter is None:
                record = records[mismatch.row]
                place = f"Topic {record.topic}, partition {record.partition}"
                raise SchemaError(f"{place}: {error} Allow more with schema.evolution, or quarantine such records.")
            reporter.report(records[mismatch.row], error)
        unfit = {mismatch.row for mismatch in self.mismatches}
        return batch.take([row for row in range(len(batch)) if row not in unfit])


@dataclass(frozen=True, slots=True)
class Comparison:
    """What records of a schema require of a target, whatever values they have.

    Attributes:
        target: its schema after the allowed changes.
        problems: why no record of this schema fits even then, a sentence each.
        certain: whether all of them fit; else their values have to be checked.
    """

    target: Schema
    problems: tuple[str, ...]
    certain: bool


@dataclass(slots=True)
class _Finding:
    """What one record schema requires of one target."""

    target: Schema
    problems: list[str] = field(default_factory=list)
    checks: list[tuple[Path, Callable[[Any], bool], str]] = field(default_factory=list)
    ignored: set[Path] = field(default_factory=set)


class Evolution:
    """Compares batches with one target.

    Args:
        policy: what the user allows.
        target: the target's fields, a STRUCT.
        supports: whether the target supports a change at all; others are not planned.
        case_sensitive: whether `Name` and `name` are two fields.
    """

    _MOST_CACHED = 1000  # a converter that makes a schema for each record must not fill the memory

    def __init__(
        self,
        policy: EvolutionPolicy,
        target: Schema,
        *,
        supports: Callable[[Change], bool] | None = None,
        case_sensitive: bool = True,
    ) -> None:
        self.policy = policy
        self._target = target
        self._supports = supports
        self._fold: Callable[[str], str] = str if case_sensitive else str.casefold
        self._known: dict[int, tuple[Schema, _Finding]] = {}

    @property
    def target(self) -> Schema:
        """The target's schema. Set it after its changes were made, or another writer changed it."""
        return self._target

    @target.setter
    def target(self, target: Schema) -> None:
        if target is not self._target:
            self._target = target
            self._known.clear()

    def judge(self, values: Values) -> Verdict:
        """What these values require of the target. Rows without a value (tombstones) fit everything."""
        mismatches: list[Mismatch] = []
        ignored: set[Path] = set()
        target = self._target
        for members, group in values.groups():
            schema = group.schemas[0]
            known = self._known.get(id(schema)) if target is self._target else None
            if known and not _questions(known[1], target):
                ignored |= known[1].ignored
                continue
            # Structs that are held field by field have no tombstones among them.
            items = None if group.struct_columns is not None else group.to_list()
            rows = [i for i in range(len(group)) if items is None or items[i] is not None]
            if not rows:
                continue
            finding = self._find(target, schema)
            ignored |= finding.ignored
            if finding.problems:
                reason = " ".join(finding.problems)
                mismatches += [Mismatch(members[row], reason) for row in rows]
                continue
            target = finding.target
            if finding.checks:
                assert schema is not None
                unfit = self._unfit(finding, schema, rows, group.to_list())
                mismatches += [Mismatch(members[row], reason) for row, reason in unfit]
        mismatches.sort(key=lambda mismatch: mismatch.row)
        changes = tuple(_differences(self._target, target, ()))
        return Verdict(changes, target, tuple(mismatches), frozenset(ignored), self.policy)

    def compare(self, schema: Schema | None) -> Comparison:
        """What records of a schema require of the target, if that is not changed but replaced, such as a file."""
        finding = self._find(self._target, schema)
        certain = not finding.problems and not finding.checks
        return Comparison(finding.target, tuple(finding.problems), certain)

    def _find(self, target: Schema, schema: Schema | None) -> _Finding:
        if schema is None or schema.type is not Type.STRUCT:
            what = "it has no schema" if schema is None else f"its value is of type {widening.type_name(schema)}"
            return _Finding(target, [f"{what}, where a struct is needed."])
        if target is not self._target:
            return self._compare(target, schema)
        known = self._known.get(id(schema))
        if known is None:
            if len(self._known) >= self._MOST_CACHED:
                self._known.clear()
            # The schema is kept: its id must not come to stand for another.
            known = self._known[id(schema)] = (schema, self._compare(target, schema))
        return known[1]

    def _unfit(self, finding: _Finding, schema: Schema, rows: list[int], items: list[Any]) -> Iterator[tuple[int, str]]:
        for row in rows:
            reasons = [
                why
                for path, test, why in finding.checks
                if not all(test(value) for value in _at(schema, items[row], path, self._fold))
            ]
            if reasons:
                yield row, " ".join(reasons)

    def _compare(self, target: Schema, schema: Schema) -> _Finding:
        finding = _Finding(target)
        finding.target = self._struct(target, schema, (), finding)
        return finding

    def _struct(self, target: Schema, schema: Schema, path: Path, finding: _Finding) -> Schema:
        theirs = {self._fold(each.name): each for each in schema.fields}
        if len(theirs) < len(schema.fields):
            finding.problems.append("It has fields whose names differ in upper and lower case only.")
        merged: dict[str, Schema] = {}
        for mine in target.fields:
            other = theirs.pop(self._fold(mine.name), None)
            here = (*path, mine.name)
            if other is not None:
                merged[mine.name] = self._value(mine.schema, other.schema, here, finding)
            elif is_required(mine.schema):
                merged[mine.name] = self._missing(mine.schema, here, finding)
            else:
                merged[mine.name] = mine.schema
        for new in theirs.values():
            self._add(merged, new, path, finding)
        same = len(merged) == len(target.fields) and all(merged[f.name] is f.schema for f in target.fields)
        return target if same else target.replace(fields=merged)

    def _add(self, merged: dict[str, Schema], new: Field, path: Path, finding: _Finding) -> None:
        here = (*path, new.name)
        schema = new.schema if new.schema.default is not None else new.schema.as_optional()
        if self._may(AddField(here, schema)):
            merged[new.name] = schema
        elif self.policy.ignore_unknown:
            finding.ignored.add(here)
        else:
            finding.problems.append(f'The target has no field "{".".join(here)}" and may not get it.')

    def _missing(self, mine: Schema, here: Path, finding: _Finding) -> Schema:
        if self._may(MakeNullable(here)):
            return mine.as_optional()
        finding.problems.append(f'The record has no field "{".".join(here)}", which the target requires.')
        return mine

    def _value(self, mine: Schema, other: Schema, here: Path, finding: _Finding) -> Schema:
        merged = self._type(mine, other, here, finding)
        if other.optional and is_required(mine):
            if self._may(MakeNullable(here)):
                return merged.as_optional()
            name = ".".join(here)
            finding.checks.append((here, _is_there, f'The field "{name}" is null, and the target requires it.'))
        return merged

    def _type(self, mine: Schema, other: Schema, here: Path, finding: _Finding) -> Schema:
        wider = widening.widened(mine, other)
        if wider is mine and not mine.type.is_primitive:
            return self._inner(mine, other, here, finding)
        if wider is mine or (wider is not None and widening.holds(mine, other)):
            return mine
        if wider is not None and self._may(WidenField(here, mine, wider)):
            return wider
        name, types = ".".join(here), f"{widening.type_name(other)}, the target's {widening.type_name(mine)}"
        test = widening.fits(mine, other)
        if test is None:
            finding.problems.append(f'The field "{name}" is of type {types}.')
        else:
            why = f'The field "{name}" is of type {types}, and its value does not fit.'
            finding.checks.append((here, lambda value: value is None or test(value), why))
        return mine

    def _inner(self, mine: Schema, other: Schema, here: Path, finding: _Finding) -> Schema:
        if mine.type is Type.STRUCT:
            return self._struct(mine, other, here, finding)
        assert mine.value_schema is not None
        assert other.value_schema is not None
        name = "element" if mine.type is Type.ARRAY else "value"
        inner: dict[str, Schema] = {
            "value_schema": self._value(mine.value_schema, other.value_schema, (*here, name), finding)
        }
        if mine.type is Type.MAP:
            assert mine.key_schema is not None
            assert other.key_schema is not None
            inner["key_schema"] = self._type(mine.key_schema, other.key_schema, (*here, "key"), finding)
        return mine if all(getattr(mine, each) is schema for each, schema in inner.items()) else mine.replace(**inner)

    def _may(self, change: Change) -> bool:
        return change.word in self.policy.allowed and (self._supports is None or self._supports(change))


def _is_there(value: Any) -> bool:
    return value is not None


def _questions(finding: _Finding, target: Schema) -> bool:
    """Whether the values of a batch of this schema still have to be checked."""
    return bool(finding.problems or finding.checks) or finding.target is not target


def _at(schema: Schema, value: Any, path: Path, fold: Callable[[str], str]) -> list[Any]:
    """The values at a path: several within arrays and maps, none within a struct that is null."""
    if not path or value is None:
        return [value] if not path else []
    name, rest = path[0], path[1:]
    if schema.type is Type.STRUCT:
        each = next((each for each in schema.fields if fold(each.name) == fold(name)), None)
        return [] if each is None else _at(each.schema, value.get(each.name), rest, fold)
    inner = schema.key_schema if name == "key" else schema.value_schema
    assert inner is not None
    items = value.values() if name == "value" else value
    return [found for item in items for found in _at(inner, item, rest, fold)]


def _differences(was: Schema, now: Schema, path: Path) -> Iterator[Change]:
    """The changes from one target to the other: outer fields before inner ones."""
    if was is now:
        return
    before = {each.name: each.schema for each in was.fields}
    for each in now.fields:
        here = (*path, each.name)
        if each.name not in before:
            yield AddField(here, each.schema)
        else:
            yield from _changed(before[each.name], each.schema, here)


def _changed(was: Schema, now: Schema, here: Path) -> Iterator[Change]:
    if was is now:
        return
    if now.optional and not was.optional:
        yield MakeNullable(here)
    if (was.type, was.name, was.parameters) != (now.type, now.name, now.parameters):
        yield WidenField(here, was, now.replace(optional=was.optional))
    elif now.type is Type.STRUCT:
        yield from _differences(was, now, here)
    elif not now.type.is_primitive:
        assert was.value_schema is not None
        assert now.value_schema is not None
        if now.type is Type.MAP:
            assert was.key_schema is not None
            assert now.key_schema is not None
            yield from _changed(was.key_schema, now.key_schema, (*here, "key"))
        yield from _changed(
            was.value_schema, now.value_schema, (*here, "element" if now.type is Type.ARRAY else "value")
        )
