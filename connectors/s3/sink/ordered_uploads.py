"""Threads that send requests: one after another within a lane, several lanes at a time.

A lane is a pattern. Its objects become visible in the order of their records, so that what is there never has a gap
(`connectors.s3.sink.upload` says what that is for). A job that fails stays first in its lane, which waits for `retry`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Job(NamedTuple):
    """Something to send.

    Attributes:
        owner: whom it is for: jobs of one that is given up are dropped.
        work: sends it. It may be called again when it raised.
        size: of the memory that it holds as long as it waits.
    """

    owner: Any
    work: Callable[[], None]
    size: int


@dataclass(slots=True, eq=False)
class _Lane:
    name: str
    jobs: deque[Job] = field(default_factory=deque)
    running: Job | None = None
    stopped: bool = False


class OrderedUploads:
    """The threads.

    Args:
        threads: how many.
        failed: called in such a thread with what a job raised. The lane then stands still.
    """

    def __init__(self, threads: int, failed: Callable[[str, Job, Exception], None]) -> None:
        self._failed = failed
        self._changed = threading.Condition()
        self._lanes: dict[str, _Lane] = {}
        self._ready: deque[_Lane] = deque()
        self._ending = False
        self._threads = [
            threading.Thread(target=self._run, name=f"s3-upload-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def add(self, name: str, owner: Any, work: Callable[[], None], size: int) -> None:
        """Put a job at the end of a lane."""
        with self._changed:
            lane = self._lanes.get(name)
            if lane is None:
                lane = self._lanes[name] = _Lane(name)
            lane.jobs.append(Job(owner, work, size))
            if len(lane.jobs) == 1 and lane.running is None and not lane.stopped:
                self._ready.append(lane)
                self._changed.notify()

    def retry(self) -> None:
        """Let lanes that stand still try again."""
        with self._changed:
            for lane in self._lanes.values():
                if lane.stopped:
                    lane.stopped = False
                    self._ready.append(lane)
            self._changed.notify_all()

    def drop(self, owners: set[Any]) -> int:
        """Forget the jobs of these, but for what is being sent now. Their lanes go on. How much memory they held."""
        size = 0
        with self._changed:
            for lane in self._lanes.values():
                kept = deque(job for job in lane.jobs if job.owner not in owners)
                if len(kept) < len(lane.jobs):
                    size += sum(job.size for job in lane.jobs if job.owner in owners and job is not lane.running)
                    lane.jobs = kept
                    if lane.stopped:
                        lane.stopped = False
                        self._ready.append(lane)
            self._changed.notify_all()
        return size

    @property
    def busy(self) -> bool:
        """Whether anything waits or is being sent."""
        with self._changed:
            return any(lane.jobs or lane.running for lane in self._lanes.values())

    def end(self, seconds: float) -> None:
        """End the threads behind what they send now; wait so long for them at most."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or self._ending)
                if self._ending:
                    return
                lane = self._ready.popleft()
                if not lane.jobs or lane.running is not None or lane.stopped:
                    self._forget(lane)
                    continue
                job = lane.running = lane.jobs[0]
            error: Exception | None = None
            try:
                job.work()
            except Exception as raised:  # the task's thread sorts it out
                error = raised
            with self._changed:
                lane.running = None
                there = bool(lane.jobs) and lane.jobs[0] is job  # not when it was dropped meanwhile
                if there and error is None:
                    lane.jobs.popleft()
                lane.stopped = there and error is not None
                if lane.jobs and not lane.stopped:
                    self._ready.append(lane)
                    self._changed.notify()
                self._forget(lane)
            if there and error is not None:
                self._failed(lane.name, job, error)

    def _forget(self, lane: _Lane) -> None:
        if not lane.jobs and lane.running is None and self._lanes.get(lane.name) is lane:
            del self._lanes[lane.name]
