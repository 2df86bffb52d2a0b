"""A task's objects as listing finds them, pass after pass, and what becomes of them once they were read."""

from __future__ import annotations

import time

from connect.api.source import SourceTaskContext
from connectors.s3.source.actions import Actions
from connectors.s3.source.walk import Next, Walk


class Listed:
    """A queue of objects, see `connectors.s3.source.objects.Queue`: those of a walk.

    Args:
        walk: lists them.
        actions: get those that were read.
        interval: seconds between two passes.
        context: of the task.

    Attributes:
        due: when the next pass begins, on the monotonic clock.
    """

    def __init__(self, walk: Walk, actions: Actions, interval: float, context: SourceTaskContext) -> None:
        self._walk = walk
        self._actions = actions
        self._interval = interval
        self._context = context
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
        return None

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
