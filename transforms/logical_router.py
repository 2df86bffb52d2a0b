"""Send the change events of several tables to one topic: Debezium's ByLogicalTableRouter and ToLogicalTopicRouter.

https://debezium.io/documentation/reference/stable/transformations/topic-routing.html
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from connect import Batch, ConfigError, DataError, Schema, SchemaError, Transformation, Type, Values, settings
from connect.data.column import Constant
from connect.data.schema import STRING
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.settings import Config
from transforms.rows import beside_nulls
from transforms.schema_names import MODE, SETTING, adjuster
from transforms.structs import copied, defaults_of
from transforms.topics import regular_expression, replacing

log = logging.getLogger(__name__)

B = TypeVar("B", bound=Batch[Any])

_ROWS = ("before", "after")


class ToLogicalTopicRouter(Transformation):
    """Renames topics by a pattern, and the schemas with them; keys get a field with their origin.

    With the name of the new topic, a key's schema is named `topic.Key`, that of a change event `topic.Envelope` and
    those of its rows `topic.Value`. Values that are not change events (their schema's name does not end with
    `.Envelope`), including tombstones, stay as they are. Schemas are made once for each topic, and a batch changes
    column by column.
    """

    pure = True
    settings = (
        settings.define(
            settings.String(
                "topic.regex",
                importance="HIGH",
                validator=regular_expression,
                doc="Java regular expression for the topics to rename. It must match the whole name; records of other "
                "topics stay unchanged.",
            ),
            settings.String(
                "topic.replacement",
                importance="HIGH",
                validator=settings.non_empty,
                doc="The new name. $1 stands for the match of the first group, ${name} for that of a named group.",
            ),
            settings.Boolean(
                "key.enforce.uniqueness",
                default=True,
                importance="LOW",
                doc="Whether each key gets a field with the topic that it comes from, so that equal keys of two tables "
                "stay distinct.",
            ),
            settings.String(
                "key.field.name",
                default="__dbz__sourceIdentifier",
                importance="LOW",
                validator=settings.non_empty,
                doc="The name of that field.",
            ),
            settings.String(
                "key.field.regex",
                default="",
                importance="LOW",
                validator=lambda name, text: regular_expression(name, text) if text.strip() else None,
                doc="Java regular expression for the old topic, from which key.field.replacement makes the field's "
                "value. Empty, and for a topic that it does not match: the old topic itself.",
            ),
            settings.String(
                "key.field.replacement",
                default="",
                importance="LOW",
                doc="The value of the field. Required with key.field.regex.",
            ),
        )
        | MODE
        | settings.define(
            settings.Int(
                "logical.destination.cache.size",
                default=16,
                importance="LOW",
                doc="Debezium's number of cached schemas. Has no effect here.",
            )
        )
    )

    def configure(self, config: Config) -> None:
        rename = replacing(config["topic.regex"], config["topic.replacement"], "topic.replacement")
        self._new_topic = lru_cache(maxsize=10_000)(lambda topic: _usable(topic, rename(topic)))
        self._field: str | None = config["key.field.name"] if config["key.enforce.uniqueness"] else None
        self._origin: Callable[[str], str | None] = lambda topic: topic
        if config["key.field.regex"].strip():
            if not config["key.field.replacement"].strip():
                raise ConfigError("key.field.replacement", "must not be empty if key.field.regex is set.")
            self._origin = replacing(
                config["key.field.regex"], config["key.field.replacement"], "key.field.replacement"
            )
        self._adjust = adjuster(config[SETTING])
        self._key_schema = lru_cache(maxsize=1000)(self._make_key_schema)
        self._envelope = lru_cache(maxsize=1000)(self._make_envelope)

    def apply(self, record: Any) -> Any:
        topic = record.topic
        new = self._new_topic(topic)
        if new is None:
            return record
        keys = self._keys(topic, new, Values([record.key], record.key_schema))
        values = self._values(new, Values([record.value], record.value_schema))
        return record.replace(
            topic=new,
            key=keys.to_list()[0],
            key_schema=keys.schemas[0],
            value=values.to_list()[0],
            value_schema=values.schemas[0],
        )

    def apply_batch(self, batch: B) -> B:
        rows: dict[str, list[int]] = {}
        for row, topic in enumerate(batch.topics):
            rows.setdefault(topic, []).append(row)
        if all(self._new_topic(topic) is None for topic in rows):
            return batch
        if len(rows) == 1:
            return self._of_topic(batch.topics[0], batch)
        return type(batch).interleave(
            [(chosen, self._of_topic(topic, batch.take(chosen))) for topic, chosen in rows.items()]
        )

    def _of_topic(self, topic: str, batch: B) -> B:
        new = self._new_topic(topic)
        if new is None:
            return batch
        return batch.with_columns(
            topics=Constant(new, len(batch)),
            keys=batch.keys.each_schema(lambda keys: self._keys(topic, new, keys)),
            values=batch.values.each_schema(lambda values: self._values(new, values)),
        )

    # Keys.

    def _keys(self, topic: str, new: str, keys: Values) -> Values:
        """The keys of one schema, of records that go from one topic to a new one."""
        schema = keys.schemas[0]
        columns = keys.struct_columns
        # Java copies what `Struct.get` returns: the default in place of null.
        defaults = defaults_of(schema, replace_null=True) if schema and schema.type is Type.STRUCT else []
        if columns is not None and not defaults:
            origin = [] if self._field is None else [[self._origin_of(topic)] * len(keys)]
            return StructColumns(self._key_schema(columns.struct, new), [*columns.fields, *origin])
        items = keys.to_list()
        present = [row for row, item in enumerate(items) if item is not None]
        if not present:
            return Values(items, None)
        if schema is None or schema.type is not Type.STRUCT:
            what = type(items[present[0]]).__name__ if schema is None else schema.type.name
            raise DataError(
                f"A key of topic {topic} is {what}, but only structs with a schema can be renamed and get a field. "
                "Exclude other records by a predicate."
            )
        more = {} if self._field is None else {self._field: self._origin_of(topic)}
        own = copied([items[row] for row in present], defaults)
        changed = Values([{**key, **more} for key in own], self._key_schema(schema, new))
        return beside_nulls(changed, present, len(items), None)

    def _origin_of(self, topic: str) -> str:
        found = self._origin(topic)
        return topic if found is None else found

    def _make_key_schema(self, schema: Schema, topic: str) -> Schema:
        fields = {field.name: field.schema for field in schema.fields}
        if self._field is not None:
            if self._field in fields:
                raise DataError(
                    f'The key already has a field "{self._field}". Choose another name with key.field.name.'
                )
            fields[self._field] = STRING
        return schema.replace(fields=fields, name=self._adjust(f"{topic}.Key"), default=None)

    # Values.

    def _values(self, topic: str, values: Values) -> Values:
        """The values of one schema, of records that go to one topic."""
        schema = values.schemas[0]
        if schema is None or schema.name is None or not schema.name.endswith(".Envelope"):
            return values
        new, defaults = self._envelope(schema, topic), defaults_of(schema, replace_null=True)
        of_rows = {
            name: found
            for name in _ROWS
            if (row := schema.field(name)) is not None and (found := defaults_of(row.schema, replace_null=True))
        }
        columns = values.struct_columns
        if columns is not None and not defaults and not of_rows:
            return StructColumns(
                new, [_as(f.schema, column) for f, column in zip(new.fields, columns.fields, strict=True)]
            )
        items = values.to_list()
        present = [row for row, item in enumerate(items) if item is not None]
        events = [items[row] for row in present]
        if any(not isinstance(event, dict) for event in events):
            raise DataError(f"A value with the schema {schema.name} is not a struct.")
        if defaults or of_rows:
            events = copied(events, defaults)
        for name, found in of_rows.items():
            for event in events:
                if event.get(name) is not None:
                    (event[name],) = copied([event[name]], found)
        return beside_nulls(Values(events, new), present, len(items), schema)

    def _make_envelope(self, schema: Schema, topic: str) -> Schema:
        row = next((found.schema for name in _ROWS if (found := schema.field(name)) is not None), None)
        fields = {field.name: field.schema for field in schema.fields}
        if row is not None:
            if row.type is not Type.STRUCT:
                raise SchemaError(f"The rows of the envelope {schema.name} are {row.type.name}, not structs.")
            new_row = row.replace(name=self._adjust(f"{topic}.Value"), default=None)
            fields |= dict.fromkeys((name for name in _ROWS if name in fields), new_row)
        return schema.replace(fields=fields, name=self._adjust(f"{topic}.Envelope"), default=None)


class ByLogicalTableRouter(ToLogicalTopicRouter):
    """The older name of ToLogicalTopicRouter, with another default for key.field.name."""

    settings = (
        ToLogicalTopicRouter.settings.replaced("key.field.name", default="__dbz__physicalTableIdentifier")
    ) | settings.define(
        settings.Int(
            "logical.table.cache.size",
            default=16,
            importance="LOW",
            doc="The older name of logical.destination.cache.size. Has no effect.",
        )
    )


def _usable(topic: str, new: str | None) -> str | None:
    if new == "":
        log.warning("topic.replacement gives topic %s an empty name; its records keep their topic.", topic)
    return new or None


def _as(schema: Schema, column: FieldColumn) -> FieldColumn:
    if column.schema is schema:
        return column
    if column.is_arrow:
        return FieldColumn(schema, array=column.array)
    return FieldColumn(schema, column.items)
