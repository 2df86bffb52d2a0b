"""The converters that come with the runtime: JSON, text, bytes, numbers, and headers by inference."""

from connect.converters.json_converter import JsonConverter
from connect.converters.simple_header import SimpleHeaderConverter
from connect.converters.single_values import (
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
    StringConverter,
)

__all__ = [
    "BooleanConverter",
    "ByteArrayConverter",
    "DoubleConverter",
    "FloatConverter",
    "IntegerConverter",
    "JsonConverter",
    "LongConverter",
    "ShortConverter",
    "SimpleHeaderConverter",
    "StringConverter",
]
