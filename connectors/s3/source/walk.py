"""Which object comes next: lists the names, a page at a time, and again whenever a pass is due.

By name a pass begins after the lowest floor of the task's lanes, so that what was read long ago is not listed. By
partition it skips what was read of each series, and the series of other tasks, if the names allow that
(`Layout.closed`). By time it lists everything, and keeps the oldest unread objects.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol
from zlib import crc32

from connectors.s3.source.keys import BY_PARTITION, BY_TIME
from connectors.s3.source.lanes import Found, Lane, Lanes
from connectors.s3.source.layout import Layout, Place

#: How many objects are kept by time, and up to twice as many before trimming; the next pass finds the others.
_MOST_KEPT: Final = 25_000
#: Sorts after every name that begins as a series does.
_LAST: Final = "\U0010fffd"


class Page(NamedTuple):
    """Names, ascending, perhaps none. `more` requests the next page; None if there is none."""

    founds: list[Found]
    more: str | None


class Listing(Protocol):
    """Lists objects."""

    def page(self, prefix: str, after: str, more: str | None) -> Page:
        """One request: objects whose names begin with a prefix and follow a name, or the page of `more`."""


class Share(NamedTuple):
    """A task's share of all objects.

    Attributes:
        number: the task's, from 0.
        tasks: how many there are.
        shares: how many lanes there are, with the orders name and time.
        by_partition: whether the partition in the name decides.
    """

    number: int
    tasks: int
    shares: int
    by_partition: bool

    def lane(self, key: str, place: Place) -> str | None:
        """The name of an object's lane; None if it is another task's."""
        hashed = place.partition if self.by_partition and place.partition is not None else None
        if place.series:
            chosen = crc32(place.series.encode("utf-8", "surrogatepass")) if hashed is None else hashed
            return place.series if chosen % self.tasks == self.number else None
        chosen = (crc32(key.encode("utf-8", "surrogatepass")) if hashed is None else hashed) % self.shares
        return f"{chosen}/{self.shares}" if chosen % self.tasks == self.number else None

    def own(self) -> list[str]:
        """The names of the task's lanes, with the orders name and time."""
        return [f"{share}/{self.shares}" for share in range(self.number, self.shares, self.tasks)]


class Next(NamedTuple):
    """An object to read: its lane and place, and how many of its records were read before."""

    lane: Lane
    found: Found
    place: Place
    record: int = 0


class Walk:
    """Returns the objects to read, in their order.

    Args:
        listing: lists the store's objects.
        layout: reads names.
        share: which objects are this task's.
        lanes: what was read.
        bucket: its name, for source partitions.
        not_before: objects written earlier are skipped; milliseconds since 1970.

    Attributes:
        over: whether a pass is complete; `begin` begins the next.
        cut: whether that pass left objects for the next one.
        ignored: the number of objects skipped in this pass.
        why_ignored: of these, how many for which reason, each with the name of the first.
        fitting: of this pass, how many others there were, of any task.
        seen_done: objects that an earlier task has read, found in the first pass: their done.action may still be due.
    """

    def __init__(
        self, listing: Listing, layout: Layout, share: Share, lanes: Lanes, bucket: str, not_before: int = 0
    ) -> None:
        self._listing = listing
        self._layout = layout
        self._share = share
        self._lanes = lanes
        self._bucket = bucket
        self._not_before = not_before
        self._queue: deque[Next] = deque()
        self._kept: list[tuple[tuple[int, str], Next]] = []
        self.over = True
        self.cut = False
        self.ignored = self.fitting = 0
        self.why_ignored: dict[str, tuple[int, str]] = {}
        self.seen_done: list[Next] = []
        self._passes = 0
        if layout.order != BY_PARTITION:
            self._load({name: self._partition(name) for name in share.own()})

    def take(self) -> Next | None:
        """The next listed object; None if none is left."""
        while self._queue:
            chosen = self._queue.popleft()
            if not chosen.lane.is_done(chosen.found):
                return chosen
        return None

    def coming(self, count: int) -> list[Next]:
        """The objects that `take` returns next, if all goes well."""
        return [self._queue[at] for at in range(min(count, len(self._queue)))]

    def put_back(self, chosen: Next) -> None:
        """Return this one next."""
        self._queue.appendleft(chosen)

    def begin(self) -> None:
        """Begin a pass."""
        self.over = self.cut = False
        self.ignored = self.fitting = 0
        self.why_ignored = {}
        self._passes += 1
        self._more: str | None = None
        self._after = ""
        if self._layout.order not in (BY_PARTITION, BY_TIME):
            self._after = min((lane.floor[1] for lane in self._lanes), default="")

    def step(self) -> None:
        """List one page of names. Raises what the listing raises; the next call then repeats it."""
        page = self._listing.page(self._layout.prefix, self._after, self._more)
        mine = self._mine(page.founds)
        for chosen in mine:
            if chosen.lane.is_done(chosen.found):
                if self._passes == 1 and chosen.lane.is_remembered(chosen.found):
                    self.seen_done.append(chosen)
            elif chosen.found.modified < self._not_before:
                self._ignore(chosen.found.key, "were written before file.discovery.starting.timestamp")
            elif self._layout.order == BY_TIME:
                self._keep(chosen)
            else:
                self._queue.append(chosen)
        if page.founds:
            self._more, self._after = self._behind(page)
        else:
            self._more = page.more
        if page.more is None:
            self._end()

    def _mine(self, founds: list[Found]) -> list[Next]:
        """The objects that belong to this task, read or not."""
        placed: list[tuple[str, Found, Place]] = []
        unknown: dict[str, dict[str, Any]] = {}
        for found in founds:
            place = self._layout.place(found.key)
            if place is None:
                self._ignore(found.key, self._layout.skipped(found.key))
                continue
            self.fitting += found.modified >= self._not_before
            lane = self._share.lane(found.key, place)
            if lane is None:
                continue
            if lane not in self._lanes:
                unknown[lane] = self._partition(lane)
            placed.append((lane, found, place))
        if unknown:
            self._load(unknown)
        return [Next(self._lanes[lane], found, place) for lane, found, place in placed]

    def why_nothing(self) -> str | None:
        """After a pass: why nothing was ever read, for people. None if something was, or the first task tells it."""
        if self.fitting or self._share.number or any(lane.stored for lane in self._lanes):
            return None
        prefix, start = self._layout.prefix, self._lanes.start
        named = [f'begins with "{prefix}" ({self._layout.prefix_keys})'] if prefix else []
        named += [f'comes after "{start}" (native.start.key)'] if start else []
        looked_at = f"whose name {' and '.join(named)}" if named else "in it"
        if not self.ignored:
            return f"there is no object {looked_at}."
        whys = ", ".join(f'{count:,} {why} ("{first}")' for why, (count, first) in self.why_ignored.items())
        return f"0 of {self.ignored:,} objects {looked_at} are to be read: {whys}."

    def _ignore(self, key: str, why: str) -> None:
        self.ignored += 1
        count, first = self.why_ignored.get(why, (0, key))
        self.why_ignored[why] = (count + 1, first)

    def _load(self, partitions: Mapping[str, dict[str, Any]]) -> None:
        for lane in self._lanes.load(partitions):
            if lane.opened is None:
                continue
            found, record = lane.opened.found, lane.opened.record
            place = self._layout.place(found.key)
            if place is not None:
                self._queue.append(Next(lane, found, place, record))

    def _partition(self, lane: str) -> dict[str, Any]:
        if self._layout.order == BY_PARTITION:
            return {"bucket": self._bucket, "series": lane}
        return {"bucket": self._bucket, "prefix": self._layout.prefix, "share": lane}

    def _behind(self, page: Page) -> tuple[str | None, str]:
        """Where listing continues after a page: at its end, or after what was read of the series at its end."""
        last = page.founds[-1].key
        if self._layout.order != BY_PARTITION or not self._layout.closed or page.more is None:
            return page.more, last
        place = self._layout.place(last)
        if place is None or not place.series:
            return page.more, last
        lane = self._share.lane(last, place)
        if lane is None:
            return None, place.series + _LAST
        floor = self._lanes[lane].floor[1]
        return (None, floor) if floor > last else (page.more, last)

    def _keep(self, chosen: Next) -> None:
        entry = (chosen.lane.mark(chosen.found), chosen)
        self._kept.append(entry)
        if len(self._kept) >= 2 * _MOST_KEPT:
            self._kept = heapq.nsmallest(_MOST_KEPT, self._kept, key=lambda each: each[0])
            self.cut = True

    def _end(self) -> None:
        self.over = True
        if self._kept:
            self._kept.sort(key=lambda each: each[0])
            self._queue.extend(chosen for _, chosen in self._kept)
            self._kept = []
        for lane in self._lanes:
            lane.swept()
