"""A task's objects as listing finds them, pass after pass, and what becomes of them once they were read."""

from __future__ import annotations

import logging
import time

from connect.api.source import SourceTaskContext
from connectors.s3.source.actions import Actions
from connectors.s3.source.walk import Next, Walk

log = logging.getLogger(__name__)


class Listed:
    """A queue of objects, see `connectors.s3.source.objects.Queue`: those of a walk.

    Args:
        walk: lists them.
        actions: get those that were read.
        interval: seconds between two passes.
        context: of the task.
        where: the bucket, for messages.

    Attributes:
        due: when the next pass begins, on the monotonic clock.
    """

    def __init__(self, walk: Walk, actions: Actions, interval: float, context: SourceTaskContext, where: str) -> None:
        self._walk = walk
        self._actions = actions
        self._interval = interval
        self._context = context
        self._where = where
        self._told = False
        self.due = 0.0

    def next(self, deadline: float | None) -> Next | None:
        while not self._context.stopping():
            chosen = None if self._actions.full else self._walk.take()
            if chosen is not None or self._actions.full:
                return chosen
            if deadline is None or time.monotonic() >= deadline:
                return None
            if self._walk.over:
                if time.monotonic() < self.due:
                    return None
                self._walk.begin()
            self._walk.step()
            while self._walk.seen_done:
                self._actions.add(self._walk.seen_done.pop(), durable=True)
            if self._walk.over:
                self.due = time.monotonic() + (0 if self._walk.cut else self._interval)
                self._context.metrics.gauge("s3_objects_ignored", self._walk.ignored)
                self._tell()
        return None

    def _tell(self) -> None:
        """After the first pass: why it found nothing."""
        if self._told:
            return
        self._told = True
        if (why := self._walk.why_nothing()) is not None:
            level = logging.WARNING if self._walk.ignored else logging.INFO
            log.log(level, "Nothing to read in %s: %s The source keeps looking.", self._where, why)

    def coming(self, count: int) -> list[Next]:
        return self._walk.coming(count)

    def put_back(self, chosen: Next) -> None:
        self._walk.put_back(chosen)

    def finish(self, chosen: Next, *, empty: bool) -> None:
        chosen.lane.finish(chosen.found)
        # An object without records moves no offset, and has nothing to lose.
        self._actions.add(chosen, durable=empty)

    def leave(self, chosen: Next) -> None:
        chosen.lane.finish(chosen.found)  # without done.action: the object stays
