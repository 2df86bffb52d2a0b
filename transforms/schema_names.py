"""Schema names that converters accept: Debezium's `schema.name.adjustment.mode`.

https://debezium.io/documentation/reference/stable/transformations/topic-routing.html
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from connect import settings

SETTING: Final = "schema.name.adjustment.mode"

#: The setting that a transformation adds if it names schemas.
MODE: Final = settings.define(
    settings.String(
        SETTING,
        default="none",
        importance="LOW",
        validator=settings.one_of("none", "avro", "avro_unicode", ignore_case=True),
        doc="How schema names are adapted to Avro: none (unchanged), avro (characters other than letters, digits and "
        "dots become _), avro_unicode (these characters, and _ itself, become _u and their code).",
    )
)

_AVRO = re.compile(r"[^a-zA-Z0-9_.]")
_UNICODE = re.compile(r"[^a-zA-Z0-9.]")


def adjuster(mode: str) -> Callable[[str], str]:
    """The function that changes a name, for a value of the setting."""
    adjusters: dict[str, Callable[[str], str]] = {"none": str, "avro": _underscored, "avro_unicode": _numbered}
    return adjusters[mode.lower()]


def _underscored(name: str) -> str:
    first = name[:1]
    if first.isascii() and first.isdigit():
        name = f"_{name}"
    elif first == ".":
        name = f"_{name[1:]}"
    # A character outside the basic plane is two chars in Java.
    return _AVRO.sub(lambda found: "_" * len(_units(found[0])), name)


def _numbered(name: str) -> str:
    if name[:1] == "." or (name[:1].isascii() and name[:1].isdigit()):
        return f"{_number(ord(name[0]))}{_UNICODE.sub(_numbers, name[1:])}"
    return _UNICODE.sub(_numbers, name)


def _numbers(found: re.Match[str]) -> str:
    return "".join(map(_number, _units(found[0])))


def _number(unit: int) -> str:
    written = f"{unit:x}"
    return f"_u00{written}" if len(written) <= 2 else f"_u{written}"


def _units(char: str) -> list[int]:
    data = char.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
