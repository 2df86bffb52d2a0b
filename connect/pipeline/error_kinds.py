"""The kind of error that ended a task or a connector: whether it may be transient, decided where the error is at hand.

Only the process in which an error was raised has the error itself; its worker gets its text, and its kind.
"""

from __future__ import annotations

import enum
import errno
import re
from typing import Final

from connect.errors import (
    ConfigError,
    ConnectError,
    DataError,
    NotInstalledError,
    PluginNotFoundError,
    RetriableError,
    chain_of,
)
from connect.kafka.clients.errors import NotLetInError
from connect.kafka.writing.refusals import DeliveryError, WrongClockError
from connect.pipeline.policy import RecordError
from connect.plugins import PluginLoadError
from connect.settings.providers import ProviderError


class ErrorKind(enum.Enum):
    """What an error says about a restart."""

    PASSING = "passing"
    """The other side did not answer, or said that it will: a connection, a time-out, a `RetriableError`."""
    CRASH = "crash"
    """The process ended without a word: killed, out of memory, a fault in C."""
    STALLED = "stalled"
    """The process was ended because it stood still (`task.stalled.action=restart`)."""
    ACCESS = "access"
    """A login or a permission was refused. That does not pass by itself, but is fixed elsewhere than in Connect."""
    CONFIGURATION = "configuration"
    """The configuration, or what is installed. Nothing changes before somebody changes it."""
    RECORD = "record"
    """One record, which will come again."""
    UNKNOWN = "unknown"
    """The plug-in raised something that does not say."""


_REFUSED: Final = re.compile(r"AUTHORIZATION_FAILED|AUTHENTICATION")  # as Kafka names these errors
_BAD_RECORD: Final = {"MSG_SIZE_TOO_LARGE", "INVALID_MSG", "INVALID_RECORD", "INVALID_TIMESTAMP"}
_UNREACHABLE: Final = {
    *(errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT),
    *(errno.EAGAIN, errno.EINTR, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO),
}


def kind_of(error: BaseException) -> ErrorKind:
    """The kind of an error: its own, else that of its cause, and so on."""
    kinds = [kind for each in chain_of(error) if (kind := _own_kind(each)) is not ErrorKind.UNKNOWN]
    if not kinds:
        return ErrorKind.UNKNOWN
    if isinstance(error, RecordError) and ErrorKind.PASSING in kinds:
        return ErrorKind.PASSING  # it met a service that was away, not a bad record
    return kinds[0]


def _own_kind(error: BaseException) -> ErrorKind:
    match error:
        case RetriableError() | WrongClockError():
            return ErrorKind.PASSING
        case ConfigError() | NotInstalledError() | ImportError():
            return ErrorKind.CONFIGURATION
        case PluginNotFoundError() | PluginLoadError() | ProviderError():
            return ErrorKind.CONFIGURATION
        case RecordError() | DataError():
            return ErrorKind.RECORD
        case DeliveryError() if error.code in _BAD_RECORD:
            return ErrorKind.RECORD
        case DeliveryError() if error.code == "TOPIC_EXCEPTION":  # its name is none
            return ErrorKind.CONFIGURATION
        case IsADirectoryError() | NotADirectoryError():
            return ErrorKind.CONFIGURATION
        case PermissionError() | NotLetInError():
            return ErrorKind.ACCESS
        case ConnectError() if _REFUSED.search(str(error)):
            return ErrorKind.ACCESS
        case DeliveryError() | ConnectionError() | TimeoutError():
            return ErrorKind.PASSING
        case OSError() if error.errno in _UNREACHABLE or type(error).__name__ == "gaierror":
            return ErrorKind.PASSING
    return ErrorKind.UNKNOWN
