"""Lines of the audit log about those who have not proved who they are: as many as somebody reads, the others counted.

Anybody may cause such lines, as often as he likes. Of an address there are ten at once, then one in six seconds; of all
together a hundred, then one a second. What was left out is told in a line of its own, at most one a minute:

    {"time": "2026-03-01T09:30:00.123Z", "left_out": 12345, "addresses": 3}
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from rest.security.attempts import Attempts
from rest.security.audit import AuditLine, AuditLog, now

_TELL_AFTER_S: Final = 60.0
_ALL: Final = "all"
_ALL_AT_ONCE: Final = 100.0
_ALL_REFILL_S: Final = 1.0
#: Addresses that are told apart; more than that are "at least".
_ADDRESSES: Final = 10_000


class LeftOut(msgspec.Struct):
    """A line for many that were left out.

    Attributes:
        time: when it was written.
        left_out: how many they are.
        addresses: how many addresses they came from.
    """

    time: str
    left_out: int
    addresses: int


class StrangersLines:
    """Writes them. Used from one event loop.

    Args:
        audit: where to.
        tell_after: seconds from the first that is left out to the line that tells of it.
    """

    def __init__(self, audit: AuditLog, tell_after: float = _TELL_AFTER_S) -> None:
        self._audit = audit
        self._tell_after = tell_after
        # Whoever asks without credentials shall not hide what he tries with some.
        self._logins = Attempts()
        self._others = Attempts()
        self._all = Attempts(at_once=_ALL_AT_ONCE, refill=_ALL_REFILL_S)
        self._left_out = 0
        self._addresses: set[str] = set()

    def write(self, line: AuditLine, *, login: bool) -> None:
        """Write one, or count it. `login`: somebody tried to log in."""
        own = self._logins if login else self._others
        if own.take(line.address) and self._all.take(_ALL):
            self._audit.write(line)
            return
        if not self._left_out:
            asyncio.get_running_loop().call_later(self._tell_after, self._tell)
        self._left_out += 1
        if len(self._addresses) < _ADDRESSES:
            self._addresses.add(line.address)

    def _tell(self) -> None:
        self._audit.write(LeftOut(now(), self._left_out, len(self._addresses)))
        self._left_out = 0
        self._addresses.clear()
