"""The client's half of PostgreSQL's streaming replication, over libpq: psycopg has the functions, but no client for it.

The same parameters are used for queries.

https://www.postgresql.org/docs/current/protocol-replication.html
"""

from __future__ import annotations

import logging
import select
import threading
import time
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Final, NamedTuple

import psycopg
from psycopg import pq

from connect import ConfigError, ConnectError, RetriableError
from connectors.jdbc.database.connection import POSTGRESQL
from connectors.jdbc.database.url import translate

log = logging.getLogger(__name__)

_EPOCH_2000: Final = 946_684_800
_XLOG: Final = Struct("!xQQQ").unpack_from
_KEEPALIVE: Final = Struct("!xQQB").unpack_from
_STATUS: Final = Struct("!cQQQQB").pack
_DATA: Final = ord("w")
#: Between looks at a server that waits.
_PATIENCE_S: Final = 1.0

#: How a session gives values in the text form that `connectors.jdbc.capture.text` reads.
_SESSION: Final = (
    "-c datestyle=ISO -c intervalstyle=postgres -c timezone=UTC -c extra_float_digits=3 -c bytea_output=hex "
    "-c lc_monetary=C -c xmlbinary=base64 -c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
)

_PARAMETERS: Final = {
    "host": "database.hostname",
    "port": "database.port",
    "dbname": "database.dbname",
    "user": "database.user",
    "password": "database.password",
    "sslmode": "database.sslmode",
    "sslrootcert": "database.sslrootcert",
    "sslcert": "database.sslcert",
    "sslkey": "database.sslkey",
    "sslpassword": "database.sslpassword",
}


def parameters(config: Mapping[str, str], timeout: int = 10) -> dict[str, str]:
    """The parameters of libpq, including credentials.

    Raises:
        ConfigError: they do not say where the database is.
    """
    found = {name: str(value) for name, value in POSTGRESQL.items()}
    found |= {"connect_timeout": str(timeout), "client_encoding": "UTF8"}
    if config.get("connection.url"):
        url = translate(config["connection.url"])
        if url.get_backend_name() != "postgresql":
            raise ConfigError("connection.url", "is not a URL of PostgreSQL.")
        found |= {name: value for name, value in url.query.items() if isinstance(value, str)}
        told = {"host": url.host, "port": url.port, "dbname": url.database, "user": url.username}
        found |= {name: str(value) for name, value in told.items() if value is not None}
        if isinstance(several := url.query.get("host"), tuple):
            hosts = [each.rpartition(":") if ":" in each else (each, "", "") for each in several]
            found["host"] = ",".join(host for host, _, _ in hosts)
            found["port"] = ",".join(port or "5432" for _, _, port in hosts)
        if url.password is not None:
            found["password"] = str(url.password)
    elif not config.get("database.hostname"):
        raise ConfigError("database.hostname", "is required, unless there is a connection.url.")
    for name, key in _PARAMETERS.items():
        if config.get(key):
            found[name] = str(config[key])
    if "dbname" not in found:
        raise ConfigError("database.dbname", "is required: changes are captured from one database.")
    found.setdefault("port", "5432")
    found["options"] = f"{found.get('options', '')} {_SESSION}".strip()
    return found


class ConnectionLost(RetriableError):
    """The replication connection broke. It is reopened at the next poll."""


class CreatedSlot(NamedTuple):
    """A new slot: the position of its first changes, and the name of the snapshot that has everything before them."""

    consistent_point: int
    snapshot: str


class Received(NamedTuple):
    """A message in the output plug-in's format. `lsn` is the position of a change in the log, 0 for others."""

    lsn: int
    data: memoryview


class ReplicationConnection:
    """One connection in replication mode. For the task's thread; `say` also for a thread that keeps it alive.

    Args:
        parameters: libpq's, without `replication`.

    Attributes:
        server_position: how far the server has read its log, by its last report.
        asked: whether the server wants a reply at once.
    """

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self.server_position = 0
        self.asked = False
        self._received = 0
        self._lock = threading.Lock()
        self._streaming = False
        self._closed = False
        self._connection = pq.PGconn.connect(parameters_text({**parameters, "replication": "database"}).encode())
        if self._connection.status != pq.ConnStatus.OK:
            said = _line(self._connection.error_message)
            self._connection.finish()
            raise ConnectionLost(f"PostgreSQL cannot be reached for replication: {said}")

    def create_slot(self, name: str, *, failover: bool, waiting: Callable[[], None]) -> CreatedSlot:
        """Create a slot for pgoutput. Its snapshot can be used until the next use of this connection.

        Args:
            name: of the slot.
            failover: whether standbys have it, too.
            waiting: called every second while the server waits for the end of transactions; what it raises ends that.
        """
        options = "(SNAPSHOT 'export', FAILOVER true)" if failover else "EXPORT_SNAPSHOT"
        command = f'CREATE_REPLICATION_SLOT "{name}" LOGICAL pgoutput {options}'
        self._connection.send_query(command.encode())
        try:
            while self._connection.is_busy():
                if not arrives(self._connection, _PATIENCE_S):
                    waiting()
                self._connection.consume_input()
        except BaseException:
            self._connection.get_cancel().cancel()
            raise
        answer = self._checked(self._connection.get_result())
        return CreatedSlot(parse_lsn(_text(answer.get_value(0, 1))), _text(answer.get_value(0, 2)))

    def start(self, slot: str, lsn: int, publication: str) -> None:
        """Start the stream of all transactions whose commit ends behind this position, or behind the slot's own."""
        quoted = publication.replace('"', '""').replace("'", "''")
        self._run(
            f'START_REPLICATION SLOT "{slot}" LOGICAL {lsn_text(lsn)} '
            f"(proto_version '1', publication_names '\"{quoted}\"')",
            pq.ExecStatus.COPY_BOTH,
        )
        self._streaming = True
        self._received = lsn

    def receive(self) -> Received | None:
        """The next change that has already arrived, None when there is none.

        Raises:
            ConnectionLost: nothing more will arrive on this connection.
        """
        with self._lock:
            return self._receive()

    def _receive(self) -> Received | None:
        connection = self._connection
        fresh = False
        while True:
            length, data = connection.get_copy_data(1)
            if length > 0:
                if data[0] == _DATA:
                    start, _, _ = _XLOG(data)
                    self._received = max(self._received, start)
                    return Received(start, data[25:])
                position, _, reply = _KEEPALIVE(data)
                self.server_position = max(self.server_position, position)
                self.asked = self.asked or bool(reply)
                continue
            if length < 0:
                self._ended(length)
            if fresh:
                return None
            try:
                connection.consume_input()
            except psycopg.Error as error:
                raise ConnectionLost(f"PostgreSQL closed the connection for replication: {_line(str(error))}") from None
            fresh = True

    def wait(self, seconds: float) -> None:
        """Wait until something arrives, or the time is over."""
        arrives(self._connection, seconds)

    def say(self, flushed: int, *, ask: bool = False) -> None:
        """Report the position: changes before `flushed` are never requested again. Thread-safe.

        Args:
            flushed: see there.
            ask: whether the server shall report its own at once.
        """
        with self._lock:
            if not self._streaming:
                return
            self.asked = False
            received = max(self._received, flushed)
            clock = int((time.time() - _EPOCH_2000) * 1_000_000)
            try:
                self._connection.put_copy_data(_STATUS(b"r", received, flushed, flushed, clock, ask))
                self._connection.flush()
            except psycopg.Error as error:
                raise ConnectionLost(f"PostgreSQL closed the connection for replication: {_line(str(error))}") from None

    def close(self) -> None:
        """Close it. May be called twice."""
        with self._lock:
            self._streaming = False
            self._closed = True
            self._connection.finish()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def _run(self, command: str, expected: pq.ExecStatus = pq.ExecStatus.TUPLES_OK) -> pq.abc.PGresult:
        return self._checked(self._connection.exec_(command.encode()), expected)

    def _checked(
        self, answer: pq.abc.PGresult | None, expected: pq.ExecStatus = pq.ExecStatus.TUPLES_OK
    ) -> pq.abc.PGresult:
        if answer is None:
            raise ConnectionLost("PostgreSQL does not replicate now: it gave no answer")
        if answer.status != expected:
            state = answer.error_field(pq.DiagnosticField.SQLSTATE) or b""
            said = _line(answer.error_message)
            if state[:2] in (b"", b"08", b"53", b"57") or state == b"55006":  # in use
                raise ConnectionLost(f"PostgreSQL does not replicate now: {said}")
            raise ConnectError(f"PostgreSQL refuses to replicate: {said}")
        return answer

    def _ended(self, length: int) -> None:
        said = _line(self._connection.error_message)
        if length == -1:
            answer = self._connection.get_result()
            said = _line(answer.error_message) if answer is not None and answer.error_message else "it shuts down"
        raise ConnectionLost(f"PostgreSQL ended the replication: {said}")


def arrives(connection: pq.abc.PGconn, seconds: float) -> bool:
    """Wait until something arrives, or the time is over: whether it did."""
    poll = select.poll()  # select() itself knows no file descriptor above 1023
    poll.register(connection.socket, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def parse_lsn(text: str) -> int:
    """A position in the log, as PostgreSQL writes it: `16/B374D848`."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def lsn_text(lsn: int) -> str:
    """The other way round."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def _escaped(value: str) -> str:
    return str(value).replace("\\", "\\\\").replace("'", "\\'")


def _text(value: bytes | None) -> str:
    return (value or b"").decode()


def parameters_text(parameters: Mapping[str, str]) -> str:
    """Parameters as a libpq connection string."""
    return " ".join(f"{name}='{_escaped(value)}'" for name, value in parameters.items())


def _line(said: bytes | str) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return " ".join(text.split()) or "no reason was given"
