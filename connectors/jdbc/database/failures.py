"""Which errors of a database are transient: a lost connection, a deadlock, a server that is starting.

Others (a value that does not fit, a missing table, a wrong password) are not retried.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

#: SQLSTATEs, or their classes (the first two characters): connection, rollback of a transaction, resources, operator.
#: 57014, a cancelled statement, is what a statement timeout looks like.
_STATES: Final = ("08", "40", "53", "57P", "57014", "55P03", "25006", "XX000 could not", "58030", "HYT")
#: Numbers of MySQL and MariaDB: connections gone or too many, lock wait and deadlock, shutdown, read-only, Galera.
_MYSQL: Final = frozenset(
    {1040, 1042, 1043, 1047, 1053, 1077, 1079, 1158, 1159, 1160, 1161, 1184, 1203, 1205, 1213, 1226, 1290, 1317, 1836}
    | {1927, 1969, 2002, 2003, 2006, 2013, 2014, 2026, 2027, 2055, 3024, 4031}
)
_SQLITE: Final = ("locked", "busy")
_NEVER: Final = ("28", "3D", "42")


def passes(error: BaseException) -> bool:
    """Whether the same may succeed later: worth a new connection and another try."""
    if isinstance(error, PoolTimeout):
        return True
    if not isinstance(error, DBAPIError):
        return _passes(error, False)
    if error.connection_invalidated:
        return True
    return _passes(error.orig, isinstance(error, OperationalError | InterfaceError))


def _passes(error: BaseException | None, operational: bool) -> bool:
    state = getattr(error, "sqlstate", None)
    by_state = isinstance(state, str) and state.startswith(_STATES) and not state.startswith(_NEVER)
    number = error.args[0] if error is not None and error.args else None
    if isinstance(number, int):
        # MySQL's states are coarse: HY000 is most of what passes, and most of what does not.
        return number in _MYSQL or by_state
    if isinstance(state, str) and state:
        return by_state
    module = type(error).__module__
    if module.startswith("sqlite3"):
        return operational and any(word in str(error).lower() for word in _SQLITE)
    if module.startswith("psycopg"):
        # Without an SQLSTATE it is libpq that speaks: no connection, or none any more.
        words = str(error).lower()
        return type(error).__name__ in ("OperationalError", "AdminShutdown") and not any(
            word in words for word in ("authentication failed", "does not exist", "no pg_hba.conf entry", "invalid ")
        )
    return isinstance(error, ConnectionError | TimeoutError) or operational
