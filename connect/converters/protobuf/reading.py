"""Values of Protobuf messages by their schema, a column at a time.

A plan is made once for a message and its schema; then each field of all messages is read in one pass.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Final, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from connect.converters.protobuf import names
from connect.converters.protobuf.keys import ProtobufOptions
from connect.converters.protobuf.to_schema import (
    enum_of,
    has_checked_text,
    has_optional_keyword,
    is_map,
    is_real_map,
    is_repeated,
    message_of,
    real_oneof,
    real_oneofs,
    schema_of,
    union_field_name,
)
from connect.data import logical
from connect.data.schema import Schema, Type
from connect.data.struct_columns import StructColumns
from connect.data.text import utf8_text
from connect.data.values import Values
from connect.errors import DataError

#: What a column becomes; a step that changes nothing gives the very same list.
Change = Callable[[list[Any]], list[Any]]

_F: Final = FieldDescriptor
_UNSIGNED_64: Final = frozenset({_F.TYPE_UINT64, _F.TYPE_FIXED64})
_SECONDS_OF: Final = attrgetter("seconds")
_NANOS_OF: Final = attrgetter("nanos")
#: The seconds of the years 1 to 9999, which is what google.protobuf.Timestamp takes.
_SECONDS: Final = range(-62_135_596_800, 253_402_300_800)


class Reader:
    """Reads records that are messages of one class.

    Args:
        message: their class.
        options: how it is mapped.
        version: of the schema under its subject, None if that is not known.

    Raises:
        DataError: the message has no schema.
    """

    def __init__(self, message: type[Message], options: ProtobufOptions, version: int | None = None) -> None:
        self._parse = message.FromString
        descriptor = cast("Descriptor", message.DESCRIPTOR)
        self._requires = _has_required(descriptor, set())
        self._schema = schema_of(descriptor, options, version)
        self._struct = _Structs(descriptor, self._schema, options) if self._schema.type is Type.STRUCT else None
        self._value = _wrapped(descriptor) if self._struct is None else None

    def read(self, data: list[bytes]) -> Values:
        """The values of serialized messages.

        Raises:
            DataError: for an invalid message, or a value that the schema's type cannot hold (31 February).
        """
        try:
            messages = list(map(self._parse, data))
        except DecodeError as error:
            raise DataError(f"it is not of the type {self._parse.__self__.DESCRIPTOR.full_name}: {error}.") from None  # type: ignore[attr-defined]
        if self._requires:
            for each in cast("list[Any]", messages):  # the parser leaves that to its user
                if not each.IsInitialized():
                    missing = ", ".join(each.FindInitializationErrors())
                    raise DataError(f"it is not of the type {each.DESCRIPTOR.full_name}: {missing} must be there.")
        if self._struct is None:
            assert self._value is not None
            return Values(self._value(messages), self._schema)
        if not self._schema.fields:
            return Values([{} for _ in messages], self._schema)
        return StructColumns(self._schema, self._struct.columns(messages))


def _has_required(descriptor: Descriptor, known: set[str]) -> bool:
    """Whether there may be required fields in messages of a kind, or in messages within them."""
    if descriptor.full_name in known:
        return False
    known.add(descriptor.full_name)
    inner = [field.message_type for field in descriptor.fields if field.message_type is not None]
    return any(field.is_required for field in descriptor.fields) or any(_has_required(each, known) for each in inner)


class _Structs:
    """Messages to dicts."""

    def __init__(self, descriptor: Descriptor, schema: Schema, options: ProtobufOptions) -> None:
        self._names = tuple(field.name for field in schema.fields)
        self._columns: list[Change] = []
        by_name = {field.name: field for field in descriptor.fields}
        unions = {union_field_name(oneof, options): oneof for oneof in real_oneofs(descriptor)}
        for connect_field in schema.fields:
            field = by_name.get(connect_field.name)
            if connect_field.name in unions and not options.flatten_unions:
                oneof = unions[connect_field.name]
                parts = [(each.name, each, connect_field.schema.field(each.name)) for each in oneof.fields]
                steps = [(name, _change(each, part.schema, options)) for name, each, part in parts if part is not None]
                self._columns.append(_union(oneof.name, steps))
            else:
                assert field is not None
                self._columns.append(_column(field, connect_field.schema, options))

    def __call__(self, messages: list[Any]) -> list[Any]:
        columns = self.columns(messages)
        if not columns:
            return [{} for _ in messages]
        fields = self._names
        return [dict(zip(fields, row, strict=True)) for row in zip(*columns, strict=True)]

    def columns(self, messages: list[Any]) -> list[list[Any]]:
        """The values of each field, in the schema's order."""
        columns = []
        for name, column in zip(self._names, self._columns, strict=True):
            try:
                columns.append(column(messages))
            except DataError as error:
                raise DataError(f"{name}: {error}") from None
            except UnicodeDecodeError:
                raise DataError(f"{name}: a string that is not UTF-8.") from None
        return columns


def _column(field: FieldDescriptor, schema: Schema, options: ProtobufOptions) -> Change:
    """A function that reads one field of messages."""
    get = attrgetter(field.name)
    if is_map(field):
        return _maps(field, get, schema, options)
    change = _change(field, schema.value_schema if is_repeated(field) and schema.value_schema else schema, options)
    if is_repeated(field):
        return _lists(get, change)
    if _absent_is_null(field, schema, options):
        return _present(field.name, get, change)
    if change is None:
        return lambda messages: list(map(get, messages))
    return lambda messages: change(list(map(get, messages)))


def _absent_is_null(field: FieldDescriptor, schema: Schema, options: ProtobufOptions) -> bool:
    """Whether a field that is not set is null; else it has its default, which decimals and dates have none of."""
    if real_oneof(field) is not None or schema.name in (logical.DECIMAL_NAME, logical.DATE_NAME):
        return True
    may_be_absent = (
        field.type == _F.TYPE_MESSAGE
        or _is_proto3_optional(field)
        or (options.optional_for_proto2 and has_optional_keyword(field))
    )
    return may_be_absent and not options.struct_for_nulls


def _is_proto3_optional(field: FieldDescriptor) -> bool:
    return field.containing_oneof is not None and real_oneof(field) is None


def _present(name: str, get: Callable[[Any], Any], change: Change | None) -> Change:
    """A field that is None in messages where it is not set."""

    def column(messages: list[Any]) -> list[Any]:
        if change is None:
            return [get(message) if message.HasField(name) else None for message in messages]
        present = [message.HasField(name) for message in messages]
        if all(present):
            return change(list(map(get, messages)))
        values = iter(change([get(message) for message, there in zip(messages, present, strict=True) if there]))
        return [next(values) if there else None for there in present]

    return column


def _lists(get: Callable[[Any], Any], change: Change | None) -> Change:
    def column(messages: list[Any]) -> list[Any]:
        lists = [list(get(message)) for message in messages]
        if change is None:
            return lists
        rest = iter(change(list(chain.from_iterable(lists))))
        return [list(islice(rest, len(items))) for items in lists]

    return column


def _maps(field: FieldDescriptor, get: Callable[[Any], Any], schema: Schema, options: ProtobufOptions) -> Change:
    key_field, value_field = message_of(field).fields
    assert schema.key_schema is not None
    assert schema.value_schema is not None
    keys = _change(key_field, schema.key_schema, options)
    if not is_real_map(field):
        return _entries(get, keys, _column(value_field, schema.value_schema, options))
    values = _change(value_field, schema.value_schema, options)

    def column(messages: list[Any]) -> list[Any]:
        maps = [list(get(message).items()) for message in messages]
        flat = list(chain.from_iterable(maps))
        flat_keys: list[Any] = [key for key, _ in flat]
        flat_values: list[Any] = [value for _, value in flat]
        pairs = zip(
            flat_keys if keys is None else keys(flat_keys),
            flat_values if values is None else values(flat_values),
            strict=True,
        )
        return [dict(islice(pairs, len(items))) for items in maps]

    return column


def _entries(get: Callable[[Any], Any], keys: Change | None, values: Change) -> Change:
    """A map that is written as repeated messages of key and value. Values may be absent, which are null."""

    def column(messages: list[Any]) -> list[Any]:
        maps = [list(get(message)) for message in messages]
        flat = list(chain.from_iterable(maps))
        flat_keys: list[Any] = [entry.key for entry in flat]
        pairs = zip(flat_keys if keys is None else keys(flat_keys), values(flat), strict=True)
        return [dict(islice(pairs, len(items))) for items in maps]

    return column


def _union(oneof: str, members: Sequence[tuple[str, Change | None]]) -> Change:
    """A oneof as a struct with one field set; None where none is."""
    fields = tuple(name for name, _ in members)
    changes = dict(members)

    def column(messages: list[Any]) -> list[Any]:
        chosen = [message.WhichOneof(oneof) for message in messages]
        values = {}
        for name in set(chosen) - {None}:
            found = [getattr(message, name) for message, which in zip(messages, chosen, strict=True) if which == name]
            change = changes[name]
            values[name] = iter(found if change is None else change(found))
        return [None if which is None else {**dict.fromkeys(fields), which: next(values[which])} for which in chosen]

    return column


def _change(field: FieldDescriptor, schema: Schema, options: ProtobufOptions) -> Change | None:
    """A function that converts a field of messages to the schema's values; None where they are the same."""
    if field.type == _F.TYPE_ENUM:
        return _enum_names(enum_of(field)) if schema.type is Type.STRING else None
    if field.type == _F.TYPE_MESSAGE:
        if schema.name in _LOGICAL:
            return _LOGICAL[schema.name]
        if schema.type is not Type.STRUCT:
            return _wrapped(message_of(field))
        if schema.name == names.VARIANT_SCHEMA.name:
            return _each(lambda variant: {"metadata": variant.metadata, "value": variant.value})
        return _Structs(message_of(field), schema, options)
    if field.type == _F.TYPE_STRING:
        return None if has_checked_text(field) else _texts
    if schema.type is Type.INT8:
        return _wrapping(8)
    if schema.type is Type.INT16:
        return _wrapping(16)
    return _wrapping(64) if field.type in _UNSIGNED_64 else None


def _texts(values: list[Any]) -> list[Any]:
    """Texts, where the parser returns bytes for those that are not UTF-8."""
    return (
        [utf8_text(each) if type(each) is bytes else each for each in values] if bytes in map(type, values) else values
    )


def _wrapped(descriptor: Descriptor) -> Change:
    """The values within wrapper messages."""
    get = attrgetter("value")
    if descriptor.full_name == "google.protobuf.UInt64Value":
        signed = _wrapping(64)
        return lambda messages: signed(list(map(get, messages)))
    return lambda messages: list(map(get, messages))


def _wrapping(bits: int) -> Change:
    """Numbers beyond the range of Java's type wrap, as there."""
    high = 1 << (bits - 1)

    def change(numbers: list[Any]) -> list[Any]:
        if not numbers or (max(numbers) < high and min(numbers) >= -high):
            return numbers
        return [(number + high) % (high << 1) - high for number in numbers]

    return change


def _enum_names(enum: EnumDescriptor) -> Change:
    known = {value.number: value.name for value in reversed(enum.values)}  # of aliases the first one

    def change(numbers: list[Any]) -> list[Any]:
        # What the schema does not know has the name that Java gives it.
        return [known.get(number) or f"UNKNOWN_ENUM_VALUE_{enum.name}_{number}" for number in numbers]

    return change


def _each(make: Callable[[Any], Any]) -> Change:
    def change(messages: list[Any]) -> list[Any]:
        return [make(message) for message in messages]

    return change


def _decimal(message: Any) -> Decimal:
    if not message.value:
        raise DataError("Decimal takes at least one byte, and there is none.")
    unscaled = Decimal(int.from_bytes(message.value, "big", signed=True))
    sign, digits, _ = unscaled.as_tuple()
    value = Decimal((sign, digits, -message.scale))
    if 0 < message.precision < len(digits):
        return Context(prec=message.precision, rounding=ROUND_HALF_UP).plus(value)
    return value


def _date(message: Any) -> dt.date:
    try:
        return dt.date(message.year, message.month, message.day)
    except ValueError:
        raise DataError(f"{message.year}-{message.month}-{message.day} is not a date.") from None


def _time(message: Any) -> dt.time:
    try:
        if not 0 <= message.nanos < 1_000_000_000:
            raise ValueError
        return dt.time(message.hours, message.minutes, message.seconds, message.nanos // 1_000_000 * 1000)
    except ValueError:
        text = f"{message.hours}:{message.minutes}:{message.seconds} and {message.nanos} ns"
        raise DataError(f"{text} is not a time of day.") from None


def _timestamps(messages: list[Any]) -> list[Any]:
    seconds, nanos = list(map(_SECONDS_OF, messages)), list(map(_NANOS_OF, messages))
    if messages and not (
        min(seconds) in _SECONDS and max(seconds) in _SECONDS and min(nanos) >= 0 and max(nanos) < 1_000_000_000
    ):
        raise DataError("a google.protobuf.Timestamp outside the years 1 to 9999, or of a second.")
    whole = dt.datetime.fromtimestamp
    utc = dt.UTC
    if not any(nanos):
        return [whole(second, utc) for second in seconds]
    return [
        whole(second, utc).replace(microsecond=nano // 1_000_000 * 1000)
        for second, nano in zip(seconds, nanos, strict=True)
    ]


_LOGICAL: Final[dict[str | None, Change]] = {
    logical.DECIMAL_NAME: _each(_decimal),
    logical.DATE_NAME: _each(_date),
    logical.TIME_NAME: _each(_time),
    logical.TIMESTAMP_NAME: _timestamps,
}
