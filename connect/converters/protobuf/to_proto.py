"""The .proto text of a Connect schema, as Confluent's converter writes it.

A struct is a message, within the message whose field it is; maps are repeated entries of key and value, which is how
Protobuf writes maps. Schemas without a name are ConnectDefault1, ConnectDefault2 and so on.
"""

from __future__ import annotations

from typing import Final

from connect.converters.protobuf import names
from connect.converters.protobuf.keys import ProtobufOptions
from connect.data import logical
from connect.data.schema import Schema, Type
from connect.errors import DataError

_DEFAULT: Final = "ConnectDefault"

_LOGICAL: Final = {
    logical.DECIMAL_NAME: names.DECIMAL,
    logical.DATE_NAME: names.DATE,
    logical.TIME_NAME: names.TIME_OF_DAY,
    logical.TIMESTAMP_NAME: names.TIMESTAMP,
    names.VARIANT_SCHEMA.name: names.VARIANT,
}

_SCALARS: Final = {
    Type.INT8: ("int32", "google.protobuf.Int32Value"),
    Type.INT16: ("int32", "google.protobuf.Int32Value"),
    Type.INT32: ("int32", "google.protobuf.Int32Value"),
    Type.INT64: ("int64", "google.protobuf.Int64Value"),
    Type.FLOAT32: ("float", "google.protobuf.FloatValue"),
    Type.FLOAT64: ("double", "google.protobuf.DoubleValue"),
    Type.BOOLEAN: ("bool", "google.protobuf.BoolValue"),
    Type.STRING: ("string", "google.protobuf.StringValue"),
    Type.BYTES: ("bytes", "google.protobuf.BytesValue"),
}

_UNSIGNED_WRAPPERS: Final = {
    "uint32": "google.protobuf.UInt32Value",
    "fixed32": "google.protobuf.UInt32Value",
    "uint64": "google.protobuf.UInt64Value",
    "fixed64": "google.protobuf.UInt64Value",
}


def proto_of(schema: Schema, options: ProtobufOptions) -> tuple[str, str]:
    """The text of a file, and the full name of the message in it for records of this schema.

    Raises:
        DataError: records of this schema cannot be messages.
    """
    if schema.type in _SCALARS and schema.name not in _LOGICAL:
        return _WRAPPERS, _SCALARS[schema.type][1]
    if schema.type is not Type.STRUCT:
        raise DataError(
            f"a record of type {schema.name if schema.name in _LOGICAL else schema.type.name} cannot be a Protobuf "
            "message. Write a struct, or a primitive."
        )
    return _File(options).text(schema)


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for a oneof: at most one of its fields is set."""
    return (schema.name or "").startswith(names.UNION) or names.GENERALIZED_UNION in schema.parameters


def enum_prefix(schema: Schema) -> str | None:
    """The prefix of the parameters of an enum; None for other schemas."""
    if schema.type is Type.STRING and names.GENERALIZED_ENUM in schema.parameters:
        return names.GENERALIZED_ENUM
    if schema.type in (Type.STRING, Type.INT8, Type.INT16, Type.INT32) and names.ENUM in schema.parameters:
        return names.ENUM
    return None


class _Message:
    """A message that is being composed: its elements in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: list[list[str]] = []
        self.oneofs: list[list[str]] = []
        self.messages: list[list[str]] = []
        self.enums: dict[str, list[str]] = {}
        self.known: set[str] = {name}  # its own name within it means itself

    def lines(self) -> list[str]:
        blocks = [self.fields, self.oneofs, [*self.messages, *self.enums.values()]]
        parts = [[line for block in part for line in block] for part in blocks if part]
        return _braced(f"message {self.name}", parts)


def _braced(head: str, parts: list[list[str]]) -> list[str]:
    if not parts:
        return [f"{head} {{}}"]
    lines = [f"{head} {{"]
    for i, part in enumerate(parts):
        # A blank line of what is within is indented like the others.
        lines += [""] * bool(i) + [f"  {line}" for line in part]
    return [*lines, "}"]


class _File:
    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._unnamed = 0
        self._imports: dict[str, None] = {}

    def text(self, schema: Schema) -> tuple[str, str]:
        package, _, name = self._full_name(schema.name).rpartition(".")
        package = ".".join(map(self._scrubbed, package.split("."))) if package else ""
        message = self._message(self._scrubbed(name), schema)
        head = 'syntax = "proto3";\n' + (f"package {package};\n" if package else "")
        imports = "".join(f'import "{file}";\n' for file in self._imports)
        body = "\n".join(message.lines())
        full_name = f"{package}.{message.name}" if package else message.name
        return f"{head}\n{imports}{chr(10) if imports else ''}{body}\n", full_name

    def _full_name(self, name: str | None) -> str:
        if name:
            return name
        self._unnamed += 1
        return f"{_DEFAULT}{self._unnamed}"

    def _unqualified(self, name: str | None) -> str:
        return self._scrubbed(self._full_name(name).rpartition(".")[2])

    def _scrubbed(self, name: str) -> str:
        return names.scrubbed(name) if self._options.scrub_names else name

    def _message(self, name: str, schema: Schema) -> _Message:
        message = _Message(name)
        number = 0
        for field in schema.fields:
            tag = field.schema.parameters.get(names.TAG)
            if tag is None:
                number += 1
            self._field(message, self._scrubbed(field.name), field.schema, tag or str(number))
        return message

    def _field(
        self,
        message: _Message,
        name: str,
        schema: Schema,
        tag: str,
        oneof: list[str] | None = None,
        *,
        of_entry: bool = False,
    ) -> None:
        """Add a field and the types that it needs; to the oneof, where it is a member of one.

        Members of oneofs and fields of entries have no label optional.
        """
        label = ""
        if schema.type in (Type.ARRAY, Type.MAP):
            label = "repeated "
        elif self._options.optional_for_nullables and schema.optional and oneof is None and not of_entry:
            label = "optional "
        if schema.type is Type.ARRAY:
            assert schema.value_schema is not None
            schema = schema.value_schema
            if schema.type is Type.ARRAY:
                raise DataError(f"field {name} is an array of arrays, which Protobuf does not have.")
        params: dict[str, str] = {}
        kind = self._type(name, schema, params, in_oneof=oneof is not None)
        if schema.type is Type.STRUCT and kind != names.VARIANT:
            if is_union(schema):
                self._union(message, schema)
                return
            if kind not in message.known:
                message.known.add(kind)
                message.messages.append(self._message(kind, schema).lines())
        elif schema.type is Type.MAP:
            message.messages.append(self._entry(kind, schema).lines())
        elif (prefix := enum_prefix(schema)) is not None:
            message.enums.setdefault(kind, _enum(kind, prefix, schema))
        elif kind in names.IMPORTS:
            self._imports[names.IMPORTS[kind]] = None
        if kind == names.VARIANT:
            self._imports[names.IMPORTS[kind]] = None
        lines = _field_lines(f"{label}{kind} {name} = {tag}", params)
        if oneof is None:
            message.fields.append(lines)
        else:
            oneof.extend(lines)

    def _union(self, message: _Message, schema: Schema) -> None:
        name = schema.parameters.get(names.GENERALIZED_UNION)
        if name is None:
            name = self._unqualified(str(schema.name).removeprefix(names.UNION_PREFIX))
        members: list[str] = []
        for field in schema.fields:
            tag = field.schema.parameters.get(names.TAG)
            if tag is None:
                raise DataError(
                    f"field {field.name} of the union {name} has no number. Put it into its parameter {names.TAG}."
                )
            self._field(message, self._scrubbed(field.name), field.schema, tag, members)
        message.oneofs.append(_braced(f"oneof {name}", [members] if members else []))

    def _entry(self, name: str, schema: Schema) -> _Message:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        entry = _Message(name)
        self._field(entry, "key", schema.key_schema, "1", of_entry=True)
        self._field(entry, "value", schema.value_schema, "2", of_entry=True)
        return entry

    def _type(self, field: str, schema: Schema, params: dict[str, str], *, in_oneof: bool) -> str:
        if schema.name == logical.DECIMAL_NAME:
            given = (("precision", names.PRECISION), ("scale", logical.SCALE))
            params.update({name: schema.parameters[key] for name, key in given if key in schema.parameters})
        if schema.name in _LOGICAL:
            return _LOGICAL[schema.name]
        prefix = enum_prefix(schema)
        if prefix is not None:
            return self._scrubbed(schema.parameters[prefix].rpartition(".")[2])
        if schema.type is Type.MAP:
            return names.map_entry(self._unqualified(schema.name))
        if schema.type is Type.STRUCT:
            name = self._unqualified(schema.name)
            # A message and a field of one name would clash.
            return f"{name}Message" if name == field else name
        plain, wrapper = _SCALARS[schema.type]
        if schema.type in (Type.INT8, Type.INT16):
            params[names.CONNECT_TYPE] = schema.type.value
        elif schema.type in (Type.INT32, Type.INT64):
            plain = schema.parameters.get(names.KIND, plain)
            wrapper = _UNSIGNED_WRAPPERS.get(plain, wrapper) if schema.type is Type.INT64 else wrapper
        wrapped = (
            self._options.wrapper_for_nullables
            and schema.optional
            and (not in_oneof or schema.parameters.get(names.WRAPPER) == "true")
        )
        return wrapper if wrapped else plain


def _enum(name: str, prefix: str, schema: Schema) -> list[str]:
    start = f"{prefix}."
    values = [(key.removeprefix(start), number) for key, number in schema.parameters.items() if key.startswith(start)]
    return _braced(f"enum {name}", [[f"{value} = {number};" for value, number in values]])


def _field_lines(declaration: str, params: dict[str, str]) -> list[str]:
    if not params:
        return [f"{declaration};"]
    entries = [
        ["    {", f'      key: "{key}",', f'      value: "{_quoted(value)}"', "    }"] for key, value in params.items()
    ]
    for entry in entries[:-1]:
        entry[-1] += ","
    inner = [line for entry in entries for line in entry]
    return [f"{declaration} [(confluent.field_meta) = {{", "  params: [", *inner, "  ]", "}];"]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


#: What the registry holds for records that are primitives, to the letter as Java's converter registers it.
_WRAPPERS: Final = """\
syntax = "proto3";
package google.protobuf;

option java_package = "com.google.protobuf";
option java_outer_classname = "WrappersProto";
option java_multiple_files = true;
option go_package = "google.golang.org/protobuf/types/known/wrapperspb";
option cc_enable_arenas = true;
option objc_class_prefix = "GPB";
option csharp_namespace = "Google.Protobuf.WellKnownTypes";

""" + "".join(
    f'message {name} {{\n  {kind} value = 1 [json_name = "value"];\n}}\n'
    for name, kind in (
        ("DoubleValue", "double"),
        ("FloatValue", "float"),
        ("Int64Value", "int64"),
        ("UInt64Value", "uint64"),
        ("Int32Value", "int32"),
        ("UInt32Value", "uint32"),
        ("BoolValue", "bool"),
        ("StringValue", "string"),
        ("BytesValue", "bytes"),
    )
)
