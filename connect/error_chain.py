"""An error and what it came from, as Python would print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_DEEPEST: Final = 20  # a chain may be a circle


def cause_of(error: BaseException) -> BaseException | None:
    """What it was raised from; else what was being handled as it was raised, unless that is hidden (`from None`)."""
    if error.__cause__ is not None or error.__suppress_context__:
        return error.__cause__
    return error.__context__


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """An error, its cause, the cause's cause: 20 at most."""
    for _ in range(_DEEPEST):
        if error is None:
            return
        yield error
        error = cause_of(error)
