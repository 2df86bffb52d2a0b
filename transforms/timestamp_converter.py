"""Convert times between representations: TimestampConverter.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.TimestampConverter
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from connect import ConfigError, ConnectError, DataError, Schema, SchemaAndValue, Type, Values, logical, settings
from connect.data.schema import INT64, STRING
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.data.times import DAY_MS, EPOCH_DAY, time_ms, timestamp_ms, timestamp_of
from connect.settings import Config
from transforms.fields import Fields, FieldsTransformation, Plan, Struct
from transforms.java_dates import JavaDates
from transforms.paths import SYNTAX, VERSION, parse
from transforms.structs import DEFAULTS, WITH_DEFAULTS, copied, defaults_of, schema_around, with_default

_LONGEST: Final = (1 << 63) - 1
#: How many of a unit make a millisecond, or (negative) how many milliseconds make one of it.
_PER_MS: Final = {"seconds": -1000, "milliseconds": 1, "microseconds": 1000, "nanoseconds": 1_000_000}
_SCHEMAS: Final = {
    "string": STRING,
    "unix": INT64,
    "Date": logical.DATE,
    "Time": logical.TIME,
    "Timestamp": logical.TIMESTAMP,
}


class TimestampConverter(FieldsTransformation):
    """Converts a field, or the whole value, between string, Unix time, Date, Time and Timestamp. All are in UTC.

    The schema tells what a value is, without one its type: string, whole number (Unix time), date.
    """

    purpose = "converting timestamps"
    settings = (
        settings.define(
            settings.String(
                "field", default="", importance="HIGH", doc="The field to convert. Empty: the whole value."
            ),
            settings.String(
                "target.type",
                importance="HIGH",
                validator=settings.one_of("string", "unix", "Date", "Time", "Timestamp"),
                doc="The result: string, unix (a whole number), Date, Time or Timestamp.",
            ),
            settings.String(
                "format",
                default="",
                doc="The format of strings: a pattern of Java's SimpleDateFormat, with English names. Required if the "
                "input or the output is a string.",
            ),
            settings.String(
                "unix.precision",
                default="milliseconds",
                importance="LOW",
                validator=settings.one_of("nanoseconds", "microseconds", "milliseconds", "seconds"),
                doc="The unit of Unix times in input and output: seconds, milliseconds, microseconds or nanoseconds.",
            ),
        )
        | DEFAULTS
        | SYNTAX
    )

    def configure(self, config: Config) -> None:
        self._target: str = config["target.type"]
        self._with_defaults: bool = config[WITH_DEFAULTS]
        self._per_ms = _PER_MS[config["unix.precision"]]
        self._texts: JavaDates | None = None
        if config["format"]:
            try:
                self._texts = JavaDates(config["format"])
            except ValueError as error:
                raise ConfigError("format", str(error)) from None
        elif self._target == "string":
            raise ConfigError("format", "is required if target.type is string. Write a pattern, such as yyyy-MM-dd.")
        self._whole = not config["field"]
        self.changes = {}
        if not self._whole:
            path = parse(config["field"], config[VERSION], "field")
            self.changes = {path[:-1]: partial(self._field, path[-1])}
        self._readers: dict[str, Callable[[Any], int]] = {
            "string": self._parsed,
            "unix": self._from_unix,
            "Date": lambda value: (value.toordinal() - EPOCH_DAY) * DAY_MS,
            "Time": time_ms,
            "Timestamp": timestamp_ms,
        }
        writers: dict[str, Callable[[int], Any]] = {
            "string": self._texts.format if self._texts is not None else str,
            "unix": self._to_unix,
            "Date": _date,
            "Time": _time,
            "Timestamp": timestamp_of,
        }
        self._write = writers[self._target]
        self._by_type = _ByType(
            {
                str: self._parsed,
                int: self._from_unix,
                dt.datetime: timestamp_ms,
                dt.date: self._readers["Date"],
                dt.time: time_ms,
            }
        )

    # Whole values.

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        if self._whole:
            return SchemaAndValue(self._target_schema(schema), self._converted(schema, [value])[0])
        if value is None and schema is not None:
            self._check(schema, [])
            return SchemaAndValue(self._plan(schema).schema, None)
        return super().convert(schema, value)

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        if self._whole:
            return Values(self._converted(schema, items), self._target_schema(schema))
        changed = super().convert_column(schema, items)
        if schema is None or None not in items:
            return changed
        return Values(changed.to_list(), self.convert(schema, None).schema)  # tombstones have the new schema too

    def convert_arrow(self, column: StructColumns) -> Values | None:
        return None if self._whole else super().convert_arrow(column)

    # Fields.

    def _field(self, name: str, schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, partial(self._items, name, None, []))
        field = schema.field(name)
        defaults = defaults_of(schema, replace_null=self._with_defaults)
        if field is None:
            if schema.default is not None:
                schema = schema.replace(default=copied([schema.default], defaults)[0])
            return Plan(schema, lambda structs: copied(structs, defaults), self._same_columns)
        items = partial(self._items, name, field.schema, defaults)
        new = self._target_schema(field.schema)
        assert new is not None
        return Plan(
            schema_around(
                schema,
                {f.name: new if f.name == name else f.schema for f in schema.fields},
                optional=schema.optional,
                default=None if schema.default is None else items([schema.default])[0],
            ),
            items,
            partial(self._columns, field.index),
        )

    def _items(
        self, name: str, schema: Schema | None, defaults: list[tuple[str, Any]], structs: list[Struct]
    ) -> list[Struct]:
        copies = copied(structs, defaults)
        values = self._converted(schema, [copy.get(name) for copy in copies])
        for copy, value in zip(copies, values, strict=True):
            copy[name] = value
        return copies

    def _same_columns(self, column: StructColumns) -> Fields:
        return [with_default(field) if self._with_defaults else field for field in column.fields]

    def _columns(self, place: int, column: StructColumns) -> Fields:
        columns: list[Any] = list(self._same_columns(column))
        field: FieldColumn = columns[place]
        columns[place] = self._by_arrow(field) if field.is_arrow else self._converted(field.schema, field.items)
        return columns

    def _by_arrow(self, column: FieldColumn) -> Any:
        """The converted column, in Arrow where both representations are numbers."""
        source = self._source(column.schema)
        if source == "unix" and self._per_ms != 1:
            return self._converted(column.schema, column.items)
        from transforms.arrow_casts import from_ms, to_ms

        ms = to_ms(column.array, source)
        if ms is None:
            ms_list = [None if item is None else self._parsed(item) for item in column.items]
        elif (made := from_ms(ms, self._target)) is not None and not (self._target == "unix" and self._per_ms != 1):
            return made
        else:
            ms_list = ms.to_pylist()
        write = self._write
        return [None if item is None else write(item) for item in ms_list]

    # One value.

    def _target_schema(self, schema: Schema | None) -> Schema | None:
        if schema is None:
            return None
        target = _SCHEMAS[self._target]
        return target.as_optional() if schema.optional else target

    def _source(self, schema: Schema) -> str:
        """The representation of time that a schema describes."""
        kind = (schema.name or "").removeprefix("org.apache.kafka.connect.data.")
        if kind in ("Timestamp", "Date", "Time") and schema.name != kind:
            return kind
        if schema.type in (Type.STRING, Type.INT64):
            return "string" if schema.type is Type.STRING else "unix"
        raise ConnectError(
            f"{schema!r} is not a type of time. Types are STRING, INT64 (Unix time), Date, Time and Timestamp."
        )

    def _converted(self, schema: Schema | None, items: list[Any]) -> list[Any]:
        write = self._write
        try:
            if schema is None:
                readers = self._by_type
                return [None if item is None else write(readers[type(item)](item)) for item in items]
            read = self._readers[self._source(schema)]
            return [None if item is None else write(read(item)) for item in items]
        except (AttributeError, TypeError) as error:
            raise DataError(f"A value is not what its schema says, {schema!r}: {error}.") from error

    def _parsed(self, text: str) -> int:
        if self._texts is None:
            raise DataError('Reading times from strings needs a pattern. Set the key "format".')
        try:
            return self._texts.parse(text)
        except ValueError as error:
            raise DataError(f"A time cannot be read: {error}") from None

    def _from_unix(self, value: int) -> int:
        per_ms = self._per_ms
        if per_ms < 0:
            return max(-_LONGEST - 1, min(_LONGEST, value * -per_ms))
        if per_ms == 1:
            return value
        return value // per_ms if value >= 0 else -(-value // per_ms)

    def _to_unix(self, ms: int) -> int:
        per_ms = self._per_ms
        if per_ms < 0:
            return ms // -per_ms if ms >= 0 else -(-ms // -per_ms)
        return max(-_LONGEST - 1, min(_LONGEST, ms * per_ms))


class _ByType(dict[type, Callable[[Any], int]]):
    """How a schemaless value of a type is read."""

    def __missing__(self, kind: type) -> Callable[[Any], int]:
        raise DataError(f"A value of type {kind.__name__} is not a time.")


def _date(ms: int) -> dt.date:
    try:
        return dt.date.fromordinal(ms // DAY_MS + EPOCH_DAY)
    except (ValueError, OverflowError):
        raise DataError(f"{ms} ms since 1970 is outside the years 1 to 9999.") from None


def _time(ms: int) -> dt.time:
    seconds, ms = divmod(ms % DAY_MS, 1000)
    minutes, second = divmod(seconds, 60)
    return dt.time(minutes // 60, minutes % 60, second, ms * 1000)


class TimestampConverterKey(TimestampConverter):
    """TimestampConverter for keys."""

    part = "keys"


class TimestampConverterValue(TimestampConverter):
    """TimestampConverter for values."""
