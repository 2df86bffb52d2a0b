"""How often an address may fail to prove who asks: ten times at once, then once in six seconds."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Final

_AT_ONCE: Final = 10.0
_REFILL_S: Final = 6.0
_ADDRESSES: Final = 10_000


class Attempts:
    """A bucket of attempts for each address. An attempt that succeeds is given back.

    An IPv6 address stands for its /64 network: whoever has one address there has all of them. The addresses that were
    quiet for longest are forgotten when there are many.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
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
        self._keep(place, min(_AT_ONCE, self._refilled(place) + 1))

    def wait(self, address: str) -> float:
        """Seconds until there is one again."""
        return max(0.0, (1 - self._refilled(_network(address))) * _REFILL_S)

    def _refilled(self, place: str) -> float:
        left, then = self._left.get(place, (_AT_ONCE, 0.0))
        return min(_AT_ONCE, left + (self._clock() - then) / _REFILL_S)

    def _keep(self, place: str, left: float) -> None:
        if left >= _AT_ONCE:
            self._left.pop(place, None)
            return
        self._left[place] = left, self._clock()
        self._left.move_to_end(place)
        if len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)


def _network(address: str) -> str:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or found.exploded[:19])
    return str(found)
