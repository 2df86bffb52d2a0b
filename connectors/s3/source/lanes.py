"""What was read, so compactly that offsets do not grow with the number of objects.

Objects are dealt into lanes, each with a source partition of its own: shares of all names, or one for each topic
partition in the names. In a lane's order everything up to a floor was read; of what was read behind it a bounded number
is remembered one by one, so that objects that come late are still found; and one object may be open, up to a record.

    {"bucket": "b", "prefix": "logs/", "share": "3/16"}    with the orders name and time
    {"bucket": "b", "series": "topics/t/partition=0/t+0+"}  with the order partition

    {"after": "logs/0017", "done": "<digests>", "object": "logs/0019", "etag": "9a0364b9", "record": 1200}

`time` stands beside `after`, and `modified` beside `object`, where the order is time. Any task can go on from there.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, NamedTuple

_DIGEST: Final = 8

#: Where an object stands in the order: its time (0 where names order), its name.
Mark = tuple[int, str]


class Found(NamedTuple):
    """An object, as a listing tells of it.

    Attributes:
        size: bytes; -1 for not known.
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
    """What was read of one lane's objects.

    Args:
        partition: the source partition.
        offset: as it is stored, or None.
        window: so many objects behind the floor are remembered.
        timed: whether the order is time; then an object that was written anew is another one.
        start: nothing up to this name is read where nothing is stored.

    Attributes:
        floor: everything up to here was read.
        opened: what a task before us has begun to read.
    """

    def __init__(
        self, partition: dict[str, Any], offset: Mapping[str, Any] | None, window: int, timed: bool, start: str = ""
    ) -> None:
        self.partition = partition
        self._window = window
        self._timed = timed
        stored = offset or {}
        self.floor: Mark = (int(stored.get("time") or 0), str(stored.get("after") or ("" if offset else start)))
        digests = base64.b64decode(str(stored.get("done") or ""))
        #: What was read behind the floor, with where it stands once a listing has told.
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
        """Where an object stands in the order."""
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
        """Whether an object is one of those that are remembered one by one."""
        return self._digest(found) in self._done

    def finish(self, found: Found, *, hold: bool = False) -> None:
        """An object was read to its end.

        Args:
            found: the object.
            hold: remember it until `release` or `forget`, however many others there are.
        """
        digest = self._digest(found)
        self._done[digest] = self.mark(found)
        if hold:
            self._held.add(digest)
        if self.opened is not None and self.opened.found.key == found.key:
            self.opened = None
        self._trim()

    def release(self, found: Found) -> None:
        """An object need not be held any more."""
        self._held.discard(self._digest(found))
        self._trim()

    def forget(self, found: Found) -> None:
        """An object is gone, so that nobody can find it again."""
        digest = self._digest(found)
        self._held.discard(digest)
        self._done.pop(digest, None)
        self._offset = None

    def swept(self) -> None:
        """A listing behind the floor is complete: what was remembered and did not show up is gone."""
        gone = [digest for digest, mark in self._done.items() if mark is None]
        for digest in gone:
            del self._done[digest]
        if gone:
            self._trim()

    def offset(self, opened: Found | None = None, record: int = 0) -> dict[str, Any]:
        """Where reading goes on.

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
        """Forget the first ones in the order where there are too many; the floor rises over them."""
        self._offset = None
        # As long as a listing has not told where some stand, others may have their places before those.
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
    """The lanes of a task, by their source partitions, made when they are first asked for.

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
        self._start = start
        self._lanes: dict[str, Lane] = {}

    def __iter__(self) -> Any:
        return iter(self._lanes.values())

    def __getitem__(self, name: str) -> Lane:
        return self._lanes[name]

    def __contains__(self, name: str) -> bool:
        return name in self._lanes

    def load(self, partitions: Mapping[str, dict[str, Any]]) -> list[Lane]:
        """Make those that are not there yet, with one question for all their offsets.

        Args:
            partitions: source partitions by the names of their lanes.

        Returns:
            the new ones.
        """
        names = [name for name in partitions if name not in self._lanes]
        if not names:
            return []
        offsets = self._stored([partitions[name] for name in names])
        for name, offset in zip(names, offsets, strict=True):
            self._lanes[name] = Lane(partitions[name], offset, self._window, self._timed, self._start)
        return [self._lanes[name] for name in names]


def problem(offset: Mapping[str, Any]) -> str | None:
    """What is wrong with an offset that a user sets; None for nothing."""
    known = {"after": str, "done": str, "object": str, "etag": str, "time": int, "modified": int, "record": int}
    for key, value in offset.items():
        if key not in known:
            return f'an offset has no "{key}". Write {{"after": "<the last name that was read>"}}'
        if not isinstance(value, known[key]) or isinstance(value, bool):
            return f'"{key}" is {"a text" if known[key] is str else "a whole number"}'
    try:
        base64.b64decode(offset.get("done", ""), validate=True)
    except ValueError:
        return '"done" is in base64; leave it out'
    if "object" in offset and not {"etag", "record"} <= offset.keys():
        return '"object" goes with "etag" and "record"'
    return None
