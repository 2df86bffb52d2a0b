"""The end of a task: every step runs, whether earlier ones failed or not, and each error is reported once."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable

from connect.errors import ConnectError


def take_all(steps: Iterable[Callable[[], object]], log: logging.Logger, report: Callable[[], object]) -> None:
    """Run each step, then report, then log what failed: a line, with a trace where the error has no message.

    For the `finally` of a task's run: the error that ends the task is reported by its worker, and not logged here too.
    A target that cannot be reached fails every step with the same words.
    """
    told = _words(sys.exc_info()[1])
    errors: list[Exception] = []
    for step in steps:
        try:
            step()
        except Exception as error:  # plug-ins raise anything
            errors.append(error)
    report()
    for failed in errors:
        if str(failed) in told:
            log.debug("While stopping, again: %s", failed, exc_info=failed)
            continue
        told |= _words(failed)
        known = isinstance(failed, ConnectError) and not log.isEnabledFor(logging.DEBUG)
        log.error("While stopping: %s: %s", type(failed).__name__, failed, exc_info=None if known else failed)


def _words(error: BaseException | None) -> set[str]:
    """The message of an error, and of its cause."""
    found: set[str] = set()
    while error is not None and str(error) not in found:
        found.add(str(error))
        error = error.__cause__ or error.__context__
    return found
