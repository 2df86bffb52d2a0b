"""Which errors of a database pass, and what is said of those that do not."""

import sqlite3

import psycopg
import pymysql
import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from connectors.jdbc.database import passes
from connectors.jdbc.database.connection import reason


def wrapped(error: Exception, kind: type[Exception] = psycopg.Error) -> BaseException:
    """As SQLAlchemy raises it."""
    return DBAPIError.instance("SELECT secret", ["secret"], error, kind)


@pytest.mark.parametrize(
    "state", ["08006", "40001", "40P01", "53300", "57P01", "57P03", "57014", "55P03", "25006", "58030"]
)
def test_states_that_pass(state: str) -> None:
    error = psycopg.errors.lookup(state)("x")
    assert passes(error)
    assert passes(wrapped(error))


@pytest.mark.parametrize("state", ["22001", "23505", "23502", "42P01", "42501", "28P01", "3D000", "0A000"])
def test_states_that_stay(state: str) -> None:
    error = psycopg.errors.lookup(state)("x")
    assert not passes(error)
    assert not passes(wrapped(error))


@pytest.mark.parametrize(
    ("said", "temporary"),
    [
        ("connection to server failed: Connection refused", True),
        ("server closed the connection unexpectedly", True),
        ("the connection is closed", True),
        ('FATAL:  password authentication failed for user "x"', False),
        ('FATAL:  database "x" does not exist', False),
        ("no pg_hba.conf entry for host", False),
    ],
)
def test_what_libpq_says_without_a_state(said: str, temporary: bool) -> None:
    assert passes(psycopg.OperationalError(said)) is temporary
    assert passes(wrapped(psycopg.OperationalError(said))) is temporary


@pytest.mark.parametrize(
    ("number", "state", "temporary"),
    [
        (1205, "HY000", True),
        (1213, "40001", True),
        (1226, "42000", True),
        (1290, "HY000", True),
        (1317, "70100", True),
        (2006, None, True),
        (2013, None, True),
        (1040, "08004", True),
        (1152, "08S01", True),
        (1045, "28000", False),
        (1064, "42000", False),
        (1364, "HY000", False),
    ],
)
def test_numbers_of_mysql(number: int, state: str | None, temporary: bool) -> None:
    error = pymysql.err.OperationalError(number, "x", sqlstate=state)
    assert passes(wrapped(error, pymysql.err.Error)) is temporary


def test_duplicates_stay() -> None:
    assert not passes(wrapped(pymysql.err.IntegrityError(1062, "Duplicate entry"), pymysql.err.Error))


def test_a_locked_file_passes_and_a_missing_table_does_not() -> None:
    assert passes(wrapped(sqlite3.OperationalError("database is locked"), sqlite3.Error))
    assert not passes(wrapped(sqlite3.OperationalError("no such table: x"), sqlite3.Error))
    assert not passes(wrapped(sqlite3.IntegrityError("UNIQUE constraint failed"), sqlite3.Error))


def test_network_and_pool() -> None:
    assert passes(ConnectionResetError())
    assert passes(TimeoutError())
    assert passes(PoolTimeout())
    assert not passes(ValueError())


def test_a_reason_is_one_line_without_statement_and_parameters() -> None:
    error = wrapped(psycopg.errors.UniqueViolation("duplicate key\nDETAIL:  Key (id)=(7) already exists."))
    assert reason(error) == "duplicate key DETAIL: Key (id)=(7) already exists."
    assert "secret" not in reason(error)
    assert len(reason(ValueError("x" * 5000))) < 600
    assert (
        reason(wrapped(pymysql.err.IntegrityError(1062, "Duplicate entry '7'"), pymysql.err.Error))
        == "Duplicate entry '7'"
    )


def test_a_trimmed_reason_quotes_nothing() -> None:
    assert reason(wrapped(psycopg.errors.UniqueViolation("Key (id)=(7)")), trimmed=True) == "UniqueViolation (23505)"
    mysql = wrapped(pymysql.err.IntegrityError(1062, "Duplicate entry '7'"), pymysql.err.Error)
    assert reason(mysql, trimmed=True) == "IntegrityError (1062)"
    assert reason(ValueError("7"), trimmed=True) == "ValueError"
