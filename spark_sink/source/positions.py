"""A source's position in Connect's offsets, and the checkpoint that belongs to it.

An offset carries a mark: the checkpoint's name and the offset itself once more. When a user changes the offset the mark
does not match, or is missing: then the query begins there, with a checkpoint of its own.

    {"version": 12, "checkpoint": "000001-5e0c77aa@version=12"}
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

MARK: Final = "checkpoint"


def marked(offset: Mapping[str, Any], checkpoint: str) -> dict[str, Any]:
    """The offset with its mark."""
    plain = unmarked(offset)
    return {**plain, MARK: f"{checkpoint}@{_told(plain)}"}


def unmarked(offset: Mapping[str, Any]) -> dict[str, Any]:
    """The offset without its mark."""
    return {name: value for name, value in offset.items() if name != MARK}


def checkpoint_of(offset: Mapping[str, Any] | None) -> str | None:
    """The checkpoint of an offset; None where a new one has to begin there."""
    if offset is None:
        return None
    name, _, told = str(offset.get(MARK, "")).partition("@")
    return name if name and told == _told(unmarked(offset)) else None


def new_checkpoint(after: Mapping[str, Any] | None) -> str:
    """A unique name for a new checkpoint, numbered after the one of an offset."""
    number = str((after or {}).get(MARK, "")).partition("-")[0]
    return f"{int(number) + 1 if number.isdecimal() else 1:06d}-{uuid.uuid4().hex[:8]}"


def _told(plain: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={plain[name]}" for name in sorted(plain))
