"""The audit log: a line of JSON for every change, every change that was refused, and every login that failed.

    {"time": "2026-03-01T09:30:00.123Z", "request": "9f86d081...", "user": "user:alice", "method": "basic",
     "address": "10.0.0.7", "http": "PUT", "path": "/connectors/orders/config", "connector": "orders", "status": 200,
     "changed": {"changed": ["batch.size"]}}

It has the names of what was changed, never a value.

Anybody may cause lines without a login, as often as they like. So of one address there are ten at once, then one in six
seconds; of all together a hundred, then one a second. Omitted lines are counted in a line of its own, at most one a
minute:

    {"time": "2026-03-01T09:30:00.123Z", "left_out": 12345, "addresses": 3}
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from connect.errors import ConfigError
from connect.telemetry.redaction import redactor
from rest.security.attempts import Attempts

#: Where lines go that have no file, and those that cannot be written to theirs.
log = logging.getLogger("connect.audit")


class AuditLine(msgspec.Struct, omit_defaults=True):
    """One line.

    Attributes:
        time: of the response, in UTC.
        request: its id, which the response carries as X-Request-Id.
        user: the caller, as roles name them; None for nobody, or an unauthenticated one.
        method: of authentication: basic, bearer or certificate.
        address: where the request came from.
        http, path, connector: of the request.
        status: of the response; 401 and 429 are failed logins.
        changed: names of keys.
        reason: why it was refused.
        forwarded_by: the worker that forwarded the request.
    """

    time: str
    request: str
    user: str | None
    method: str | None
    address: str
    http: str
    path: str
    status: int
    connector: str | None = None
    changed: dict[str, Any] = {}
    reason: str | None = None
    forwarded_by: str | None = None


class AuditLog(Protocol):
    """Where lines go: `AuditLine`, and `LeftOut`."""

    def write(self, line: msgspec.Struct) -> None:
        """Write one. Never raises: the change has already happened."""


class AuditLogger:
    """Lines go to the log of the worker."""

    def write(self, line: msgspec.Struct) -> None:
        log.info("%s", encoded(line).decode())


class AuditFile:
    """Appends lines to a file; when it is moved away, to a new one. Safe to use from many threads.

    Several workers may write to one file of one machine: a line is one write.

    Args:
        path: created when it does not exist, for its owner and group alone.

    Raises:
        ConfigError: it cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._file = -1
        self._torn = False  # it ends with half a line: there was no room for more
        try:
            self._open()
        except OSError as error:
            raise ConfigError("rest.security.audit.log", f"{path} cannot be written: {error.strerror}.") from error

    def write(self, line: msgspec.Struct) -> None:
        data = encoded(line) + b"\n"
        try:
            with self._lock:
                if self._moved():
                    self._open()
                self._append(b"\n" + data if self._torn else data)
        except OSError as error:
            log.error("%s cannot be written (%s): %s", self._path, error.strerror, data.decode().rstrip())

    def _append(self, data: bytes) -> None:
        while data:
            written = os.write(self._file, data)
            self._torn = not data[:written].endswith(b"\n")
            data = data[written:]

    def _moved(self) -> bool:
        try:
            there, ours = self._path.stat(), os.fstat(self._file)
        except OSError:
            return True
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)

    def _open(self) -> None:
        fresh = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        if self._file >= 0:
            os.close(self._file)
        self._file, self._torn = fresh, False

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    __del__ = close


def now() -> str:
    """The current time, in the form of lines."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encoded(line: msgspec.Struct) -> bytes:
    """A line, without its end. Known secrets are hidden even in names."""
    parts = {name: _redacted(value) for name, value in msgspec.to_builtins(line).items()}
    return msgspec.json.encode(parts)


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redactor.redact(value)
    if isinstance(value, list):
        return [_redacted(one) for one in value]
    if isinstance(value, dict):
        return {_redacted(key): _redacted(one) for key, one in value.items()}
    return value


_TELL_AFTER_S: Final = 60.0
_ALL: Final = "all"
_ALL_AT_ONCE: Final = 100.0
_ALL_REFILL_S: Final = 1.0
#: Addresses that are told apart; more than that are "at least".
_ADDRESSES: Final = 10_000


class LeftOut(msgspec.Struct):
    """A line for many omitted ones.

    Attributes:
        time: when it was written.
        left_out: their number.
        addresses: the number of addresses that they came from.
    """

    time: str
    left_out: int
    addresses: int


class StrangersLines:
    """Writes lines about unauthenticated callers: as many as somebody reads, the others counted.

    For one event loop.

    Args:
        audit: for the lines.
        tell_after: seconds from the first omitted line to the line with their count.
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
        """Write one, or count it. `login`: it was an attempt to log in."""
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
