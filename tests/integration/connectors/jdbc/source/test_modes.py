"""Every mode on every database: which rows come, in which order, what is stored, and where reading goes on."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from connect import ConnectError, DataError
from connect.testing import SourceRun


def _ids(run: SourceRun, since: int = 0) -> list[int]:
    return [record.value["id"] for record in run.records[since:]]


def _orders(shop: Any, count: int, per_time: int = 3) -> None:
    """Rows 1 to `count`, so many of which have one time, a microsecond apart."""
    shop.execute(f"CREATE TABLE orders (id integer PRIMARY KEY, at {shop.stamp} NOT NULL, note varchar(40))")
    for number in range(1, count + 1):
        moment = f"2024-05-01 12:00:00.{(number - 1) // per_time:06d}"
        shop.execute(f"INSERT INTO orders VALUES ({number}, '{moment}', 'note {number}')")


def test_bulk_gives_the_whole_table_at_each_poll(shop: Any) -> None:
    _orders(shop, 5)
    with shop.run(mode="bulk", batch_max_rows="2") as run:
        run.poll_until(5)
        assert sorted(_ids(run)) == [1, 2, 3, 4, 5]
        shop.execute("UPDATE orders SET note = 'changed' WHERE id = 3")
        run.poll_until(10)
        assert sorted(_ids(run, 5)[:5]) == [1, 2, 3, 4, 5]
        assert "changed" in [record.value["note"] for record in run.records[5:10]]
        assert {record.topic for record in run.records} == {"db-orders"}
        assert {record.value_schema.name for record in run.records if record.value_schema} == {"orders"}
        assert {record.key for record in run.records} == {None}


@pytest.mark.quick
def test_incrementing_gives_each_row_once_and_goes_on_after_a_restart(shop: Any) -> None:
    _orders(shop, 5)
    with shop.run(mode="incrementing", incrementing_column_name="id", batch_max_rows="2") as run:
        run.poll_until(5)
        shop.execute("INSERT INTO orders VALUES (6, '2024-05-01 13:00:00', 'n')")
        run.poll_until(6)
        assert _ids(run) == [1, 2, 3, 4, 5, 6]
        assert run.offsets == [(shop.partition("orders"), {"incrementing": 6})]
        run.restart()
        shop.execute("INSERT INTO orders VALUES (9, '2024-05-01 13:00:00', 'n')")
        run.poll_until(7)
        assert _ids(run) == [1, 2, 3, 4, 5, 6, 9]


def test_incrementing_reads_negative_numbers_and_zero_unless_told_where_to_begin(shop: Any) -> None:
    shop.execute("CREATE TABLE t (id integer PRIMARY KEY)")
    shop.execute("INSERT INTO t VALUES (-5), (0), (7)")
    with shop.run(mode="incrementing", incrementing_column_name="id") as run:
        assert [record.value["id"] for record in run.poll_until(3)] == [-5, 0, 7]
    with shop.run(mode="incrementing", incrementing_column_name="id", incrementing_initial="-1") as run:
        assert [record.value["id"] for record in run.poll_until(2)] == [0, 7]


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 100])
def test_rows_of_one_time_over_an_edge_are_neither_lost_nor_repeated(shop: Any, rows: int, seed: int) -> None:
    """Kafka takes some of what was read, then the task dies, again and again (confluentinc/kafka-connect-jdbc#242)."""
    _orders(shop, 20)
    with shop.run(mode="timestamp+incrementing", timestamp_column_name="at", incrementing_column_name="id",
                  batch_max_rows=str(rows)) as run:  # fmt: skip
        run.poll_until(20)
        assert _ids(run) == list(range(1, 21))
    chance = random.Random(seed)
    offsets: Any = ()
    through: set[int] = set()
    for _ in range(6):
        with shop.run(offsets, mode="timestamp", timestamp_column_name="at", batch_max_rows=str(rows)) as run:
            run.hold()
            for _ in range(chance.randint(2, 12)):
                run.poll()
            taken = run.polled[: chance.randint(0, len(run.polled))]
            run.acknowledge(sum(map(len, taken)))
            through.update(record.value["id"] for batch in taken for record in batch)
            offsets = run.offsets
            run.crash()
    with shop.run(offsets, mode="timestamp", timestamp_column_name="at", batch_max_rows=str(rows)) as run:
        run.poll_all()
        assert through | set(_ids(run)) == set(range(1, 21))


@pytest.mark.quick
def test_timestamp_gives_what_changed_and_nothing_twice(shop: Any) -> None:
    _orders(shop, 10)
    with shop.run(mode="timestamp", timestamp_column_name="at", batch_max_rows="4") as run:
        run.poll_until(10)
        for _ in range(5):
            run.poll()
        assert sorted(_ids(run)) == list(range(1, 11))
        shop.execute("UPDATE orders SET at = '2024-05-01 12:00:00.000100' WHERE id = 2")
        run.poll_until(11)
        run.restart()
        for _ in range(5):
            run.poll()
        assert sorted(_ids(run)) == [1, 2, *range(2, 11)]
        # 12:00:00.0001 UTC: milliseconds, and the nanoseconds of the whole second, as java.sql.Timestamp has them.
        assert run.offsets == [(shop.partition("orders"), {"timestamp": 1714564800000, "timestamp_nanos": 100000})]


def test_each_row_once_with_timestamp_and_number_whenever_the_task_dies(shop: Any, seed: int) -> None:
    _orders(shop, 40, per_time=7)
    keys = {"mode": "timestamp+incrementing", "timestamp_column_name": "at", "incrementing_column_name": "id"}
    chance = random.Random(seed)
    acknowledged: list[int] = []
    offsets: Any = ()
    while len(acknowledged) < 40:
        with shop.run(offsets, batch_max_rows=str(chance.randint(1, 9)), **keys) as run:
            run.hold()
            run.poll()
            run.poll()
            taken = chance.randint(0, len(run.polled))
            acknowledged += [record.value["id"] for batch in run.polled[:taken] for record in batch]
            run.acknowledge(sum(map(len, run.polled[:taken])))
            offsets = run.offsets
            run.crash()
    counted = Counter(acknowledged)
    assert set(counted) == set(range(1, 41)), "a row was lost"
    assert max(counted.values()) == 1, "a row came twice"


def test_microseconds_count(shop: Any) -> None:
    """Cut off to milliseconds, the same rows came at each poll (#712)."""
    _orders(shop, 3, per_time=1)
    with shop.run(mode="timestamp", timestamp_column_name="at") as run:
        run.poll_until(3)
        for _ in range(4):
            run.poll()
        run.restart()
        for _ in range(4):
            run.poll()
        assert _ids(run) == [1, 2, 3]


def test_rows_of_1970_and_before_come(shop: Any) -> None:
    """A start at the beginning of 1970 left them out (#541)."""
    shop.execute(f"CREATE TABLE t (id integer PRIMARY KEY, at {shop.stamp} NOT NULL)")
    shop.execute(
        "INSERT INTO t VALUES (1, '1969-07-20 20:17:40'), (2, '1970-01-01 00:00:00'), (3, '1970-01-01 00:00:01')"
    )
    with shop.run(mode="timestamp", timestamp_column_name="at") as run:
        assert [record.value["id"] for record in run.poll_until(3)] == [1, 2, 3]
    with shop.run(mode="timestamp", timestamp_column_name="at", timestamp_initial_ms="0") as run:
        assert [record.value["id"] for record in run.poll_until(1)] == [3]


def test_a_start_at_this_moment_leaves_out_what_was_before(shop: Any) -> None:
    _orders(shop, 3)
    with shop.run(mode="timestamp", timestamp_column_name="at", timestamp_initial="-1") as run:
        for _ in range(4):
            run.poll()
        assert _ids(run) == []


def test_the_first_of_several_timestamps_that_is_there_counts(shop: Any) -> None:
    shop.execute(f"CREATE TABLE t (id integer PRIMARY KEY, changed {shop.stamp}, made {shop.stamp} NOT NULL)")
    shop.execute("INSERT INTO t VALUES (1, '2024-05-03 00:00:00', '2024-05-01 00:00:00')")
    shop.execute("INSERT INTO t VALUES (2, NULL, '2024-05-02 00:00:00')")
    with shop.run(mode="timestamp", timestamp_column_name="changed,made") as run:
        run.poll_until(2)
        assert _ids(run) == [2, 1]
        assert run.offsets[0][1]["timestamp"] == 1714694400000


def test_a_snapshot_comes_once(shop: Any) -> None:
    _orders(shop, 7)
    with shop.run(mode="snapshot", batch_max_rows="3") as run:
        run.poll_until(7)
        shop.execute("INSERT INTO orders VALUES (8, '2024-05-01 13:00:00', 'n')")
        run.poll()
        run.restart()
        run.poll()
        assert _ids(run) == [1, 2, 3, 4, 5, 6, 7]
        assert run.offsets == [(shop.partition("orders"), {"snapshot": "completed", "incrementing": 7})]
        # What it stored is where the mode incrementing goes on.
        run.restart({"mode": "incrementing", "incrementing.column.name": "id"})
        run.poll_until(8)
        assert _ids(run)[7:] == [8]


def test_a_snapshot_goes_on_in_the_middle(shop: Any) -> None:
    _orders(shop, 10)
    with shop.run(mode="snapshot", batch_max_rows="3") as run:
        run.poll()
        run.crash()
        run.restart()
        run.poll_until(10)
        assert _ids(run) == list(range(1, 11))


def test_ranges_of_a_table_are_shared_out_and_each_row_comes_once(shop: Any) -> None:
    _orders(shop, 50)
    with shop.run(mode="snapshot", table_splits="4", tasks_max="3", batch_max_rows="7") as run:
        assert len(run.tasks) == 3
        run.poll()
        run.crash()
        # The ranges stay as they were cut, though the table has grown by then.
        shop.execute("INSERT INTO orders VALUES (1000, '2024-05-01 13:00:00', 'n')")
        run.restart()
        run.poll_until(51)
        run.poll_all()
        assert sorted(_ids(run)) == [*range(1, 51), 1000]
        assert {offset["snapshot"] for _, offset in run.offsets} == {"completed"}
    with shop.run(mode="bulk", table_splits="4", tasks_max="2", poll_interval_ms="3600000") as run:
        run.poll_until(51)
        assert sorted(_ids(run)) == [*range(1, 51), 1000]


def test_a_query_with_clauses_of_its_own(shop: Any) -> None:
    _orders(shop, 9)
    query = "SELECT o.id, o.at, p.note AS earlier FROM orders o LEFT JOIN orders p ON p.id = o.id - 1 WHERE o.id <> 4"
    with shop.run(mode="timestamp+incrementing", timestamp_column_name="at", incrementing_column_name="id", query=query,
                  topic_prefix="joined", batch_max_rows="3") as run:  # fmt: skip
        run.poll_until(8)
        assert _ids(run) == [1, 2, 3, 5, 6, 7, 8, 9]
        assert {record.topic for record in run.records} == {"joined"}
        assert run.records[1].value["earlier"] == "note 1"
        ((partition, offset),) = run.offsets
        assert partition == {"query": "query"}
        assert offset == {"incrementing": 9, "timestamp": 1714564800000, "timestamp_nanos": 2000}
    with shop.run(mode="bulk", query="SELECT id FROM orders WHERE note LIKE '%9'", topic_prefix="nine") as run:
        assert run.poll_until(1)[0].value == {"id": 9}
    with shop.run(mode="bulk", query_masked="SELECT id FROM orders", query_suffix="LIMIT 2", topic_prefix="t") as run:
        run.poll_until(2)
        assert len(run.polled[0]) == 2


@pytest.mark.parametrize("limit", [3, 4, 5, 6, 7, 100])
@pytest.mark.parametrize("rows", ["2", "10"])
def test_a_limit_between_rows_of_one_time_loses_none_of_them(
    shop: Any, limit: int, rows: str, poll_until: Callable[[SourceRun, Callable[[], Any]], None]
) -> None:
    _orders(shop, 20)
    with shop.run(
        mode="timestamp", timestamp_column_name="at", query_suffix=f"LIMIT {limit}", batch_max_rows=rows
    ) as run:
        poll_until(run, lambda: set(_ids(run)) == set(range(1, 21)))
        assert len(run.records) == 20 or rows == "2"  # a batch that is smaller than a time gives some of it again
        poll_until(run, lambda: run.offsets[0][1]["timestamp_nanos"] == 6000)


def test_a_query_may_end_with_a_comment(shop: Any) -> None:
    _orders(shop, 5)
    query = "SELECT id FROM orders -- all of them"
    with shop.run(mode="bulk", query=query, topic_prefix="t", poll_interval_ms="3600000") as run:
        assert sorted(record.value["id"] for record in run.poll_until(5)) == [1, 2, 3, 4, 5]
    with shop.run(mode="bulk", query=query, query_suffix="LIMIT 2", topic_prefix="t") as run:
        run.poll_until(2)
        assert len(run.polled[0]) == 2


def test_a_column_with_a_percent_sign_tells_what_is_new(shop: Any) -> None:
    quote = '"' if shop.stamp == "timestamp" else "`"
    shop.execute(f"CREATE TABLE t ({quote}no%{quote} integer NOT NULL)")
    shop.execute("INSERT INTO t VALUES (2), (1)")
    with shop.run(mode="incrementing", incrementing_column_name="no%") as run:
        assert [record.value["no%"] for record in run.poll_until(2)] == [1, 2]
        shop.execute("INSERT INTO t VALUES (3)")
        assert run.poll_until(3)[2].value == {"no%": 3}


def test_a_number_that_is_null_is_told(shop: Any) -> None:
    shop.execute("CREATE TABLE t (id integer, name varchar(10))")
    shop.execute("INSERT INTO t VALUES (1, 'a'), (NULL, 'b')")
    with (
        pytest.raises(ConnectError, match=r'"id" of table .*t may be null.*validate\.non\.null=false'),
        shop.run(mode="incrementing", incrementing_column_name="id") as run,
    ):
        run.poll()
    with (
        pytest.raises(DataError, match=r'"id" of table .*t is null in a row'),
        shop.run(mode="incrementing", incrementing_column_name="id", validate_non_null="false") as run,
    ):
        run.poll()


def test_a_column_that_cannot_serve_is_told(shop: Any) -> None:
    shop.execute("CREATE TABLE t (id integer NOT NULL, name varchar(10) NOT NULL)")
    for keys, said in [
        ({"mode": "incrementing"}, "no columns by which the database numbers rows"),
        ({"mode": "incrementing", "incrementing_column_name": "ID2"}, 'no column "ID2". It has id, name'),
        ({"mode": "incrementing", "incrementing_column_name": "name"}, "must hold whole numbers"),
        ({"mode": "timestamp", "timestamp_column_name": "name"}, "which is not a timestamp"),
    ]:
        with pytest.raises(ConnectError, match=said), shop.run(**keys) as run:
            run.poll()


def test_a_key_that_serves_other_modes_harms_neither_bulk_nor_snapshot(shop: Any) -> None:
    shop.execute("CREATE TABLE t (code varchar(5) PRIMARY KEY)")
    shop.execute("INSERT INTO t VALUES ('a'), ('b')")
    for mode in ("bulk", "snapshot"):
        with shop.run(mode=mode, incrementing_column_name="id", poll_interval_ms="3600000") as run:
            run.poll_until(2)
            assert sorted(record.value["code"] for record in run.records) == ["a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_database_of_which_only_sqlalchemy_knows(request: pytest.FixtureRequest, kind: str) -> None:
    shop = request.getfixturevalue(f"{kind}_shop")
    _orders(shop, 20, per_time=3)
    keys = {"timestamp_column_name": "at", "incrementing_column_name": "id", "table_whitelist": "orders"}
    for mode in ("incrementing", "timestamp", "timestamp+incrementing", "snapshot"):
        with shop.run(
            mode=mode, dialect_name="GenericDatabaseDialect", batch_max_rows="6", schema_pattern="%", **keys
        ) as run:
            run.poll_until(20)
            shop.execute("INSERT INTO orders VALUES (21, '2024-05-02 00:00:00', 'new')")
            run.poll_until(20 if mode == "snapshot" else 21)
            run.restart()
            for _ in range(3):
                run.poll()
            assert sorted(_ids(run)) == list(range(1, 21 if mode == "snapshot" else 22))
            assert run.records[0].value["note"].startswith("note ")
            shop.execute("DELETE FROM orders WHERE id = 21")
    query = {"query": "SELECT id, at, note FROM orders", "topic_prefix": "q", **keys, "table_whitelist": ""}
    with shop.run(mode="timestamp+incrementing", dialect_name="Generic", **query) as run:
        run.poll_until(20)
        assert run.offsets[0][1]["incrementing"] == 20


def test_numbers_in_a_column_without_digits_told(postgresql_shop: Any) -> None:
    postgresql_shop.execute("CREATE TABLE t (id numeric NOT NULL); INSERT INTO t VALUES (1), (20), (3)")
    keys = {"mode": "incrementing", "incrementing_column_name": "id"}
    with postgresql_shop.run(**keys) as run:
        run.poll_until(3)
        assert run.offsets[0][1] == {"incrementing": 20}
    postgresql_shop.execute("INSERT INTO t VALUES (20.5)")
    with pytest.raises(DataError, match="numbers that are not whole"), postgresql_shop.run(**keys) as run:
        run.poll()
    postgresql_shop.execute("UPDATE t SET id = 1e19 WHERE id = 20.5")
    with pytest.raises(DataError, match="more than 64 bits"), postgresql_shop.run(**keys) as run:
        run.poll()
