"""What all converters' settings begin with: whether the converter is for keys, values or headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect import settings

CONVERTER_TYPE: Final = settings.String(
    "converter.type",
    doc="What the converter is for: key, value or header. The runtime sets it.",
    importance=settings.Importance.LOW,
    validator=settings.one_of("key", "value", "header"),
    internal=True,
)


def with_type(config: Mapping[str, str], is_key: bool | None) -> dict[str, str]:
    """The configuration with `converter.type` as the caller means it; `is_key` is None for headers."""
    kind = {True: "key", False: "value", None: "header"}[is_key]
    return {**config, CONVERTER_TYPE.name: kind}
