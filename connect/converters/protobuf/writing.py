"""Values as Protobuf messages, a column at a time: a plan makes the arguments of the message's constructor."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import chain, islice
from typing import Any, Final, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import EncodeError, Message

from connect.converters.protobuf import names
from connect.converters.protobuf.keys import ProtobufOptions
from connect.converters.protobuf.to_proto import is_union
from connect.converters.protobuf.to_schema import enum_of, is_real_map, is_repeated, message_of
from connect.data import logical
from connect.data.schema import Schema, Type
from connect.data.values import Values
from connect.errors import DataError

Change = Callable[[list[Any]], list[Any]]

_F: Final = FieldDescriptor
_UNSIGNED: Final = {
    _F.TYPE_UINT32: 32,
    _F.TYPE_FIXED32: 32,
    _F.TYPE_UINT64: 64,
    _F.TYPE_FIXED64: 64,
}


class Writer:
    """Writes values of one schema as messages of one class.

    Fields are matched by their names; those that the message does not have are left out.

    Raises:
        DataError: a field of the message has another type than that of the schema.
    """

    def __init__(self, schema: Schema, message: type[Message], options: ProtobufOptions) -> None:
        self._class = message
        descriptor = cast("Descriptor", message.DESCRIPTOR)
        self._struct = None
        if schema.type is Type.STRUCT:
            self._struct = _Structs(schema, descriptor, options)
        else:
            field = descriptor.fields_by_name["value"]
            self._value = _change(field, schema, options)

    def write(self, values: Values) -> list[bytes | None]:
        """The messages; None for null.

        Raises:
            DataError: a value does not fit its schema.
        """
        columns = values.struct_columns
        if self._struct is not None and columns is not None:
            rows = self._struct.rows([field.items for field in columns.fields], len(columns))
            return [self._message(row) for row in rows]
        items = values.to_list()
        present = [item for item in items if item is not None]
        if self._struct is not None:
            made = self._struct(present)
        else:
            made = [{"value": each} for each in (present if self._value is None else self._value(present))]
        rest = map(self._message, made)
        return [None if item is None else next(rest) for item in items]

    def _message(self, row: dict[str, Any]) -> bytes:
        try:
            return self._class(**row).SerializeToString()
        except UnicodeEncodeError:
            return self._message(_without_surrogates(row))
        except (TypeError, ValueError, EncodeError) as error:
            raise DataError(self._which(row, error)) from None

    def _which(self, row: dict[str, Any], error: Exception) -> str:
        """The field at fault, which protobuf does not name."""
        for name, item in row.items():
            try:
                self._class(**{name: item})
            except (TypeError, ValueError):
                return f"{name}: {error}."
        return f"{error}."


class _Structs:
    """Structs to arguments of a message's constructor."""

    def __init__(self, schema: Schema, descriptor: Descriptor, options: ProtobufOptions) -> None:
        self._schema = schema
        self._options = options
        self._names = {field.name for field in schema.fields}
        # For each field what it gives: arguments by name, in columns.
        self._steps: list[Callable[[list[Any]], dict[str, list[Any]]]] = []
        for field in schema.fields:
            try:
                if field.schema.type is Type.STRUCT and is_union(field.schema):
                    self._steps.append(self._union(field.schema, descriptor))
                else:
                    self._steps.append(self._field(field.name, field.schema, descriptor))
            except DataError as error:
                raise DataError(f"{field.name}: {error}") from None

    def __call__(self, structs: list[Any]) -> list[Any]:
        for struct in structs:
            if not isinstance(struct, dict):
                raise DataError(f"{type(struct).__name__} where STRUCT takes dict.")
            if not struct.keys() <= self._names:
                extra = next(name for name in struct if name not in self._names)
                raise DataError(f'there is no field "{extra}" in {self._schema!r}.')
        columns = [[struct.get(field.name) for struct in structs] for field in self._schema.fields]
        return self.rows(columns, len(structs))

    def rows(self, columns: Sequence[list[Any]], length: int) -> list[dict[str, Any]]:
        """The arguments for structs in columns."""
        made: dict[str, list[Any]] = {}
        for field, step, column in zip(self._schema.fields, self._steps, columns, strict=True):
            try:
                made.update(step(self._with_defaults(field.schema, column)))
            except DataError as error:
                raise DataError(f"{field.name}: {error}") from None
        if not made:
            return [{} for _ in range(length)]
        fields = tuple(made)
        return [dict(zip(fields, row, strict=True)) for row in zip(*made.values(), strict=True)]

    def _with_defaults(self, schema: Schema, column: list[Any]) -> list[Any]:
        if None not in column:
            return column
        if schema.default is not None and not (self._options.ignore_default and schema.optional):
            return [schema.default if item is None else item for item in column]
        if not schema.optional:
            raise DataError(f"null where the schema requires a value of type {schema.type.name} and has no default.")
        return column

    def _field(self, name: str, schema: Schema, descriptor: Descriptor) -> Callable[[list[Any]], dict[str, list[Any]]]:
        argument = names.scrubbed(name) if self._options.scrub_names else name
        if argument not in descriptor.fields_by_name:
            return _left_out  # the latest version, or that of a given id, may have fewer fields
        change = _field_change(descriptor.fields_by_name[argument], schema, self._options)
        return lambda column: {argument: column if change is None else _where_present(change, column)}

    def _union(self, schema: Schema, descriptor: Descriptor) -> Callable[[list[Any]], dict[str, list[Any]]]:
        members = {field.name: self._field(field.name, field.schema, descriptor) for field in schema.fields}

        def step(unions: list[Any]) -> dict[str, list[Any]]:
            chosen: list[str | None] = []
            for union in unions:
                found = next((name for name in members if union.get(name) is not None), None) if union else None
                if union is not None and found is None:
                    raise DataError("no field of the union is set.")
                chosen.append(found)
            made: dict[str, list[Any]] = {}
            for name, member in members.items():
                column = [union[name] if which == name else None for union, which in zip(unions, chosen, strict=True)]
                made.update(member(column))
            return made

        return step


def _without_surrogates(value: Any) -> Any:
    """The arguments with a question mark for half a surrogate pair, which has no UTF-8, as Java writes it."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list | tuple) else value


def _left_out(column: list[Any]) -> dict[str, list[Any]]:
    return {}


def _where_present(change: Change, column: list[Any]) -> list[Any]:
    if None not in column:
        return change(column)
    rest = iter(change([item for item in column if item is not None]))
    return [None if item is None else next(rest) for item in column]


def _field_change(field: FieldDescriptor, schema: Schema, options: ProtobufOptions) -> Change | None:
    """A function that makes arguments of the values of a field, repeated or not; None where they are the same."""
    if schema.type is Type.MAP:
        if not _takes_entries(field):
            raise DataError(f"a map cannot be written to the field {field.full_name}.")
        return _maps(field, schema, options)
    if schema.type is not Type.ARRAY:
        if is_repeated(field):
            raise DataError(f"{schema.type.name} cannot be written to the repeated field {field.full_name}.")
        return _change(field, schema, options)
    if not is_repeated(field):
        raise DataError(f"an array cannot be written to the field {field.full_name}, which is not repeated.")
    assert schema.value_schema is not None
    change = _change(field, schema.value_schema, options)

    def lists(column: list[Any]) -> list[Any]:
        for item in column:
            if not isinstance(item, list | tuple):
                raise DataError(f"{type(item).__name__} where ARRAY takes list.")
        flat = list(chain.from_iterable(column))
        if None in flat:
            raise DataError("null in an array, which Protobuf does not have.")
        if change is None:
            return column
        rest = iter(change(flat))
        return [list(islice(rest, len(items))) for items in column]

    return lists


def _takes_entries(field: FieldDescriptor) -> bool:
    """Whether the field is a map, or how a map of arrays or maps is written: entries that repeat their value."""
    if not is_repeated(field) or field.message_type is None:
        return False
    return [each.name for each in field.message_type.fields] == ["key", "value"]


def _maps(field: FieldDescriptor, schema: Schema, options: ProtobufOptions) -> Change:
    assert schema.key_schema is not None
    assert schema.value_schema is not None
    key_field, value_field = message_of(field).fields
    key_change = _field_change(key_field, schema.key_schema, options)
    value_change = _field_change(value_field, schema.value_schema, options)
    real = is_real_map(field)

    def maps(column: list[Any]) -> list[Any]:
        for item in column:
            if not isinstance(item, dict):
                raise DataError(f"{type(item).__name__} where MAP takes dict.")
        keys = list(chain.from_iterable(column))
        items = list(chain.from_iterable(map(dict.values, column)))
        keys = keys if key_change is None else _where_present(key_change, keys)
        items = items if value_change is None else _where_present(value_change, items)
        if real and (None in keys or None in items):
            raise DataError("null in a map, which Protobuf does not have.")
        pairs = zip(keys, items, strict=True)
        if real:
            return [dict(islice(pairs, len(item))) for item in column]
        return [[{"key": k, "value": v} for k, v in islice(pairs, len(item))] for item in column]

    return maps


def _change(field: FieldDescriptor, schema: Schema, options: ProtobufOptions) -> Change | None:
    """A function that makes arguments of single values of a schema; None where they are the same."""
    if field.type == _F.TYPE_ENUM:
        return _enum_numbers(enum_of(field), schema)
    if field.type == _F.TYPE_MESSAGE:
        return _message_change(message_of(field), schema, options)
    if logical.python_type(schema) is not None or not schema.type.is_primitive:
        raise DataError(f"{schema.name or schema.type.name} cannot be written to the field {field.full_name}.")
    if field.type in _UNSIGNED:
        size = 1 << _UNSIGNED[field.type]
        return lambda numbers: [number % size if type(number) is int else number for number in numbers]
    if schema.type is Type.BYTES:
        return lambda items: [bytes(item) if isinstance(item, bytearray | memoryview) else item for item in items]
    return None


def _message_change(message: Descriptor, schema: Schema, options: ProtobufOptions) -> Change:
    if message.full_name in _LOGICAL:
        expected, make = _LOGICAL[message.full_name]
        if logical.python_type(schema) is not expected:
            raise DataError(f"{schema.name or schema.type.name} cannot be written as {message.full_name}.")

        def change(items: list[Any]) -> list[Any]:
            for item in items:
                if not isinstance(item, expected):
                    raise DataError(f"{type(item).__name__} where {schema.name} takes {expected.__name__}.")
            return [make(item) for item in items]

        return change
    if message.full_name in names.WRAPPED and schema.type is not Type.STRUCT:
        inner = _change(message.fields_by_name["value"], schema, options)
        return lambda items: [{"value": item} for item in (items if inner is None else inner(items))]
    if schema.type is not Type.STRUCT:
        raise DataError(f"{schema.type.name} cannot be written as the message {message.full_name}.")
    return _Structs(schema, message, options)


def _enum_numbers(enum: EnumDescriptor, schema: Schema) -> Change:
    known: dict[Any, int] = {number: number for number in enum.values_by_number}
    if schema.type is Type.STRING:
        known = {name: value.number for name, value in enum.values_by_name.items()}

    def change(items: list[Any]) -> list[Any]:
        try:
            return [known[item] for item in items]
        except (KeyError, TypeError):
            unknown = next(item for item in items if item not in known)
            raise DataError(f"{unknown!r} is not a value of the enum {enum.full_name}.") from None

    return change


def _decimal(value: Decimal) -> dict[str, Any]:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise DataError(f"{value} is not a number that Decimal takes.")
    unscaled = int(Decimal((sign, digits, 0)))  # exact, where arithmetic would round to 28 digits
    length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return {"value": unscaled.to_bytes(length, "big", signed=True), "precision": len(digits), "scale": -exponent}


def _date(value: dt.date) -> dict[str, int]:
    return {"year": value.year, "month": value.month, "day": value.day}


def _time(value: dt.time) -> dict[str, int]:
    nanos = value.microsecond // 1000 * 1_000_000
    return {"hours": value.hour, "minutes": value.minute, "seconds": value.second, "nanos": nanos}


def _timestamp(value: dt.datetime) -> dict[str, int]:
    seconds, ms = divmod(logical.encode(logical.TIMESTAMP, value), 1000)
    return {"seconds": seconds, "nanos": ms * 1_000_000}


_LOGICAL: Final[dict[str, tuple[type, Callable[[Any], dict[str, Any]]]]] = {
    names.DECIMAL: (Decimal, _decimal),
    names.DATE: (dt.date, _date),
    names.TIME_OF_DAY: (dt.time, _time),
    names.TIMESTAMP: (dt.datetime, _timestamp),
}
