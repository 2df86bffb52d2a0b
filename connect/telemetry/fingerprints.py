"""The common part of messages that report the same error of different records, tasks or tables."""

from __future__ import annotations

import re
from typing import Final

#: Numbers, quoted values, ids.
_VARIES: Final = re.compile(r"\"[^\"]*\"|'[^']*'|\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\b|\b0x[0-9a-fA-F]+\b|\d+(?:\.\d+)?")


def general(message: str) -> str:
    """The message without its varying parts: equal for two that differ in nothing else."""
    return _VARIES.sub("#", message)
