"""Limits how often an address may do something, or fail: a number at once, then one in some seconds."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Final

from rest.addresses import parse_address

#: How often it may fail to prove who asks.
AT_ONCE: Final = 10.0
REFILL_S: Final = 6.0
_ADDRESSES: Final = 10_000


class Attempts:
    """A bucket of attempts for each address. An attempt that succeeds is given back.

    An IPv6 address stands for its /64 network: a client with one address there has all of them. With many addresses,
    those that were quiet for longest are forgotten.

    Args:
        at_once: the size of a bucket.
        refill: seconds after which there is one more.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, at_once: float = AT_ONCE, refill: float = REFILL_S
    ) -> None:
        self._clock = clock
        self._at_once = at_once
        self._refill = refill
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str) -> bool:
        """Take one. Returns whether there was one."""
        place = _network(address)
        left = self._refilled(place)
        if left < 1:
            return False
        self._keep(place, left - 1)
        return True

    def give_back(self, address: str) -> None:
        """The attempt succeeded."""
        place = _network(address)
        self._keep(place, min(self._at_once, self._refilled(place) + 1))

    def wait(self, address: str) -> float:
        """Seconds until there is one again."""
        return max(0.0, (1 - self._refilled(_network(address))) * self._refill)

    def _refilled(self, place: str) -> float:
        left, then = self._left.get(place, (self._at_once, 0.0))
        return min(self._at_once, left + (self._clock() - then) / self._refill)

    def _keep(self, place: str, left: float) -> None:
        if left >= self._at_once:
            self._left.pop(place, None)
            return
        self._left[place] = left, self._clock()
        self._left.move_to_end(place)
        if len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)


def _network(address: str) -> str:
    try:
        found = parse_address(address)
    except ValueError:
        return address
    return found.exploded[:19] if isinstance(found, IPv6Address) else str(found)
