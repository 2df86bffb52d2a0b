"""The names by which Confluent's converter marks in Avro what only Connect has, and in Connect what only Avro has."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = "ConnectDefault"
MAP_ENTRY: Final = "MapEntry"
KEY, VALUE = "key", "value"
ANYTHING: Final = f"{NAMESPACE}.Anything"

# Properties in Avro.
CONNECT_NAME: Final = "connect.name"
CONNECT_DOC: Final = "connect.doc"
CONNECT_VERSION: Final = "connect.version"
CONNECT_DEFAULT: Final = "connect.default"
CONNECT_PARAMETERS: Final = "connect.parameters"
CONNECT_TYPE: Final = "connect.type"
INTERNAL_TYPE: Final = "connect.internal.type"

# Parameters in Connect.
RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
FIELD_DOC: Final = f"{NAMESPACE}.field.doc."
FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"
ENUM_DOC: Final = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT: Final = f"{NAMESPACE}.enum.default."
OLD_RECORD_DOC: Final = "connect.record.doc"
OLD_ENUM_DOC: Final = "connect.enum.doc"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"
GENERAL_UNION: Final = "org.apache.kafka.connect.data.Union"
GENERAL_ENUM: Final = "org.apache.kafka.connect.data.Enum"
FIXED_SIZE: Final = "connect.fixed.size"
PRECISION: Final = "connect.decimal.precision"
MOST_DIGITS: Final = 64  # the precision of decimals where nothing else is said

_UNNAMED: Final = re.compile(rf"{re.escape(NAMESPACE)}\.{DEFAULT_NAME}[0-9]*\Z")


def is_unnamed(full: str) -> bool:
    """Whether a record has a name only because Avro requires one."""
    return _UNNAMED.match(full) is not None


def is_valid(name: str) -> bool:
    """Whether Java's library accepts the name of a field or symbol: it takes the letters of any script."""
    first = name[:1]
    return (first == "_" or first.isalpha()) and all(each == "_" or each.isalpha() or each.isdecimal() for each in name)


def scrubbed(name: str) -> str:
    """A valid Avro name: blanks, - and . become _, other invalid characters their UTF-8 in hexadecimal."""
    if not name or re.match(r"[A-Za-z_][A-Za-z0-9_]*\Z", name):
        return name
    start = "" if re.match(r"[A-Za-z_]", name) else "x"
    name = re.sub(r"[ .+-]", "_", name)
    return start + re.sub(r"[^A-Za-z0-9_]", lambda found: quote(found[0], safe="").replace("%", "_"), name)
