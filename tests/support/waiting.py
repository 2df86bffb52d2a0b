"""Waiting for something to hold, in tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

#: Seconds. Generous: it ends a run that hangs, and measures nothing.
PATIENCE_S = 60.0


def until(
    holds: Callable[[], Any],
    within: float = PATIENCE_S,
    what: str | Callable[[], object] = "it does not come to hold",
    *,
    every: float = 0.01,
    progress: Callable[[], Any] = lambda: None,
) -> Any:
    """What `holds` returns as soon as that is true.

    Args:
        holds: asked again and again.
        within: seconds.
        what: for the error: what was waited for, or a function that tells how things stand.
        every: seconds between two questions.
        progress: how far it has come, for what takes long on a busy machine: the time starts over when that changes.

    Raises:
        AssertionError: it did not come to hold in time.
    """
    deadline, seen = time.monotonic() + within, progress()
    while not (found := holds()):
        if (now := progress()) != seen:
            deadline, seen = time.monotonic() + within, now
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within:g} s: {what() if callable(what) else what}")
        time.sleep(every)
    return found
