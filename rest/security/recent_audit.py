"""The newest lines of the audit log, in memory: for pages and programs that do not read the file."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from typing import Final

import msgspec

from rest.security.audit import AuditLine, AuditLog, encoded

#: Lines of logged-in users that are kept, and as many of others: nobody without a login can push theirs out.
KEPT: Final = 1_000
#: Bytes of each: one line may name thousands of keys.
_BYTES: Final = 1024 * 1024


class RecentAudit:
    """Passes lines on to the audit log, and keeps the newest. Safe to use from many threads.

    Args:
        audit: where lines go.
    """

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._of_users, self._of_others = _Newest(), _Newest()

    def write(self, line: msgspec.Struct) -> None:
        """See `AuditLog`."""
        self._audit.write(line)
        logged_in = isinstance(line, AuditLine) and line.method is not None
        with self._lock:
            (self._of_users if logged_in else self._of_others).add(next(self._numbers), encoded(line))

    def lines(self) -> list[bytes]:
        """Lines as the log has them, without their ends, newest first."""
        with self._lock:
            both = reversed(self._of_users.lines), reversed(self._of_others.lines)
            return [line for _, line in heapq.merge(*both, reverse=True)]


class _Newest:
    """As many lines, and bytes, as are kept; each with its number."""

    def __init__(self) -> None:
        self.lines: deque[tuple[int, bytes]] = deque()
        self._bytes = 0

    def add(self, number: int, line: bytes) -> None:
        self.lines.append((number, line))
        self._bytes += len(line)
        while len(self.lines) > KEPT or (self._bytes > _BYTES and len(self.lines) > 1):
            _, oldest = self.lines.popleft()
            self._bytes -= len(oldest)
