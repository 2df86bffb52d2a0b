"""Logging in to a server."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Final

import pymysql
import pymysql.converters

from connect import ConnectError, RetriableError
from connect.errors import one_line
from connectors.jdbc.database.connection import keep_alive
from connectors.jdbc.database.failures import passes

#: Times in UTC, names in backticks; a lock is not waited for without an end, and a pause of ours ends no session.
_SESSION: Final = (
    "SET time_zone = '+00:00', sql_mode = '', wait_timeout = 28800, net_write_timeout = 3600, lock_wait_timeout = 10"
)


def where(options: Mapping[str, Any]) -> str:
    """What a server is called in messages."""
    return f"MySQL {options.get('host', '')}:{options.get('port', '')}"


def connected(options: Mapping[str, Any]) -> pymysql.Connection[Any]:
    """A connection in autocommit, in UTC, whose answers are bytes.

    Args:
        options: PyMySQL's: host, port, user, password, ssl or ssl_disabled, connect_timeout; and `tls_required`,
            without which a server that has no TLS is reached without.

    Raises:
        RetriableError: the server cannot be reached now.
        ConnectError: it refuses the login.
    """
    place = where(options)
    options = dict(options)
    encrypted = options.pop("tls_required", False)
    try:
        try:
            made = _connect(options)
        except pymysql.OperationalError as error:
            if not _without_tls(error) or encrypted:
                raise
            made = _connect({name: value for name, value in options.items() if name != "ssl"} | {"ssl_disabled": True})
    except pymysql.Error as error:
        words = said(error)
        if _without_tls(error):
            raise ConnectError(f"{place} does not use TLS, which database.ssl.mode asks for.") from error
        if isinstance(getattr(error, "original_exception", None), ssl.SSLCertVerificationError):
            raise ConnectError(
                f"{place} has a certificate that is not trusted: {words}. Name the file of its authority in "
                "database.ssl.ca."
            ) from error
        if passes(error):
            raise RetriableError(f"{place} cannot be reached: {words}", waits_for=place) from error
        raise ConnectError(f"{place} refuses the connection: {words}") from error
    except (OSError, ssl.SSLError) as error:
        raise RetriableError(f"{place} cannot be reached: {one_line(error)}", waits_for=place) from error
    except (UnicodeError, ValueError) as error:
        raise ConnectError(f"{place[:100]} is not a place where a database can be: {error}") from error
    keep_alive(made)
    if encrypted and not isinstance(made._sock, ssl.SSLSocket):
        made.close()
        raise ConnectError(f"{place} does not use TLS, which database.ssl.mode asks for.")
    return made


def _connect(options: Mapping[str, Any]) -> pymysql.Connection[Any]:
    return pymysql.connect(
        **{
            "charset": "utf8mb4",
            "autocommit": True,
            "use_unicode": False,
            "conv": dict(pymysql.converters.encoders),
            "init_command": _SESSION,
            **options,
        }
    )


def _without_tls(error: pymysql.Error) -> bool:
    """Whether the server has no TLS."""
    return error.args[:1] == (2026,) and "support" in said(error)


def said(error: pymysql.Error) -> str:
    """What an error says, on one line."""
    return " ".join(str(error.args[1] if len(error.args) > 1 else error).split())
