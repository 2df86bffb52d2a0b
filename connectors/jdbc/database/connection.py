"""The connection of a task to its database: opened on first use, discarded when it broke, opened again."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, NamedTuple

import sqlalchemy
from sqlalchemy import URL, Connection, Dialect, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from connect import ConnectError, RetriableError, Waiter
from connect.kit import credentials_provider
from connectors.jdbc.database.failures import passes
from connectors.jdbc.database.keys import DatabaseOptions
from connectors.jdbc.database.names import TableName
from connectors.jdbc.database.url import translate

log = logging.getLogger(__name__)

#: Seconds after which a host that does not answer counts as away, unless the URL says otherwise.
CONNECT_TIMEOUT: Final = 10
#: What drivers are told so that a connection that died without a word is noticed (seconds, where they have it).
POSTGRESQL: Final = {
    "connect_timeout": CONNECT_TIMEOUT,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
    "application_name": "connect-runtime",
}
_DRIVERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "psycopg": POSTGRESQL,
    # The flags: UPDATE counts the rows that it found, as SQLAlchemy has it; and LOAD DATA LOCAL may be used. The driver
    # serves no file all the same, unless it is told to for one statement: a server could ask for any.
    "pymysql": {"connect_timeout": CONNECT_TIMEOUT, "charset": "utf8mb4", "client_flag": 2 | 128},
    "pysqlite": {"timeout": 10.0},
    "oracledb": {"tcp_connect_timeout": CONNECT_TIMEOUT},
}

#: Seconds after which a connection is asked whether it is still there, before a transaction relies on it.
_IDLE_S: Final = 1.0
_KEY: Final = "jdbc.credentials.provider.class"
#: What Java's connectors call the default.
_BUILT_IN: Final = ("", "io.confluent.connect.jdbc.util.DefaultJdbcCredentialsProvider")


class Database:
    """One database, and one connection to it.

    For one thread, except `cancel`. All work goes through `transaction()`, or through `connect()` where the caller
    manages transactions. After a transient error the connection is discarded; the next use opens a new one, with the
    credentials that a user's class returns then.

    Args:
        chosen: the keys.
        config: the configuration, secrets filled in; see `credentials_for`.
        stopping: whether to give up waiting; called between tries.
    """

    def __init__(
        self,
        chosen: DatabaseOptions,
        config: Mapping[str, str],
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.settings = chosen
        self._stopping = stopping
        self._credentials = credentials_for(config)
        self._engine: Engine | None = None
        self._connection: Connection | None = None
        self._used = 0.0  # when the last transaction ended, by the monotonic clock
        self._given_up = threading.Event()
        self._waiter = Waiter()

    @cached_property
    def url(self) -> URL:
        """The URL in SQLAlchemy's form, as configured: without `connection.user` and its password."""
        return translate(self.settings.url)

    @cached_property
    def dialect(self) -> Dialect:
        """SQLAlchemy's dialect. What it reads from the server (its version) is known after the first `connect`."""
        return self._made().dialect

    @property
    def kind(self) -> str:
        """`postgresql`, `mysql` (MariaDB too), `sqlite`, or SQLAlchemy's name; `generic` if `dialect.name` says so."""
        chosen = self.settings.dialect.lower()
        for word in ("generic", "postgresql", "mysql", "sqlite"):
            if word in chosen:
                return word
        name = self.url.get_backend_name()
        return "mysql" if name == "mariadb" else name

    def local(self, name: TableName) -> TableName:
        """The same without the catalog, where that is the database of PostgreSQL that is connected to."""
        own = self.kind == "postgresql" and name.catalog == self.url.database
        return TableName(name.name, name.schema) if own else name

    def connect(self) -> Connection:
        """The connection, opened if there is none.

        Tries `connection.attempts` times, with `connection.backoff.ms` between them, for transient errors.

        Raises:
            RetriableError: it could not be reached.
            ConnectError: it refuses for good.
        """
        connection = self._connection
        if connection is not None and not connection.closed and not connection.invalidated:
            return connection
        self.discard()
        for attempt in range(1, self.settings.attempts + 1):
            try:
                self._connection = self._made().connect()
                self._used = time.monotonic()
                self._waiter.goes_on()
                return self._connection
            except (SQLAlchemyError, OSError) as error:
                why = reason(error)
                if not passes(error):
                    self._waiter.leaves()
                    raise ConnectError(f"{self} refuses the connection: {why}") from error
                last = attempt == self.settings.attempts
                if last or self._stopping() or self._given_up.is_set():
                    self._waiter.leaves()
                    raise RetriableError(f"{self} cannot be reached: {why}", waits_for=str(self)) from error
                self._waiter.waits(f"{self} cannot be reached: {why}", what=str(self))
                self._given_up.wait(self.settings.backoff)
        raise AssertionError("connection.attempts is at least 1")

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction: committed at the end, rolled back when the block raises.

        Errors are the driver's, wrapped by SQLAlchemy; `passes` tells which of them are worth another try. After a
        transient one, and after one in the commit itself (whose outcome is unknown), the next transaction has a new
        connection.
        """
        connection = self.connect()
        if time.monotonic() - self._used > _IDLE_S and not self._answers(connection):
            self.discard()
            connection = self.connect()
        try:
            with connection.begin():
                yield connection
        except BaseException as error:
            if not isinstance(error, Exception) or passes(error) or connection.invalidated:
                self.discard()
            raise
        finally:
            self._used = time.monotonic()

    def _answers(self, connection: Connection) -> bool:
        """Whether the server still knows a connection: it, or something between, may have ended an idle one."""
        try:
            return bool(self.dialect.do_ping(connection.connection.dbapi_connection))  # type: ignore[arg-type]
        except Exception as error:  # a broken connection breaks in many ways
            log.debug("an idle connection to %s is gone: %s", self, error)
            return False

    @contextmanager
    def looking(self) -> Iterator[Connection]:
        """The connection for questions: in the transaction that is open, else in one of its own."""
        connection = self._connection
        if connection is not None and connection.in_transaction():
            yield connection
            return
        with self.transaction() as connection:
            yield connection

    def discard(self) -> None:
        """Discard the connection, whatever state it is in."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.invalidate()
        except Exception as error:  # a broken connection breaks in many ways
            log.debug("a connection to %s could not be thrown away: %s", self, error)
        finally:
            try:
                connection.close()
            except Exception as error:  # the same
                log.debug("a connection to %s could not be closed: %s", self, error)

    def give_up(self) -> None:
        """Stop waiting for an unavailable database, now and from now on. Thread-safe."""
        self._given_up.set()

    def close(self) -> None:
        """Close everything; the object may be used again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception as error:  # a broken connection breaks in many ways
                log.debug("a connection to %s could not be closed: %s", self, error)
        if self._engine is not None:
            self._engine.dispose()

    def _made(self) -> Engine:
        if self._engine is None:
            url = self.url
            arguments = {
                key: value for key, value in _DRIVERS.get(url.get_driver_name(), {}).items() if key not in url.query
            }
            try:
                self._engine = sqlalchemy.create_engine(url, poolclass=NullPool, connect_args=arguments)
            except ImportError as error:
                raise ConnectError(
                    f'The driver of "{url.drivername}" is not installed: {error}. Install it.'
                ) from error
            sqlalchemy.event.listen(self._engine, "do_connect", self._identify)
            if url.get_driver_name() == "pymysql":
                sqlalchemy.event.listen(self._engine, "connect", lambda driver, _: keep_alive(driver))
        return self._engine

    def _identify(self, _: Any, __: Any, ___: Any, told: dict[str, Any]) -> None:
        """Put the current credentials into the driver's arguments."""
        user, password = self._credentials()
        if user is not None:
            told["user"] = user
        if password is not None:
            told["password"] = password

    def __str__(self) -> str:
        url = self.url
        if url.get_backend_name() == "sqlite":
            return f"SQLite {url.database or '(in memory)'}"
        hosts = url.query.get("host") or f"{url.host}:{url.port}"
        where = hosts if isinstance(hosts, str) else ",".join(hosts)
        return f"{_NAMES.get(url.get_backend_name(), url.get_backend_name())} {where}/{url.database or ''}"


def keep_alive(driver: Any) -> None:
    """Notice a server of MySQL or MariaDB that vanished without a word, as PostgreSQL's library is told to.

    Args:
        driver: a connection of PyMySQL.
    """
    held = driver._sock
    if held is None or held.family == getattr(socket, "AF_UNIX", None):
        return
    for name, value in (
        ("TCP_KEEPIDLE", POSTGRESQL["keepalives_idle"]),
        ("TCP_KEEPINTVL", POSTGRESQL["keepalives_interval"]),
        ("TCP_KEEPCNT", POSTGRESQL["keepalives_count"]),
        ("TCP_USER_TIMEOUT", POSTGRESQL["tcp_user_timeout"]),
    ):
        if hasattr(socket, name):
            held.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


_NAMES: Final = {"postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB", "mssql": "SQL Server"}


def reason(error: BaseException, *, trimmed: bool = False) -> str:
    """The database's message, in one line, without the statement and its values that SQLAlchemy would add.

    Args:
        trimmed: leave out the database's own words, which may quote a row's values (`trim.sensitive.log`): the rest is
            the kind of error and, if the driver reports them, table, column and constraint.
    """
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if trimmed:
        return _kind(cause)
    said = str(cause.args[1]) if len(cause.args) == 2 and isinstance(cause.args[0], int) else str(cause)
    line = " ".join(said.split()) or type(cause).__name__
    return line if len(line) <= 500 else f"{line[:500]}..."


def _kind(cause: BaseException) -> str:
    number = cause.args[0] if cause.args and isinstance(cause.args[0], int) else None
    words = [type(cause).__name__]
    state = getattr(cause, "sqlstate", None) or number
    if state:
        words.append(f"({state})")
    diag = getattr(cause, "diag", None)
    for what in ("table", "column", "constraint"):
        name = getattr(diag, f"{what}_name", None)
        if name:
            words.append(f"{what} {name}")
    return " ".join(words)


class Credentials(NamedTuple):
    """A user and a password, each None where the URL or the database's own rules define it."""

    user: str | None
    password: str | None

    def __repr__(self) -> str:
        return f"Credentials(user={self.user!r})"


def credentials_for(config: Mapping[str, str]) -> Callable[[], Credentials]:
    """The function that returns the credentials for a new connection.

    A user's class is called at every new connection, so that rotated credentials are found. Without one they come from
    the configuration, as it was when the task was started.

    Args:
        config: secrets filled in.

    Raises:
        ConfigError: the class cannot be loaded.
    """
    name = config.get(_KEY) or ""
    if name in _BUILT_IN:
        return lambda: _of_configuration(config)
    chosen = credentials_provider(_KEY, name, config)
    return lambda: Credentials(*chosen.credentials())


def _of_configuration(config: Mapping[str, str]) -> Credentials:
    named = DatabaseOptions.definition().named(config)
    return Credentials(named.get("connection.user") or None, named.get("connection.password") or None)
