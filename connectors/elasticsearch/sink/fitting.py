"""Fits records to the mapping of their index, by the policy of all sinks: fields added, left out, records refused.

An index can get fields, and no other change: no field changes its type, and every field may be null. Its mapping is
translated into the form of a record's schema, so that the two can be compared; mappings without an equivalent schema (a
date that may be a text, an address, a point) are left to the cluster.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from connect import Schema, SinkBatch, Type, Values, logical
from connect.data.evolution import AddField, Change, Evolution, EvolutionPolicy, Mismatch, Path, Reporter, Verdict
from connect.data.evolution_policy import PASS
from connectors.elasticsearch.cluster import Cluster
from connectors.elasticsearch.cluster.client import quoted
from connectors.elasticsearch.sink.keys import SinkOptions
from connectors.elasticsearch.sink.mapping import mapping_of

log = logging.getLogger(__name__)

_MOST_REMEMBERED: Final = 1000
#: Types of fields that take values of one kind only.
_STRICT: Final = {
    "byte": Type.INT8,
    "short": Type.INT16,
    "integer": Type.INT32,
    "long": Type.INT64,
    "half_float": Type.FLOAT32,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "boolean": Type.BOOLEAN,
    "binary": Type.BYTES,
    "text": Type.STRING,
    "match_only_text": Type.STRING,
    "keyword": Type.STRING,
}


class Fitted(NamedTuple):
    """Records of one target, compared with its mapping."""

    batch: SinkBatch
    verdict: Verdict | None = None

    def settle(self, reporter: Reporter | None) -> SinkBatch:
        """The records that may be written; the others are passed to the reporter.

        Raises:
            DataError: a record does not fit, and the policy is to fail, or there is no error reporter.
        """
        return self.batch if self.verdict is None else self.verdict.settle(self.batch, reporter)


class Fitting:
    """Fits batches to indices. For the task's thread; raises what the cluster's client raises.

    Args:
        options: see there; `policy` says what may be changed.
    """

    def __init__(self, options: SinkOptions, cluster: Cluster) -> None:
        self._options = options
        self._policy: EvolutionPolicy = options.policy
        self._cluster = cluster
        self._mappings: dict[str, Mapping[str, Any]] = {}
        self._known: dict[tuple[str, int], tuple[Schema, Evolution]] = {}

    def fitted(self, topic: str, target: str, batch: SinkBatch) -> Fitted:
        """The records without ignored fields, and which of them may be written; new fields are added before."""
        options = self._options
        if self._policy == _NOTHING or options.schema_ignored or topic in options.schemaless or not len(batch):
            return Fitted(batch)
        new = target not in self._mappings
        if new and not self._look(target):
            return Fitted(batch)  # a stream that its first document makes
        verdict = self._judged(target, batch.values)
        if not new and (verdict.changes or verdict.mismatches):
            self._look(target)  # somebody else may have added what is missing
            verdict = self._judged(target, batch.values)
        if verdict.changes:
            self._add(target, verdict)
        if verdict.ignored:
            batch = batch.with_columns(values=batch.values.each_schema(lambda group: _without(group, verdict.ignored)))
        return Fitted(batch, verdict)

    def _look(self, target: str) -> bool:
        """Read the fields of an index, or of the newest behind a stream or an alias. False if there is none."""
        self._known = {key: known for key, known in self._known.items() if key[0] != target}
        found = self._cluster.request("GET", f"/{quoted(target)}/_mapping?ignore_unavailable=true")
        if not found:
            return False
        self._mappings[target] = found[max(found)].get("mappings", {}).get("properties", {})
        return True

    def _judged(self, target: str, values: Values) -> Verdict:
        """What the records with a schema require of an index; those without fit everything."""
        changes: dict[Change, None] = {}
        mismatches: list[Mismatch] = []
        ignored: set[Path] = set()
        shape = Schema.struct({})
        for rows, group in values.groups():
            schema = group.schemas[0]
            if schema is None or schema.type is not Type.STRUCT:
                continue
            verdict = self._evolution(target, schema).judge(group)
            changes.update(dict.fromkeys(verdict.changes))
            mismatches += [Mismatch(rows[each.row], each.reason) for each in verdict.mismatches]
            ignored |= verdict.ignored
        mismatches.sort(key=lambda each: each.row)
        return Verdict(tuple(changes), shape, tuple(mismatches), frozenset(ignored), self._policy)

    def _evolution(self, target: str, schema: Schema) -> Evolution:
        known = self._known.get((target, id(schema)))
        if known is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            seen = self._as_seen_by(schema, self._mappings[target])
            evolution = Evolution(self._policy, seen, supports=lambda change: isinstance(change, AddField))
            known = self._known[target, id(schema)] = (schema, evolution)  # kept, so that its id stays its own
        return known[1]

    def _add(self, target: str, verdict: Verdict) -> None:
        """Add fields, for all that the records of a batch require."""
        for change in verdict.changes:
            assert isinstance(change, AddField)
            *outer, name = (part for part in change.path if part not in _WITHIN)
            schema = Schema.struct({name: change.schema})
            for part in reversed(outer):
                schema = Schema.struct({part: schema})
            self._cluster.request("PUT", f"/{quoted(target)}/_mapping", mapping_of(schema, self._options))
            log.info("added the field %s to the mapping of %s", ".".join(change.path), target)
        self._look(target)

    # A mapping in the form of a schema.

    def _as_seen_by(self, schema: Schema, mapping: Mapping[str, Any]) -> Schema:
        """The fields of a mapping that a schema has as well. Others require nothing of a record."""
        fields = {}
        for field in schema.fields:
            there = _there(mapping, field.name)
            if there is not None:
                fields[field.name] = self._one(field.schema, there).as_optional()
        return Schema.struct(fields)

    def _one(self, schema: Schema, there: Mapping[str, Any]) -> Schema:
        """A field of a mapping as a schema."""
        if schema.type is Type.ARRAY and schema.value_schema is not None:
            # An index knows no arrays: a field has one value or many.
            return schema.replace(value_schema=self._one(schema.value_schema, there).as_optional())
        inner = there.get("properties")
        if schema.type is Type.STRUCT:
            return self._as_seen_by(schema, inner) if inner is not None else schema
        kind = _STRICT.get(str(there.get("type")))
        same = logical.python_type(schema) is not None or schema.type is Type.MAP or schema.type is kind
        if kind is None or same:
            return schema
        return Schema(kind)


def _there(mapping: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """A field of a mapping: `a.b` is the field `b` of `a`, as the cluster reads it, or one of that name."""
    found: Mapping[str, Any] | None = mapping.get(name)
    if found is None and "." in name:
        outer, _, inner = name.partition(".")
        found = _there(mapping.get(outer, {}).get("properties", {}), inner)
    return found


_NOTHING: Final = EvolutionPolicy(mismatch=PASS)
#: Parts of a path that are no field of an index.
_WITHIN: Final = frozenset({"element", "value", "key"})


def _without(group: Values, ignored: frozenset[Path]) -> Values:
    """Values of one schema without some fields."""
    schema = group.schemas[0]
    if schema is None or schema.type is not Type.STRUCT:
        return group
    kept = _kept(schema, (), ignored)
    return group if kept is schema else Values([_cut(kept, value) for value in group], kept)


def _kept(schema: Schema, path: Path, ignored: frozenset[Path]) -> Schema:
    if schema.type is Type.STRUCT:
        fields = {
            field.name: _kept(field.schema, (*path, field.name), ignored)
            for field in schema.fields
            if (*path, field.name) not in ignored
        }
        same = len(fields) == len(schema.fields) and all(fields[each.name] is each.schema for each in schema.fields)
        return schema if same else schema.replace(fields=fields)
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        inner = _kept(schema.value_schema, (*path, "element"), ignored)
        return schema if inner is schema.value_schema else schema.replace(value_schema=inner)
    return schema


def _cut(schema: Schema, value: Any) -> Any:
    if isinstance(value, dict) and schema.type is Type.STRUCT:
        return {field.name: _cut(field.schema, value.get(field.name)) for field in schema.fields}
    if isinstance(value, list) and schema.value_schema is not None:
        return [_cut(schema.value_schema, item) for item in value]
    return value
