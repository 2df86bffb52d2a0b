"""What all converters' settings begin with: whether the converter is for keys, values or headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from connect import settings


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
        """Parse the configuration with `converter.type` as the caller means it; `is_key` is None for headers."""
        return cls.parse({**config, "converter.type": {True: "key", False: "value", None: "header"}[is_key]})
