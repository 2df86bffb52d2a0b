"""Separators as a configuration writes them."""

from __future__ import annotations

import re
from typing import Final

#: Escapes for characters that a property file cannot hold as they are.
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def unescaped(written: str) -> str:
    r"""The characters that a user means by ``\n``, ``\r``, ``\t`` and ``\\``."""
    return re.sub(r"\\([nrt\\])", lambda match: _ESCAPES[match[1]], written)
