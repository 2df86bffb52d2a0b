"""Turn the rows of an outbox table into messages: Debezium's EventRouter.

https://debezium.io/documentation/reference/stable/transformations/outbox-event-router.html
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any, Final, NamedTuple

from connect import ConfigError, DataError, Header, Headers, Schema, SinkRecord, Transformation, Type, settings
from connect.settings import Config
from transforms.inferred_json import JsonSchemas, NotExpanded
from transforms.topics import Renamed, regular_expression, replacing

log = logging.getLogger(__name__)

_PLACEMENTS: Final = ("header", "envelope", "partition")
_PER_MS: Final = {
    "io.debezium.time.Timestamp": 1,
    "io.debezium.time.MicroTimestamp": 1000,
    "io.debezium.time.NanoTimestamp": 1_000_000,
}
#: What Java's String.trim removes.
_BLANKS: Final = "".join(map(chr, range(33)))


class _Added(NamedTuple):
    """An entry of table.fields.additional.placement."""

    field: str
    placement: str
    name: str


class _Columns(NamedTuple):
    """The names of the outbox table's columns, as a connector writes them."""

    id: str
    key: str
    payload: str
    topic: str


_SETTINGS: Final = ("table.field.event.id", "table.field.event.key", "table.field.event.payload", "route.by.field")


def _additional(entries: list[str]) -> list[_Added]:
    added = []
    for entry in filter(None, entries):
        field, *rest = (part.strip() for part in entry.split(":"))
        if not field or len(rest) not in (1, 2) or "" in rest or rest[0].lower() not in _PLACEMENTS:
            raise ValueError(
                f'"{entry}" is not a field with a placement. Write field:placement or field:placement:name, where '
                f"placement is one of {', '.join(_PLACEMENTS)}."
            )
        added.append(_Added(field, rest[0].lower(), rest[1] if len(rest) == 2 else field))
    names = [each.name for each in added if each.placement == "envelope"]
    if twice := next((name for name in [*names, "payload"] if [*names, "payload"].count(name) > 1), None):
        raise ValueError(f'puts the field "{twice}" into the envelope twice. Give one of them another name.')
    return added


class EventRouter(Transformation):
    """Turns each row that is inserted into an outbox table into a message; key, topic and payload are columns.

    Deletes and tombstones are dropped, and so are updates, which an outbox should not see. Records whose value is not a
    change event (its schema's name does not end with `.Envelope`) pass unchanged.

    It runs record by record: each may get another topic, key, schema and header.
    """

    pure = True
    settings = settings.define(
        settings.String(
            "table.field.event.id",
            default="id",
            importance="LOW",
            doc="The column with the event's id, which becomes the header id. With Debezium's connector for Oracle the "
            "defaults of this and of the other columns are in upper case.",
        ),
        settings.String(
            "table.field.event.key", default="aggregateid", importance="LOW", doc="The column with the message's key."
        ),
        settings.String(
            "table.field.event.type", default="type", importance="LOW", doc="Has no effect, as in Debezium."
        ),
        settings.String(
            "table.field.event.payload",
            default="payload",
            importance="LOW",
            doc="The column with the message's value.",
        ),
        settings.String(
            "table.field.event.timestamp",
            default=None,
            doc="The column with the message's timestamp, of one of Debezium's types Timestamp, MicroTimestamp and "
            "NanoTimestamp. Unset, or null in the row: the time at which Debezium processed the event.",
        ),
        settings.List(
            "table.fields.additional.placement",
            default=[],
            importance="HIGH",
            validator=lambda _, entries: _additional(entries) and None,
            doc="More columns to pass on, as field:placement or field:placement:name. The placement is header, "
            "envelope (the value becomes a struct of payload and these fields) or partition.",
        ),
        settings.String(
            "table.field.additional.missing",
            default="error",
            validator=settings.one_of("error", "ignore", ignore_case=True),
            doc="What to do if a row lacks one of those columns: error (refuse the row), ignore (leave the field out).",
        ),
        settings.String(
            "table.field.event.schema.version",
            default=None,
            importance="LOW",
            doc="The column, an INT32, with the version of the value's schema. Only with fields in the envelope.",
        ),
        settings.String(
            "table.op.invalid.behavior",
            default="warn",
            validator=settings.one_of("warn", "error", "fatal", ignore_case=True),
            doc="What to do with an update: warn or error (drop it and log a line of that level), fatal (refuse it).",
        ),
        settings.Boolean(
            "table.expand.json.payload",
            default=False,
            doc="Whether a payload that is a string with a JSON object or array becomes a struct or an array, with a "
            "schema inferred from it. A string that is not JSON stays as it is, with a warning.",
        ),
        settings.String(
            "table.json.payload.null.behavior",
            default="ignore",
            validator=settings.one_of("ignore", "optional_bytes", ignore_case=True),
            doc="What to do with a null field in such JSON: ignore (leave it out), optional_bytes (keep it as optional "
            "bytes).",
        ),
        settings.String(
            "table.json.payload.empty.array.behavior",
            default="ignore",
            validator=settings.one_of("ignore", "optional_string", ignore_case=True),
            doc="What to do with a field that is an empty array: ignore (leave it out), optional_string (keep it as an "
            "array of optional strings).",
        ),
        settings.String(
            "route.by.field",
            default="aggregatetype",
            importance="HIGH",
            doc="The column that a message is routed by.",
        ),
        settings.String(
            "route.topic.regex",
            default="(?<routedByValue>.*)",
            importance="LOW",
            validator=regular_expression,
            doc="Java regular expression for that column. A value that it does not match as a whole is the topic.",
        ),
        settings.String(
            "route.topic.replacement",
            default="outbox.event.${routedByValue}",
            importance="HIGH",
            doc="The topic. $1 stands for the match of the first group, ${name} for that of a named group.",
        ),
        settings.Boolean(
            "route.tombstone.on.empty.payload",
            default=False,
            importance="HIGH",
            doc="Whether a payload that is null, empty or blank becomes a tombstone: null without a schema.",
        ),
    )

    def configure(self, config: Config) -> None:
        if missing := next((key for key in _SETTINGS if not config[key]), None):
            raise ConfigError(missing, "must name a column of the outbox table.")
        self._columns = _Columns(*(config[key] for key in _SETTINGS))
        self._of_oracle = _Columns(
            *(config[key] if key in config.raw else config[key].upper() for key in _SETTINGS),
        )
        self._time: str | None = config["table.field.event.timestamp"] or None
        self._added = _additional(config["table.fields.additional.placement"])
        self._wrap = any(each.placement == "envelope" for each in self._added)
        self._lenient = config["table.field.additional.missing"].lower() == "ignore"
        self._version: str | None = config["table.field.event.schema.version"] or None
        self._updates: str = config["table.op.invalid.behavior"].lower()
        self._json: JsonSchemas | None = None
        if config["table.expand.json.payload"]:
            self._json = JsonSchemas(
                nulls=config["table.json.payload.null.behavior"].lower() == "optional_bytes",
                empty_arrays=config["table.json.payload.empty.array.behavior"].lower() == "optional_string",
            )
        self._tombstones: bool = config["route.tombstone.on.empty.payload"]
        rename = replacing(config["route.topic.regex"], config["route.topic.replacement"], "route.topic.replacement")
        self._topics = Renamed(lambda topic: topic if (new := rename(topic)) is None else new)
        self._value_schema = lru_cache(maxsize=1000)(self._make_value_schema)

    def apply(self, record: Any) -> Any:
        value, schema = record.value, record.value_schema
        if value is None:
            return None
        if schema is None or schema.name is None or not schema.name.endswith(".Envelope"):
            return record
        if not isinstance(value, dict):
            raise DataError(f"A value with the schema {schema.name} is not a struct.")
        op = _typed(schema, value, "op", Type.STRING, "the envelope")
        if op == "d":
            return None
        if op == "u":
            self._handle_update(record.topic)
            return None
        row_schema = _field(schema, "after", "the envelope")
        row = value.get("after")
        if row is None:
            raise DataError(f'The change event (op {op}) has no row: its field "after" is null.')
        return self._message(record, row_schema, row)

    def _handle_update(self, topic: str) -> None:
        if self._updates == "fatal":
            raise DataError(
                f"A row of the outbox table was updated (topic {topic}), but rows may only be inserted and deleted. "
                "Set table.op.invalid.behavior=warn to drop such events."
            )
        level = logging.WARNING if self._updates == "warn" else logging.ERROR
        log.log(level, "Dropped the update of a row in the outbox table, topic %s.", topic)

    def _message(self, record: Any, schema: Schema, row: dict[str, Any]) -> Any:
        source = record.value.get("source") or {}
        columns = self._of_oracle if source.get("connector") == "oracle" else self._columns
        route = _typed(schema, row, columns.topic, Type.STRING)
        if route is None:
            raise DataError(f'The column "{columns.topic}" (route.by.field) of the row is null, so it has no topic.')
        headers = [*record.headers, Header("id", _got(schema, row, columns.id), _field(schema, columns.id))]
        payload_schema, payload = _field(schema, columns.payload), _got(schema, row, columns.payload)
        if self._json is not None and payload is not None:
            payload_schema, payload = self._expanded(columns.payload, payload_schema, payload)
        partition = None
        fields = {"payload": payload}
        for added in self._added:
            if schema.field(added.field) is None and self._lenient:
                continue
            if added.placement == "header":
                found = _got(schema, row, added.field)
                headers.append(Header(added.name, found, _field(schema, added.field)))
            elif added.placement == "envelope":
                fields[added.name] = _got(schema, row, added.field)
            else:
                partition = _typed(schema, row, added.field, Type.INT32)
        value_schema: Schema | None = payload_schema
        value: Any = payload
        if self._wrap:
            version = None if self._version is None else _typed(schema, row, self._version, Type.INT32)
            value_schema, value = self._value_schema(payload_schema, schema, version, route), fields
        if self._tombstones and (payload is None or (isinstance(payload, str) and not payload.strip(_BLANKS))):
            value_schema = value = None
        if partition is None and isinstance(record, SinkRecord):
            partition = record.partition
        return record.replace(
            topic=self._topics[route],
            partition=partition,
            key=_got(schema, row, columns.key),
            key_schema=_field(schema, columns.key),
            value=value,
            value_schema=value_schema,
            timestamp=self._timestamp(schema, row, record.value),
            headers=Headers(headers),
        )

    def _expanded(self, column: str, schema: Schema, payload: Any) -> tuple[Schema, Any]:
        assert self._json is not None
        try:
            if not isinstance(payload, str):
                raise NotExpanded(f"it is not a string but {schema.type.name}")
            found = self._json.read(payload, column)
        except NotExpanded as error:
            log.warning('The payload in the column "%s" stays as it is: %s.', column, error)
            return schema, payload
        assert found.schema is not None
        return found.schema, found.value

    def _timestamp(self, schema: Schema, row: dict[str, Any], event: dict[str, Any]) -> int | None:
        column = self._time
        time = None if column is None else _typed(schema, row, column, Type.INT64)
        if column is None or time is None:
            return event.get("ts_ms")
        name = _field(schema, column).name
        if name not in _PER_MS:
            raise DataError(
                f'The column "{column}" (table.field.event.timestamp) has the type {name or "INT64"}; it must be one '
                f"of {', '.join(_PER_MS)}."
            )
        per_ms = _PER_MS[name]
        return int(time // per_ms if time >= 0 else -(-time // per_ms))

    def _make_value_schema(self, payload: Schema, row: Schema, version: int | None, route: str) -> Schema:
        before, dot, last = (row.name or "").rpartition(".")
        name = f"{before}{dot}{route}.{last}" if row.name else route
        fields = {"payload": payload}
        for added in self._added:
            if added.placement == "envelope" and not (self._lenient and row.field(added.field) is None):
                fields[added.name] = _field(row, added.field)
        return Schema.struct(fields, name=name, version=version)


def _field(schema: Schema, name: str, of: str = "the row of the outbox table") -> Schema:
    found = schema.field(name)
    if found is None:
        there = ", ".join(field.name for field in schema.fields)
        raise DataError(f'{of[0].upper()}{of[1:]} has no field "{name}". It has {there}.')
    return found.schema


def _got(schema: Schema, row: dict[str, Any], name: str) -> Any:
    """The value of a field; its default in place of null."""
    default = _field(schema, name).default
    value = row.get(name)
    return default if value is None else value


def _typed(schema: Schema, row: dict[str, Any], name: str, kind: Type, of: str = "the row of the outbox table") -> Any:
    """The value of a field that must be of a type. A default does not replace null."""
    found = _field(schema, name, of)
    if found.type is not kind:
        raise DataError(f'The field "{name}" of {of} is {found.type.name} and must be {kind.name}.')
    return row.get(name)
