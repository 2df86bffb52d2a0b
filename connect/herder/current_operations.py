"""What a worker is doing, for the error of a request that timed out (KIP-1017)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from connect.telemetry.spans import Tracer


class CurrentOperations:
    """The operations that run at this moment. Safe to use from many threads.

    Args:
        tracer: traces them.
    """

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = tracer or Tracer()
        self._now: dict[int, tuple[str, float]] = {}
        self._last: tuple[str, float, float] | None = None
        self._lock = threading.Lock()

    @contextmanager
    def enter(self, what: str, name: str = "") -> Iterator[None]:
        """Inside, the worker is doing this: "starting connector orders".

        Args:
            what: in words, which end with the connector, or the task, that it is about.
            name: of that connector, for its trace.
        """
        operation, about = _named(what, name)
        with self._noted(what), self._tracer.span(operation, attributes=about):
            yield

    @contextmanager
    def _noted(self, what: str) -> Iterator[None]:
        began = time.time()
        me = threading.get_ident()
        with self._lock:
            before = self._now.get(me)
            self._now[me] = (what, began)
        try:
            yield
        finally:
            with self._lock:
                self._last = (what, began, time.time())
                if before is None:
                    del self._now[me]
                else:
                    self._now[me] = before

    def describe(self) -> str:
        """One sentence about the operation that has run longest, else about the last one; empty before the first."""
        with self._lock:
            now, last = list(self._now.values()), self._last
        if now:
            what, began = min(now, key=lambda operation: operation[1])
            return f"The worker is currently {what}, which began at {_moment(began)}"
        if last is None:
            return ""
        what, began, ended = last
        return (
            f"The last operation the worker completed was {what}, which began at {_moment(began)}"
            f" and completed at {_moment(ended)}"
        )


def _named(what: str, name: str) -> tuple[str, dict[str, str]]:
    """The kind of an operation, and what it is about: "starting task orders-0" is "starting task", of orders and 0."""
    head, _, rest = what.rpartition(f" {name}")
    number = rest.removeprefix("-")
    if not name or not head or not (rest == "" or rest[0] == " " or (rest[0] == "-" and number.isdecimal())):
        return what.partition(" ")[0] if name else what, {"connector": name} if name else {}
    if rest[:1] == "-":
        return head, {"connector": name, "task": number}
    return head.removesuffix(" of") + rest, {"connector": name}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
