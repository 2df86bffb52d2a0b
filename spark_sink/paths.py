"""Paths as Spark reads them."""

from __future__ import annotations

import re
from typing import Final

_OF_PATTERNS: Final = re.compile(r"[\[\]{}*?\\]")


def as_written(path: str) -> str:
    """A path for Spark to read, nothing of which is a pattern: a connector's name may have brackets."""
    return _OF_PATTERNS.sub(r"\\\g<0>", path)
