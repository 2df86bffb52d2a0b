"""The position of reading, for each URL.

The source partition is `{"url": "https://host/path"}`, the URL as it is configured, without a login and with a mask in
place of a token or key in its query. An offset holds

- `cursor`: the highest `http.offset.field` before this pass; `seen`: digests of the records that have it;
- `page`, `records`, `last`: the page that is being read, how many of its records were, and the digest of the last of
  those. Where the page has another record there by then, it is read again as a whole;
- `highest`, `highest_seen`: the `cursor` and `seen` after all pages are read.

After the last page only the first two are left. Of a page that is a URL, secrets of the configured one are masked.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from connect import ConnectError
from connect.kit.queries import filled_in, secrets_of, without

CURSOR: Final = "cursor"
SEEN: Final = "seen"
PAGE: Final = "page"
RECORDS: Final = "records"
LAST: Final = "last"
HIGHEST: Final = "highest"
HIGHEST_SEEN: Final = "highest_seen"
_KEYS: Final = {CURSOR, SEEN, PAGE, RECORDS, LAST, HIGHEST, HIGHEST_SEEN}
#: So many records of one value are remembered; of more some may come twice.
_MOST_SEEN: Final = 1000
_NUMBER: Final = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?")


@dataclass(frozen=True, slots=True)
class Position:
    """See above."""

    cursor: Any = None
    seen: tuple[str, ...] = ()
    page: str | int | None = None
    records: int = 0
    last: str = ""
    highest: Any = None
    highest_seen: tuple[str, ...] = ()

    @classmethod
    def of(cls, offset: Mapping[str, Any] | None, initial: str | None, url: str) -> Position:
        """The position in a stored offset of a URL; without one, the beginning."""
        if not offset:
            return cls(initial, (), highest=initial)
        cursor, seen, page = offset.get(CURSOR), tuple(offset.get(SEEN) or ()), offset.get(PAGE)
        return cls(
            cursor,
            seen,
            filled_in(page, secrets_of(url)) if isinstance(page, str) else page,
            int(offset.get(RECORDS) or 0),
            str(offset.get(LAST) or ""),
            offset.get(HIGHEST, cursor),
            tuple(offset.get(HIGHEST_SEEN) or seen),
        )

    def offset(self, url: str) -> dict[str, Any]:
        """In its stored form, for the URL that is read."""
        found: dict[str, Any] = {RECORDS: self.records}
        if self.cursor is not None:
            found |= {CURSOR: self.cursor, SEEN: list(self.seen)}
        if self.records or self.page is not None:
            page = without(self.page, secrets_of(url)) if isinstance(self.page, str) else self.page
            found |= {PAGE: page, LAST: self.last}
            if self.highest is not None:
                found |= {HIGHEST: self.highest, HIGHEST_SEEN: list(self.highest_seen)}
        return found

    def with_record(self, value: Any, digest: str) -> Position:
        """After a record with this value of the cursor's field."""
        if value is None:
            return self
        order = 1 if self.highest is None else compared(value, self.highest)
        if order > 0:
            return replace(self, highest=value, highest_seen=(digest,))
        if order == 0 and digest not in self.highest_seen:
            return replace(self, highest_seen=(*self.highest_seen, digest)[-_MOST_SEEN:])
        return self

    def at(self, records: int, last: str) -> Position:
        """Within a page, after this many of its records."""
        return replace(self, records=records, last=last)

    def on(self, page: str | int | None) -> Position:
        """At the beginning of another page; None: everything is read."""
        if page is not None:
            return replace(self, page=page, records=0, last="")
        return Position(self.highest, self.highest_seen, highest=self.highest, highest_seen=self.highest_seen)

    def is_new(self, value: Any, digest: str) -> bool:
        """Whether a record was not read before."""
        if value is None or self.cursor is None:
            return True
        order = compared(value, self.cursor)
        return order > 0 or (order == 0 and digest not in self.seen)


def partitions(urls: Sequence[str]) -> dict[str, dict[str, str]]:
    """The source partitions of all URLs of a connector. Where two differ by secrets alone, they end with a digest."""
    shown = {url: without(_without_login(url), secrets_of(url)) for url in urls}
    alike = Counter(shown.values())
    return {url: {"url": each if alike[each] == 1 else f"{each}#{_of_text(url)}"} for url, each in shown.items()}


def _without_login(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _of_text(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


def digest(record: Any) -> str:
    """Identifies a record."""
    try:
        text = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half of a surrogate pair
        text = json.dumps(record, sort_keys=True).encode()
    return blake2b(text, digest_size=6).hexdigest()


def compared(one: Any, other: Any) -> int:
    """Compares two values of the cursor's field: below 0, 0, above 0.

    Numbers are numbers also as texts, times of ISO 8601 moments; other texts are compared by their characters. So is a
    text of digits with another one of its length: of ids with letters and digits some have only digits.

    Raises:
        ConnectError: they cannot be compared.
    """
    (kind, left), (other_kind, right) = _rank(one), _rank(other)
    if kind != other_kind:
        if isinstance(one, str) and isinstance(other, str) and len(one) == len(other):
            return int(one > other) - int(one < other)
        raise ConnectError(
            f"http.offset.field is {one!r} in one record and {other!r} in another, which have no order. Name another "
            "field, or correct http.offset.initial."
        )
    return int(left > right) - int(left < right)


def _rank(value: Any) -> tuple[str, Any]:
    if isinstance(value, bool | dict | list):
        raise ConnectError(f"http.offset.field is {value!r}. Name a field with a number, a time or a text.")
    if isinstance(value, int | float):
        return "number", value
    text = str(value)
    if _NUMBER.fullmatch(text):
        return "number", float(text) if "." in text else int(text)
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return "text", text
    return "time", moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def problem(offset: Mapping[str, Any]) -> str | None:
    """The error of an offset that a user sets; None for none."""
    if unknown := sorted(set(offset) - _KEYS):
        return f'an offset has no "{unknown[0]}". Write {{"cursor": "2026-01-31T12:00:00Z"}}'
    if not isinstance(offset.get(CURSOR), str | int | float | None):
        return f'"{CURSOR}" is a number or a text'
    if not isinstance(offset.get(PAGE), str | int | None):
        return f'"{PAGE}" is a number or a text'
    if not isinstance(offset.get(RECORDS, 0), int):
        return f'"{RECORDS}" is a whole number'
    if not all(isinstance(offset.get(key, []), list) for key in (SEEN, HIGHEST_SEEN)):
        return f'"{SEEN}" is a list of texts'
    return None
