"""Which tables are found, which go to which task, and what happens when they come and go."""

from collections.abc import Callable
from typing import Any

import pytest

from connect import ConfigError, ConnectError
from connect.testing import SourceRun
from connectors.jdbc.source import JdbcSourceConnector

PollUntil = Callable[[SourceRun, Callable[[], Any]], None]


def _topics(run: SourceRun) -> set[str]:
    return {record.topic for record in run.records}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, "orders orders_old users"),
        ({"table_whitelist": "orders,{name}users"}, "orders users"),
        ({"table_blacklist": "orders"}, "orders_old users"),
        ({"table_include_list": "{regex}orders.*"}, "orders orders_old"),
        ({"table_include_list": "{regex}.*", "table_exclude_list": ".*_old,user."}, "orders"),
        ({"table_include_list": "orders"}, "orders"),
        ({"table_types": "VIEW"}, "summary"),
        ({"table_types": "TABLE,VIEW", "table_exclude_list": "{regex}orders.*"}, "summary users"),
    ],
)
def test_lists_and_patterns_choose_tables(shop: Any, keys: dict[str, str], expected: str) -> None:
    for table in ("orders", "orders_old", "users"):
        shop.execute(f"CREATE TABLE {table} (id integer PRIMARY KEY)")
        shop.execute(f"INSERT INTO {table} VALUES (1)")
    shop.execute("CREATE VIEW summary AS SELECT * FROM orders")
    prefix = shop.name("")
    told = {key: value.format(name=prefix, regex=prefix.replace(".", r"\.")) for key, value in keys.items()}
    with shop.run(mode="bulk", poll_interval_ms="3600000", **told) as run:
        run.poll_all()
        assert _topics(run) == {f"db-{name}" for name in expected.split()}


def test_new_and_dropped_tables_are_noticed(shop: Any, poll_until: PollUntil) -> None:
    shop.execute("CREATE TABLE one (id integer PRIMARY KEY)")
    shop.execute("INSERT INTO one VALUES (1)")
    with shop.run(
        mode="incrementing", incrementing_column_name="id", table_poll_interval_ms="20", tasks_max="5"
    ) as run:
        run.poll_until(1)
        assert not run.reconfiguration_requested
        shop.execute("CREATE TABLE two (id integer PRIMARY KEY)")
        shop.execute("INSERT INTO two VALUES (1)")
        poll_until(run, lambda: run.reconfiguration_requested)
        run.reconfigure()
        run.poll_until(2)
        assert len(run.tasks) == 2
        assert _topics(run) == {"db-one", "db-two"}
        shop.execute("DROP TABLE one")
        # Its task waits until it is told: that a table is gone fails nothing.
        for _ in range(3):
            run.poll()
        shop.execute("INSERT INTO two VALUES (2)")
        run.poll_until(3)
        poll_until(run, lambda: len(run.connector.task_configs(5)) == 1)
        run.reconfigure()
        shop.execute("INSERT INTO two VALUES (3)")
        run.poll_until(4)


def test_no_table_runs_no_task_until_there_is_one(shop: Any, poll_until: PollUntil) -> None:
    with shop.run(mode="bulk", table_poll_interval_ms="20") as run:
        assert run.tasks == []
        shop.execute("CREATE TABLE one (id integer)")
        poll_until(run, lambda: run.reconfiguration_requested)
        run.reconfigure()
        assert len(run.tasks) == 1


def test_tables_are_shared_out_among_tasks(shop: Any) -> None:
    for number in range(5):
        shop.execute(f"CREATE TABLE t{number} (id integer)")
        shop.execute(f"INSERT INTO t{number} VALUES ({number})")
    with shop.run(mode="bulk", tasks_max="3", poll_interval_ms="3600000") as run:
        assert len(run.tasks) == 3
        run.poll_all()
        assert _topics(run) == {f"db-t{number}" for number in range(5)}
    assert len(JdbcSourceConnector().validate({**shop.config, "mode": "bulk"})) > 30


def test_each_table_has_its_own_columns_by_mappings(shop: Any) -> None:
    shop.execute(f"CREATE TABLE a_log (at {shop.stamp} NOT NULL)")
    shop.execute(f"CREATE TABLE b_log (made {shop.stamp}, seen {shop.stamp} NOT NULL, no integer NOT NULL)")
    shop.execute("INSERT INTO a_log VALUES ('2024-01-01 00:00:00')")
    shop.execute("INSERT INTO b_log VALUES (NULL, '2024-01-02 00:00:00', 4)")
    with shop.run(timestamp_columns_mapping=".*a_log:[at],.*b_log:[made|seen]") as run:
        run.poll_until(2)
        assert {str(p["table"]): o["timestamp"] for p, o in run.offsets} == {
            shop.name("a_log"): 1704067200000,
            shop.name("b_log"): 1704153600000,
        }
    with (
        pytest.raises(ConfigError, match=r"no entries that match table .*b_log"),
        shop.run(timestamp_columns_mapping=".*a_log:[at]") as run,
    ):
        run.poll()


def test_a_table_that_changes_its_columns_is_read_with_the_new_ones(shop: Any) -> None:
    shop.execute("CREATE TABLE t (id integer PRIMARY KEY)")
    shop.execute("INSERT INTO t VALUES (1)")
    with shop.run(mode="incrementing", incrementing_column_name="id") as run:
        run.poll_until(1)
        shop.execute("ALTER TABLE t ADD COLUMN name varchar(10)")
        shop.execute("INSERT INTO t VALUES (2, 'x')")
        assert run.poll_until(2)[1].value == {"id": 2, "name": "x"}


def test_two_tables_of_one_name_are_refused(postgresql_shop: Any) -> None:
    postgresql_shop.execute("CREATE SCHEMA other; CREATE TABLE t (id int); CREATE TABLE other.t (id int)")
    with pytest.raises(ConnectError, match=r'"\w+\.other\.t" and "\w+\.public\.t" would go to one topic'):
        postgresql_shop.run(mode="bulk").start()
    with postgresql_shop.run(mode="bulk", schema_pattern="oth%") as run:
        assert len(run.tasks) == 1


def test_partitioned_and_materialized_tables(postgresql_shop: Any) -> None:
    postgresql_shop.execute(
        "CREATE TABLE days (day date NOT NULL, n int) PARTITION BY RANGE (day);"
        "CREATE TABLE days_2024 PARTITION OF days FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');"
        "INSERT INTO days VALUES ('2024-05-01', 1); CREATE MATERIALIZED VIEW m AS SELECT * FROM days"
    )
    for types, topics in [
        ("PARTITIONED_TABLE", {"db-days"}),
        ("PARTITIONED TABLE,MATERIALIZED VIEW", {"db-days", "db-m"}),
    ]:
        with postgresql_shop.run(mode="bulk", table_types=types, poll_interval_ms="3600000") as run:
            run.poll_all()
            assert _topics(run) == topics


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ({}, "mode", "is required"),
        ({"mode": "timestamp"}, "timestamp.column.name", "is required with mode=timestamp"),
        (
            {"mode": "bulk", "table.whitelist": "a", "table.blacklist": "b"},
            "table.blacklist",
            "excludes table.whitelist",
        ),
        ({"mode": "bulk", "table.whitelist": "a", "query": "SELECT 1"}, "table.whitelist", "excludes query"),
        (
            {"mode": "bulk", "table.include.list": "(", "db.timezone": "UTC"},
            "table.include.list",
            "not a regular expression",
        ),
        ({"mode": "incrementing", "query": "SELECT 1"}, "incrementing.column.name", "is required"),
        ({"mode": "bulk", "connection.url": "jdbc:db2://host/db"}, "connection.url", "no translation"),
        ({"mode": "bulk", "connection.url": ""}, "connection.url", "is required"),
        ({"mode": "timestamp", "timestamp.columns.mapping": "a.b"}, "timestamp.columns.mapping", "which columns"),
        ({"mode": "incrementing", "table.splits": "3"}, "table.splits", "mode=bulk"),
    ],
)
def test_keys_that_do_not_fit_are_told(keys: dict[str, str], key: str, said: str) -> None:
    values = JdbcSourceConnector().validate({"connection.url": "jdbc:sqlite:/tmp/x.db", **keys})
    wrong = {value.name: value.errors for value in values if value.errors}
    assert set(wrong) == {key}
    assert said in wrong[key][0]
