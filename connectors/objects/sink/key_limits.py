"""Which keys an object can have in a store: longer ones, for example, no request can write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_DOTS: Final = re.compile(r"(?:^|/)\.\.?(?:/|$)")
#: Half of a pair in UTF-16, as JSON may have it: no UTF-8 says it.
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """What a store allows.

    Attributes:
        longest: bytes in UTF-8; or in_utf16 characters, of which rare ones count as two.
        dots: whether a part between slashes may be "." or ".." if it is not of the folders of the configuration.
        dots_on_top: whether one of those may.
        parts: how many there may be between slashes; 0 for any number.
        forbidden: characters that no key may have.
        reserved: keys that nobody may write.
    """

    longest: int = 1024
    in_utf16: bool = False
    dots: bool = True
    dots_on_top: bool = True
    parts: int = 0
    forbidden: re.Pattern[str] | None = None
    reserved: re.Pattern[str] | None = None

    def refusal(self, key: str, top: str) -> str:
        """Why there can be no object with this key; "" if there can be one.

        Args:
            key: of the object.
            top: the folders that the configuration gives to all keys.
        """
        if not key or key.endswith("/"):
            return "it is empty, or ends with a slash like a folder"
        if _SURROGATES.search(key):
            return "it has half a character (a lone surrogate)"
        length = len(key.encode("utf-16-le")) // 2 if self.in_utf16 else len(key.encode())
        if length > self.longest:
            unit = "characters" if self.in_utf16 else "bytes in UTF-8"
            return f"it has {length:,} {unit}, and the store allows {self.longest:,}"
        if self.parts and key.count("/") >= self.parts:
            return f"it has {key.count('/') + 1} parts between slashes, and the store allows {self.parts}"
        if not self.dots and _DOTS.search(key.removeprefix(top) if self.dots_on_top else key):
            return 'a part of it between slashes is "." or ".."'
        if self.forbidden is not None and (found := self.forbidden.search(key)):
            return f"it has the character U+{ord(found[0]):04X}"
        return "the store reserves it" if self.reserved is not None and self.reserved.search(key) else ""
