"""Names that connect Protobuf schemas with Connect schemas: Confluent's parameters, Google's types."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_plus

from connect.data.schema import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT32, INT64, STRING, Schema

_NAMESPACE: Final = "io.confluent.connect.protobuf"

#: Parameters of Connect schemas: the number of a field, the kind of an integer, an enum's name and (with a dot and the
#: value's name behind it) numbers, and that a member of a oneof is a wrapper message.
TAG: Final = f"{_NAMESPACE}.Tag"
KIND: Final = f"{_NAMESPACE}.Type"
ENUM: Final = f"{_NAMESPACE}.Enum"
WRAPPER: Final = f"{_NAMESPACE}.Wrapper"
GENERALIZED_ENUM: Final = "org.apache.kafka.connect.data.Enum"
GENERALIZED_UNION: Final = "org.apache.kafka.connect.data.Union"
PRECISION: Final = "connect.decimal.precision"

#: What the name of a oneof's schema begins with.
UNION: Final = f"{_NAMESPACE}.Union"
UNION_PREFIX: Final = f"{UNION}."

#: The parameter in a field's options that says int8 or int16.
CONNECT_TYPE: Final = "connect.type"

DECIMAL: Final = "confluent.type.Decimal"
VARIANT: Final = "confluent.type.Variant"
DATE: Final = "google.type.Date"
TIME_OF_DAY: Final = "google.type.TimeOfDay"
TIMESTAMP: Final = "google.protobuf.Timestamp"

WRAPPED: Final[dict[str, Schema]] = {
    "google.protobuf.DoubleValue": FLOAT64,
    "google.protobuf.FloatValue": FLOAT32,
    "google.protobuf.Int64Value": INT64,
    "google.protobuf.UInt64Value": INT64,
    "google.protobuf.Int32Value": INT32,
    "google.protobuf.UInt32Value": INT64,
    "google.protobuf.BoolValue": BOOLEAN,
    "google.protobuf.StringValue": STRING,
    "google.protobuf.BytesValue": BYTES,
}

#: Confluent's Variant, as a struct of its two parts.
VARIANT_SCHEMA: Final = Schema.struct({"metadata": BYTES, "value": BYTES}, name="org.apache.kafka.connect.data.Variant")

#: In which file a type is that written schemas use.
IMPORTS: Final = {
    DECIMAL: "confluent/type/decimal.proto",
    VARIANT: "confluent/type/variant.proto",
    DATE: "google/type/date.proto",
    TIME_OF_DAY: "google/type/timeofday.proto",
    TIMESTAMP: "google/protobuf/timestamp.proto",
    **dict.fromkeys(WRAPPED, "google/protobuf/wrappers.proto"),
}

#: What the names of a map's entries end with.
ENTRY: Final = "Entry"

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def map_field(entry: str) -> str:
    """The name of the map field of entries of this name: com.acme.OrderLinesEntry is com.acme.order_lines."""
    package, _, name = entry.rpartition(".")
    name = name.removesuffix(ENTRY)
    name = name[:1].lower() + re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name[1:])
    return f"{package}.{name}" if package else name


def map_entry(field: str) -> str:
    """The name of the entries of a map field of this name."""
    if "_" in field:
        field = "".join(word[:1].upper() + word[1:].lower() for word in field.split("_"))
    return field + ENTRY


def scrubbed(name: str) -> str:
    """A valid Protobuf name: other characters become underscores, as in Confluent's converter."""
    if not name or _PLAIN.fullmatch(name):
        return name
    encoded = quote_plus(name, safe="*-._", errors="replace")
    encoded = encoded.replace("~", "%7E")
    if encoded[0].isdigit() or encoded[0] == "_":
        encoded = "x" + encoded
    return re.sub("[^A-Za-z0-9_]", "_", encoded)
