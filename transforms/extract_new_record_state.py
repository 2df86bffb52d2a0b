"""Replace a Debezium change event by its row: ExtractNewRecordState.

https://debezium.io/documentation/reference/stable/transformations/event-flattening.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from connect import Batch, DataError, Header, Headers, Schema, Transformation, Type, Values, settings
from connect.data.column import Plain
from connect.data.schema import OPTIONAL_STRING, STRING
from connect.data.struct_columns import StructColumns
from connect.settings import Config
from transforms.rows import with_groups

B = TypeVar("B", bound=Batch[Any])

_DELETED = "__deleted"

#: What to do with a delete event, and whether tombstones stay.
_MODES = {
    "drop": ("drop", False),
    "tombstone": ("null", False),
    "rewrite": ("rewrite", False),
    "rewrite-with-tombstone": ("rewrite", True),
    "delete-to-tombstone": ("tombstone", False),
}
_OLD_MODES = {"drop": "drop", "none": "null", "rewrite": "rewrite"}


class _Added(NamedTuple):
    """An entry of add.fields or add.headers: `source.ts_ms:at`."""

    struct: str | None
    field: str
    name: str


class _Plan(NamedTuple):
    """What is derived from the schema of an envelope, once.

    Attributes:
        row: the schema of `after`, made required.
        deleted: the schema of `before`, made required; None when the envelope has none.
        fields: for add.fields: the path in the envelope, the new name, and the schema of each.
        headers: the same for add.headers.
    """

    row: Schema
    deleted: Schema | None
    fields: list[tuple[tuple[str, ...], str, Schema]]
    headers: list[tuple[tuple[str, ...], str, Schema]]


class ExtractNewRecordState(Transformation):
    """Debezium's ExtractNewRecordState, with the behaviour of version 3.

    Records whose value is not an envelope (its schema's name does not end with `.Envelope`) pass unchanged. An event
    without a row before and after (TRUNCATE, a message) is dropped.
    """

    pure = True
    settings = settings.define(
        settings.String(
            "delete.tombstone.handling.mode",
            default="tombstone",
            validator=settings.one_of(*_MODES, ignore_case=True),
            doc="What to do with deletes and the tombstones after them: drop (drop both), tombstone (the delete "
            "becomes the tombstone, the one after it is dropped), rewrite (the old row with __deleted=true, no "
            "tombstone), rewrite-with-tombstone, delete-to-tombstone (as tombstone, but without a schema).",
        ),
        settings.String(
            "route.by.field",
            default="",
            importance="LOW",
            doc="A string field of the row that holds the topic to send the record to. Null or empty leaves the topic.",
        ),
        settings.String(
            "add.fields.prefix", default="__", importance="LOW", doc="The prefix of the names of add.fields."
        ),
        settings.List(
            "add.fields",
            default=[],
            importance="LOW",
            validator=lambda _, entries: _unique(entries),
            doc="Fields of the envelope, its source or its transaction to put into the row: op, source.ts_ms, "
            "transaction.id, or op:operation for another name. The new names are __op, __source_ts_ms, __operation.",
        ),
        settings.String(
            "add.headers.prefix", default="__", importance="LOW", doc="The prefix of the names of add.headers."
        ),
        settings.List(
            "add.headers", default=[], importance="LOW", doc="As add.fields, but added as headers of the record."
        ),
        settings.String(
            "drop.fields.header.name",
            default=None,
            importance="LOW",
            doc="A header that holds a list of the fields to drop from the row.",
        ),
        settings.Boolean(
            "drop.fields.from.key", default=False, importance="LOW", doc="Whether to drop them from the key too."
        ),
        settings.Boolean(
            "drop.fields.keep.schema.compatible",
            default=True,
            importance="LOW",
            doc="Whether to drop only optional fields.",
        ),
        settings.Boolean(
            "replace.null.with.default",
            default=True,
            importance="LOW",
            doc="Whether rewrite replaces null by a field's default.",
        ),
        settings.Boolean(
            "drop.tombstones",
            default=True,
            importance="LOW",
            doc="Debezium 2. With delete.tombstone.handling.mode it has no effect.",
        ),
        settings.String(
            "delete.handling.mode",
            default="drop",
            importance="LOW",
            validator=settings.one_of(*_OLD_MODES, ignore_case=True),
            doc="Debezium 2: drop, none or rewrite. With delete.tombstone.handling.mode it has no effect.",
        ),
    )

    def configure(self, config: Config) -> None:
        self._deletes, self._keep_tombstones = _MODES[config["delete.tombstone.handling.mode"].lower()]
        old = config.raw.get("drop.tombstones"), config.raw.get("delete.handling.mode")
        if config.raw.get("delete.tombstone.handling.mode") is None and old != (None, None):
            self._deletes = _OLD_MODES[config["delete.handling.mode"].lower()]
            self._keep_tombstones = not config["drop.tombstones"]
        self._rewrite = self._deletes == "rewrite"
        self._route: str | None = config["route.by.field"] or None
        self._fields = _added(config["add.fields"], config["add.fields.prefix"])
        self._headers = _added(config["add.headers"], config["add.headers.prefix"])
        self._drop_header: str | None = config["drop.fields.header.name"] or None
        self._drop_from_key: bool = config["drop.fields.from.key"]
        self._drop_required: bool = not config["drop.fields.keep.schema.compatible"]
        self._defaults: bool = config["replace.null.with.default"]
        self._plan_of = lru_cache(maxsize=1000)(self._plan)
        self._final = lru_cache(maxsize=1000)(self._make_final)

    def apply(self, record: Any) -> Any:
        if record.value is None:
            if not self._keep_tombstones:
                return None
            headers = self._of_tombstone(record.headers)
            return record if headers is record.headers else record.replace(headers=headers)
        if not _is_envelope(record.value_schema):
            return record
        plan = self._plan_of(record.value_schema)
        envelope = record.value
        live, old = envelope.get("after"), envelope.get("before")
        if live is None and (old is None or self._deletes == "drop"):
            return None
        changes: dict[str, Any] = {}
        if self._headers:
            added = (Header(name, _at(envelope, path), schema) for path, name, schema in plan.headers)
            changes["headers"] = Headers([*record.headers, *added])
        if self._route is not None:
            topic = self._topic(plan, live, old)
            if topic:
                changes["topic"] = topic
        drop = self._dropped(record.headers)
        if drop is not None and self._drop_from_key and record.key is not None:
            changes["key_schema"], changes["key"] = self._without(record.key_schema, record.key, drop)
        changes["value_schema"], changes["value"] = self._value(record.value_schema, plan, envelope, drop)
        return record.replace(**changes)

    def apply_batch(self, batch: B) -> B:
        if self._route is not None or self._drop_header is not None:
            return super().apply_batch(batch)
        groups: list[tuple[Sequence[int], Values]] = []
        for rows, values in batch.values.groups():
            for part, changed in self._column(values):
                if changed is not None:
                    groups.append((rows if part is None else [rows[row] for row in part], changed))
        if self._headers:
            batch = batch.with_columns(headers=Plain(self._with_headers(batch)))
        return with_groups(batch, "values", groups)

    def _with_headers(self, batch: Batch[Any]) -> list[Headers]:
        """The headers of all rows, including those that will be dropped."""
        headers = list(batch.headers)
        for rows, values in batch.values.groups():
            schema = values.schemas[0]
            columns = values.struct_columns
            items = values.to_list() if columns is None else None
            # A null may have the schema of an envelope, which then need not have what is to be added.
            if schema is not None and _is_envelope(schema) and (items is None or any(items)):
                added = self._plan_of(schema).headers
                if items is not None:
                    found = [[_at(item, path) for item in items] for path, _, _ in added]
                else:
                    assert columns is not None
                    found = [_column_at(columns, path) for path, _, _ in added]
            else:
                added, items, found = [], values.to_list(), []
            for place, row in enumerate(rows):
                if items is not None and items[place] is None:
                    headers[row] = self._of_tombstone(headers[row])
                elif added:
                    more = (Header(name, f[place], kind) for (_, name, kind), f in zip(added, found, strict=True))
                    headers[row] = Headers([*headers[row], *more])
        return headers

    def _of_tombstone(self, headers: Headers) -> Headers:
        named = [Header(header.name, "d", STRING) for header in self._headers if header.field == "op"]
        return Headers([*headers, *named]) if named else headers

    def _column(self, values: Values) -> list[tuple[list[int] | None, Values | None]]:
        """The rows of one schema (None: all of them) with their new values (None: dropped)."""
        schema = values.schemas[0]
        if values.struct_columns is not None and _is_envelope(schema):
            live = self._live(values.struct_columns)
            if live is not None:
                return [(None, live)]
        if schema is None or not _is_envelope(schema):
            items = values.to_list()
            nulls = [] if self._keep_tombstones else [row for row, item in enumerate(items) if item is None]
            if not nulls:
                return [(None, values)]
            rest = [row for row, item in enumerate(items) if item is not None]
            return [(nulls, None), (rest, values.take(rest))]
        return self._structs(schema, values.to_list())

    def _structs(self, schema: Schema, items: list[Any]) -> list[tuple[list[int] | None, Values | None]]:
        plan = self._plan_of(schema) if any(items) else None  # as above
        dropped: list[int] = []
        found: dict[int, tuple[Schema | None, list[int], list[Any]]] = {}
        for row, item in enumerate(items):
            if item is None:
                if not self._keep_tombstones:
                    dropped.append(row)
                    continue
                new: tuple[Schema | None, Any] = schema, None
            elif item.get("after") is None and (item.get("before") is None or self._deletes == "drop"):
                dropped.append(row)
                continue
            else:
                assert plan is not None
                new = self._value(schema, plan, item, None)
            _, rows, column = found.setdefault(id(new[0]), (new[0], [], []))
            rows.append(row)
            column.append(new[1])
        parts: list[tuple[list[int] | None, Values | None]] = [
            (rows, Values(column, new_schema)) for new_schema, rows, column in found.values()
        ]
        return [*parts, (dropped, None)] if dropped else parts

    def _live(self, columns: StructColumns) -> Values | None:
        """The rows of the envelopes if all have one; None where a row was deleted."""
        plan = self._plan_of(columns.struct)
        rows = columns.field("after").items
        if None in rows:
            return None
        if not self._rewrite and not plan.fields:
            return Values(rows, plan.row)
        changed = list(map(dict, rows))
        if self._rewrite and self._defaults:
            for field in plan.row.fields:
                if field.schema.default is not None:
                    for row in changed:
                        if row.get(field.name) is None:
                            row[field.name] = field.schema.default
        if self._rewrite:
            for row in changed:
                row[_DELETED] = "false"
        for path, name, _ in plan.fields:
            for row, item in zip(changed, _column_at(columns, path), strict=True):
                row[name] = item
        return Values(changed, self._final(plan.row, columns.struct))

    def _value(
        self, schema: Schema, plan: _Plan, envelope: Mapping[str, Any], drop: Sequence[str] | None
    ) -> tuple[Schema | None, Any]:
        live = envelope.get("after")
        if live is None and not self._rewrite:
            after = schema.field("after")
            assert after is not None
            return (None, None) if self._deletes == "tombstone" else (after.schema, None)
        row_schema = plan.row if live is not None else plan.deleted
        assert row_schema is not None
        row = live if live is not None else envelope["before"]
        if self._rewrite:
            full = {f.name: _filled(f.schema, row.get(f.name), self._defaults) for f in row_schema.fields}
            row = {**full, _DELETED: "true" if live is None else "false"}
        # As Debezium: a live row gets its new fields first and then loses the dropped ones; a deleted one loses first.
        if drop is None:
            return self._final(row_schema, schema), self._with_fields(row, plan, envelope)
        if live is not None:
            return self._without(self._final(row_schema, schema), self._with_fields(row, plan, envelope), drop)
        rewritten = self._deleted_schema(row_schema)
        kept_schema, kept = self._without(rewritten, row, drop)
        assert kept_schema is not None
        return _extended(kept_schema, plan.fields), self._with_fields(kept, plan, envelope)

    def _with_fields(self, row: Any, plan: _Plan, envelope: Mapping[str, Any]) -> Any:
        if not plan.fields:
            return row
        return {**row, **{name: _at(envelope, path) for path, name, _ in plan.fields}}

    def _make_final(self, row: Schema, envelope: Schema) -> Schema:
        return _extended(self._deleted_schema(row) if self._rewrite else row, self._plan_of(envelope).fields)

    def _deleted_schema(self, row: Schema) -> Schema:
        if row.field(_DELETED) is not None:
            raise DataError(f'The row already has a field "{_DELETED}", the name of the mark for deleted rows.')
        return row.replace(fields={**{f.name: f.schema for f in row.fields}, _DELETED: OPTIONAL_STRING})

    def _plan(self, schema: Schema) -> _Plan:
        live, old = schema.field("after"), schema.field("before")
        if live is None:
            raise DataError(f'The envelope {schema.name} has no field "after".')
        row = live.schema.replace(optional=False)
        # Mostly the two are one schema; then live and deleted rows share one, too.
        deleted = None if old is None else row if old.schema == live.schema else old.schema.replace(optional=False)
        return _Plan(row, deleted, _found(schema, self._fields), _found(schema, self._headers))

    def _topic(self, plan: _Plan, live: Any, old: Any) -> str | None:
        assert self._route is not None
        row, schema = (live, plan.row) if live is not None else (old, plan.deleted)
        field = schema.field(self._route) if schema is not None else None
        if field is None:
            raise DataError(f'The row has no field "{self._route}" (route.by.field).')
        if field.schema.type is not Type.STRING:
            raise DataError(
                f'The field "{self._route}" (route.by.field) is not a string but {field.schema.type.value}.'
            )
        topic = _filled(field.schema, row.get(self._route), defaults=True)
        return None if topic is None else str(topic)

    def _dropped(self, headers: Headers) -> Sequence[str] | None:
        if self._drop_header is None:
            return None
        header = next(iter(headers.all(self._drop_header)), None)
        if header is None or not header.value:
            return None
        if not isinstance(header.value, list | tuple):
            raise DataError(f'The header "{self._drop_header}" (drop.fields.header.name) is not a list of names.')
        return header.value

    def _without(self, schema: Schema | None, value: Any, drop: Sequence[str]) -> tuple[Schema | None, Any]:
        if schema is None and self._drop_required and isinstance(value, dict):
            return None, {name: item for name, item in value.items() if name not in drop}
        if schema is None or schema.type is not Type.STRUCT:
            raise DataError("Fields (drop.fields.header.name) can only be dropped from a struct with a schema.")
        chosen = {f.name for f in schema.fields if f.name in drop and (self._drop_required or f.schema.optional)}
        if not chosen and not (self._drop_required and drop):
            return schema, value
        kept = [field for field in schema.fields if field.name not in chosen]
        changed = schema.replace(fields={field.name: field.schema for field in kept}, optional=False)
        return changed, {field.name: _filled(field.schema, value.get(field.name), defaults=True) for field in kept}


def _is_envelope(schema: Schema | None) -> bool:
    return schema is not None and schema.name is not None and schema.name.endswith(".Envelope")


def _added(entries: list[str], prefix: str) -> list[_Added]:
    added = []
    for entry in filter(None, entries):
        written, _, other = entry.partition(":")
        parts = written.strip().split(".")
        struct, field = (parts[0], parts[1]) if len(parts) > 1 else (None, parts[0])
        name = other.strip() or (f"{struct}_{field}" if struct else field)
        added.append(_Added(struct, field, prefix + name))
    return added


def _unique(entries: list[str]) -> None:
    names = [each.name for each in _added(entries, "")]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f'adds the field "{twice}" twice. Give one of them another name.')


def _found(envelope: Schema, added: list[_Added]) -> list[tuple[tuple[str, ...], str, Schema]]:
    """Path, new name and schema of those fields that the envelope has."""
    found = []
    for struct, name, new_name in added:
        if struct is not None and envelope.field(struct) is None:
            raise DataError(f'The envelope {envelope.name} has no "{struct}" to take "{name}" from.')
        for place in [(struct,), ()] if struct else [(), ("transaction",), ("source",)]:
            schema: Schema | None = envelope
            for step in (*place, name):
                field = schema.field(step) if schema is not None else None
                schema = None if field is None else field.schema
            if schema is not None:
                found.append(((*filter(None, place), name), new_name, schema.replace(optional=True, default=None)))
                break
    return found


def _at(envelope: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        envelope = None if envelope is None else envelope.get(name)
    return envelope


def _column_at(columns: StructColumns, path: tuple[str, ...]) -> list[Any]:
    items = columns.field(path[0]).items
    return items if len(path) == 1 else [_at(item, path[1:]) for item in items]


def _filled(schema: Schema, value: Any, defaults: bool) -> Any:
    return schema.default if value is None and defaults else value


def _extended(schema: Schema, fields: list[tuple[tuple[str, ...], str, Schema]]) -> Schema:
    if not fields:
        return schema
    if twice := next((name for _, name, _ in fields if schema.field(name) is not None), None):
        raise DataError(f'The row already has a field "{twice}". Choose another add.fields.prefix or name.')
    added = {name: added for _, name, added in fields}
    return schema.replace(fields={**{field.name: field.schema for field in schema.fields}, **added})
