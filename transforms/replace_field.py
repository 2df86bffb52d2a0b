"""Drop, keep or rename fields: ReplaceField.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.ReplaceField (KIP-66, KIP-821)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from connect import ConfigError, Schema, settings
from connect.data.map_columns import may_be_absent
from connect.data.struct_columns import StructColumns
from transforms.fields import Columns, Fields, FieldsTransformation, Plan, Struct, unique_fields
from transforms.paths import SYNTAX, VERSION, Path, column_at, parse
from transforms.structs import DEFAULTS, WITH_DEFAULTS, defaults_of

if TYPE_CHECKING:
    from connect.settings import Config


def _no_empty(name: str, value: list[str]) -> None:
    if "" in value:
        raise ValueError("has an empty entry. Remove the extra comma.")


def _pairs(name: str, value: list[str]) -> None:
    for item in value:
        new = item.partition(":")[2]
        if not new or ":" in new:
            raise ValueError(f'"{item}" is not a pair of an old and a new name. Write old:new.')


class _Names(NamedTuple):
    """The changes of the fields of one struct. `keep` is None to keep all of them."""

    drop: frozenset[str]
    keep: Mapping[str, None] | None
    renames: Mapping[str, str]

    def kept(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in self.drop and (self.keep is None or name in self.keep)]


class ReplaceField(FieldsTransformation):
    """Drops the excluded fields, keeps the included ones (all, if none is named), and renames the rest.

    All three settings use the names before renaming. With paths: a new name is a plain name and the field stays where
    it is; including a nested field drops the other fields of its parent; nested fields change first.
    """

    settings = (
        settings.define(
            settings.List("exclude", default=[], doc="Fields to drop. Overrides include.", validator=_no_empty),
            settings.List("include", default=[], doc="Fields to keep. Empty keeps all.", validator=_no_empty),
            settings.List("renames", default=[], doc="Fields to rename: old:new,old2:new2.", validator=_pairs),
        )
        | DEFAULTS
        | SYNTAX
    )
    purpose = "field replacement"

    def configure(self, config: Config) -> None:
        self._replace_null: bool = config[WITH_DEFAULTS]
        version = config[VERSION]
        drop: dict[Path, set[str]] = {}
        keep: dict[Path, dict[str, None]] = {}
        renames: dict[Path, dict[str, str]] = {}
        for name in config["exclude"]:
            *parent, last = parse(name, version, "exclude")
            drop.setdefault(tuple(parent), set()).add(last)
        included = dict.fromkeys(parse(name, version, "include") for name in config["include"])
        for path in included:
            if not any(path[:end] in included for end in range(1, len(path))):  # else its parent is kept as a whole
                for end in range(len(path)):
                    keep.setdefault(path[:end], {})[path[end]] = None
        for pair in config["renames"]:
            old, _, written = pair.partition(":")
            *parent, last = parse(old.strip(), version, "renames")
            new = parse(written.strip(), version, "renames")
            if len(new) > 1:
                raise ConfigError(
                    "renames", f'"{written}" is a path, but a field stays where it is. Write only its new name.'
                )
            renames.setdefault(tuple(parent), {})[last] = new[0]
        self.changes = {
            parent: partial(
                self._change,
                _Names(
                    frozenset(drop.get(parent, ())),
                    keep.get(parent),
                    renames.get(parent, {}),
                ),
            )
            for parent in [*{**drop, **keep, **renames}] or [()]
        }

    def _change(self, names: _Names, schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, partial(_replaced, names, []), maps=partial(_replaced_columns, names))
        kept = names.kept(field.name for field in schema.fields)
        fields = [(names.renames.get(f.name, f.name), f.schema) for f in schema.fields if f.name in set(kept)]
        new = schema.replace(fields=unique_fields(fields), optional=False, default=None)
        absent = [each for each in defaults_of(schema, replace_null=self._replace_null) if each[0] in set(kept)]

        def columns(column: StructColumns) -> Fields:
            return [column_at(column, (name,), replace_null=self._replace_null) for name in kept]

        return Plan(new, partial(_replaced, names, absent), columns if kept else None)


def _replaced_columns(names: _Names, columns: Columns) -> Columns | None:
    """Maps with the same keys change as one map of their columns does."""
    if any(map(may_be_absent, columns.values())):
        new = [names.renames.get(name, name) for name in names.kept(columns)]
        if len(set(new)) < len(new):  # which of two fields wins differs from map to map
            return None
    return _replaced(names, [], [{**columns}])[0]


def _replaced(names: _Names, absent: list[tuple[str, Any]], structs: list[Struct]) -> list[Struct]:
    if names.keep is None:
        changed = list(map(dict.copy, structs))
        for name in names.drop:
            for struct in changed:
                struct.pop(name, None)
    else:
        changed = _picked(structs, names.kept(names.keep))
    for name, default in absent:
        for struct in changed:
            if struct.get(name) is None:
                struct[name] = default
    if not names.renames or _renamed(changed, names.renames):
        return changed
    # Two fields get the same name, or swap names: the later field wins, whatever the order of the settings.
    again = _replaced(names._replace(renames={}), absent, structs)
    ordered = [{n: new[n] for n in old if n in new} | new for old, new in zip(structs, again, strict=True)]
    return [{names.renames.get(name, name): value for name, value in struct.items()} for struct in ordered]


def _picked(structs: list[Struct], kept: list[str]) -> list[Struct]:
    """New structs with those of these fields that exist."""
    picked: list[Struct] = [{} for _ in structs]
    try:
        for name in kept:
            for new, struct in zip(picked, structs, strict=True):
                new[name] = struct[name]
    except KeyError:
        return [{name: struct[name] for name in kept if name in struct} for struct in structs]
    return picked


def _renamed(structs: list[Struct], renames: Mapping[str, str]) -> bool:
    """Rename in place. False if two names collide; then the structs must not be used."""
    if not renames.keys().isdisjoint(renames.values()):
        return False
    size = sum(map(len, structs))
    for old, new in renames.items():
        for struct in structs:
            if old in struct:
                struct[new] = struct.pop(old)
    return sum(map(len, structs)) == size


class ReplaceFieldKey(ReplaceField):
    """ReplaceField$Key."""

    part = "keys"


class ReplaceFieldValue(ReplaceField):
    """ReplaceField$Value."""


class ReplaceNestedField(ReplaceField):
    """Confluent's ReplaceField, which takes paths by default.

    https://docs.confluent.io/platform/current/connect/transforms/replacefield-confluent.html
    """

    settings = ReplaceField.settings.replaced(VERSION, default="V2")


class ReplaceNestedFieldKey(ReplaceNestedField):
    """Confluent's ReplaceField$Key."""

    part = "keys"


class ReplaceNestedFieldValue(ReplaceNestedField):
    """Confluent's ReplaceField$Value."""
