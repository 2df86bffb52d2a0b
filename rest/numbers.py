"""Whole numbers in paths and queries, declared as text: FastAPI would answer 422, Kafka Connect 400."""

from __future__ import annotations

from typing import Any, Final, overload

from rest.errors import ApiError

#: More digits than any moment, partition or offset has.
_LONGEST: Final = 18
#: The JSON schema of such a parameter.
WHOLE: Final[dict[str, Any]] = {"type": "integer", "minimum": 0, "maximum": 10**_LONGEST - 1}


@overload
def whole(name: str, text: str) -> int: ...
@overload
def whole(name: str, text: None) -> None: ...
@overload
def whole(name: str, text: str | None) -> int | None: ...
def whole(name: str, text: str | None) -> int | None:
    """The number that a parameter gives. Raises ApiError 400."""
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST:
        raise ApiError(400, f"{name} is a whole number.")
    return int(text)


def up_to(most: int, name: str, text: str) -> int:
    """The number that a parameter gives, from 1 to this. Raises ApiError 400."""
    number = whole(name, text)
    if not 1 <= number <= most:
        raise ApiError(400, f"{name} is a number from 1 to {most}.")
    return number
