"""Errors that a plug-in raises and the runtime understands.

Names follow `org.apache.kafka.connect.errors` with `Error` for `Exception`. A message says what happened, where, and
what to do about it, in one line; the cause is chained for the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

#: Replaces a secret in messages and wherever configurations are shown.
MASK: Final = "[hidden]"

_DEEPEST: Final = 20  # a chain of errors may be circular


class ConnectError(Exception):
    """Something failed for good. A task that raises it is FAILED and shows the error in its status."""

    #: The message is meant for users: the command line prints it without a traceback.
    user_message = True


class RetriableError(ConnectError):
    """Something failed that may be temporary: the runtime waits and tries the same work again.

    From `SinkTask.put`: the same batch again. From `SourceTask.poll`: polled again. From a converter or a
    transformation: again as long as `errors.retry.timeout` allows.

    Args:
        args: the message: what failed, and why. It is shown in the task's status while that lasts.
        waits_for: what does not answer: a database, a host. Tasks that wait for the same thing share one outage, which
            is logged once at its beginning and once at its end. Without it, tasks with the same message share one,
            whatever the numbers in the message.
    """

    def __init__(self, *args: object, waits_for: str | None = None) -> None:
        super().__init__(*args)
        self.waits_for = waits_for


class DataError(ConnectError):
    """A record's bytes or values are not what they should be."""


class SchemaError(DataError):
    """A value does not fit its schema, or a schema contradicts itself."""


class ConfigError(ConnectError):
    """A configuration value is missing or wrong.

    Args:
        key: the configuration key.
        message: what is wrong with it and what to write instead. Never the value of a secret.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f'key "{key}": {message}')
        self.key = key
        self.message = message


class PluginNotFoundError(ConnectError):
    """No plug-in has this name; the message lists similar names."""


class NotInstalledError(ConnectError):
    """A library or a program that the configuration asks for is not on this machine. The message says what to install.

    As with a wrong configuration, there is no automatic restart: nothing changes until somebody installs it.
    """


class FencedError(ConnectError):
    """Another owner has taken over; this one must stop at once and write nothing more."""


def one_line(error: object) -> str:
    """An error's message without line breaks; the name of its class when the message is empty."""
    return " ".join(str(error).split()) or type(error).__name__


def cause_of(error: BaseException) -> BaseException | None:
    """The error it was raised from; else the one being handled when it was raised, unless hidden (`from None`)."""
    if error.__cause__ is not None or error.__suppress_context__:
        return error.__cause__
    return error.__context__


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """An error, its cause, the cause's cause and so on, 20 at most."""
    for _ in range(_DEEPEST):
        if error is None:
            return
        yield error
        error = cause_of(error)
