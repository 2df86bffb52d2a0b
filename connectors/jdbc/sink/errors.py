"""Errors of records, and those of a database or a connection: which is which, and what may be done about it."""

from __future__ import annotations

from typing import Final

from sqlalchemy.exc import DBAPIError, StatementError

from connect import ConnectError, RetriableError, SchemaError
from connectors.jdbc.database import Database, TableName, passes
from connectors.jdbc.database.connection import reason

#: Classes of SQLSTATE that speak of values: cardinality, data, constraints, a view's check option, triggers; and one of
#: what is too large for an index or a type.
_STATES: Final = ("21", "22", "23", "44", "09", "P0001", "54000")
#: What a trigger of MySQL signals, whatever its number.
_SIGNAL: Final = "45000"
#: MySQL and MariaDB: null, duplicates, ranges, lengths, foreign keys, checks, JSON, bad characters.
_MYSQL: Final = frozenset(
    {1048, 1062, 1216, 1217, 1263, 1264, 1265, 1292, 1364, 1366, 1367, 1406, 1411, 1416, 1451, 1452, 1525, 1526}
    | {1553, 1557, 1586, 1644, 1690, 3140, 3141, 3156, 3819, 4025, 4078}
)


class RowError(SchemaError):
    """A record does not fit its table.

    Attributes:
        all_alike: whether this holds for all of the records, so that searching for the one at fault is pointless.
    """

    def __init__(self, reason: str, *, all_alike: bool = False) -> None:
        super().__init__(reason)
        self.all_alike = all_alike


class Misfit(RowError):
    """A record would need a change of its table that is not allowed, or impossible."""


class Outdated(Exception):
    """Columns of a table are no more of the types that they had when they were read."""


def is_about_rows(error: BaseException) -> bool:
    """Whether other rows may well be written: a value or a key is at fault, not a statement."""
    if isinstance(error, RowError):
        return True
    if isinstance(error, StatementError) and not isinstance(error, DBAPIError):
        return True  # SQLAlchemy itself could not make a parameter of a value
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    state = getattr(cause, "sqlstate", None)
    number = cause.args[0] if cause.args else None
    module = type(cause).__module__
    by_state = isinstance(state, str) and state.startswith(_STATES)
    if module.startswith("pymysql") and isinstance(number, int):
        # Its states are coarse: HY000 is many things.
        return number in _MYSQL or by_state or state == _SIGNAL
    if isinstance(state, str) and state:
        return by_state
    if module.startswith("psycopg"):
        # Without an SQLSTATE it is the driver that cannot write a value.
        return type(cause).__name__ in ("DataError", "IntegrityError")
    # Every driver has these classes (PEP 249).
    names = {each.__name__ for each in type(cause).__mro__}
    return bool(names & {"DataError", "IntegrityError"}) or (
        module.startswith("sqlite3") and isinstance(cause, OverflowError | ValueError | TypeError)
    )


def is_passing(error: BaseException) -> bool:
    """Whether the same may succeed later."""
    return isinstance(error, RetriableError) or (not isinstance(error, ConnectError) and passes(error))


def may_be_outdated(error: BaseException) -> bool:
    """Whether a statement was refused, and not a record: it may be for columns that are no more as they were read."""
    if isinstance(error, Outdated):
        return True
    # Every driver has this class (PEP 249), and so has SQLAlchemy.
    of_database = any(each.__name__ == "DatabaseError" for each in type(error).__mro__)
    return of_database and not (is_passing(error) or is_about_rows(error))


def plain(error: Exception, database: Database, table: TableName | None, trimmed: bool) -> ConnectError:
    """An error of a database, or of its driver, as users read it."""
    if isinstance(error, ConnectError):
        return error
    cause = getattr(error, "orig", None) or error
    where = f'{database}, table "{table}"' if table is not None else str(database)
    found = ConnectError(f"{where}: {reason(error, trimmed=trimmed)}")
    found.__cause__ = None if trimmed else cause
    return found
