"""The connection that a server sends its binary log over: COM_BINLOG_DUMP, on a login by PyMySQL.

PyMySQL logs in, with TLS and every way of authentication; from the dump on the packets are read here, so that a wait
has an end and a server that went silent is noticed.

https://mariadb.com/docs/server/reference/clientserver-protocol/replication-protocol
https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication.html
"""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping
from typing import Any, Final

import pymysql

from connect import ConnectError, RetriableError
from connectors.jdbc.mysql_capture.connection import connected, where

_DUMP: Final = 0x12
_REGISTER: Final = 0x15
_MORE: Final = 0xFFFFFF  # the length of a packet that the next one continues
#: Errors of the server that say that this position is not in its log (any more).
_NOT_THERE: Final = 1236
_LOST: Final = ("could not find first log", "impossible position", "purged", "not in the master's binlog", "gtid")
#: How often an idle server says that it is there, and after which silence it is not.
HEARTBEAT_S: Final = 10
_SILENCE_S: Final = 45


class PositionLost(ConnectError):
    """The server does not have this position of its log, or not any more."""


class ReplicationConnection:
    """A session that receives the binary log.

    Args:
        options: see `connected`.
        server_id: what the session is called among the replicas of the server; one that has the same name is ended.

    Raises:
        RetriableError, ConnectError: see `connected`.
    """

    def __init__(self, options: Mapping[str, Any], server_id: int) -> None:
        self._where = where(options)
        self._server_id = server_id
        self._connection = connected(options)
        self._buffer = bytearray()
        self._read = 0  # how much of the buffer was handed out
        self._heard = time.monotonic()
        self.closed = False

    def register(self) -> None:
        """Tell the server that a replica is here.

        Raises:
            ConnectError: the user may not replicate.
        """
        self._send(struct.pack("<BIBBBHII", _REGISTER, self._server_id, 0, 0, 0, 0, 0, 0))
        try:
            self._connection._read_packet()
        except pymysql.Error as error:
            raise self._refused(error) from error

    def start(self, file: str, position: int, gtids: str | None = None) -> None:
        """Ask for the log from a position on.

        Args:
            file: of the log.
            position: in that file, where an event begins.
            gtids: of a MariaDB server: the transactions behind which it begins, instead of the position.
        """
        try:
            with self._connection.cursor() as cursor:
                # What a replica of these days says of itself: it knows checksums, and MariaDB's own events.
                cursor.execute("SET @master_binlog_checksum = @@global.binlog_checksum")
                cursor.execute("SET @mariadb_slave_capability = 4")
                cursor.execute(f"SET @master_heartbeat_period = {HEARTBEAT_S * 1_000_000_000}")
                if gtids is not None:
                    cursor.execute("SET @slave_connect_state = %s", (gtids,))
                    cursor.execute("SET @slave_gtid_strict_mode = 1")
                    cursor.execute("SET @slave_gtid_ignore_duplicates = 0")
        except pymysql.Error as error:
            raise self._refused(error) from error
        name = b"" if gtids is not None else file.encode()
        self._send(struct.pack("<BIHI", _DUMP, 4 if gtids is not None else position, 0, self._server_id) + name)
        self._heard = time.monotonic()

    def receive(self, wait: float = 0.0) -> bytes | None:
        """The next event, with its header; None when none came in this time (seconds).

        Raises:
            RetriableError: the connection is lost.
            PositionLost: the server does not have this position.
            ConnectError: it refuses for another reason.
        """
        payload = self._packet(wait)
        if payload is None:
            if time.monotonic() - self._heard > _SILENCE_S:
                self._lost(f"it said nothing for {_SILENCE_S} s")
            return None
        kind = payload[0]
        if kind == 0x00:
            return payload[1:]
        if kind == 0xFF:
            number, text = int.from_bytes(payload[1:3], "little"), payload[3:]
            said = (text[6:] if text[:1] == b"#" else text).decode(errors="replace")
            self.close()
            raise self._error(number, said)
        self._lost("it ended the stream")
        return None

    def close(self) -> None:
        """End the session."""
        if not self.closed:
            self.closed = True
            self._connection._force_close()

    def _packet(self, wait: float) -> bytes | None:
        """The next whole packet, without its header."""
        parts: list[bytes] = []
        at = self._read
        while True:
            buffer = self._buffer
            if len(buffer) - at >= 4:
                length = int.from_bytes(buffer[at : at + 3], "little")
                if len(buffer) - at >= 4 + length:
                    parts.append(bytes(buffer[at + 4 : at + 4 + length]))
                    at += 4 + length
                    if length < _MORE:
                        self._read = at
                        return parts[0] if len(parts) == 1 else b"".join(parts)
                    continue
            if not parts and (at == len(buffer) or at > 1 << 20):  # now and then: to cut a buffer costs its length
                del buffer[:at]
                at = self._read = 0
            if not self._fill(wait):
                return None

    def _fill(self, wait: float) -> bool:
        socket = self._connection._sock
        if self.closed or socket is None:
            raise RetriableError(f"The connection to {self._where} is closed.", waits_for=self._where)
        try:
            socket.settimeout(max(wait, 0.0005))
            data = socket.recv(1 << 18)
        except TimeoutError:
            return False
        except OSError as error:
            self._lost(str(error))
            return False
        if not data:
            self._lost("the server closed it")
        self._buffer += data
        self._heard = time.monotonic()
        return True

    def _send(self, command: bytes) -> None:
        try:
            self._connection._write_bytes(struct.pack("<I", len(command)) + command)
            self._connection._next_seq_id = 1
        except pymysql.Error as error:
            raise self._refused(error) from error

    def _lost(self, why: str) -> None:
        self.close()
        raise RetriableError(f"The connection to {self._where} is lost: {why}", waits_for=self._where)

    def _refused(self, error: pymysql.Error) -> Exception:
        self.close()
        number, said = (*error.args, "")[:2] if error.args else (0, "")
        return self._error(number if isinstance(number, int) else 0, str(said))

    def _error(self, number: int, said: str) -> Exception:
        said = " ".join(said.split())
        if "same server_uuid/server_id" in said or "same server_id" in said:
            return RetriableError(
                f"{self._where}: another replica with database.server.id={self._server_id} took over: {said}. Give "
                "each connector a number of its own.",
                waits_for=self._where,
            )
        if number == _NOT_THERE and any(word in said.lower() for word in _LOST):
            return PositionLost(f"{self._where}: {said}")
        if number in (1044, 1045, 1227):
            return ConnectError(
                f"{self._where}: the user may not read the binary log: {said}. Grant it: GRANT REPLICATION SLAVE, "
                "REPLICATION CLIENT ON *.* TO the user."
            )
        if number in (0, 1053, 1158, 1159, 1160, 1161, 1927, 2003, 2006, 2013, 2014):
            return RetriableError(f"{self._where} does not answer: {said}", waits_for=self._where)
        return ConnectError(f"{self._where}: {said} ({number})")
