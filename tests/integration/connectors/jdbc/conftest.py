"""Databases that connectors capture, of each kind in turn. A module about one kind overrides `captured`."""

import logging
import uuid
from collections.abc import Iterator

import pytest

from tests.integration.connectors.jdbc.captured import Captured
from tests.integration.connectors.jdbc.incremental_snapshots import ROWS
from tests.integration.connectors.jdbc.mysql_captured import CapturedMaria
from tests.integration.connectors.jdbc.postgres_captured import CapturedPostgres
from tests.servers.mariadb import MariaServer
from tests.servers.postgresql import PostgresDatabase


@pytest.fixture
def captured_postgres(postgres_database: PostgresDatabase) -> Iterator[CapturedPostgres]:
    made = CapturedPostgres(postgres_database)
    yield made
    made.close()


@pytest.fixture
def captured_mariadb(mariadb: MariaServer) -> Iterator[CapturedMaria]:
    database = mariadb.database(f"test_{uuid.uuid4().hex[:12]}")
    made = CapturedMaria(database)
    yield made
    made.close()
    database.drop()


@pytest.fixture(params=["postgres", "mariadb"])
def captured(request: pytest.FixtureRequest) -> Captured:
    """An empty database of each kind."""
    made: Captured = request.getfixturevalue(f"captured_{request.param}")
    return made


@pytest.fixture
def line(captured: Captured) -> Captured:
    """With a table of lines, of which there are some already."""
    captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text)", captured.numbers(1, 5000, "before"))
    return captured


@pytest.fixture
def signalled(captured: Captured, caplog: pytest.LogCaptureFixture) -> Captured:
    """With a table of lines, and one for signals."""
    caplog.set_level(logging.INFO)
    captured.execute(
        "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32), data text)",
        "CREATE TABLE line (id int PRIMARY KEY, word varchar(100))",
        captured.numbers(1, ROWS, "w"),
    )
    return captured
