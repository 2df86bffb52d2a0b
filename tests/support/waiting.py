"""Waiting for something to hold, in tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

#: Seconds. Generous: it ends a run that hangs, and measures nothing.
PATIENCE_S = 60.0

# To ask costs CPU, here and in who is asked. So what is slow to answer is asked less often the longer it is waited for:
# a twentieth of the time goes into questions, and a wait becomes longer by a twentieth, or by a quarter of a second.
_SHARE = 20
_LONGEST_PAUSE_S = 0.25


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
        every: seconds between two questions; more, where an answer takes long.
        progress: how far it has come, for what takes long on a busy machine: the time starts over when that changes.

    Raises:
        AssertionError: it did not come to hold in time.
    """
    began = time.monotonic()
    deadline, seen, asked = began + within, progress(), began
    while not (found := holds()):
        if (now := progress()) != seen:
            deadline, seen = time.monotonic() + within, now
        answered = time.monotonic()
        if answered > deadline:
            raise AssertionError(f"not within {within:g} s: {what() if callable(what) else what}")
        pause = min(_SHARE * (answered - asked), (answered - began) / _SHARE, _LONGEST_PAUSE_S)
        time.sleep(max(every, pause))
        asked = time.monotonic()
    return found
