"""Check records against a schema: SchemaContract.

The modes for records that violate it are those of dlt's schema contracts: evolve, freeze, discard_value, discard_row.
https://dlthub.com/docs/general-usage/schema-contracts
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeVar

from connect import Batch, ConfigError, DataError, Schema, SchemaError, Transformation, Type, Values, logical, settings
from connect.data import widening
from connect.data.schema import INT_BITS, is_required
from connect.data.struct_columns import StructColumns
from connect.data.validation import validate
from connect.settings import Config
from transforms.json_to_structure import declared_schema
from transforms.rows import beside_nulls, with_groups

log = logging.getLogger(__name__)

B = TypeVar("B", bound=Batch[Any])


class Mode(enum.Enum):
    """What to do with a record, or one of its fields, that violates the contract."""

    EVOLVE = "evolve"
    FREEZE = "freeze"
    DISCARD_VALUE = "discard_value"
    DISCARD_ROW = "discard_row"


_MODES: Final = tuple(mode.value for mode in Mode)
_MISSING_MODES: Final = ("evolve", "freeze", "discard_row")


def _per_field(name: str, value: list[str]) -> None:
    for entry in filter(None, value):
        field, _, mode = entry.rpartition(":")
        if not field or mode.strip() not in _MODES:
            raise ValueError(
                f'"{entry}" is not a field with a mode. Write amount:freeze; modes are {", ".join(_MODES)}.'
            )


class _Dropped(Exception):
    """The record is to be dropped."""


class _Rules(NamedTuple):
    """The checks of values of one schema, or without one.

    Attributes:
        schema: the schema that the values get.
        drop: fields to remove.
        null: fields that become null.
        required: fields that must not be null, and the mode if they are.
        refusal: what to raise if no value of this schema passes: an error, or `_Dropped`.
    """

    schema: Schema | None
    drop: frozenset[str] = frozenset()
    null: frozenset[str] = frozenset()
    required: tuple[tuple[str, Mode], ...] = ()
    refusal: Exception | None = None


class SchemaContract(Transformation):
    """Checks records against a declared schema, or against that of the first record of each topic.

    It checks and does not convert: records that keep the contract pass unchanged, with their own schema. Null keys and
    values pass.
    """

    pure = True
    part: ClassVar[Literal["keys", "values"]] = "values"
    settings = settings.define(
        settings.String(
            "schema.content",
            default=None,
            importance="HIGH",
            width="LONG",
            validator=lambda _, content: content and _declared(content) and None,
            doc="The contract: a struct schema, as in JsonConverter's envelope.",
        ),
        settings.Boolean(
            "learn",
            default=False,
            doc="Whether the first record with a schema in each topic sets the contract. It is kept in the task's "
            "memory: after a restart the next record sets a new one.",
        ),
        settings.String(
            "new.fields",
            default="evolve",
            importance="HIGH",
            validator=settings.one_of(*_MODES),
            doc="For a field that the contract does not have: evolve (pass it), freeze (fail the record), "
            "discard_value (drop the field), discard_row (drop the record).",
        ),
        settings.String(
            "type.changes",
            default="freeze",
            importance="HIGH",
            validator=settings.one_of(*_MODES),
            doc="For a value that does not fit the contract's type: as in new.fields, but discard_value makes it null.",
        ),
        settings.String(
            "missing.fields",
            default="freeze",
            importance="HIGH",
            validator=settings.one_of(*_MISSING_MODES),
            doc="For a required field without a value: evolve, freeze or discard_row.",
        ),
        settings.List(
            "fields",
            default=[],
            validator=_per_field,
            doc="Modes for single fields, for any violation: amount:freeze,note:discard_value.",
        ),
    )

    def configure(self, config: Config) -> None:
        self._contract: Schema | None = _declared(config["schema.content"]) if config["schema.content"] else None
        self._learn: bool = config["learn"]
        if self._learn == (self._contract is not None):
            raise ConfigError("schema.content", "or learn=true must define the contract. Set exactly one of them.")
        # A learned contract is state, so records then run one by one.
        self.__dict__["pure"] = not self._learn
        self._learned: dict[str, Schema] = {}
        self._new = Mode(config["new.fields"])
        self._types = Mode(config["type.changes"])
        self._missing = Mode(config["missing.fields"])
        pairs = (entry.rpartition(":") for entry in config["fields"] if entry)
        self._modes: Mapping[str, Mode] = {field.strip(): Mode(mode.strip()) for field, _, mode in pairs}
        self._rules = lru_cache(maxsize=1000)(self._make_rules)
        self._tests = lru_cache(maxsize=1000)(_tests)
        self._said: set[str] = set()

    def apply(self, record: Any) -> Any:
        schema, value = (record.key_schema, record.key) if self.part == "keys" else (record.value_schema, record.value)
        contract = self._contract_of(record.topic, schema)
        if value is None or contract is None:
            return record
        try:
            new_schema, new = self._checked(contract, schema, value)
        except _Dropped:
            return None
        if new is value and new_schema is schema:
            return record
        if self.part == "keys":
            return record.replace(key=new, key_schema=new_schema)
        return record.replace(value=new, value_schema=new_schema)

    def apply_batch(self, batch: B) -> B:
        if self._learn or not len(batch):
            return super().apply_batch(batch)
        assert self._contract is not None
        column: Values = getattr(batch, self.part)
        groups = [(rows, values, *self._column(self._contract, values)) for rows, values in column.groups()]
        if all(changed is values for _, values, _, changed in groups):
            return batch
        return with_groups(
            batch, self.part, [([rows[row] for row in kept], values) for rows, _, kept, values in groups]
        )

    def _column(self, contract: Schema, values: Values) -> tuple[Sequence[int], Values]:
        """The rows of one schema that stay, and their values."""
        schema = values.schemas[0]
        columns = values.struct_columns
        if schema is not None and columns is not None:
            rules = self._rules(contract, schema)
            if rules.refusal is None and not rules.required:
                return range(len(values)), values if rules.schema is schema else _without(columns, rules)
        kept: list[int] = []
        found: list[Any] = []
        schema_of_all = schema
        for row, value in enumerate(values.to_list()):
            try:
                new_schema, new = (schema, None) if value is None else self._checked(contract, schema, value)
            except _Dropped:
                continue
            if value is not None:
                schema_of_all = new_schema
            kept.append(row)
            found.append(new)
        if len(kept) == len(values) and schema_of_all is schema and all(map(_is, found, values.to_list())):
            return kept, values
        # Nulls beside changed structs keep their old schema.
        present = [place for place, value in enumerate(found) if value is not None]
        if len(present) < len(found) and schema_of_all is not schema:
            changed = Values([found[place] for place in present], schema_of_all)
            return kept, beside_nulls(changed, present, len(found), schema)
        return kept, Values(found, schema_of_all)

    def _contract_of(self, topic: str, schema: Schema | None) -> Schema | None:
        if not self._learn:
            return self._contract
        if topic not in self._learned and schema is not None and schema.type is Type.STRUCT:
            self._learned[topic] = schema
        return self._learned.get(topic)

    # One value.

    def _checked(self, contract: Schema, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, self._schemaless(contract, value)
        rules = self._rules(contract, schema)
        if rules.refusal is not None:
            raise type(rules.refusal)(*rules.refusal.args)
        if rules.drop or rules.null:
            value = {
                name: None if name in rules.null else item for name, item in value.items() if name not in rules.drop
            }
        for name, mode in rules.required:
            if value.get(name) is None:
                self._act(mode, f'the required field "{name}" has no value')
        return rules.schema, value

    def _schemaless(self, contract: Schema, value: Any) -> Any:
        if not isinstance(value, dict):
            self._act(self._whole(), f"the value is {type(value).__name__}, but the contract is a struct")
            return value
        changed: dict[str, Any] = value
        tests, required = self._tests(contract)
        for name, item in value.items():
            test = tests.get(name)
            if test is not None and (item is None or test(item)):
                continue
            field = contract.field(name)
            if field is None:
                mode = self._mode(name, self._new)
                if self._act(mode, f'the contract has no field "{name}"'):
                    changed = {key: each for key, each in changed.items() if key != name}
            elif problem := _misfit(field.schema, item):
                mode = self._mode(name, self._types)
                if self._act(mode, f'the field "{name}" {problem}'):
                    changed = {**changed, name: None}
        for name in required:
            if changed.get(name) is None:
                self._act(self._mode_of_missing(name), f'the required field "{name}" has no value')
        return changed

    def _mode(self, name: str, otherwise: Mode) -> Mode:
        return self._modes.get(name, otherwise)

    def _mode_of_missing(self, name: str) -> Mode:
        mode = self._modes.get(name, self._missing)
        return self._missing if mode is Mode.DISCARD_VALUE else mode  # a value that is missing cannot be discarded

    def _whole(self) -> Mode:
        """The mode for a value that is not a struct: without its value nothing is left of the record."""
        return Mode.DISCARD_ROW if self._types is Mode.DISCARD_VALUE else self._types

    def _act(self, mode: Mode, problem: str) -> bool:
        """Whether the value is to be discarded. Raises when the record is."""
        refusal = self._refusal(mode, problem)
        if refusal is not None:
            raise refusal
        if mode is Mode.DISCARD_VALUE:
            self._say(problem, "The value is discarded")
        return mode is Mode.DISCARD_VALUE

    def _refusal(self, mode: Mode, problem: str) -> Exception | None:
        if mode is Mode.FREEZE:
            return DataError(f"The record violates the contract: {problem}.")
        if mode is Mode.DISCARD_ROW:
            self._say(problem, "Such records are dropped")
            return _Dropped()
        return None

    def _say(self, problem: str, what: str) -> None:
        """Log each problem once, so that nothing is discarded silently."""
        if problem not in self._said and len(self._said) < 1000:
            self._said.add(problem)
            log.warning("A record violates the contract: %s. %s; this is logged once.", problem, what)

    # One schema.

    def _make_rules(self, contract: Schema, schema: Schema) -> _Rules:
        if schema.type is not Type.STRUCT:
            problem = f"the value is {widening.type_name(schema)}, but the contract is a struct"
            return _Rules(schema, refusal=self._refusal(self._whole(), problem))
        drop: set[str] = set()
        null: set[str] = set()
        required: list[tuple[str, Mode]] = []
        members: dict[str, Schema] = {}
        problems: list[tuple[Mode, str]] = []
        for field in schema.fields:
            mine = contract.field(field.name)
            members[field.name] = field.schema
            if mine is None:
                mode = self._mode(field.name, self._new)
                problems.append((mode, f'the contract has no field "{field.name}"'))
                if mode is Mode.DISCARD_VALUE:
                    drop.add(field.name)
                    del members[field.name]
            elif not _holds(mine.schema, field.schema):
                mode = self._mode(field.name, self._types)
                types = f"{widening.type_name(field.schema)}, but the contract says {widening.type_name(mine.schema)}"
                problems.append((mode, f'the field "{field.name}" is {types}'))
                if mode is Mode.DISCARD_VALUE:
                    null.add(field.name)
                    members[field.name] = mine.schema.as_optional()
        for mine in contract.fields:
            missing = mine.name not in members or members[mine.name].optional
            if is_required(mine.schema) and missing:
                required.append((mine.name, self._mode_of_missing(mine.name)))
        for mode, problem in problems:
            if mode is Mode.DISCARD_VALUE:
                self._say(problem, "The value is discarded")
            elif (refusal := self._refusal(mode, problem)) is not None:
                return _Rules(schema, refusal=refusal)
        wanted = tuple((name, mode) for name, mode in required if mode in (Mode.FREEZE, Mode.DISCARD_ROW))
        changed = schema.replace(fields=members) if drop or null else schema
        return _Rules(changed, frozenset(drop), frozenset(null), wanted)


class SchemaContractKey(SchemaContract):
    """For keys."""

    part = "keys"


class SchemaContractValue(SchemaContract):
    """For values."""


def _declared(content: str) -> Schema:
    schema = declared_schema(content)
    if schema.type is not Type.STRUCT:
        raise ConfigError("schema.content", "is not a struct. A contract must name fields.")
    return schema


def _holds(mine: Schema, other: Schema) -> bool:
    """Whether the contract's field holds all values of another schema; null at the top level is not checked."""
    if not widening.holds(mine, other):
        return False
    if mine.type is Type.STRUCT and other.type is Type.STRUCT:
        theirs = {field.name: field.schema for field in other.fields}
        for field in mine.fields:
            found = theirs.pop(field.name, None)
            if found is None:
                if is_required(field.schema):
                    return False
            elif not _holds(field.schema, found) or (found.optional and is_required(field.schema)):
                return False
        return not theirs
    pairs = [(mine.value_schema, other.value_schema), (mine.key_schema, other.key_schema)]
    return all(one is None or two is None or _holds(one, two) for one, two in pairs)


def _tests(contract: Schema) -> tuple[dict[str, Callable[[Any], bool]], list[str]]:
    """For each field a quick test of a value's type, and the names of the required fields."""
    tests = {field.name: _test(field.schema) for field in contract.fields}
    return tests, [field.name for field in contract.fields if is_required(field.schema)]


_KINDS: Final[Mapping[Type, tuple[type, ...]]] = {
    Type.FLOAT32: (float, int),
    Type.FLOAT64: (float, int),
    Type.BOOLEAN: (bool,),
    Type.STRING: (str,),
    Type.BYTES: (bytes,),
}


def _test(schema: Schema) -> Callable[[Any], bool]:
    if logical.python_type(schema) is None and schema.type in INT_BITS:
        limit = 1 << (INT_BITS[schema.type] - 1)
        return lambda value: type(value) is int and -limit <= value < limit
    if logical.python_type(schema) is None and schema.type in _KINDS:
        kinds = frozenset(_KINDS[schema.type])
        return lambda value: type(value) in kinds
    return lambda value: _misfit(schema, value) is None


def _misfit(schema: Schema, value: Any) -> str | None:
    """Why a value does not fit the contract's type; None when it does."""
    try:
        validate(schema, value)
    except SchemaError:
        message = f"is {type(value).__name__}, but the contract says {widening.type_name(schema)}"
        if isinstance(value, int | list | dict) and not isinstance(value, bool):
            message = f"does not fit the contract's {widening.type_name(schema)}"
        return message
    expected = logical.python_type(schema)
    return None if expected is None or isinstance(value, expected) else f"is not a {expected.__name__}"


def _without(columns: StructColumns, rules: _Rules) -> Values:
    assert rules.schema is not None
    if not rules.schema.fields:
        return Values([{} for _ in range(len(columns))], rules.schema)
    nulls: list[Any] = [None] * len(columns)
    return StructColumns(
        rules.schema,
        [nulls if field.name in rules.null else columns.field(field.name) for field in rules.schema.fields],
    )


def _is(one: Any, two: Any) -> bool:
    return one is two
