"""Schemas of keys and values: types, optional and default, names and versions, fields.

The model of `org.apache.kafka.connect.data` (KIP-26). Values are plain Python: int, float, bool, str, bytes, list,
dict; a struct is a dict with its schema beside it; logical types are described in `connect.data.logical`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, Final

from connect.errors import SchemaError


class Type(enum.Enum):
    """A schema's type. The value is the name that Kafka Connect's JSON envelope uses."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    @property
    def is_primitive(self) -> bool:
        """Whether it is none of ARRAY, MAP and STRUCT."""
        return self not in _CONTAINERS


_CONTAINERS: Final = frozenset({Type.ARRAY, Type.MAP, Type.STRUCT})


class Field:
    """One field of a struct schema.

    Attributes:
        name: unique within the struct.
        index: position within the struct, from 0.
        schema: the schema of the field's value.
    """

    __slots__ = ("index", "name", "schema")

    def __init__(self, name: str, index: int, schema: Schema) -> None:
        self.name = name
        self.index = index
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Field):
            return NotImplemented
        return (self.name, self.index, self.schema) == (other.name, other.index, other.schema)

    def __hash__(self) -> int:
        return hash((self.name, self.index))

    def __repr__(self) -> str:
        return f"Field({self.name!r}, {self.index}, {self.schema!r})"


class Schema:
    """An immutable description of a value. Compare with `==`; equal schemas may be distinct objects.

    Attributes:
        type: one of `Type`.
        optional: whether None is a value.
        default: the value that replaces a missing one; None when there is none.
        name: for logical types and named structs, else None.
        version: of the schema, else None.
        doc: documentation, else None.
        parameters: strings by name (the scale of a Decimal, for example).
        fields: the fields of a STRUCT, in order, else empty.
        key_schema: of a MAP.
        value_schema: of a MAP's values or an ARRAY's elements.
    """

    __slots__ = (
        "_by_name",
        "_hash",
        "default",
        "doc",
        "fields",
        "key_schema",
        "name",
        "optional",
        "parameters",
        "type",
        "value_schema",
        "version",
    )

    def __init__(
        self,
        type: Type,  # noqa: A002 - the field's standard name
        *,
        optional: bool = False,
        default: Any = None,
        name: str | None = None,
        version: int | None = None,
        doc: str | None = None,
        parameters: Mapping[str, str] | None = None,
        fields: Mapping[str, Schema] | None = None,
        key_schema: Schema | None = None,
        value_schema: Schema | None = None,
    ) -> None:
        if type is Type.MAP and (key_schema is None or value_schema is None):
            raise SchemaError("A map schema needs a key schema and a value schema.")
        if type is Type.ARRAY and value_schema is None:
            raise SchemaError("An array schema needs the schema of its elements.")
        self.type = type
        self.optional = optional
        self.default = default
        self.name = name
        self.version = version
        self.doc = doc
        self.parameters: Mapping[str, str] = dict(parameters) if parameters else {}
        self.fields = tuple(Field(n, i, s) for i, (n, s) in enumerate((fields or {}).items()))
        self.key_schema = key_schema
        self.value_schema = value_schema
        self._by_name = {field.name: field for field in self.fields}
        self._hash: int | None = None

    @classmethod
    def struct(cls, fields: Mapping[str, Schema], **attributes: Any) -> Schema:
        """A struct with these fields, in this order."""
        return cls(Type.STRUCT, fields=fields, **attributes)

    @classmethod
    def array(cls, element: Schema, **attributes: Any) -> Schema:
        """An array of values of one schema."""
        return cls(Type.ARRAY, value_schema=element, **attributes)

    @classmethod
    def map(cls, key: Schema, value: Schema, **attributes: Any) -> Schema:
        """A map from keys of one schema to values of another."""
        return cls(Type.MAP, key_schema=key, value_schema=value, **attributes)

    def field(self, name: str) -> Field | None:
        """The field of this name, or None."""
        return self._by_name.get(name)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def replace(self, **changes: Any) -> Schema:
        """The same schema with some attributes replaced. `fields` is a mapping, as for the constructor."""
        attributes: dict[str, Any] = {
            "type": self.type,
            "optional": self.optional,
            "default": self.default,
            "name": self.name,
            "version": self.version,
            "doc": self.doc,
            "parameters": self.parameters,
            "fields": {field.name: field.schema for field in self.fields},
            "key_schema": self.key_schema,
            "value_schema": self.value_schema,
        }
        return Schema(**(attributes | changes))

    def as_optional(self) -> Schema:
        """The same schema, optional."""
        return self if self.optional else self.replace(optional=True)

    def _identity(self) -> tuple[Any, ...]:
        return (
            self.type,
            self.optional,
            self.version,
            self.name,
            self.doc,
            self.default,
            self.fields,
            self.key_schema,
            self.value_schema,
            self.parameters,
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Schema):
            return NotImplemented
        return hash(self) == hash(other) and self._identity() == other._identity()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.type, self.optional, self.version, self.name, self.doc, self.fields))
        return self._hash

    def __repr__(self) -> str:
        name = f"{self.name}:" if self.name else ""
        inner = ""
        if self.type is Type.STRUCT:
            inner = "{" + ", ".join(f"{f.name}: {f.schema!r}" for f in self.fields) + "}"
        elif self.type is Type.ARRAY:
            inner = f"[{self.value_schema!r}]"
        elif self.type is Type.MAP:
            inner = f"[{self.key_schema!r}, {self.value_schema!r}]"
        return f"{name}{self.type.name}{inner}{'?' if self.optional else ''}"


#: How many bits whole numbers of a type have.
INT_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}

INT8: Final = Schema(Type.INT8)
INT16: Final = Schema(Type.INT16)
INT32: Final = Schema(Type.INT32)
INT64: Final = Schema(Type.INT64)
FLOAT32: Final = Schema(Type.FLOAT32)
FLOAT64: Final = Schema(Type.FLOAT64)
BOOLEAN: Final = Schema(Type.BOOLEAN)
STRING: Final = Schema(Type.STRING)
BYTES: Final = Schema(Type.BYTES)
OPTIONAL_INT8: Final = INT8.as_optional()
OPTIONAL_INT16: Final = INT16.as_optional()
OPTIONAL_INT32: Final = INT32.as_optional()
OPTIONAL_INT64: Final = INT64.as_optional()
OPTIONAL_FLOAT32: Final = FLOAT32.as_optional()
OPTIONAL_FLOAT64: Final = FLOAT64.as_optional()
OPTIONAL_BOOLEAN: Final = BOOLEAN.as_optional()
OPTIONAL_STRING: Final = STRING.as_optional()
OPTIONAL_BYTES: Final = BYTES.as_optional()


def is_required(schema: Schema) -> bool:
    """Whether a value is required: neither null, nor a default for a missing one, is allowed."""
    return not schema.optional and schema.default is None
