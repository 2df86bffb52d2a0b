"""Each record is one row, whoever writes, dies, comes late or comes back."""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from connect import ConnectError, FencedError, RetriableError, SinkBatch, SinkRecord, TopicPartition, Values
from connect.testing import SinkRun
from spark_sink.delta import alter_offsets
from spark_sink.delta.table import Table
from spark_sink.delta.writer import Writer
from spark_sink.rows.conflicts import Conflict
from spark_sink.table_settings import TableOptions

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]
Log = Callable[..., DeltaTable]

PLACE = TopicPartition("test", 0)
OFFSET, OWNER = "connect/orders-sink/test-0", "connect/orders-sink/test-0/owner"


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(row["id"] for row in rows)


def numbered(first: int, last: int) -> list[dict[str, int]]:
    return [{"id": n} for n in range(first, last)]


def batch(first: int, last: int, place: TopicPartition = PLACE) -> SinkBatch:
    values = Values(numbered(first, last))
    return SinkBatch(place.topic, values, offsets=range(first, last), partitions=place.partition)


@pytest.fixture
def writer(lake: Path) -> Callable[..., Writer]:
    """Another task's hold on the table."""
    options = TableOptions.parse({"name": "orders-sink", "table": str(lake / "orders"), "schema.evolution": "full"})
    return lambda: Writer(Table(str(lake / "orders"), "orders-sink", {}), options)


def put(writer: Writer, first: int, last: int, place: TopicPartition = PLACE) -> None:
    part, mismatches = writer.prepare(batch(first, last, place))
    assert not mismatches
    writer.waiting.add(part)


def test_a_log_that_was_cleaned_up_is_that_of_the_same_table(run: Run, rows: Rows, lake: Path) -> None:
    """Its old versions go when another writer has made a checkpoint, and the retention is over."""
    orders = run()
    orders.put(*numbered(0, 5))
    orders.commit()
    before = DeltaTable(lake / "orders").version()
    for number in range(3):
        write_deltalake(lake / "orders", pa.table({"id": [100 + number]}), mode="append")
    DeltaTable(lake / "orders").create_checkpoint()
    for version in range(before + 1):
        (lake / "orders" / "_delta_log" / f"{version:020}.json").unlink()
    orders.put(*numbered(5, 10))
    orders.commit()
    assert ids(rows()) == [*range(10), 100, 101, 102]


@pytest.mark.promise("P1", "P10")
class TestOneTable:
    def test_offsets_are_in_the_commit_of_the_rows(self, run: Run, log: Log) -> None:
        orders = run()
        orders.put(*numbered(0, 5))
        orders.commit()
        assert log().transaction_version(OFFSET) == 5
        assert log().history(1)[0]["connector"] == "orders-sink"

    def test_a_commit_says_which_offsets_its_rows_have(self, run: Run, log: Log) -> None:
        orders = run(partitions=2)
        orders.put(*numbered(0, 5))
        orders.put(*numbered(0, 2), partition=1)
        orders.commit()
        orders.put(*numbered(5, 8))
        orders.put(None, partition=1)
        orders.commit()
        orders.restart()
        notes = [commit.get("userMetadata") for commit in reversed(log().history())]
        found = [json.loads(text) for text in notes if text]
        assert found == [
            {"connector": "orders-sink", "offsets": {"test": {"0": [0, 4], "1": [0, 1]}}},
            {"connector": "orders-sink", "offsets": {"test": {"0": [5, 7], "1": [None, 2]}}},
        ]

    def test_offsets_that_a_user_alters_are_no_rows(self, run: Run, log: Log, lake: Path) -> None:
        orders = run()
        orders.put(*numbered(0, 5))
        orders.commit()
        orders.stop()
        alter_offsets({"name": "orders-sink", "table": str(lake / "orders")}, {PLACE: 2})
        assert "userMetadata" not in log().history(1)[0]

    def test_what_was_not_written_comes_again(self, run: Run, rows: Rows) -> None:
        orders = run()
        orders.put(*numbered(0, 5))
        orders.commit()
        orders.put(*numbered(5, 8))
        orders.crash()
        orders.restart()
        orders.commit()
        assert ids(rows()) == list(range(8))

    def test_what_was_written_does_not_come_again_though_kafka_does_not_know(self, run: Run, rows: Rows) -> None:
        orders = run()
        orders.broker_takes_commits = False
        orders.put(*numbered(0, 5))
        orders.commit()
        orders.crash()
        assert not orders.committed
        orders.restart()
        orders.put(*numbered(5, 8))
        orders.commit()
        assert ids(rows()) == list(range(8))

    def test_dropped_records_are_counted_too(self, run: Run, rows: Rows, log: Log) -> None:
        orders = run()
        orders.put({"id": 0}, None)
        orders.commit()
        orders.put(None, None)
        orders.commit()
        assert log().transaction_version(OFFSET) == 4
        version = log().version()
        orders.put_nothing()
        orders.commit()
        assert log().version() == version
        orders.restart()
        orders.put({"id": 1})
        orders.commit()
        assert ids(rows()) == [0, 1]
        assert log().transaction_version(OFFSET) == 5

    def test_a_commit_whose_answer_was_lost_is_not_made_twice(
        self, run: Run, rows: Rows, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        orders = run()
        orders.put(*numbered(0, 3))
        real = Table.commit

        def deaf(self: Table, *what: Any) -> None:
            real(self, *what)
            monkeypatch.undo()
            raise RetriableError("The connection was closed.")

        monkeypatch.setattr(Table, "commit", deaf)
        orders.commit()
        assert not orders.committed
        orders.put(*numbered(3, 5))
        orders.commit()
        assert ids(rows()) == list(range(5))
        assert orders.committed == {PLACE: 5}

    def test_a_group_that_is_ahead_was_moved_or_written_for_by_another_engine(self, run: Run, rows: Rows) -> None:
        orders = run()
        orders.put(*numbered(0, 3))
        orders.commit()
        orders.crash()
        orders._topics.committed[PLACE] = 5
        orders.restart()
        orders.put(*numbered(3, 8))
        orders.commit()
        assert ids(rows()) == [0, 1, 2, 5, 6, 7]

    def test_an_upsert_keeps_its_offsets_as_well(self, run: Run, rows: Rows, log: Log) -> None:
        orders = run(mode="upsert", pk__mode="record_value", pk__fields="id")
        orders.put(*numbered(0, 3), {"id": 1})
        orders.commit()
        orders.crash()
        assert log().transaction_version(OFFSET) == 4
        orders.restart()
        assert ids(rows()) == [0, 1, 2]


@pytest.mark.promise("P1")
@pytest.mark.parametrize("versions", [None, 1, 4, 9])
def test_a_table_that_was_made_again_under_a_task_gets_nothing_of_the_old_one(
    run: Run, rows: Rows, lake: Path, versions: int | None
) -> None:
    """deltalake itself would go on behind the old version, where the new table has as many."""
    orders = run()
    for first in (0, 5):
        orders.put(*numbered(first, first + 5))
        orders.commit()
    shutil.rmtree(lake / "orders")
    for version in range(versions or 0):
        table = pa.table({"id": [version], "other": ["x"]})
        write_deltalake(lake / "orders", table, mode="append")
    orders.put(*numbered(10, 15))
    with pytest.raises(ConnectError, match="was deleted, or made again.*Restart the task"):
        orders.commit()
    assert (lake / "orders").exists() == (versions is not None)
    orders.crash()
    orders.restart()  # which gets those records again
    orders.commit()
    assert ids(rows())[-5:] == [10, 11, 12, 13, 14]


@pytest.mark.promise("P3")
class TestTwoWriters:
    def test_the_earlier_one_is_refused_once_another_took_over(self, run: Run, writer: Any, rows: Rows) -> None:
        orders = run()
        orders.put(*numbered(0, 3))
        orders.commit()
        orders.put(*numbered(3, 5))
        late, orders_of_late = orders.task, batch(3, 5)
        other = writer()
        other.table.look()
        other.table.claim([PLACE])
        assert other.table.offset(PLACE) == 3
        with pytest.raises(FencedError, match="test-0 was taken over by another task of a connector called"):
            late.pre_commit({PLACE: 5})
        put(other, 3, 6)
        assert other.flush({PLACE: 6}) == 3
        late.put(orders_of_late)
        with pytest.raises(FencedError):
            late.pre_commit({PLACE: 5})
        assert ids(rows()) == list(range(6))

    def test_even_with_its_commit_under_way(self, writer: Any, rows: Rows) -> None:
        early, late = writer(), writer()
        put(late, 0, 3)
        late.flush({PLACE: 3})
        put(late, 3, 5)
        late.table.check_owned([PLACE])  # it still is ...
        early.table.look()
        early.table.claim([PLACE])
        with pytest.raises(Conflict):  # ... and is not any more
            late.table.commit_offsets({PLACE: 5})
        with pytest.raises(FencedError):
            late.flush({PLACE: 5})
        assert ids(rows()) == [0, 1, 2]

    def test_a_partition_that_came_back_is_claimed_anew(self, run: Run, writer: Any, rows: Rows, log: Log) -> None:
        orders = run(partitions=2)
        orders.put({"id": 0}, partition=0)
        orders.put({"id": 100}, partition=1)
        orders.commit()
        orders.put({"id": 101}, partition=1)
        orders.put({"id": 1}, partition=0)
        orders.lose(PLACE)
        other = writer()
        other.table.look()
        other.table.claim([PLACE])
        put(other, 1, 2)
        other.flush({PLACE: 2})
        orders.commit()
        assert ids(rows()) == [0, 1, 100, 101]
        orders.assign(PLACE)
        assert log().transaction_version(OWNER) == 3
        orders.put({"id": 2}, partition=0)
        orders.commit()
        assert ids(rows()) == [0, 1, 2, 100, 101]
        put(other, 2, 3)
        with pytest.raises(FencedError):
            other.flush({PLACE: 3})

    def test_of_several_partitions_get_along(self, writer: Any, rows: Rows, log: Log) -> None:
        places = [TopicPartition("test", number) for number in range(3)]
        failed: list[BaseException] = []

        def work(place: TopicPartition) -> None:
            try:
                mine = writer()
                for n in range(8):
                    put(mine, n, n + 1, place)
                    mine.flush({place: n + 1})
            except BaseException as error:
                failed.append(error)
                raise

        threads = [threading.Thread(target=work, args=(place,)) for place in places]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not failed
        assert ids(rows()) == sorted(list(range(8)) * 3)
        assert [log().transaction_version(f"connect/orders-sink/{place}") for place in places] == [8, 8, 8]

    def test_of_a_table_that_is_not_there_yet_the_first_one_to_write_it_owns_the_partition(
        self, writer: Any, rows: Rows
    ) -> None:
        one, two = writer(), writer()
        for each in (one, two):
            assert not each.table.look()
            each.table.expect_nobody([PLACE])
            put(each, 0, 4)
        assert one.flush({PLACE: 4}) == 4
        with pytest.raises(FencedError):
            two.flush({PLACE: 4})
        put(one, 4, 6)
        assert one.flush({PLACE: 6}) == 2
        assert ids(rows()) == list(range(6))

    def test_of_one_table_among_several_the_last_one_to_write_takes_over(self, writer: Any, rows: Rows) -> None:
        one, two = writer(), writer()
        put(one, 0, 4)
        put(two, 0, 6)
        assert one.flush({PLACE: 4}) == 4
        assert two.flush({PLACE: 6}) == 2  # it leaves out what is there
        put(one, 4, 5)
        with pytest.raises(FencedError):
            one.flush({PLACE: 5})
        assert ids(rows()) == list(range(6))


@pytest.mark.promise("P1", "P10")
class TestSeveralTables:
    def test_each_leaves_out_what_it_has(
        self, run: Run, rows: Rows, lake: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        orders = run(table=f"{lake}/${{field}}", table__field="to")
        values = [{"id": n, "to": "abc"[n % 3]} for n in range(12)]
        orders.put(*values[:3])
        orders.commit()
        real = Table.commit

        def fails(self: Table, *what: Any) -> None:
            if self.uri.endswith("/b"):
                raise RetriableError("The disk is full.")
            real(self, *what)

        monkeypatch.setattr(Table, "commit", fails)
        orders.put(*values[3:6])
        orders.commit()
        assert orders.committed == {PLACE: 3}
        assert (len(rows("a")), len(rows("b"))) == (2, 1)
        orders.crash()
        monkeypatch.undo()
        orders.restart()
        orders.put(*values[6:])
        orders.commit()
        assert [ids(rows(name)) for name in "abc"] == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
        assert orders.committed == {PLACE: 12}

    def test_the_others_go_on_without_what_was_written(self, run: Run, rows: Rows, lake: Path) -> None:
        orders = run(table=f"{lake}/${{topic}}", topics="a,b")
        orders.broker_takes_commits = False
        for topic in "ab":
            orders.put(*numbered(0, 3), topic=topic)
        orders.commit()
        orders.crash()
        orders.restart()
        orders.put({"id": 3}, topic="b")
        orders.commit()
        assert (ids(rows("a")), ids(rows("b"))) == ([0, 1, 2], [0, 1, 2, 3])


class TestAlteredOffsets:
    CONFIG = "orders-sink"

    def config(self, lake: Path, table: str = "orders") -> dict[str, str]:
        return {"name": "orders-sink", "table": str(lake / table), "table.field": "to" if "field" in table else ""}

    def test_go_back_and_forth(self, run: Run, rows: Rows, lake: Path, log: Log) -> None:
        orders = run()
        orders.put(*numbered(0, 4))
        orders.commit()
        orders.stop()
        assert alter_offsets(self.config(lake), {PLACE: 2})
        assert log().transaction_version(OFFSET) == 2
        orders._topics.committed[PLACE] = 2  # which the worker does
        orders.restart()
        orders.commit()
        assert ids(rows()) == [0, 1, 2, 2, 3, 3]

    def test_a_reset_leaves_it_to_the_group(self, run: Run, rows: Rows, lake: Path) -> None:
        orders = run()
        orders.put(*numbered(0, 2))
        orders.commit()
        orders.stop()
        assert alter_offsets(self.config(lake), {PLACE: None})
        orders.restart()
        orders.put(*numbered(2, 3))
        orders.commit()
        assert ids(rows()) == [0, 1, 2]  # the group had 2

    def test_no_late_writer_comes_after(self, writer: Any, lake: Path, rows: Rows) -> None:
        late = writer()
        put(late, 0, 2)
        late.flush({PLACE: 2})
        put(late, 2, 4)
        alter_offsets(self.config(lake), {PLACE: 1})
        with pytest.raises(FencedError):
            late.flush({PLACE: 4})
        assert ids(rows()) == [0, 1]

    def test_in_every_table(self, run: Run, rows: Rows, lake: Path) -> None:
        template = "${topic}/of_${field}"
        orders = run(table=f"{lake}/{template}", table__field="to")
        orders.put(*({"id": n, "to": "ab"[n % 2]} for n in range(4)))
        orders.commit()
        orders.stop()
        assert alter_offsets(self.config(lake, template), {PLACE: 2})
        for name in "ab":
            table = DeltaTable(lake / "test" / f"of_{name}")
            assert table.transaction_version(OFFSET) == 2
        assert alter_offsets(self.config(lake, "nowhere/${topic}"), {PLACE: 2})

    def test_of_a_table_that_is_not_there_need_no_change(self, lake: Path) -> None:
        assert alter_offsets(self.config(lake), {PLACE: 2})
        assert not (lake / "orders").exists()


class TestWhenItWrites:
    def test_when_the_interval_is_over(self, run: Run, rows: Rows) -> None:
        orders = run(trigger__interval__ms="0")
        orders.put(*numbered(0, 3))
        orders.deliver()
        assert ids(rows()) == [0, 1, 2]
        assert orders.committed == {PLACE: 3}

    def test_but_not_all_the_time(self, run: Run, rows: Rows) -> None:
        orders = run(trigger__interval__ms="0")
        orders.put({"id": 0})
        task: Any = orders.task
        assert task._pace.rest_until > 0
        task._pace.rest_until = float(1 << 40)  # the last commit took forever
        orders.put({"id": 1})
        orders.put_nothing()
        assert ids(rows()) == [0]
        task._pace.rest_until = 0.0
        orders.put_nothing()
        assert ids(rows()) == [0, 1]

    def test_after_so_many_records(self, run: Run, rows: Rows, lake: Path) -> None:
        orders = run(flush__size="5", trigger__interval__ms="3600000")
        orders.put(*numbered(0, 4))
        orders.deliver()
        assert not (lake / "orders").exists()
        orders.put(*numbered(4, 6))
        orders.deliver()
        assert ids(rows()) == list(range(6))

    @pytest.mark.promise("P7")
    def test_takes_no_more_than_fits_while_it_cannot_write(
        self, run: Run, rows: Rows, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        orders = run(flush__bytes="2000", trigger__interval__ms="3600000")
        orders.put({"id": -1})
        orders.commit()
        with monkeypatch.context() as broken:
            broken.setattr(Table, "commit", _no_disk)
            for n in range(0, 1000, 50):
                orders.put(*numbered(n, n + 50), tries=1)
            assert orders.retries
            (held,) = orders.task._writers.values()  # type: ignore[attr-defined]
            assert 2000 <= held.waiting.bytes < 5000
        orders.deliver()
        orders.commit()
        assert ids(rows()) == list(range(-1, 1000))


def _no_disk(self: Table, *what: Any) -> None:
    raise RetriableError("The disk is full.")


def test_records_say_where_they_were_consumed_though_their_topic_changed(run: Run, lake: Path, log: Log) -> None:
    keys = {"transforms": "r", "transforms.r.type": "RegexRouter", "transforms.r.regex": ".*"}
    orders = run(**keys, **{"transforms.r.replacement": "orders"}, table=f"{lake}/${{topic}}")
    orders.put(SinkRecord("test", {"id": 1}))
    orders.commit()
    assert log("orders").transaction_version(OFFSET) == 1


def test_tables_of_a_template_are_found(lake: Path) -> None:
    from spark_sink.delta.routing import tables_of

    for name in ("x/raw_a-1", "x/raw_b", "x/other", "y/raw_c", "x/_raw_d"):
        DeltaTable.create(lake / name, pa.schema([("id", pa.int64())]))
    assert sorted(tables_of(f"{lake}/x/raw_${{topic}}", {})) == [f"{lake}/x/raw_a-1", f"{lake}/x/raw_b"]
    assert len(tables_of(f"{lake}/${{field}}/raw_${{topic}}", {})) == 3
    assert tables_of(f"{lake}/z/${{topic}}", {}) == []
