"""The database goes away and comes back; passwords change; statements take too long: what was there still comes."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from connect import ConnectError
from connect.testing import SourceRun
from connectors.jdbc.source import JdbcSourceConnector
from tests.servers.mariadb import MariaServer
from tests.servers.postgresql import PostgresServer
from tests.support.waiting import until

PollUntil = Callable[[SourceRun, Callable[[], Any]], None]


@pytest.fixture
def server(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that this test may kill. The usual one is asked for so that its programs are there."""
    made = PostgresServer()
    yield made
    made.close()


def _config(database: Any, **config: str) -> dict[str, str]:
    return {
        "connection.url": database.jdbc_url,
        "connection.user": database.user,
        "connection.password": database.password,
        "connection.backoff.ms": "50",
        "timestamp.delay.interval.ms": "0",
        "topic.prefix": "db-",
        "poll.interval.ms": "1",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        **{key.replace("_", "."): value for key, value in config.items()},
    }


def _ids(run: SourceRun) -> list[int]:
    return [record.value["id"] for record in run.records]


@pytest.mark.slow
def test_a_database_that_is_killed_in_the_middle_costs_no_row(server: PostgresServer, poll_until: PollUntil) -> None:
    """A connector that went on RUNNING and read nothing was found days later (#1472)."""
    server.execute("CREATE TABLE t (id int PRIMARY KEY, text varchar(200))")
    server.execute("INSERT INTO t SELECT n, repeat('x', 200) FROM generate_series(1, 50000) n; CHECKPOINT")
    with SourceRun(JdbcSourceConnector, _config(server, batch_max_rows="1000"), timeout=60) as run:
        run.poll_until(3000)
        server.kill()
        for _ in range(40):  # rows that had arrived by then may still come
            run.poll()
        seen = len(run.records)
        assert run.metric("jdbc_source_errors_total") > 0
        server.start()
        run.poll_until(50_000)
        assert seen < 50_000
        assert _ids(run) == list(range(1, 50_001))
        server.stop()
        for _ in range(3):
            run.poll()
        server.start()
        server.execute("INSERT INTO t VALUES (50001, 'after')")
        run.poll_until(50_001)
        assert run.metric("jdbc_source_last_error_timestamp_seconds") > 0


def test_after_as_many_failures_as_are_allowed_the_task_fails(
    postgres_database: Any, server: PostgresServer, poll_until: PollUntil
) -> None:
    server.execute("CREATE TABLE t (id int PRIMARY KEY)")
    with SourceRun(JdbcSourceConnector, _config(server, query_retry_attempts="2")) as run:
        run.poll()
        server.kill()
        with pytest.raises(ConnectError, match=r"failed: .* Given up after 2 retries \(query.retry.attempts\)"):
            poll_until(run, lambda: False)


def test_a_database_that_is_away_at_the_start_is_waited_for(server: PostgresServer, poll_until: PollUntil) -> None:
    server.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    run = SourceRun(JdbcSourceConnector, _config(server, query="SELECT * FROM t"))
    server.kill()
    with run:
        for _ in range(3):
            run.poll()
        server.start()
        run.poll_until(1)


def test_sessions_that_are_ended_are_opened_again(postgres_database: Any, poll_until: PollUntil) -> None:
    postgres_database.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    with SourceRun(JdbcSourceConnector, _config(postgres_database)) as run:
        run.poll_until(1)
        postgres_database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        postgres_database.execute("INSERT INTO t VALUES (2)")
        run.poll_until(2)


class Rotating:
    """Hands out the password of now."""

    password = ""

    def configure(self, config: Any) -> None:
        self._user = config["user"]

    def credentials(self) -> tuple[str, str]:
        return self._user, Rotating.password


def test_a_new_password_is_asked_for_at_the_next_connection(
    postgres_database: Any, poll_until: PollUntil, monkeypatch: pytest.MonkeyPatch
) -> None:

    role = f"rotating_{postgres_database.name}"
    postgres_database.execute(
        f"CREATE ROLE {role} LOGIN PASSWORD 'first'; CREATE TABLE t (id int PRIMARY KEY); GRANT ALL ON t TO {role};"
        "INSERT INTO t VALUES (1)"
    )
    monkeypatch.setitem(sys.modules, "rotating_passwords", sys.modules[__name__])
    Rotating.password = "first"
    keys = {
        "jdbc_credentials_provider_class": "rotating_passwords:Rotating",
        "jdbc_credentials_provider_user": role,
        "connection_user": "",
        "connection_password": "",
    }
    try:
        with SourceRun(JdbcSourceConnector, _config(postgres_database, **keys)) as run:
            run.poll_until(1)
            postgres_database.execute(f"ALTER ROLE {role} PASSWORD 'second'")
            Rotating.password = "second"
            postgres_database.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'"
            )
            postgres_database.execute("INSERT INTO t VALUES (2)")
            run.poll_until(2)
    finally:
        postgres_database.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_connector_that_is_refused_for_good_fails(postgres_database: Any, poll_until: PollUntil) -> None:
    """One that is restarted has the password of then."""
    role = f"expired_{postgres_database.name}"
    postgres_database.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'first'; CREATE TABLE t (id int PRIMARY KEY)")
    keys = {"connection_user": role, "connection_password": "first", "table_poll_interval_ms": "10", "mode": "bulk"}
    keys |= {"table_whitelist": "none_of_this_name"}
    try:
        with SourceRun(JdbcSourceConnector, _config(postgres_database, **keys)) as run:
            postgres_database.execute(
                f"ALTER ROLE {role} PASSWORD 'second';"
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'"
            )
            with pytest.raises(ConnectError, match="refuses the connection: .*password authentication failed"):
                poll_until(run, lambda: False)
    finally:
        postgres_database.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_statement_that_takes_too_long_is_ended(postgres_database: Any) -> None:
    query = "SELECT 1 AS id, pg_sleep(60)::text AS s"
    config = _config(postgres_database, query=query, query_timeout_ms="100", query_retry_attempts="1", mode="bulk")
    with (
        pytest.raises(ConnectError, match="statement timeout"),
        SourceRun(JdbcSourceConnector, config) as run,
    ):
        run.poll_all()


@pytest.mark.slow
def test_memory_is_bounded_whatever_the_table_holds(postgres_database: Any, tmp_path: Path) -> None:
    """400 MB of rows of 100 KB through a process that keeps none of them."""
    postgres_database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, blob text); ALTER TABLE t ALTER blob SET STORAGE PLAIN"
    )
    postgres_database.execute("ALTER TABLE t ALTER blob SET STORAGE EXTERNAL")
    postgres_database.execute("INSERT INTO t SELECT n, repeat('y', 100000) FROM generate_series(1, 4000) n")
    code = f"""
import contextlib
import resource
from connectors.jdbc.source import JdbcSourceTask
task = JdbcSourceTask()
class context:
    configs = {_config(postgres_database, mode="bulk", tables='"public"."t"', tables_fetched="true")!r}
    exit_stack = contextlib.ExitStack()
    stopping = staticmethod(lambda: False)
    offsets = staticmethod(lambda partitions: [None for _ in partitions])
    class metrics:
        count = gauge = observe = staticmethod(lambda *a, **k: None)
task.context = context
task.start(context.configs)
import pyarrow.csv
seen = 0
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
while seen < 4000:
    seen += len(task.poll())
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 120, f"{done.stdout} MB more than before"


@pytest.mark.slow
def test_a_pause_in_the_middle_of_a_table_of_mysql_does_not_begin_it_again(
    mariadb: MariaServer, mariadb_shop: Any
) -> None:
    mariadb_shop.execute("CREATE TABLE t (id varchar(20) PRIMARY KEY, pad text)")
    mariadb_shop.execute("INSERT INTO t SELECT seq, repeat('x', 20000) FROM seq_1_to_1000")
    mariadb.execute("SET GLOBAL net_write_timeout = 1")

    def writes_since() -> int:
        """How long the server has waited for the reader, in seconds."""
        waits = "SELECT max(time) FROM information_schema.processlist WHERE state = 'Writing to net'"
        return int(mariadb.execute(waits)[0][0] or 0)

    try:
        with mariadb_shop.run(mode="snapshot", batch_max_rows="10") as run:
            run.poll_until(10)
            until(lambda: writes_since() >= 2, 30)
            run.poll_until(1000)
            run.poll_all()
            assert len(run.records) == 1000
    finally:
        mariadb.execute("SET GLOBAL net_write_timeout = DEFAULT")
