"""What was done to the pool and when, and how far each flow was at every moment."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Event:
    """One fault. Times are seconds since the run began.

    Attributes:
        kind: such as `kill worker`.
        target: whom it met.
        began, ended: while it lasted.
        recovered: when every connector and task ran again; None while they do not.
        note: what else there is to say.
    """

    kind: str
    target: str
    began: float
    ended: float | None = None
    recovered: float | None = None
    note: str = ""

    @property
    def recovery(self) -> float | None:
        """Seconds from its end until all ran again."""
        return None if self.recovered is None or self.ended is None else max(0.0, self.recovered - self.ended)


@dataclass
class Timeline:
    """Of one run; told by many threads."""

    began: float = field(default_factory=time.monotonic)
    events: list[Event] = field(default_factory=list)
    #: For each flow (seconds, records that were written, records that arrived).
    progress: dict[str, list[tuple[float, int, int]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.began

    def begin(self, kind: str, target: str) -> Event:
        """Note that a fault begins."""
        event = Event(kind, target, self.now())
        with self._lock:
            self.events.append(event)
        return event

    def seen(self, flow: str, written: int, arrived: int) -> None:
        """Note how far a flow is."""
        self.progress[flow].append((self.now(), written, arrived))

    def standstill(self, flow: str) -> float:
        """The longest time in which records waited and none arrived, in seconds."""
        longest, since, before, waited = 0.0, 0.0, -1, False
        for at, written, arrived in list(self.progress[flow]):
            if waited:
                longest = max(longest, at - since)
            if arrived > before or arrived >= written:
                since = at
            before, waited = max(before, arrived), arrived < written
        return longest

    def as_json(self) -> dict[str, Any]:
        return {"events": [asdict(event) for event in self.events], "progress": dict(self.progress)}
