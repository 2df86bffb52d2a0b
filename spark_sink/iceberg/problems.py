"""Errors of pyiceberg, and of the clients below it, in one line: what failed, where, and what to do."""

from __future__ import annotations

import re
from typing import Final

from connect.errors import ConnectError, RetriableError

#: Classes whose instances mean that trying again may help, by name: the packages they are of may not be installed.
_PASSES: Final = frozenset(
    {
        "CommitStateUnknownException",
        "ServiceUnavailableError",
        "ServerError",
        "TooManyRequestsError",
        "ConnectionError",
        "Timeout",
        "ChunkedEncodingError",
        "TTransportException",
        "EndpointConnectionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "WaitingForLockException",
        "OperationalError",
        "TimeoutError",
        "InterfaceError",
    }
)
_REFUSES: Final = frozenset(
    {
        "UnauthorizedError",
        "ForbiddenError",
        "OAuthError",
        "AuthorizationExpiredError",
        "SignError",
        "NoCredentialsError",
        "PermissionError",
    }
)
_DENIED: Final = re.compile(
    r"ACCESS_DENIED|Access ?Denied|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|Forbidden|HTTP status: 40[13]"
    r"|HTTP response code 40[13]|authentication failed|Permission denied|readonly database|not authorized",
    re.IGNORECASE,
)
_TRANSIENT: Final = re.compile(
    r"NETWORK_CONNECTION|SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|REQUEST_TIMEOUT|curlCode|timed? ?out"
    r"|Connection (?:refused|reset|aborted)|database is locked|No space left|Too many open files|Broken pipe",
    re.IGNORECASE,
)
_EQUALITY: Final = re.compile(r"equality deletes?", re.IGNORECASE)
_LONGEST: Final = 300


def catalog_error(error: BaseException, where: str, what: str) -> ConnectError:
    """Translate an error of a catalog: into a `RetriableError` where trying again may help.

    Args:
        error: what pyiceberg raised. The caller chains it.
        where: the catalog's address, without a login.
        what: what went wrong.
    """
    return _translated(
        error,
        f"The Iceberg catalog {where} {what}: ",
        "Check iceberg.catalog.credential, iceberg.catalog.token, or the login in iceberg.catalog.uri.",
    )


def table_error(error: BaseException, table: str, doing: str) -> ConnectError:
    """Translate an error about a table, as `catalog_error`.

    Args:
        error: what pyiceberg raised. The caller chains it.
        table: its name.
        doing: what failed, in the passive: "be written".
    """
    return _translated(
        error,
        f"Table {table} could not {doing}: ",
        "Give the credentials of the catalog, or those in iceberg.catalog.s3.*, the right to do so.",
    )


def _translated(error: BaseException, start: str, advice: str) -> ConnectError:
    text = str(error)
    names = {each.__name__ for each in type(error).__mro__}
    if names & _REFUSES or _DENIED.search(text):
        return ConnectError(f"{start}access was denied ({_first_line(text)[:-1]}). {advice}")
    if names & _PASSES or _TRANSIENT.search(text):
        return RetriableError(f"{start}{_first_line(text)}")
    if isinstance(error, ModuleNotFoundError) or "NotInstalledError" in names:
        return ConnectError(f"{start}{_first_line(text)} Install what it names beside connect-runtime[iceberg].")
    if _EQUALITY.search(text):
        return ConnectError(
            f"{start}it has equality deletes, which pyiceberg cannot read. Compact it by the engine that wrote them."
        )
    return ConnectError(f"{start}{_first_line(text)}")


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = (lines[0] if lines else "no reason was given")[:_LONGEST].strip()
    return line if line.endswith(".") else line + "."
