"""Route records to topics by a time in their value, as Confluent's MessageTimestampRouter does.

https://docs.confluent.io/platform/current/connect/transforms/messagetimestamprouter.html
"""

from __future__ import annotations

import datetime as dt
from typing import Any, TypeVar

from connect import Batch, ConfigError, DataError, Schema, Transformation, Values, settings
from connect.data.column import Plain
from connect.data.times import DAY_MS, EPOCH_DAY, timestamp_ms
from connect.settings import Config
from transforms.java_dates import JavaDates
from transforms.structs import names

B = TypeVar("B", bound=Batch[Any])

_MOST_NAMES = 10_000


class MessageTimestampRouter(Transformation):
    """Builds each record's topic from its own topic and the time in the first of some fields that is set, in UTC.

    The values of a batch are read as columns. Confluent's transformation takes only maps without a schema; this one
    takes structs too, and fields of the types Timestamp and Date need no pattern.
    """

    pure = True
    settings = settings.define(
        settings.String(
            "topic.format",
            default="${topic}-${timestamp}",
            importance="HIGH",
            doc="The new name. ${topic} stands for the record's topic, ${timestamp} for the time.",
        ),
        settings.String(
            "topic.timestamp.format",
            default="yyyyMMdd",
            importance="HIGH",
            doc="The format of the time in the topic: a pattern of Java's SimpleDateFormat.",
        ),
        settings.List(
            "message.timestamp.keys",
            importance="HIGH",
            validator=names,
            doc="Fields of the value that may hold the time. The first one that exists and is not null counts.",
        ),
        settings.String(
            "message.timestamp.format",
            default="",
            importance="HIGH",
            doc="The format of the time in the value: a pattern of Java's SimpleDateFormat. Empty: milliseconds since "
            "1970.",
        ),
    )

    def configure(self, config: Config) -> None:
        self._name: str = config["topic.format"]
        self._fields: list[str] = config["message.timestamp.keys"]
        self._written = _pattern(config, "topic.timestamp.format")
        self._read = _pattern(config, "message.timestamp.format") if config["message.timestamp.format"] else None
        self._names: dict[tuple[str, int], str] = {}

    def apply(self, record: Any) -> Any:
        (value,) = self._found(Values([record.value], record.value_schema))
        topic = self._topic(record.topic, value)
        return record if topic == record.topic else record.replace(topic=topic)

    def apply_batch(self, batch: B) -> B:
        found: list[Any] = [None] * len(batch)
        for rows, values in batch.values.groups():
            for row, value in zip(rows, self._found(values), strict=True):
                found[row] = value
        old = batch.topics.to_list()
        topics = list(map(self._topic, old, found))
        return batch if topics == old else batch.with_columns(topics=Plain(topics))

    def _found(self, values: Values) -> list[Any]:
        """The time in each value, as it is written there."""
        columns = values.struct_columns
        if columns is not None:
            held = [columns.field(name) for name in self._fields if columns.struct.field(name) is not None]
            candidates = [_defaulted(column.schema, column.items) for column in held]
        else:
            items = values.to_list()
            for item in items:
                if not isinstance(item, dict):
                    what = "null" if item is None else type(item).__name__
                    raise DataError(
                        f"Only structs and maps have fields with a time (message.timestamp.keys), but this value is "
                        f"{what}. Exclude tombstones by a predicate: RecordIsTombstone."
                    )
            schema = values.schemas[0]
            candidates = [
                _defaulted(_of(schema, name), [item.get(name) for item in items])
                for name in self._fields
                if schema is None or schema.field(name) is not None
            ]
        found: list[Any] = [None] * len(values)
        for column in reversed(candidates):
            found = [old if new is None else new for old, new in zip(found, column, strict=True)]
        if None in found:
            raise DataError(
                f"The value has no time in any of the fields {', '.join(self._fields)} (message.timestamp.keys)."
            )
        return found

    def _topic(self, topic: str, value: Any) -> str:
        ms = self._ms(value)
        key = (topic, ms // self._written.resolution)
        known = self._names.get(key)
        if known is None:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            time = self._written.format(key[1] * self._written.resolution)
            known = self._names[key] = self._name.replace("${topic}", topic).replace("${timestamp}", time)
        return known

    def _ms(self, value: Any) -> int:
        if isinstance(value, dt.datetime):
            return timestamp_ms(value)
        if isinstance(value, dt.date):
            return (value.toordinal() - EPOCH_DAY) * DAY_MS
        if self._read is not None:
            if not isinstance(value, str):
                raise DataError(
                    f"The time in the value (message.timestamp.keys) is {type(value).__name__}, but "
                    "message.timestamp.format is for strings. Leave it empty for milliseconds since 1970."
                )
            try:
                return self._read.parse(value)
            except ValueError as error:
                raise DataError(f"The time in the value (message.timestamp.keys) cannot be read: {error}") from None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and value.removeprefix("-").isdecimal() and value.isascii() and len(value) < 20:
            return int(value)
        raise DataError(
            "The time in the value (message.timestamp.keys) is not a whole number of milliseconds since 1970. Set "
            "message.timestamp.format to its pattern, such as yyyy-MM-dd'T'HH:mm:ss.SSS'Z'."
        )


def _pattern(config: Config, key: str) -> JavaDates:
    try:
        return JavaDates(config[key])
    except ValueError as error:
        raise ConfigError(key, str(error)) from None


def _of(schema: Schema | None, name: str) -> Schema | None:
    field = schema.field(name) if schema is not None else None
    return None if field is None else field.schema


def _defaulted(schema: Schema | None, items: list[Any]) -> list[Any]:
    if schema is None or schema.default is None:
        return items
    return [schema.default if item is None else item for item in items]
