"""When to restart what FAILED: decided from the kind of its error, its history, and the clock.

Pauses grow from the first to the longest as failures follow each other. A run that lasted as long as the longest pause
ends the series. Restarts are counted over a window; when the budget is used up, it stays FAILED until a user acts.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connect.pipeline.error_kinds import ErrorKind
from connect.settings.recovery_keys import recovery


class Hope(enum.Enum):
    """What a restart can achieve for a kind of error."""

    SOON = enum.auto()
    SLOWLY = enum.auto()  # somebody may fix it elsewhere, but servers lock out who knocks too often
    NONE = enum.auto()


HOPES: Final[Mapping[ErrorKind, Hope]] = {
    ErrorKind.PASSING: Hope.SOON,
    ErrorKind.CRASH: Hope.SOON,
    ErrorKind.STALLED: Hope.SOON,
    ErrorKind.UNKNOWN: Hope.SOON,
    ErrorKind.ACCESS: Hope.SLOWLY,
    ErrorKind.CONFIGURATION: Hope.NONE,
    ErrorKind.RECORD: Hope.NONE,
}
_HOPELESS: Final = {
    ErrorKind.CONFIGURATION: "the configuration, or the installation, must be changed",
    ErrorKind.RECORD: "the same record would come again",
}


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """`restart.policy.*`, times in seconds. `max_restarts` is -1 for no limit."""

    on: bool = True
    initial_delay: float = 1.0
    max_delay: float = 300.0
    multiplier: float = 2.0
    jitter: float = 0.2
    max_restarts: int = 100
    window: float = 86_400.0

    @classmethod
    def of(cls, worker: Mapping[str, Any], connector: Mapping[str, Any]) -> RestartPolicy:
        """The policy of a connector. Raises ConfigError."""
        options = recovery(worker, connector)
        return cls(
            on=options.restarts,
            initial_delay=options.initial_delay,
            max_delay=options.max_delay,
            multiplier=options.multiplier,
            jitter=options.jitter,
            max_restarts=options.max_restarts,
            window=options.window,
        )


@dataclass(frozen=True, slots=True)
class History:
    """The automatic restarts of one connector or task.

    Attributes:
        restarts: their times, newest last, within the window.
        in_a_row: how many since the last long run.
    """

    restarts: tuple[float, ...] = ()
    in_a_row: int = 0

    def with_restart(self, now: float) -> History:
        """With one more."""
        return History((*self.restarts, now), self.in_a_row + 1)


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about a failure.

    Attributes:
        delay: seconds until the restart; None for none.
        why: why there is none, or what it is for; for users.
        history: to pass to the next decision.
    """

    delay: float | None
    why: str
    history: History


def decide(policy: RestartPolicy, kind: ErrorKind, history: History, now: float, chance: float) -> Decision:
    """Decide about a failure that happens now.

    Args:
        policy: of its connector.
        kind: of the error.
        history: its automatic restarts so far.
        now: seconds on a monotonic clock.
        chance: a number from 0 to 1, for the jitter.
    """
    recent = tuple(moment for moment in history.restarts if now - moment < policy.window)
    ran_long = bool(history.restarts) and now - history.restarts[-1] >= policy.max_delay
    history = History(recent, 0 if ran_long else history.in_a_row)
    if not policy.on:
        return Decision(None, "restart.policy is off", history)
    if HOPES[kind] is Hope.NONE:
        return Decision(None, _HOPELESS[kind], history)
    if 0 <= policy.max_restarts <= len(recent):
        spent = f"{len(recent)} restarts within {_words(policy.window)} are all that restart.policy.max.restarts allows"
        return Decision(None, spent, history)
    pause = policy.max_delay if HOPES[kind] is Hope.SLOWLY else _pause(policy, history.in_a_row)
    delay = pause * (1 + policy.jitter * (2 * chance - 1))
    return Decision(delay, f"restart {len(recent) + 1} within {_words(policy.window)}", history)


def _pause(policy: RestartPolicy, in_a_row: int) -> float:
    if policy.initial_delay <= 0:
        return 0.0
    # By logarithms: the power itself is beyond any number after some hundred failures.
    grown = math.log(policy.initial_delay) + in_a_row * math.log(policy.multiplier)
    return policy.max_delay if grown >= math.log(policy.max_delay) else math.exp(grown)


def _words(seconds: float) -> str:
    for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = seconds / size
            return f"{count:.3g} {name}{'' if count == 1 else 's'}"
    return f"{seconds:.3g} seconds"
