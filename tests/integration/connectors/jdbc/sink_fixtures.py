"""Fixtures for tests of the JDBC sink."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.connectors.jdbc.sink_targets import Generic, Maria, Postgres, Sqlite, Target


@pytest.fixture(params=["postgresql", "mariadb", "sqlite", "generic"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    """An empty database of each kind."""
    if request.param == "postgresql":
        yield Postgres(request.getfixturevalue("postgres_database"))
    elif request.param == "mariadb":
        database = request.getfixturevalue("mariadb").database(f"test_{uuid.uuid4().hex[:12]}")
        yield Maria(database)
        database.drop()
    else:
        yield (Sqlite if request.param == "sqlite" else Generic)(tmp_path / "test.db")
