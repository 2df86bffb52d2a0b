"""What converters share: the setting for keys, values or headers, and converting headers as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from connect import settings
from connect.api.converter import Converter, HeaderConverter, SchemaAndValue
from connect.data.schema import Schema


class ConverterOptions(settings.Options):
    """The settings of every converter."""

    converter_type = settings.String(
        "converter.type",
        doc="What the converter is for: key, value or header. The runtime sets it.",
        importance=settings.Importance.LOW,
        validator=settings.one_of("key", "value", "header"),
        internal=True,
    )

    @classmethod
    def of(cls, config: Mapping[str, str], is_key: bool | None) -> Self:
        """Parse the configuration with the caller's `converter.type`; `is_key` is None for headers."""
        return cls.parse({**config, "converter.type": {True: "key", False: "value", None: "header"}[is_key]})


class ValueConverter(Converter, HeaderConverter):
    """A converter of single values, which are in headers what they are in keys and values."""

    settings = ConverterOptions.definition()

    def configure(self, config: Mapping[str, str], *, is_key: bool | None = None) -> None:
        ConverterOptions.of(config, is_key)

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, data)

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)
