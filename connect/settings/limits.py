"""The maximum size of a connector's configuration: what comes from outside is bounded before it is processed.

A record of the config topic holds all of it, and brokers accept one megabyte by default. What is in the topic already,
as Java's workers wrote it, is run as it is: the limits are for changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Of a connector's name, in bytes of UTF-8. An assignment has room for 32,767, and a topic's name for 249 characters.
LONGEST_NAME: Final = 255
#: Of a key, in characters.
LONGEST_KEY: Final = 1_024
#: Of a value, in characters: an inline schema of some thousand fields.
LONGEST_VALUE: Final = 2**19
#: Of all keys and values of a connector, in bytes of UTF-8.
MOST_BYTES: Final = 900_000

_SHOWN = 40  # characters of a key that is too long


def excess(config: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """What exceeds the limits in a configuration: keys, shortened if they are too long, with what to do."""
    found: list[tuple[str, str]] = []
    size = 0
    for key, value in config.items():
        text = value or ""
        if len(key) > LONGEST_KEY:
            found.append((f"{key[:_SHOWN]}...", f"this key has {len(key):,} characters. Up to {LONGEST_KEY:,} may be."))
        if len(text) > LONGEST_VALUE:
            much = f"has {len(text):,} characters. Up to {LONGEST_VALUE:,} may be."
            found.append((key[:LONGEST_KEY], f"{much} Keep what is longer in a file, and name that."))
        size += len(key.encode(errors="replace")) + len(text.encode(errors="replace"))
    if size > MOST_BYTES and not found:
        much = f"all keys and values have {size:,} bytes. Up to {MOST_BYTES:,} may be."
        found.append(("name", f"{much} Keep what is long in a file, and name that."))
    return found


def within_limits(config: Mapping[str, str]) -> dict[str, str]:
    """The part of a configuration that may be processed: without keys and values that are too long."""
    return {key: value for key, value in config.items() if len(key) <= LONGEST_KEY and len(value) <= LONGEST_VALUE}
