"""Writing in threads of one's own, while the task takes the next records.

For example:

    def start(self, config):
        self._writer = BackgroundWriter("shop-writer", self._send, threads=4, limit=32 << 20)

    def put(self, batch):
        if not self._writer.room(5.0):
            raise self._writer.error or RetriableError("shop.example is slower than records come.")
        self._writer.add(batch, size_of(batch))

    def pre_commit(self, offsets):
        if not self._writer.settle(60.0) or self._writer.error is not None:
            raise self._writer.error or ConnectError("shop.example did not take the records within 60 s.")
        return offsets
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from connect import ConnectError

log = logging.getLogger(__name__)

J = TypeVar("J")


class _Sized(NamedTuple, Generic[J]):
    job: J
    size: float


@dataclass(slots=True, eq=False)
class _Lane(Generic[J]):
    """Jobs in order.

    Attributes:
        jobs: what waits.
        writing: what is being written, without what was dropped meanwhile.
        busy: whether a thread writes.
        queued: whether it waits for a thread.
        error: why it has stopped.
    """

    name: Hashable
    jobs: deque[_Sized[J]] = field(default_factory=deque)
    writing: list[_Sized[J]] = field(default_factory=list)
    busy: bool = False
    queued: bool = False
    error: Exception | None = None


class BackgroundWriter(Generic[J]):
    """Threads that write jobs: those of one lane in order, one write at a time; several lanes in parallel.

    Jobs whose write raised stay the first ones of their lane, which stops until `retry`, `withdraw` or `drop`; other
    lanes continue. All methods are thread-safe.

    Args:
        name: of the threads, which start when there is work for them.
        write: called on a thread with the next jobs of a lane; again with the same ones and later ones if it raised.
        threads: their maximum number.
        together: the maximum number of jobs of one write, if so many wait.
        limit: the size of waiting jobs, beside those being written, from which there is no `room`.
        failed: called on the thread after a write that raised, with the lane's name, the jobs and the error.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[list[J]], object],
        *,
        threads: int = 1,
        together: int = 1,
        limit: float = float("inf"),
        failed: Callable[[Hashable, list[J], Exception], object] | None = None,
    ) -> None:
        self._name = name
        self._write = write
        self._most_threads = threads
        self._together = together
        self._limit = limit
        self._failed = failed
        self._changed = threading.Condition()
        self._lanes: dict[Hashable, _Lane[J]] = {}
        self._stopped: dict[Hashable, _Lane[J]] = {}  # those with an error: of many lanes few are looked at
        self._ready: deque[_Lane[J]] = deque()
        self._size = 0.0
        self._writing = 0
        self._ending = False
        self._threads: list[threading.Thread] = []

    @property
    def error(self) -> Exception | None:
        """Why a lane has stopped."""
        with self._changed:
            return self._first_error()

    def room(self, within: float | None = None) -> bool:
        """Wait until less than `limit` waits. False: that takes longer than this many seconds, or a lane has stopped.

        Adding never waits: a caller that can wait calls this first.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._size < self._limit or self._first_error() is not None, within)
            return self._size < self._limit and self._first_error() is None

    def add(self, job: J, size: float = 1, lane: Hashable = None) -> None:
        """Put a job at the end of a lane."""
        with self._changed:
            chosen = self._lanes.setdefault(lane, _Lane(lane))
            chosen.jobs.append(_Sized(job, size))
            self._size += size
            self._update(chosen)

    def retry(self) -> None:
        """Let stopped lanes be written again."""
        with self._changed:
            for lane in list(self._stopped.values()):
                self._go_on(lane)
                self._update(lane)

    def settle(self, within: float | None = None) -> bool:
        """Wait until everything is written except stopped lanes. False: that takes longer than this many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._ready and not self._writing, within)

    def withdraw(self, chosen: Callable[[J], bool] = lambda _: True) -> list[J]:
        """Take back jobs that wait or have stopped: lane by lane, in order. The rest of a lane continues.

        What is being written continues. When it fails its lane stops: `settle` waits for it.
        """
        with self._changed:
            taken: list[_Sized[J]] = []
            for lane in self._lanes.values():
                gone = [each for each in lane.jobs if chosen(each.job)]
                if gone:
                    lane.jobs = deque(each for each in lane.jobs if not chosen(each.job))
                    self._go_on(lane)
                    lane.queued = lane.queued and bool(lane.jobs)
                    taken += gone
            self._size -= sum(each.size for each in taken)
            self._ready = deque(lane for lane in self._ready if lane.queued)
            for lane in list(self._lanes.values()):
                self._update(lane)
            self._changed.notify_all()
        return [each.job for each in taken]

    def drop(self, chosen: Callable[[J], bool]) -> list[J]:
        """Take back jobs that are no longer needed: of these, those being written are not kept when they fail."""
        with self._changed:
            for lane in self._lanes.values():
                lane.writing = [each for each in lane.writing if not chosen(each.job)]
            return self.withdraw(chosen)

    def end(self, within: float) -> None:
        """End the threads after their current write, and wait this many seconds for them. What waits is not written."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        until = time.monotonic() + within
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    # Inside, with the lock.

    def _first_error(self) -> Exception | None:
        return next((lane.error for lane in self._stopped.values()), None)

    def _go_on(self, lane: _Lane[J]) -> None:
        lane.error = None
        self._stopped.pop(lane.name, None)

    def _update(self, lane: _Lane[J]) -> None:
        """Queue a lane that has work, remove one that has none."""
        if lane.busy or lane.queued:
            return
        if not lane.jobs:
            del self._lanes[lane.name]
        elif lane.error is None:
            lane.queued = True
            self._ready.append(lane)
            if len(self._ready) + self._writing > len(self._threads) < self._most_threads:
                number = len(self._threads)
                self._threads.append(threading.Thread(target=self._run, name=f"{self._name}-{number}", daemon=True))
                self._threads[-1].start()
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or self._ending)
                if self._ending:
                    return
                lane = self._ready.popleft()
                lane.queued = False
                lane.writing = [lane.jobs.popleft() for _ in range(min(self._together, len(lane.jobs)))]
                jobs = [each.job for each in lane.writing]
                lane.busy = True
                self._writing += 1
                self._size -= sum(each.size for each in lane.writing)
                self._changed.notify_all()
            error: Exception | None = None
            try:
                self._write(jobs)
            except Exception as raised:  # whoever has given the jobs sorts it out
                error = raised
            except BaseException as raised:  # asyncio's CancelledError, for example: the thread has to go on
                error = ConnectError(f"A write was ended by {type(raised).__name__}. {raised}".strip())
                error.__cause__ = raised
            with self._changed:
                kept, lane.writing = lane.writing, []
                lane.busy = False
                self._writing -= 1
                if error is not None and kept:
                    lane.jobs.extendleft(reversed(kept))
                    self._size += sum(each.size for each in kept)
                    lane.error = error
                    self._stopped[lane.name] = lane
                self._update(lane)
                self._changed.notify_all()
            if error is not None and kept and self._failed is not None:
                try:
                    self._failed(lane.name, [each.job for each in kept], error)
                except Exception:
                    log.exception("%s: a write failed, and so did what is called then", self._name)
