"""What was read, stored so compactly that offsets do not grow with the number of objects.

Objects are divided into lanes, each with a source partition of its own: shares of all names, or one for each topic
partition in the names. In a lane's order everything up to a floor was read; after it, a bounded number of read objects
is remembered individually, so that late objects are still found; and one object may be open, up to a record.

    {"bucket": "b", "prefix": "logs/", "share": "3/16"}    with the orders name and time
    {"bucket": "b", "series": "topics/t/partition=0/t+0+"}  with the order partition

    {"after": "logs/0017", "done": "<digests>", "object": "logs/0019", "etag": "9a0364b9", "record": 1200}

With the order time, `time` goes with `after`, and `modified` with `object`. Any task can continue from an offset.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple

_DIGEST: Final = 8

#: An object's position in the order: its time (0 if names decide), its name.
Mark = tuple[int, str]


class Found(NamedTuple):
    """An object as listed.

    Attributes:
        size: bytes; -1 for unknown.
        modified: when it was written, in milliseconds since 1970.
    """

    key: str
    etag: str
    size: int = -1
    modified: int = 0


@dataclass(frozen=True, slots=True)
class Opened:
    """An object that was read up to a record."""

    found: Found
    record: int


class Lane:
    """What was read of a lane's objects.

    Args:
        partition: the source partition.
        offset: the stored one, or None.
        window: how many objects after the floor are remembered.
        timed: whether the order is time; then a replaced object counts as a new one.
        start: without a stored offset, nothing up to this name is read.

    Attributes:
        stored: whether something of it was read before.
        floor: everything up to here was read.
        opened: the object that an earlier task began to read.
    """

    def __init__(
        self, partition: dict[str, Any], offset: Mapping[str, Any] | None, window: int, timed: bool, start: str = ""
    ) -> None:
        self.partition = partition
        self._window = window
        self._timed = timed
        self.stored = bool(offset)
        stored = offset or {}
        self.floor: Mark = (int(stored.get("time") or 0), str(stored.get("after") or ("" if offset else start)))
        digests = base64.b64decode(str(stored.get("done") or ""))
        #: What was read after the floor, with its position once a listing has shown it.
        self._done: dict[bytes, Mark | None] = {
            digests[at : at + _DIGEST]: None for at in range(0, len(digests), _DIGEST)
        }
        self._held: set[bytes] = set()
        self.opened: Opened | None = None
        if stored.get("object") is not None:
            found = Found(str(stored["object"]), str(stored.get("etag") or ""), -1, int(stored.get("modified") or 0))
            self.opened = Opened(found, int(stored.get("record") or 0))
        self._offset: dict[str, Any] | None = None

    def mark(self, found: Found) -> Mark:
        """An object's position in the order."""
        return (found.modified if self._timed else 0, found.key)

    def is_done(self, found: Found) -> bool:
        """Whether an object was read."""
        mark = self.mark(found)
        if mark <= self.floor:
            return True
        digest = self._digest(found)
        if digest not in self._done:
            return False
        self._done[digest] = mark
        return True

    def is_remembered(self, found: Found) -> bool:
        """Whether an object is one of those remembered individually."""
        return self._digest(found) in self._done

    def finish(self, found: Found, *, hold: bool = False) -> None:
        """Record that an object was read to its end.

        Args:
            found: the object.
            hold: remember it until `release` or `forget`, regardless of the window.
        """
        digest = self._digest(found)
        self._done[digest] = self.mark(found)
        if hold:
            self._held.add(digest)
        if self.opened is not None and self.opened.found.key == found.key:
            self.opened = None
        self._trim()

    def release(self, found: Found) -> None:
        """Stop holding an object."""
        self._held.discard(self._digest(found))
        self._trim()

    def forget(self, found: Found) -> None:
        """Forget an object that is gone and so cannot be listed again."""
        digest = self._digest(found)
        self._held.discard(digest)
        self._done.pop(digest, None)
        self._offset = None

    def swept(self) -> None:
        """A listing after the floor is complete: remembered objects that were not in it are gone."""
        gone = [digest for digest, mark in self._done.items() if mark is None]
        for digest in gone:
            del self._done[digest]
        if gone:
            self._trim()

    def offset(self, opened: Found | None = None, record: int = 0) -> dict[str, Any]:
        """The offset from which reading continues.

        Args:
            opened: the object that is being read.
            record: how many of its records were.
        """
        if self._offset is None:
            self._offset = {"after": self.floor[1]}
            if self._timed:
                self._offset["time"] = self.floor[0]
            if self._done:
                self._offset["done"] = base64.b64encode(b"".join(self._done)).decode()
        if opened is None:
            return self._offset
        more = {"modified": opened.modified} if self._timed else {}
        return {**self._offset, "object": opened.key, "etag": opened.etag, "record": record, **more}

    def _trim(self) -> None:
        """Forget the first objects in the order if there are too many; the floor rises above them."""
        self._offset = None
        # Until a listing has shown the positions of all, unknown ones may come before known ones.
        limit = 2 * self._window if None in self._done.values() else self._window
        while len(self._done) - len(self._held) > limit:
            known = [(mark, d) for d, mark in self._done.items() if mark is not None and d not in self._held]
            if not known:
                return
            lowest = min(known)[0]
            # What is held must be found again: the floor stays below it.
            held = min((mark for d in self._held if (mark := self._done[d]) is not None), default=None)
            if held is not None and held < lowest:
                return
            self.floor = max(self.floor, lowest)
            self._done = {d: m for d, m in self._done.items() if m is None or m > self.floor}

    def _digest(self, found: Found) -> bytes:
        name = f"{found.key}\n{found.etag}" if self._timed else found.key
        return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


class Lanes:
    """The lanes of a task by name, created when first needed.

    Args:
        stored: gives the stored offsets of source partitions.
        window, timed, start: see `Lane`.
    """

    def __init__(
        self,
        stored: Callable[[Sequence[Mapping[str, Any]]], list[Mapping[str, Any] | None]],
        window: int,
        timed: bool,
        start: str,
    ) -> None:
        self._stored = stored
        self._window = window
        self._timed = timed
        self.start = start
        self._lanes: dict[str, Lane] = {}

    def __iter__(self) -> Any:
        return iter(self._lanes.values())

    def __getitem__(self, name: str) -> Lane:
        return self._lanes[name]

    def __contains__(self, name: str) -> bool:
        return name in self._lanes

    def load(self, partitions: Mapping[str, dict[str, Any]]) -> list[Lane]:
        """Create the missing ones, with one request for all their offsets.

        Args:
            partitions: source partitions by lane name.

        Returns:
            the new ones.
        """
        names = [name for name in partitions if name not in self._lanes]
        if not names:
            return []
        offsets = self._stored([partitions[name] for name in names])
        for name, offset in zip(names, offsets, strict=True):
            self._lanes[name] = Lane(partitions[name], offset, self._window, self._timed, self.start)
        return [self._lanes[name] for name in names]


def problem(offset: Mapping[str, Any]) -> str | None:
    """What is wrong with an offset that a user sets; None if nothing is."""
    known = {"after": str, "done": str, "object": str, "etag": str, "time": int, "modified": int, "record": int}
    for key, value in offset.items():
        if key not in known:
            return f'an offset has no field "{key}". Write {{"after": "<the name that was read last>"}}'
        if not isinstance(value, known[key]) or isinstance(value, bool):
            return f'"{key}" must be {"a string" if known[key] is str else "a whole number"}'
    try:
        base64.b64decode(offset.get("done", ""), validate=True)
    except ValueError:
        return '"done" is not base64; leave it out'
    if "object" in offset and not {"etag", "record"} <= offset.keys():
        return '"object" needs "etag" and "record" as well'
    return None
