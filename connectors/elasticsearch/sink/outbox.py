"""Bulk requests: records wait, are split into requests, and are sent by threads beside consumption.

Two requests at a time never contain the same document where its order matters: then the first in line waits.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import chain
from typing import Final

from connectors.elasticsearch.sink.lines import Lines

_UNLIMITED: Final = 1 << 62


class Request:
    """Records that are sent together.

    Attributes:
        parts: the records, in order.
        count: their number.
        size: their bytes.
        ids: of documents whose order matters.
        since: the arrival of the first one.
    """

    __slots__ = ("count", "ids", "parts", "since", "size")

    def __init__(self) -> None:
        self.parts: list[Lines] = []
        self.count = 0
        self.size = 0
        self.ids: set[tuple[str, bytes]] = set()
        self.since = time.monotonic()

    def add(self, lines: Lines, size: int) -> None:
        """Add more records."""
        self.parts.append(lines)
        self.count += len(lines.items)
        self.size += size
        if lines.ids is not None:
            target = lines.target
            self.ids.update((target, id_) for id_ in lines.ids)

    def items(self) -> list[bytes]:
        """The lines of all of them."""
        return list(chain.from_iterable(part.items for part in self.parts))

    def at(self, index: int) -> tuple[Lines, int]:
        """The part that contains an item, and its position there."""
        for part in self.parts:
            if index < len(part.items):
                return part, index
            index -= len(part.items)
        raise IndexError(index)


class Outbox:
    """What waits and what is being sent. All methods are for the task's thread.

    Args:
        send: called on threads, one request at a time on each: returns when it is settled, whatever the result of
            single records, raises when it cannot be.
        threads: how many.
        most, most_bytes: of a request; -1 for no limit.
        linger: seconds that records wait for more while a thread is idle.
        alone: whether a request has each document at most once.
    """

    def __init__(
        self,
        send: Callable[[Request], None],
        *,
        threads: int,
        most: int,
        most_bytes: int,
        linger: float,
        alone: bool = False,
    ) -> None:
        self._send = send
        self._most = most
        self._most_bytes = most_bytes if most_bytes > 0 else _UNLIMITED
        self._linger = linger
        self._alone = alone
        self._changed = threading.Condition()
        self._full: deque[Request] = deque()
        self._open: Request | None = None
        self._sending: list[Request] = []
        self._records = 0
        self._bytes = 0
        self._hurry = False
        self._ending = False
        self._error: Exception | None = None
        self._idle = 0
        self._most_threads = threads
        self._threads: list[threading.Thread] = []

    @property
    def error(self) -> Exception | None:
        """Why nothing more is sent."""
        return self._error

    @property
    def records(self) -> int:
        """The number of records that wait or are being sent."""
        return self._records

    def room(self, records: int, size: int, within: float) -> bool:
        """Wait until at most this many records, and bytes, wait or are being sent. False: it took too long."""
        with self._changed:
            self._changed.wait_for(
                lambda: (self._records < records and self._bytes < size) or self._error is not None, within
            )
            return (self._records < records and self._bytes < size) or self._error is not None

    def add(self, lines: Lines) -> None:
        """Queue records."""
        sizes = list(map(len, lines.items))
        start = 0
        with self._changed:
            while start < len(sizes):
                if self._open is None:
                    self._open = Request()
                stop = self._fitting(lines, sizes, start, self._open)
                size = sum(sizes[start:stop])
                if stop > start:
                    self._open.add(lines.between(start, stop), size)
                    self._records += stop - start
                    self._bytes += size
                if stop < len(sizes) or self._open.count >= self._most:
                    self._close()
                start = stop
            if len(self._threads) < self._most_threads and len(self._full) + 1 > self._idle:
                self._start_thread()
            self._changed.notify_all()

    def flush(self, within: float) -> bool:
        """Wait until everything is sent or sending has stopped. False: it took too long."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            done = self._changed.wait_for(lambda: not self._records or self._error is not None, within)
            self._hurry = False
        return done

    def withdraw(self) -> list[Lines]:
        """Take back what waits. What is being sent continues."""
        with self._changed:
            waiting = [*self._full, *([self._open] if self._open else [])]
            self._full.clear()
            self._open = None
            for request in waiting:
                self._records -= request.count
                self._bytes -= request.size
            self._changed.notify_all()
        return [part for request in waiting for part in request.parts]

    def end(self, within: float) -> None:
        """Let the threads end, and wait for them this many seconds. What waits is not sent."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        deadline = time.monotonic() + within
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def wait(self, seconds: float) -> bool:
        """For `send`: wait before another try. False: there is none, the task ends."""
        with self._changed:
            return not self._changed.wait_for(lambda: self._ending, seconds)

    # Inside.

    def _fitting(self, lines: Lines, sizes: list[int], start: int, request: Request) -> int:
        """The end of the records that fit into a request, with at least one for an empty one."""
        stop = min(len(sizes), start + self._most - request.count)
        room = self._most_bytes - request.size
        if sum(sizes[start:stop]) > room:
            size = 0
            for index in range(start, stop):
                size += sizes[index]
                if size > room:
                    stop = max(index, start + (not request.count))
                    break
        if self._alone and lines.ids is not None:
            seen = {id_ for target, id_ in request.ids if target == lines.target}
            for index in range(start, stop):
                if lines.ids[index] in seen:
                    return max(index, start + (not request.count))
                seen.add(lines.ids[index])
        return stop

    def _close(self) -> None:
        if self._open is not None:
            self._full.append(self._open)
            self._open = None

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name=f"bulk-{len(self._threads)}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _next(self) -> tuple[Request | None, float | None]:
        """The next request, or how long to wait for one."""
        if self._full:
            first = self._full[0]
        elif self._open is not None and self._open.count:
            left = self._open.since + self._linger - time.monotonic()
            if left > 0 and not self._hurry:
                return None, left
            first = self._open
        else:
            return None, None
        if first.ids and any(not first.ids.isdisjoint(other.ids) for other in self._sending):
            return None, None
        if self._full:
            return self._full.popleft(), None
        self._open = None
        return first, None

    def _run(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                while not self._ending and self._error is None:
                    request, wait = self._next()
                    if request is not None:
                        break
                    self._changed.wait(wait)
                else:
                    self._idle -= 1
                    return
                self._idle -= 1
                self._sending.append(request)
            error: Exception | None = None
            try:
                self._send(request)
            except Exception as raised:  # the task's thread raises it
                error = raised
            with self._changed:
                self._sending.remove(request)
                self._error = self._error or error
                if error is None:
                    self._records -= request.count
                    self._bytes -= request.size
                self._changed.notify_all()
