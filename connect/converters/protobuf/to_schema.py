"""The Connect schema of a Protobuf message.

What Protobuf has and Connect does not is kept in parameters: the number of a field, the kind of an integer, the values
of an enum. Written back, they give the same message.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Final

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import (
    Descriptor,
    EnumDescriptor,
    FieldDescriptor,
    FileDescriptor,
    OneofDescriptor,
)

from connect.converters.protobuf import names
from connect.converters.protobuf.keys import ProtobufOptions
from connect.data import logical
from connect.data.schema import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, STRING, Schema, Type
from connect.errors import DataError

_F: Final = FieldDescriptor

_SCALARS: Final[dict[int, Schema]] = {
    _F.TYPE_INT32: INT32,
    _F.TYPE_SINT32: INT32,
    _F.TYPE_SFIXED32: INT32,
    _F.TYPE_UINT32: INT64,
    _F.TYPE_FIXED32: INT64,
    _F.TYPE_INT64: INT64,
    _F.TYPE_UINT64: INT64,
    _F.TYPE_SINT64: INT64,
    _F.TYPE_FIXED64: INT64,
    _F.TYPE_SFIXED64: INT64,
    _F.TYPE_FLOAT: FLOAT32,
    _F.TYPE_DOUBLE: FLOAT64,
    _F.TYPE_BOOL: BOOLEAN,
    _F.TYPE_STRING: STRING,
    _F.TYPE_BYTES: BYTES,
}

#: Integers that Connect's INT32 and INT64 do not stand for by themselves.
_KINDS: Final = {
    _F.TYPE_SINT32: "sint32",
    _F.TYPE_SFIXED32: "sfixed32",
    _F.TYPE_UINT32: "uint32",
    _F.TYPE_FIXED32: "fixed32",
    _F.TYPE_UINT64: "uint64",
    _F.TYPE_SINT64: "sint64",
    _F.TYPE_FIXED64: "fixed64",
    _F.TYPE_SFIXED64: "sfixed64",
}

_LOGICAL: Final = {names.DATE: logical.DATE, names.TIME_OF_DAY: logical.TIME, names.TIMESTAMP: logical.TIMESTAMP}


def schema_of(descriptor: Descriptor, options: ProtobufOptions, version: int | None = None) -> Schema:
    """The schema of records of this message.

    Args:
        descriptor: of the message.
        options: how it is mapped.
        version: of the schema under its subject, None if that is not known.

    Raises:
        DataError: it has no schema, such as a message that contains itself.
    """
    schema = None
    if options.wrapper_for_raw_primitives:
        schema = names.WRAPPED.get(descriptor.full_name)
    if schema is None:
        schema = _Mapping(options).struct(descriptor)
    return schema if version is None else schema.replace(version=version)


class _Mapping:
    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._within: list[str] = []
        self._first_tags: dict[str, str | None] = {}

    def struct(self, descriptor: Descriptor) -> Schema:
        if descriptor.full_name in self._within:
            raise DataError(
                f"message {descriptor.full_name} holds itself, by way of {' -> '.join(self._within)}: such a schema "
                "cannot be converted."
            )
        self._within.append(descriptor.full_name)
        fields = {}
        for oneof in real_oneofs(descriptor):
            if self._options.flatten_unions:
                fields.update({field.name: self._field(field, in_oneof=True) for field in oneof.fields})
            else:
                fields[union_field_name(oneof, self._options)] = self._union(oneof)
        for field in descriptor.fields:
            if real_oneof(field) is None:
                fields[field.name] = self._field(field)
        self._within.pop()
        return Schema.struct(fields, name=self._name(descriptor))

    def _name(self, named: Descriptor | EnumDescriptor | OneofDescriptor) -> str:
        return str(named.full_name if self._options.enhanced else named.name)

    def _union(self, oneof: OneofDescriptor) -> Schema:
        fields = {field.name: self._field(field, in_oneof=True) for field in oneof.fields}
        if self._options.generalized_sum_types:
            return Schema.struct(
                fields, name=oneof.name, parameters={names.GENERALIZED_UNION: oneof.name}, optional=True
            )
        return Schema.struct(fields, name=names.UNION_PREFIX + self._name(oneof), optional=True)

    def _field(self, field: FieldDescriptor, *, in_oneof: bool = False) -> Schema:
        schema = self._type(field)
        parameters = {}
        if is_repeated(field) and not is_map(field):
            schema = Schema.array(self._element(field, schema.as_optional()), optional=True)
        if in_oneof:
            schema = schema.as_optional()
            if self._options.wrapper_for_nullables and _is_wrapper(field):
                parameters[names.WRAPPER] = "true"
        elif self._options.optional_for_nullables:
            if has_optional_keyword(field):
                schema = schema.as_optional()
        elif not self._options.wrapper_for_nullables:
            schema = schema.as_optional()
        parameters[names.TAG] = str(field.number)
        return schema.replace(parameters={**schema.parameters, **parameters})

    def _element(self, field: FieldDescriptor, schema: Schema) -> Schema:
        """An element of a message that was the type of a single field before has that one's number, as in Java."""
        if schema.type is not Type.STRUCT or schema.name == names.VARIANT_SCHEMA.name:
            return schema
        tag = self._first_tags[message_of(field).full_name]
        return schema if tag is None else schema.replace(parameters={**schema.parameters, names.TAG: tag})

    def _type(self, field: FieldDescriptor) -> Schema:
        if field.type == _F.TYPE_ENUM:
            return self._enum(enum_of(field))
        if field.type == _F.TYPE_MESSAGE:
            return self._message(field).as_optional()
        if field.type not in _SCALARS:
            raise DataError(f"field {field.full_name} is a group, which cannot be converted.")
        schema = _SCALARS[field.type]
        if schema is INT32:
            small = {"int8": INT8, "int16": INT16}.get(field_params(field).get(names.CONNECT_TYPE, ""))
            if small is not None:
                return small
        if field.type in _KINDS:
            return schema.replace(parameters={names.KIND: _KINDS[field.type]})
        return schema

    def _enum(self, enum: EnumDescriptor) -> Schema:
        prefix = names.GENERALIZED_ENUM if self._options.generalized_sum_types else names.ENUM
        values = {f"{prefix}.{value.name}": str(value.number) for value in enum.values}
        return Schema(
            (INT32 if self._options.int_for_enums else STRING).type,
            name=self._name(enum),
            parameters={prefix: enum.name, **values},
            optional=True,
        )

    def _message(self, field: FieldDescriptor) -> Schema:
        message = message_of(field)
        if message.full_name == names.DECIMAL:
            return _decimal(field)
        if message.full_name in _LOGICAL:
            return _LOGICAL[message.full_name]
        if message.full_name == names.VARIANT:
            return names.VARIANT_SCHEMA
        if is_map(field):
            key, value = message.fields
            name = names.map_field(self._name(message))
            return Schema.map(self._field(key), self._field(value), name=name)
        unwrap = self._options.wrapper_for_nullables or self._options.wrapper_for_raw_primitives
        if unwrap and message.full_name in names.WRAPPED:
            return names.WRAPPED[message.full_name]
        schema = self.struct(message)
        self._first_tags.setdefault(message.full_name, None if is_repeated(field) else str(field.number))
        return schema


def _decimal(field: FieldDescriptor) -> Schema:
    params = field_params(field)
    scale, precision = (_whole(params.get(name)) for name in ("scale", "precision"))
    parameters = {logical.SCALE: str(scale or 0)}
    if precision is not None:
        parameters[names.PRECISION] = str(precision)
    return logical.decimal(scale or 0).replace(parameters=parameters)


def _whole(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _is_wrapper(field: FieldDescriptor) -> bool:
    return field.type == _F.TYPE_MESSAGE and message_of(field).full_name in names.WRAPPED


# What descriptors do not say in one word.


def message_of(field: FieldDescriptor) -> Descriptor:
    """The message type of a field."""
    assert field.message_type is not None
    return field.message_type


def enum_of(field: FieldDescriptor) -> EnumDescriptor:
    """The enum type of a field."""
    assert field.enum_type is not None
    return field.enum_type


def is_repeated(field: FieldDescriptor) -> bool:
    """Whether the field has any number of values."""
    return bool(field.is_repeated)


def is_map(field: FieldDescriptor) -> bool:
    """Whether the field is a map: as Protobuf writes one, or entries of key and value as Java's converter does."""
    if not is_repeated(field) or field.type != _F.TYPE_MESSAGE or not message_of(field).name.endswith(names.ENTRY):
        return False
    fields = message_of(field).fields
    return [each.name for each in fields] == ["key", "value"] and not any(map(is_repeated, fields))


def is_real_map(field: FieldDescriptor) -> bool:
    """Whether messages hold the field as a mapping."""
    return bool(field.message_type is not None and field.message_type.GetOptions().map_entry)


def real_oneofs(descriptor: Descriptor) -> list[OneofDescriptor]:
    """The oneofs of a message but for those that stand for the label optional of one field."""
    return [oneof for oneof in descriptor.oneofs if not _is_synthetic(oneof)]


def real_oneof(field: FieldDescriptor) -> OneofDescriptor | None:
    """The oneof of a field; none where it only stands for the label optional."""
    oneof = field.containing_oneof
    return None if oneof is None or _is_synthetic(oneof) else oneof


def _is_synthetic(oneof: OneofDescriptor) -> bool:
    return len(oneof.fields) == 1 and _field_proto(oneof.fields[0]).proto3_optional


def has_checked_text(field: FieldDescriptor) -> bool:
    """Whether the parser refuses messages in which this field is not UTF-8: always in proto3."""
    assert field.containing_type is not None
    return bool(_file_proto(field.containing_type.file).syntax == "proto3")


def has_optional_keyword(field: FieldDescriptor) -> bool:
    """Whether the field has the label optional: in proto3, or in proto2."""
    proto = _field_proto(field)
    if proto.proto3_optional:
        return True
    assert field.containing_type is not None
    file = _file_proto(field.containing_type.file)
    return (
        file.syntax in ("", "proto2")
        and proto.label == proto.LABEL_OPTIONAL
        and not is_repeated(field)
        and field.containing_oneof is None
    )


def union_field_name(oneof: OneofDescriptor, options: ProtobufOptions) -> str:
    """The name of the field for a oneof."""
    return f"{oneof.name}_{oneof.index}" if options.index_for_unions else str(oneof.name)


def field_params(field: FieldDescriptor) -> dict[str, str]:
    """The parameters in the field's option (confluent.field_meta)."""
    encoded = field.GetOptions().SerializeToString()
    return dict(_meta_class().FromString(encoded).field_meta.params) if encoded else {}


@cache
def _meta_class() -> Any:
    """A message that has only that option of FieldOptions."""
    from connect.converters.protobuf.descriptors import parse

    text = 'syntax = "proto3"; import "confluent/meta.proto"; message Options { confluent.Meta field_meta = 1088; }'
    return parse(text).message_class("Options")


def _field_proto(field: FieldDescriptor) -> Any:
    return next(each for each in _message_proto(field.containing_type).field if each.name == field.name)


# Copies, since descriptors do not hand out their own; a schema is mapped field by field.


@lru_cache(maxsize=16)
def _message_proto(descriptor: Descriptor) -> Any:
    proto = descriptor_pb2.DescriptorProto()
    descriptor.CopyToProto(proto)
    return proto


@lru_cache(maxsize=4)
def _file_proto(file: FileDescriptor) -> Any:
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    return proto
