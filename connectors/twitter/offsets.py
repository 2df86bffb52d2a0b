"""Source partitions and offsets. Ids are texts, as in the API: as numbers they lose their last digits in JavaScript.

The stream has the partition `{"mode": "stream"}`, a query `{"mode": "search", "query": "..."}`, a user's timeline
`{"mode": "timeline", "user": "2244994945"}`.

An offset is `{"since_id": "..."}`: every post up to this one was returned. Search and timelines return the newest
first. In the middle of many pages the offset says what is left: posts above `since_id` and below `until_id`, and that
`newest_id` is the next `since_id`. The stream's has `gap_since_id` while a gap that begins there is not filled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connectors.twitter import ids

SINCE: Final = "since_id"
UNTIL: Final = "until_id"
NEWEST: Final = "newest_id"
GAP: Final = "gap_since_id"

STREAM: Final[Mapping[str, str]] = {"mode": "stream"}


def of_query(query: str) -> dict[str, str]:
    """The source partition of a query."""
    return {"mode": "search", "query": query}


def of_user(user: str) -> dict[str, str]:
    """The source partition of a user, by id."""
    return {"mode": "timeline", "user": user}


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a query or a user.

    Attributes:
        since: every post up to this id was returned; None: none was.
        until: those from this id on were returned as well, up to `newest`; None: no pass is running.
        newest: the highest id of the running pass.
    """

    since: int | None = None
    until: int | None = None
    newest: int | None = None

    @classmethod
    def of(cls, offset: Mapping[str, Any] | None) -> Position:
        """From a stored offset."""
        found = {name: number(offset, name) for name in (SINCE, UNTIL, NEWEST)}
        if found[UNTIL] is None or found[NEWEST] is None:
            return cls(found[SINCE])
        return cls(found[SINCE], found[UNTIL], found[NEWEST])

    def offset(self) -> dict[str, str]:
        """In its stored form."""
        named = {SINCE: self.since, UNTIL: self.until, NEWEST: self.newest}
        return {name: str(value) for name, value in named.items() if value is not None}


def number(offset: Mapping[str, Any] | None, name: str) -> int | None:
    """An id in an offset, written as a text or as a number; None where there is none."""
    value = (offset or {}).get(name)
    return None if value is None else int(value)


def problem(offset: Mapping[str, Any], *, stream: bool) -> str | None:
    """The error of an offset that a user sets; None for none."""
    known = {SINCE, GAP} if stream else {SINCE, UNTIL, NEWEST}
    if unknown := sorted(set(offset) - known):
        return f'it has no "{unknown[0]}". Write {{"since_id": "1460323737035677698"}}'
    for name, value in offset.items():
        written = str(value)
        whole = not isinstance(value, bool) and isinstance(value, str | int) and written.isascii() and written.isdigit()
        if not whole or len(written) > 19 or int(written) > ids.MOST:
            return f'"{name}" is the id of a post, a whole number as a text'
    if SINCE not in offset and UNTIL not in offset:
        return 'it lacks "since_id"'
    if (UNTIL in offset) != (NEWEST in offset):
        return '"until_id" and "newest_id" go together'
    return None
