"""Whether a consumer keeps up, judged by a window of its commits: Burrow's rules.

https://github.com/linkedin/Burrow/wiki/Consumer-Lag-Evaluation-Rules
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

#: Fewer looks say nothing.
LEAST: Final = 3


class LagStatus(enum.IntEnum):
    """The status of a partition, the worst last."""

    OK = 0
    WARN = 1
    STALLED = 2


class Look(NamedTuple):
    """One measurement of a partition.

    Attributes:
        at: when, in seconds on a monotonic clock.
        position: the committed offset, or the one where reading will begin.
        end: the offset after the last record.
    """

    at: float
    position: int
    end: int

    @property
    def lag(self) -> int:
        """Offsets between position and end."""
        return max(0, self.end - self.position)


def judge(looks: Sequence[Look], patience: float) -> LagStatus:
    """Judge the measurements, oldest first.

    A lag that was zero once is OK. One that never shrank while nothing was committed is STALLED, and one that grew from
    each measurement to the next, though something was committed, is WARN: more arrives than is processed.

    Args:
        looks: the window.
        patience: seconds that the window must cover. A consumer that commits once a minute stands still for a minute.
    """
    if len(looks) < LEAST or looks[-1].at - looks[0].at < patience:
        return LagStatus.OK
    if any(look.lag == 0 for look in looks):
        return LagStatus.OK
    steps = list(pairwise(looks))
    moved = any(after.position != before.position for before, after in steps)
    if not moved:
        # The end of a partition never goes back, so the lag did not shrink.
        return LagStatus.STALLED
    if all(after.lag > before.lag for before, after in steps):
        return LagStatus.WARN
    return LagStatus.OK
