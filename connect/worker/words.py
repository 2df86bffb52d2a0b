"""How words leave a plug-in's process: an error may quote all that somebody wanted to write, and what is no text."""

from __future__ import annotations

from typing import Final

#: Characters. What has all of them, and a trace beside it, still is a record that Kafka takes (1 MiB by default).
MOST: Final = 1 << 17


def cut(words: str, most: int = MOST) -> str:
    """The words, fit to be sent; of what is longer its beginning and its end, where a trace has its error."""
    if len(words) > most:
        half = most // 2
        words = f"{words[:half]}\n[... {len(words) - 2 * half:,} characters are left out ...]\n{words[-half:]}"
    # Half of a surrogate pair is how Python has a byte of a file's name that is no text.
    return words if words.isascii() else words.encode("utf-8", "backslashreplace").decode()
