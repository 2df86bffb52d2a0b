"""What an error says about trying again."""

import errno
import socket

import pytest

from connect.errors import ConfigError, ConnectError, DataError, PluginNotFoundError, RetriableError, SchemaError
from connect.kafka.writing.refusals import DeliveryError, WrongClockError
from connect.pipeline.error_kinds import ErrorKind, kind_of
from connect.pipeline.policy import RecordError


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RetriableError("later"), ErrorKind.PASSING),
        (ConnectionRefusedError(), ErrorKind.PASSING),
        (TimeoutError(), ErrorKind.PASSING),
        (socket.gaierror(-3, "name resolution"), ErrorKind.PASSING),
        (OSError(errno.EHOSTUNREACH, "no route"), ErrorKind.PASSING),
        (OSError(errno.ENOSPC, "disk full"), ErrorKind.PASSING),
        (DeliveryError("t", "_MSG_TIMED_OUT", "timed out"), ErrorKind.PASSING),
        (DeliveryError("t", "MSG_SIZE_TOO_LARGE", "too large"), ErrorKind.RECORD),
        (DeliveryError("t", "INVALID_TIMESTAMP", "invalid timestamp"), ErrorKind.RECORD),
        (WrongClockError(DeliveryError("t", "INVALID_TIMESTAMP", "invalid timestamp")), ErrorKind.PASSING),
        (DeliveryError("t", "TOPIC_AUTHORIZATION_FAILED", "denied"), ErrorKind.ACCESS),
        (DeliveryError("a b", "TOPIC_EXCEPTION", "invalid topic"), ErrorKind.CONFIGURATION),
        (caused(ConnectError("cannot write"), IsADirectoryError()), ErrorKind.CONFIGURATION),
        (caused(ConnectError("cannot write"), NotADirectoryError()), ErrorKind.CONFIGURATION),
        (ConnectError("The broker refuses: no (GROUP_AUTHORIZATION_FAILED). Grant READ."), ErrorKind.ACCESS),
        (PermissionError(13, "denied"), ErrorKind.ACCESS),
        (ConfigError("topics", "is missing"), ErrorKind.CONFIGURATION),
        (PluginNotFoundError("no such"), ErrorKind.CONFIGURATION),
        (ModuleNotFoundError("psycopg"), ErrorKind.CONFIGURATION),
        (DataError("bad"), ErrorKind.RECORD),
        (SchemaError("bad"), ErrorKind.RECORD),
        (ValueError("?"), ErrorKind.UNKNOWN),
        (ConnectError("the target is on fire"), ErrorKind.UNKNOWN),
        (OSError(errno.EEXIST, "exists"), ErrorKind.UNKNOWN),
        # What an error does not say of itself, its cause may.
        (caused(ConnectError("put failed"), ConnectionResetError()), ErrorKind.PASSING),
        (caused(ConnectError("put failed"), caused(ValueError(), ConfigError("a", "b"))), ErrorKind.CONFIGURATION),
        (caused(RecordError("r"), ValueError()), ErrorKind.RECORD),
        (caused(RecordError("r"), RetriableError("registry away")), ErrorKind.PASSING),
        (caused(RecordError("r"), caused(ConnectError("registry"), ConnectionRefusedError())), ErrorKind.PASSING),
    ],
    ids=str,
)
def test_the_kind_of_an_error(error: BaseException, kind: ErrorKind) -> None:
    assert kind_of(error) is kind


def test_a_circle_of_causes_has_an_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert kind_of(one) is ErrorKind.UNKNOWN


def test_a_cause_that_was_hidden_says_nothing() -> None:
    error = ValueError()
    error.__context__ = ConnectionResetError()
    assert kind_of(error) is ErrorKind.PASSING
    error.__suppress_context__ = True
    assert kind_of(error) is ErrorKind.UNKNOWN
