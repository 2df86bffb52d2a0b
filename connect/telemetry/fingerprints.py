"""What messages have in common that say the same of different records, tasks or tables."""

from __future__ import annotations

import re
from typing import Final

#: Numbers, quoted values, ids.
_VARIES: Final = re.compile(r"\"[^\"]*\"|'[^']*'|\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\b|\b0x[0-9a-fA-F]+\b|\d+(?:\.\d+)?")


def general(message: str) -> str:
    """The message without what varies: equal for two that differ in nothing else."""
    return _VARIES.sub("#", message)
