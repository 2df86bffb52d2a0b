"""Names that connect JSON Schemas with Connect schemas, as Confluent's converter has them."""

from __future__ import annotations

from typing import Final

from connect.data.schema import FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Schema, Type

NAMESPACE: Final = "io.confluent.connect.json"

#: Keywords of JSON Schemas that say what has no place in them otherwise.
CONNECT_TYPE: Final = "connect.type"
CONNECT_VERSION: Final = "connect.version"
CONNECT_PARAMETERS: Final = "connect.parameters"
CONNECT_INDEX: Final = "connect.index"

#: Parameters of Connect schemas: an enum has one for itself, and one for each value with a dot and the value behind it.
ENUM: Final = f"{NAMESPACE}.Enum"
GENERALIZED_ENUM: Final = "org.apache.kafka.connect.data.Enum"
NULL_IN_ENUM: Final = "<NULL>"

#: The name of a union's schema; its fields are called after it.
ONE_OF: Final = f"{NAMESPACE}.OneOf"
GENERALIZED_UNION: Final = "org.apache.kafka.connect.data.Union"
GENERALIZED_PREFIX: Final = "connect_union_"

NUMBERS: Final[dict[str, Schema]] = {
    "int8": INT8,
    "int16": INT16,
    "int32": INT32,
    "int64": INT64,
    "float32": FLOAT32,
    "float64": FLOAT64,
}


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for one of several types: that of the field that is set."""
    return schema.type is Type.STRUCT and (schema.name == ONE_OF or GENERALIZED_UNION in schema.parameters)


def as_object(map_schema: Schema) -> bool:
    """Whether a map is a JSON object: its keys are strings, never null. Others are arrays of entries."""
    keys = map_schema.key_schema
    return keys is not None and keys.type is Type.STRING and not keys.optional


def in_java_order(names: list[str]) -> list[str]:
    """The names in the order of Java's HashMap: that of properties in schemas that Java wrote."""
    size = 16
    while len(names) > size * 3 // 4:
        size *= 2
    return sorted(names, key=lambda name: _spread(name) & (size - 1))


def _spread(name: str) -> int:
    code = 0
    data = name.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(data), 2):
        code = (code * 31 + (data[i] << 8 | data[i + 1])) & 0xFFFFFFFF
    return code ^ code >> 16
