"""Late commits, delays, coarse columns and time zones: where other connectors lost or repeated rows."""

import datetime as dt
import time
from collections.abc import Callable
from typing import Any

import pytest

from connect.testing import SourceRun
from connectors.jdbc.source.servers import postgresql
from tests.servers.postgresql import PostgresServer, PostgresStandby
from tests.support.waiting import until

PollUntil = Callable[[SourceRun, Callable[[], Any]], None]


def _ids(run: SourceRun) -> list[int]:
    return [record.value["id"] for record in run.records]


def test_a_transaction_that_ends_late_loses_no_row(
    postgresql_shop: Any, postgres_database: Any, poll_until: PollUntil
) -> None:
    """now() is when a transaction began: its rows appear behind those of others that were quicker (#103, #505)."""
    postgresql_shop.execute("CREATE TABLE t (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())")
    with (
        postgresql_shop.run(mode="timestamp", timestamp_column_name="at") as run,
        postgres_database.connect(autocommit=False) as late,
    ):
        run.poll()
        late.execute("INSERT INTO t VALUES (1)")
        postgresql_shop.execute("INSERT INTO t VALUES (2)")
        for _ in range(5):
            run.poll()
        # What was committed waits for what began before it.
        assert _ids(run) == []
        late.commit()
        poll_until(run, lambda: len(run.records) == 2)
        assert _ids(run) == [1, 2]


def test_a_transaction_that_is_waited_for_long_is_named(
    postgresql_shop: Any, postgres_database: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A session that somebody forgot holds rows back without an end."""
    monkeypatch.setattr(postgresql, "LONG_US", 0)
    postgresql_shop.execute("CREATE TABLE t (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())")
    with (
        postgresql_shop.run(mode="timestamp", timestamp_column_name="at") as run,
        postgres_database.connect(autocommit=False) as late,
    ):
        for times in (1, 2):
            late.execute(f"INSERT INTO t VALUES ({times})")
            for _ in range(3):
                run.poll()
            late.commit()
            run.poll_until(times)
            said = [each.getMessage() for each in caplog.records if "wait for a transaction" in each.getMessage()]
            assert len(said) == times
            assert f"(process {late.info.backend_pid} of the server)" in said[-1]


def test_a_transaction_that_is_prepared_and_ends_late_loses_no_row(
    postgres: PostgresServer, postgresql_shop: Any, poll_until: PollUntil
) -> None:
    """Two-phase commit: its process goes on to other transactions."""
    server = PostgresServer(max_prepared_transactions="1")  # the usual one is asked for so that its programs are there
    try:
        server.execute("CREATE TABLE t (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp())")
        postgresql_shop.config = {**postgresql_shop.config, "connection.url": server.jdbc_url}
        with (
            postgresql_shop.run(mode="timestamp", timestamp_column_name="at") as run,
            server.connect(autocommit=False) as late,
        ):
            run.poll()
            late.execute("INSERT INTO t VALUES (1)")
            run.poll()
            late.execute("PREPARE TRANSACTION 'late'")
            server.execute("INSERT INTO t VALUES (2)")
            for _ in range(5):
                run.poll()
            assert _ids(run) == []
            server.execute("COMMIT PREPARED 'late'")
            poll_until(run, lambda: len(run.records) == 2)
            assert _ids(run) == [1, 2]
    finally:
        server.close()


def test_a_standby_that_is_behind_loses_no_row(
    postgres: PostgresServer, postgresql_shop: Any, poll_until: PollUntil
) -> None:
    """Its clock goes on while it has to apply what it received: the delay is over before the row is there."""
    server = PostgresServer()  # the usual one is asked for so that its programs are there
    server.execute("CREATE TABLE t (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp())")
    standby = PostgresStandby(server)
    postgresql_shop.config = {**postgresql_shop.config, "connection.url": standby.jdbc_url}
    keys = {"mode": "timestamp", "timestamp_column_name": "at", "timestamp_delay_interval_ms": "300"}
    try:
        with postgresql_shop.run(**keys) as run:
            with server.connect(autocommit=False) as late:
                late.execute("INSERT INTO t VALUES (1)")
                server.execute("INSERT INTO t VALUES (2)")
                until(standby.follows)
                standby.execute("SELECT pg_wal_replay_pause()")
                until(lambda: standby.execute("SELECT pg_get_wal_replay_pause_state()") == [("paused",)])
                late.commit()
            behind = "SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn() FROM t"
            until(lambda: standby.execute(f"{behind} WHERE clock_timestamp() > at + interval '300 ms'") == [(True,)])
            for _ in range(5):
                run.poll()
            assert _ids(run) == []
            standby.execute("SELECT pg_wal_replay_resume()")
            poll_until(run, lambda: len(run.records) == 2)
            assert _ids(run) == [1, 2]
    finally:
        standby.close()
        server.close()


def test_one_who_may_not_see_others_transactions_waits_for_them_all_the_same(
    postgresql_shop: Any, postgres_database: Any, poll_until: PollUntil
) -> None:
    role = f"reader_{postgres_database.name}"
    postgres_database.execute(
        f"CREATE TABLE t (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());"
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON t TO {role}"
    )
    try:
        postgresql_shop.config |= {"connection.user": role, "connection.password": "x"}
        with (
            postgresql_shop.run(mode="timestamp", timestamp_column_name="at") as run,
            postgres_database.connect(autocommit=False) as late,
        ):
            run.poll()
            late.execute("INSERT INTO t VALUES (1)")
            postgresql_shop.execute("INSERT INTO t VALUES (2)")
            for _ in range(5):
                run.poll()
            assert _ids(run) == []
            late.commit()
            poll_until(run, lambda: len(run.records) == 2)
            assert _ids(run) == [1, 2]
    finally:
        postgres_database.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_others_who_write_elsewhere_are_not_waited_for(postgresql_shop: Any, postgres_database: Any) -> None:
    postgresql_shop.execute(
        "CREATE TABLE t (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now()); CREATE TABLE elsewhere (id int)"
    )
    with postgres_database.connect(autocommit=False) as other:
        other.execute("INSERT INTO elsewhere VALUES (1)")
        other.execute("SELECT * FROM t")
        postgresql_shop.execute("INSERT INTO t VALUES (1)")
        with postgresql_shop.run(mode="timestamp", timestamp_column_name="at", table_whitelist="t") as run:
            run.poll_until(1)


def test_rows_wait_for_the_delay(shop: Any, poll_until: PollUntil) -> None:
    shop.execute(f"CREATE TABLE t (id integer PRIMARY KEY, at {shop.stamp} NOT NULL)")
    made = dt.datetime.now(dt.UTC)
    shop.execute(f"INSERT INTO t VALUES (1, '{made:%Y-%m-%d %H:%M:%S.%f}')")
    with shop.run(mode="timestamp", timestamp_column_name="at", timestamp_delay_interval_ms="1500") as run:
        run.poll()
        assert _ids(run) == []
        poll_until(run, lambda: run.records)
        assert dt.datetime.now(dt.UTC) - made >= dt.timedelta(seconds=1.5)


def test_the_delay_is_five_seconds_unless_told() -> None:
    from connectors.jdbc.source.keys import JdbcSourceOptions

    assert JdbcSourceOptions.definition()["timestamp.delay.interval.ms"].default == 5000


def test_a_second_that_is_not_over_is_not_read(mariadb_shop: Any, poll_until: PollUntil) -> None:
    """A column in whole seconds: a row of this second may come after the poll, and would be taken for a known one."""
    mariadb_shop.execute(
        "CREATE TABLE t (id int PRIMARY KEY AUTO_INCREMENT, at datetime NOT NULL DEFAULT utc_timestamp())"
    )
    written = 0
    with mariadb_shop.run(mode="timestamp", timestamp_column_name="at") as run:
        end = time.monotonic() + 3
        while time.monotonic() < end:
            mariadb_shop.execute("INSERT INTO t () VALUES ()")
            written += 1
            run.poll()
        poll_until(run, lambda: len(run.records) >= written)
        assert sorted(_ids(run)) == list(range(1, written + 1))


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata", "UTC"])
def test_both_bounds_are_in_the_zone_of_the_database(shop: Any, zone: str, poll_until: PollUntil) -> None:
    """With the zone on one bound only, rows came hours late, or again and again (#1397)."""
    from zoneinfo import ZoneInfo

    shop.execute(f"CREATE TABLE t (id integer PRIMARY KEY, at {shop.stamp} NOT NULL)")

    def insert(number: int) -> dt.datetime:
        now = dt.datetime.now(ZoneInfo(zone))
        shop.execute(f"INSERT INTO t VALUES ({number}, '{now:%Y-%m-%d %H:%M:%S.%f}')")
        return now

    first = insert(1)
    with shop.run(mode="timestamp", timestamp_column_name="at", db_timezone=zone) as run:
        run.poll_until(1)
        second = insert(2)
        run.poll_until(2)
        run.restart()
        for _ in range(3):
            run.poll()
        third = insert(3)
        run.poll_until(3)
        assert _ids(run) == [1, 2, 3]
        for record, moment in zip(run.records, (first, second, third), strict=True):
            assert record.value["at"] == moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@pytest.mark.parametrize("was", ["timestamp", "timestamptz"])
def test_a_column_that_gets_or_loses_its_zone_hides_no_row(postgresql_shop: Any, was: str) -> None:
    """Its times are those of db.timezone when it has none: hours apart from what they are in UTC."""
    postgresql_shop.execute(f"CREATE TABLE t (id int PRIMARY KEY, at {was} NOT NULL)")
    postgresql_shop.execute("INSERT INTO t VALUES (1, '2024-01-01 10:00')")
    with postgresql_shop.run(mode="timestamp", timestamp_column_name="at", db_timezone="Asia/Tokyo") as run:
        run.poll_until(1)
        becomes = "timestamptz" if was == "timestamp" else "timestamp"
        postgresql_shop.execute(f"ALTER TABLE t ALTER at TYPE {becomes} USING at AT TIME ZONE 'Asia/Tokyo'")
        postgresql_shop.execute("INSERT INTO t SELECT 2, at + interval '1 second' FROM t")
        run.poll_until(2)
        run.poll()
        assert _ids(run) == [1, 2]


def test_moments_need_no_zone(postgresql_shop: Any) -> None:
    postgresql_shop.execute("CREATE TABLE t (id int PRIMARY KEY, at timestamptz NOT NULL)")
    postgresql_shop.execute("INSERT INTO t VALUES (1, '2024-05-01 12:00:00+02')")
    with postgresql_shop.run(mode="timestamp", timestamp_column_name="at", db_timezone="America/New_York") as run:
        assert run.poll_until(1)[0].value["at"] == dt.datetime(2024, 5, 1, 10, tzinfo=dt.UTC)
        assert run.offsets[0][1] == {"timestamp": 1714557600000, "timestamp_nanos": 0}


def test_times_that_no_clock_showed_come_once(shop: Any) -> None:
    """Between 2:00 and 3:00 of 31 March 2024 there was no time in Berlin; a table may hold some all the same."""
    shop.execute(f"CREATE TABLE t (id integer PRIMARY KEY, at {shop.stamp} NOT NULL)")
    for rows in ("1", "2", "10"):
        shop.execute("DELETE FROM t")
        for number, moment in enumerate(("01:59:59.5", "02:30:00.25", "02:45:00.75"), 1):
            shop.execute(f"INSERT INTO t VALUES ({number}, '2024-03-31 {moment}')")
        with shop.run(
            mode="timestamp", timestamp_column_name="at", db_timezone="Europe/Berlin", batch_max_rows=rows
        ) as run:
            run.poll_until(3)
            for _ in range(4):
                run.poll()
            shop.execute("INSERT INTO t VALUES (4, '2024-03-31 03:15:00.5')")
            run.poll_until(4)
            assert _ids(run) == [1, 2, 3, 4]


def test_dates_serve_as_timestamps(shop: Any) -> None:
    shop.execute("CREATE TABLE t (id integer PRIMARY KEY, at date NOT NULL)")
    today = dt.datetime.now(dt.UTC).date()
    shop.execute(f"INSERT INTO t VALUES (1, '2024-05-01'), (2, '{today}')")
    with shop.run(mode="timestamp", timestamp_column_name="at") as run:
        run.poll_until(1)
        for _ in range(3):
            run.poll()
        assert _ids(run) == [1], "of a day that is not over, rows are still to come"


@pytest.mark.parametrize(
    "written",
    [
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:01Z"),
        ("2024-05-01 10:00:00.100", "2024-05-01 10:00:00.200"),
        ("2024-05-01 10:00:00", "2024-05-01 10:00:00.000001"),
        ("2024-05-01 10:00:00.000000", "2024-05-01 10:00:00.000001"),
        ("2024-05-01 10:00:00.000", "2024-05-01 10:00:00.010"),
        (1714557600000, 1714557600001),
    ],
)
def test_forms_of_times_in_sqlite(sqlite_shop: Any, written: tuple[Any, Any]) -> None:
    sqlite_shop.execute("CREATE TABLE t (id integer PRIMARY KEY, at timestamp NOT NULL)")
    for number in (1, 2, 3, 4):
        sqlite_shop.execute(f"INSERT INTO t VALUES ({number}, {written[number > 2]!r})")
    keys = {"mode": "timestamp+incrementing", "timestamp_column_name": "at", "incrementing_column_name": "id"}
    offsets: Any = ()
    came: list[int] = []
    for _ in range(4):
        with sqlite_shop.run(offsets, batch_max_rows="1", **keys) as run:
            run.poll()
            came += _ids(run)
            offsets = run.offsets
            run.crash()
    assert came == [1, 2, 3, 4]
