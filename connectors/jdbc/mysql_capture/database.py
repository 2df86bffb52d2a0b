"""The database beside its log: an ordinary connection, what the server must have, its tables as they are now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pymysql
from pymysql.cursors import SSCursor

from connect import ConnectError, RetriableError
from connectors.jdbc.database.failures import passes
from connectors.jdbc.mysql_capture.connection import connected, said, where
from connectors.jdbc.mysql_capture.facts import TEXTS, ColumnFacts, TableFacts, default, of_type
from connectors.jdbc.mysql_capture.sql import NotUnderstood, Words, quoted

#: Databases that are never captured.
SERVERS_OWN: Final = ("information_schema", "mysql", "performance_schema", "sys")
_NO_RIGHT: Final = (1044, 1045, 1142, 1143, 1227)


def number(error: ConnectError) -> int | None:
    """The server's number of an error of `CapturedServer`; None for none."""
    cause = error.__cause__
    return cause.args[0] if isinstance(cause, pymysql.Error) and cause.args else None


def denied(error: ConnectError) -> bool:
    """Whether the user lacks a right."""
    return number(error) in _NO_RIGHT


@dataclass(frozen=True, slots=True)
class Place:
    """A position of the log; `gtids` are the transactions before it, empty where the server has none."""

    file: str
    position: int
    gtids: str = ""

    @property
    def order(self) -> tuple[int, str, int]:
        """For comparing: files of a log are numbered, and their names grow longer when the numbers do."""
        return len(self.file), self.file, self.position


class CapturedServer:
    """One ordinary connection, in autocommit.

    Args:
        options: see `connected`.

    Raises:
        RetriableError, ConnectError: see `connected`.

    Attributes:
        mariadb: whether it is a MariaDB server, which has GTIDs and a text for JSON.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._where = where(options)
        self._options = options
        self.connection = connected(options)
        version = self.connection.get_server_info()
        self.mariadb = "mariadb" in version.lower()
        numbers = version.removeprefix("5.5.5-").split("-")[0].split(".")
        self.version = tuple(int(part) for part in numbers[:2] if part.isdigit())

    def another(self) -> CapturedServer:
        """Another connection to it."""
        return CapturedServer(self._options)

    def query(self, sql: str, values: Any = None) -> list[tuple[bytes | None, ...]]:
        """The rows of a statement, none for one that has none.

        Raises:
            RetriableError: the connection broke, or it may work later.
            ConnectError: it was refused.
        """
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql, values)
                return list(cursor.fetchall()) if cursor.description else []
        except pymysql.Error as error:
            raise self.failure(error) from error

    def texts(self, sql: str, values: Any = None) -> list[tuple[str, ...]]:
        """The same as texts; what is NULL is an empty one."""
        return [tuple("" if each is None else each.decode() for each in row) for row in self.query(sql, values)]

    def failure(self, error: pymysql.Error) -> ConnectError:
        """What an error of the driver means."""
        words = said(error)
        if passes(error) or not self.connection.open:
            return RetriableError(f"{self._where} does not answer: {words}", waits_for=self._where)
        return ConnectError(f"{self._where}: {words}")

    def stream(self, sql: str) -> SSCursor:
        """A statement whose rows come as they are read. Raises pymysql.Error."""
        cursor = self.connection.cursor(SSCursor)
        cursor.execute(sql)
        return cursor

    def close(self) -> None:
        """Close the connection, in whatever state it is."""
        if self.connection.open:
            if (result := self.connection._result) is not None:
                result.unbuffered_active = False  # else a cursor that is thrown away reads it to its end
            self.connection._force_close()

    def variable(self, name: str) -> str | None:
        """A global variable; None where the server has none of this name."""
        found = self.texts("SHOW GLOBAL VARIABLES LIKE %s", (name,))
        return found[0][1] if found else None

    def problem(self, server_id: int) -> str | None:
        """Why changes of this server cannot be captured, and what to do about it.

        Raises:
            ConnectError: the server did not answer.
        """
        if self.variable("log_bin") not in ("ON", "1"):
            return "The binary log of the server is off (log_bin). Start the server with log_bin and binlog_format=ROW."
        if (form := self.variable("binlog_format")) not in ("ROW", None):
            return f"binlog_format of the server is {form}. Set binlog_format=ROW, and let sessions begin anew."
        if (image := self.variable("binlog_row_image")) not in ("FULL", None):
            return f"binlog_row_image of the server is {image}. Set binlog_row_image=FULL, and let sessions begin anew."
        if str(server_id) == self.variable("server_id"):
            return f"database.server.id={server_id} is the server's own. Give each connector a number of its own."
        return None

    def doubt(self) -> str | None:
        """Why changes may be missing in its log."""
        if not self.mariadb or self.variable("log_slave_updates") != "OFF":
            return None
        running = self.texts("SHOW GLOBAL STATUS LIKE 'Slaves_running'")
        if not running or running[0][1] == "0":
            return None
        return (
            f"{self._where} is a replica without log_slave_updates: what comes from its primary is not in its binary "
            "log, and is not captured. Start it with log_slave_updates=ON."
        )

    def problem_of_signals(self, table: str | None) -> str | None:
        """Why there are no signals in this table, and what to do about it."""
        if table is None or table in {".".join(name) for name in self.tables()}:
            return None
        return (
            f'There is no table "{table}", which signal.data.collection names, or the user may not see it. Make it: '
            f"CREATE TABLE {table} (id varchar(42) PRIMARY KEY, type varchar(32), data text)"
        )

    def place(self) -> Place:
        """Where the log ends now.

        Raises:
            ConnectError: the user may not know it, or there is no log.
        """
        new = not self.mariadb and self.version >= (8, 4)
        try:
            found = self.texts("SHOW BINARY LOG STATUS" if new else "SHOW MASTER STATUS")
        except ConnectError as error:
            if denied(error):
                right = "BINLOG MONITOR" if self.mariadb else "REPLICATION CLIENT"
                raise ConnectError(f"{error}. Grant it: GRANT {right} ON *.* TO the user.") from error
            raise
        if not found:
            raise ConnectError(f"{self._where} has no binary log. Start it with log_bin.")
        file, position, *more = found[0]
        gtids = ""
        if self.mariadb:
            gtids = self.gtids(file, int(position)) or ""
        elif len(more) > 2:
            gtids = more[2].replace("\n", "")
        return Place(file, int(position), gtids)

    def gtids(self, file: str, position: int) -> str | None:
        """The transactions before a position of a MariaDB server; None where it does not have this position."""
        found = self.query("SELECT BINLOG_GTID_POS(%s, %s)", (file, position))
        return None if not found or found[0][0] is None else found[0][0].decode()

    def files(self) -> list[str]:
        """The files of the log, the oldest first."""
        return [row[0] for row in self.texts("SHOW BINARY LOGS")]

    def databases(self) -> list[str]:
        """The databases that may be captured, by name."""
        return sorted(name for (name,) in self.texts("SHOW DATABASES") if name not in SERVERS_OWN)

    def tables(self) -> list[tuple[str, str]]:
        """The tables that may be captured, with their databases, by name."""
        own = ", ".join(f"'{name}'" for name in SERVERS_OWN)
        return sorted(
            (database, table)
            for database, table in self.texts(
                "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES "
                f"WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND TABLE_SCHEMA NOT IN ({own})"
            )
        )

    def kind(self, database: str, table: str) -> str | None:
        """BASE TABLE, SEQUENCE and so on; None for what is not there, or not to be seen."""
        found = self.texts(
            "SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
            (database, table),
        )
        return found[0][0] if found else None

    def charset(self, database: str) -> str | None:
        """What texts of new tables are written in."""
        found = self.texts(
            "SELECT DEFAULT_CHARACTER_SET_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s", (database,)
        )
        return found[0][0] if found else None

    def facts(self, database: str, table: str) -> TableFacts | None:
        """A table as it is defined now; None when there is none, or the user may not see it.

        Raises:
            ConnectError: it cannot be captured: it has versions, or a column of a type that cannot be read.
        """
        columns = self.texts(
            "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, IFNULL(CHARACTER_SET_NAME, ''), "
            "IF(COLUMN_DEFAULT IS NULL, 'n', 'd'), COLUMN_DEFAULT, EXTRA, DATA_TYPE FROM information_schema.COLUMNS "
            "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION",
            (database, table),
        )
        if not columns:
            return None
        try:
            made = tuple(self._column(row) for row in columns)
        except NotUnderstood as error:
            raise ConnectError(f"{database}.{table} has a column that cannot be read: {error}") from error
        indexes: dict[str, list[str]] = {}
        # In the server's order, which information_schema does not tell: the first one without nulls may be the key.
        for _, _, index, _, column, *_ in self.texts(
            f"SHOW INDEX FROM {quoted(database)}.{quoted(table)} WHERE Non_unique = 0"
        ):
            indexes.setdefault(index, []).append(column)
        found = self.texts(
            "SELECT t.TABLE_TYPE, c.CHARACTER_SET_NAME FROM information_schema.TABLES t "
            "LEFT JOIN information_schema.COLLATION_CHARACTER_SET_APPLICABILITY c "
            f"ON c.{'FULL_COLLATION_NAME' if self._full_names else 'COLLATION_NAME'} = t.TABLE_COLLATION "
            "WHERE t.TABLE_SCHEMA = %s AND t.TABLE_NAME = %s",
            (database, table),
        )
        kind, charset = found[0] if found else ("", "")
        if kind == "SYSTEM VERSIONED":
            raise ConnectError(
                f"{database}.{table} has system versioning: in the log its old versions look like new rows. Leave it "
                f"out (table.exclude.list), or let it have no versions (ALTER TABLE {table} DROP SYSTEM VERSIONING)."
            )
        primary = tuple(indexes.pop("PRIMARY", ()))
        # A part without a name is an expression.
        uniques = tuple((name, tuple(parts)) for name, parts in indexes.items() if all(parts))
        return TableFacts(database, table, made, primary, uniques, charset or None)

    def changed_at(self, database: str, table: str) -> int:
        """When a table was last defined, in seconds since 1970."""
        found = self.texts(
            "SELECT UNIX_TIMESTAMP(CREATE_TIME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s "
            "AND TABLE_NAME = %s",
            (database, table),
        )
        return int(float(found[0][0] or 0)) if found else 0

    def collations(self) -> dict[int, str]:
        """The character sets of collations, by the numbers that these have in the log."""
        if self._full_names:
            return {
                int(number): charset
                for number, charset in self.texts(
                    "SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY "
                    "WHERE ID IS NOT NULL"
                )
            }
        return {
            int(number): charset
            for number, charset in self.texts("SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATIONS")
            if number
        }

    @property
    def _full_names(self) -> bool:
        """Whether the server's collations have a name with their character set beside one without."""
        return self.mariadb and self.version >= (10, 10)

    def _column(self, row: tuple[str, ...]) -> ColumnFacts:
        name, written, nullable, charset, defaulted, text, extra, base = row
        try:
            made = of_type(written, name, charset or None)
        except NotUnderstood:
            made = ColumnFacts(name, base.lower())
        if made.base not in TEXTS:
            made = replace(made, charset=None)
        made = replace(made, not_null=nullable == "NO")
        if defaulted == "n" or (self.mariadb and text == "NULL"):
            return made
        computed = "DEFAULT_GENERATED" in extra or text.upper().startswith("CURRENT_TIMESTAMP")
        if self.mariadb or computed:
            # An expression, as it would stand in a statement.
            return default(Words(text), made)
        if text[:2] in ("b'", "0x"):
            return default(Words(text), made)
        return replace(made, default=text.encode())
