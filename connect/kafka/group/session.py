"""Until when a member's session with its coordinator is certainly alive."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable


class Session:
    """What is known of the session. Any thread may read; the one that talks to the coordinator writes.

    Args:
        clock: seconds on a clock that nobody sets back.
        timeout: seconds after which the coordinator removes a silent member.
        rejoin_within: seconds that a member has to join again, once a rebalance has begun.
    """

    def __init__(self, clock: Callable[[], float], timeout: float, rejoin_within: float) -> None:
        self.clock = clock
        self._timeout = timeout
        self._rejoin_within = rejoin_within
        self._lock = threading.Lock()
        self._held = False
        self._heard = self._undisturbed = -math.inf
        self.losses = 0  # how often a membership was lost

    def joined(self, sent: float) -> None:
        """The group is complete with this member: the answered request was sent at this moment."""
        with self._lock:
            self._held = True
            self._heard = self._undisturbed = sent

    def heard(self, sent: float, *, rebalancing: bool) -> None:
        """The coordinator answered a heartbeat that was sent at this moment."""
        with self._lock:
            self._heard = max(self._heard, sent)
            if not rebalancing:
                self._undisturbed = self._heard

    def lose(self) -> bool:
        """The membership is lost from this moment on. Returns whether there was one."""
        with self._lock:
            held, self._held = self._held, False
            self.losses += held
            return held

    def held(self) -> bool:
        """Whether a membership was gained and not lost since, as far as is known."""
        return self._held

    def until(self) -> float:
        """The moment until which it is certainly alive; minus infinity if there is none.

        A rebalance may have begun right after the last answer that did not announce one.
        """
        with self._lock:
            return (
                min(self._heard + self._timeout, self._undisturbed + self._rejoin_within) if self._held else -math.inf
            )

    def undisturbed(self) -> float:
        """The last moment at which no rebalance had begun, as far as is known; minus infinity before the first join."""
        return self._undisturbed

    def live(self) -> bool:
        """Whether it is certainly alive."""
        return self.clock() < self.until()

    def silence(self) -> float:
        """Seconds since the last answered request was sent."""
        return self.clock() - self._heard
