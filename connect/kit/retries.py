"""Retries of transient failures: how many, after which pauses, and what a task raises meanwhile.

For example:

    def start(self, config):
        self._retries = RetryBudget(5, 1.0, longest=60.0, waits_for="shop.example", timeout=self.context.timeout)

    def put(self, batch):
        try:
            self._client.write(batch)
        except OSError as error:
            raise self._retries.failed(f"shop.example cannot be reached: {error}.") from error
        self._retries.worked()
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable

from connect import ConnectError, RetriableError


def backoff(first: float, longest: float, tries: int) -> float:
    """Seconds before the `tries`th retry: doubled each time, with up to half of it random.

    Tasks that failed together do not return together.
    """
    seconds = min(longest, first * 2.0 ** min(tries - 1, 30))
    return random.uniform(seconds / 2, seconds)  # noqa: S311 - it spreads tries, and guards nothing


class RetryBudget:
    """How often in a row something is retried, or for how long. For one thread, except `worked`.

    Args:
        retries: how many; below 0 there is no limit.
        pause: seconds before the first retry.
        longest: pauses are those of `backoff`, up to this many seconds; None: each is `pause`.
        within: seconds from the first failure in a row, after which there is no retry; below 0 there is no limit.
        key: the setting that limits, for the message.
        waits_for: see `RetriableError`.
        timeout: called with the milliseconds to wait: a sink's `self.context.timeout`.

    Attributes:
        due: when to retry, on the monotonic clock.
        pending: whether something failed and its retry has not begun: see `check`.
    """

    def __init__(
        self,
        retries: int,
        pause: float,
        *,
        longest: float | None = None,
        within: float = -1.0,
        key: str = "max.retries",
        waits_for: str | None = None,
        timeout: Callable[[int], None] | None = None,
    ) -> None:
        self._most = retries
        self._first = pause
        self._longest = longest
        self._within = within
        self._key = key
        self._waits_for = waits_for
        self._timeout = timeout
        self._tries = 0
        self._since = 0.0
        self._message = ""
        self.due = 0.0
        self.pending = False

    def failed(self, why: str, *, at_once: bool = False, at_least: float = 0.0) -> ConnectError:
        """The error to raise for a transient failure: RetriableError as long as the budget lasts, then ConnectError.

        Args:
            why: a sentence.
            at_once: retry without a pause: there are new credentials, for example.
            at_least: seconds before the retry, if the server asks for them: HTTP's Retry-After, for example.
        """
        now = time.monotonic()
        self._tries += 1
        if self._tries == 1:
            self._since = now
        if 0 <= self._most < self._tries:
            return ConnectError(f"{why} Given up after {self._most} retries ({self._key}).")
        if 0 <= self._within < now - self._since:
            return ConnectError(f"{why} Given up after {self._within:g} s ({self._key}).")
        pause = 0.0 if at_once else self._first
        if self._longest is not None and not at_once:
            pause = backoff(self._first, self._longest, self._tries)
        pause = max(pause, at_least)
        of = f" of {self._most}" if self._most >= 0 else ""
        self._message = f"{why} (Retry {self._tries}{of}.)"
        self.due, self.pending = now + pause, True
        return self._waiting(pause)

    def check(self) -> None:
        """Raise the last failure again during its pause; after that its retry begins.

        For a task that is called before the pause is over, or whose work runs on another thread.
        """
        if self.pending and (left := self.due - time.monotonic()) > 0:
            raise self._waiting(left)
        self.pending = False

    def worked(self) -> None:
        """Something succeeded: the next failure is the first one in a row. A pending retry stays. Thread-safe."""
        self._tries = 0

    def _waiting(self, seconds: float) -> RetriableError:
        if self._timeout is not None:
            self._timeout(max(1, math.ceil(seconds * 1000)))
        return RetriableError(self._message, waits_for=self._waits_for)
