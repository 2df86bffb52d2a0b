"""The converters that come with the runtime: JSON, text, bytes, numbers, and headers by inference."""

from connect.converters.bytes import ByteArrayConverter
from connect.converters.json_converter import JsonConverter
from connect.converters.numbers import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from connect.converters.simple_header import SimpleHeaderConverter
from connect.converters.string import StringConverter

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
