"""Each record is one row, whoever writes, dies, comes late or comes back."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table import Table as IcebergTable

from connect import FencedError, RetriableError, SinkBatch, TopicPartition, Values
from connect.testing import SinkRun
from spark_sink.iceberg.catalog import open_catalog
from spark_sink.iceberg.keys import IcebergOptions
from spark_sink.iceberg.table import Table
from spark_sink.iceberg.task import alter_offsets
from spark_sink.iceberg.writer import Writer

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]
Opened = Callable[..., IcebergTable]

PLACE, OTHER = TopicPartition("test", 0), TopicPartition("test", 1)
OFFSETS = "connect.offsets.orders-sink.test-0"


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(row["id"] for row in rows)


def numbered(first: int, last: int) -> list[dict[str, int]]:
    return [{"id": n} for n in range(first, last)]


@pytest.fixture
def writer(keys: dict[str, str]) -> Iterator[Callable[..., Writer]]:
    """Another task's hold on the table."""
    options = IcebergOptions.parse(keys)
    with ExitStack() as stack:

        def hold() -> Writer:
            catalog = stack.enter_context(closing(open_catalog("iceberg", options.catalog_props)))
            return Writer(Table(catalog, "shop.orders", "orders-sink"), options, options.plan("shop.orders"))

        yield hold


def put(writer: Writer, first: int, last: int, place: TopicPartition = PLACE) -> None:
    batch = SinkBatch(
        place.topic, Values(numbered(first, last)), offsets=range(first, last), partitions=place.partition
    )
    parts, mismatches = writer.prepare(batch)
    assert not mismatches
    for part in parts:
        writer.waiting.add(part)


def taken_over(writer: Writer, *places: TopicPartition) -> Writer:
    assert writer.table.look()
    writer.table.claim(places or [PLACE])
    return writer


@pytest.mark.promise("P1", "P10")
class TestOneTable:
    def test_offsets_are_in_the_commit_of_the_rows(self, run: Run, table: Opened) -> None:
        orders = run()
        orders.put(*numbered(0, 5))
        orders.commit()
        assert table().properties[OFFSETS] == "5/1"
        assert len(table().snapshots()) == 1
        assert table().current_snapshot().summary["connector"] == "orders-sink"

    def test_what_was_not_written_comes_again(self, run: Run, rows: Rows) -> None:
        orders = run()
        orders.put(*numbered(0, 5))
        orders.commit()
        orders.put(*numbered(5, 8))
        orders.crash()
        orders.restart()
        orders.commit()
        assert ids(rows()) == list(range(8))

    def test_what_was_written_does_not_come_again_though_kafka_does_not_know(
        self, run: Run, rows: Rows, table: Opened
    ) -> None:
        orders = run()
        orders.broker_takes_commits = False
        orders.put(*numbered(0, 5))
        orders.commit()
        orders.crash()
        assert not orders.committed
        orders.restart()
        assert table().properties[OFFSETS] == "5/2"
        orders.put(*numbered(5, 8))
        orders.commit()
        assert ids(rows()) == list(range(8))

    def test_records_that_are_left_out_count_with_the_next_rows(self, run: Run, rows: Rows, table: Opened) -> None:
        orders = run()
        orders.put({"id": 0}, None)
        orders.commit()
        assert table().properties[OFFSETS] == "2/1"
        made = len(table().snapshots())
        orders.put(None, None)
        orders.commit()
        assert orders.committed == {PLACE: 4}
        assert len(table().snapshots()) == made
        orders.put({"id": 1})
        orders.commit()
        assert table().properties[OFFSETS] == "5/1"

    @pytest.mark.parametrize("error", [CommitStateUnknownException("504"), CommitFailedException("409")])
    def test_a_commit_whose_answer_was_lost_is_not_made_twice(
        self, run: Run, rows: Rows, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        orders = run()
        orders.put(*numbered(0, 3))
        orders.commit()
        real = IcebergTable._do_commit

        def deaf(self: IcebergTable, *what: Any, **more: Any) -> None:
            real(self, *what, **more)
            monkeypatch.undo()
            raise error

        orders.put(*numbered(3, 5))
        monkeypatch.setattr(IcebergTable, "_do_commit", deaf)
        orders.commit()
        orders.put(*numbered(5, 7))
        orders.commit()
        assert ids(rows()) == list(range(7))
        assert orders.committed == {PLACE: 7}

    def test_offsets_outlive_snapshots_and_the_work_of_others(
        self, run: Run, rows: Rows, table: Opened, catalog: Catalog
    ) -> None:
        orders = run()
        orders.broker_takes_commits = False
        orders.put(*numbered(0, 3))
        orders.commit()
        orders.crash()
        other = table()
        other.overwrite(other.scan().to_arrow())  # a compaction, say
        other.maintenance.expire_snapshots().older_than(datetime.now() + timedelta(days=1)).commit()  # noqa: DTZ005
        assert len(table().snapshots()) == 1
        orders.restart()
        orders.put(*numbered(3, 4))
        orders.commit()
        assert ids(rows()) == [0, 1, 2, 3]


@pytest.mark.promise("P3", "P10")
class TestSeveralWriters:
    def test_of_a_table_that_two_tasks_create_at_the_same_time(self, writer: Callable[..., Writer], rows: Rows) -> None:
        one, other = writer(), writer()
        one.table.expect_nobody([PLACE])
        other.table.expect_nobody([OTHER])
        put(one, 0, 3)
        put(other, 10, 13, OTHER)
        assert one.flush({PLACE: 3}) == 3
        assert other.flush({OTHER: 13}) == 3
        assert ids(rows()) == [0, 1, 2, 10, 11, 12]
        assert (one.table.look(), one.table.offset(PLACE), one.table.offset(OTHER)) == (True, 3, 13)

    def test_who_comes_second_tries_again_with_the_same_files(
        self, writer: Callable[..., Writer], run: Run, rows: Rows, tmp_path: Path
    ) -> None:
        first(run)
        one, other = taken_over(writer(), OTHER), taken_over(writer(), TopicPartition("test", 2))
        put(one, 10, 13, OTHER)
        put(other, 20, 23, TopicPartition("test", 2))
        one.table.look()
        other.flush({TopicPartition("test", 2): 23})
        assert one.flush({OTHER: 13}) == 3
        assert ids(rows()) == [0, 10, 11, 12, 20, 21, 22]
        assert len(list(tmp_path.rglob("lake/**/*.parquet"))) == 3

    def test_a_task_that_was_replaced_writes_nothing_more(
        self, writer: Callable[..., Writer], run: Run, rows: Rows, tmp_path: Path
    ) -> None:
        first(run)
        zombie = taken_over(writer())
        put(zombie, 1, 4)
        taken_over(writer())
        with pytest.raises(FencedError, match="was taken over by another task of a connector called orders-sink"):
            zombie.flush({PLACE: 4})
        assert ids(rows()) == [0]
        assert len(list(tmp_path.rglob("lake/**/*.parquet"))) == 1

    def test_not_even_if_its_commit_is_under_way_meanwhile(
        self, writer: Callable[..., Writer], run: Run, rows: Rows, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first(run)
        zombie, real = taken_over(writer()), IcebergTable._do_commit
        put(zombie, 1, 4)

        def late(self: IcebergTable, *what: Any, **more: Any) -> None:
            monkeypatch.undo()
            heir = taken_over(writer())
            put(heir, 1, 4)
            heir.flush({PLACE: 4})
            real(self, *what, **more)

        monkeypatch.setattr(IcebergTable, "_do_commit", late)
        with pytest.raises(FencedError):
            zombie.flush({PLACE: 4})
        assert ids(rows()) == [0, 1, 2, 3]

    def test_others_that_always_win_are_an_error_that_may_pass(
        self, writer: Callable[..., Writer], run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        first(run)
        one = taken_over(writer())
        put(one, 1, 4)

        def beaten(*what: Any, **more: Any) -> None:
            raise CommitFailedException("branch main has changed")

        monkeypatch.setattr(IcebergTable, "_do_commit", beaten)
        monkeypatch.setattr("spark_sink.iceberg.writer.pause", lambda tried: None)
        with pytest.raises(RetriableError, match="committed first, 20 times in a row"):
            one.flush({PLACE: 4})
        assert len(list(tmp_path.rglob("lake/**/*.parquet"))) == 1
        monkeypatch.undo()
        assert one.flush({PLACE: 4}) == 3


def first(run: Run) -> None:
    """Have the connector create the table."""
    orders = run()
    orders.put({"id": 0})
    orders.commit()
    orders.crash()


class TestOffsets:
    def test_are_altered_in_the_table(self, run: Run, rows: Rows, keys: dict[str, str], table: Opened) -> None:
        orders = run()
        orders.put(*numbered(0, 4))
        orders.commit()
        orders.crash()
        assert alter_offsets(keys, {PLACE: 2})
        assert table().properties[OFFSETS] == "2/2"
        assert alter_offsets(keys, {PLACE: None})
        assert table().properties[OFFSETS] == "/3"

    def test_of_several_tables_are_altered_where_they_are(
        self, run: Run, keys: dict[str, str], table: Opened, catalog: Catalog
    ) -> None:
        more = {"iceberg.tables": "shop.a,shop.b"}
        orders = run(more=more)
        orders.put(*numbered(0, 4))
        orders.commit()
        catalog.create_table("shop.c", pa.schema([("id", pa.int64())]))
        assert alter_offsets({**keys, **more}, {PLACE: 1, OTHER: 7})
        for name in ("shop.a", "shop.b"):
            assert table(name).properties[OFFSETS] == "1/2"
        assert not table("shop.c").properties

    def test_that_nobody_wrote_are_named(self, run: Run, keys: dict[str, str], table: Opened) -> None:
        first(run)
        with table().transaction() as change:
            change.set_properties({OFFSETS: "soon"})
        with pytest.raises(Exception, match='property connect.offsets.orders-sink.test-0 is "soon"'):
            run()


@pytest.mark.promise("P1", "P10")
class TestSeveralTables:
    def test_each_leaves_out_what_it_has(
        self, run: Run, rows: Rows, monkeypatch: pytest.MonkeyPatch, table: Opened
    ) -> None:
        more = {"iceberg.tables": "shop.a,shop.b"}
        orders = run(more=more)
        orders.put(*numbered(0, 2))
        orders.commit()
        real = Writer.flush

        def ends(self: Writer, positions: Any) -> int:
            if self.table.name == "shop.b":
                raise RuntimeError("the process ends here")
            return real(self, positions)

        orders.put(*numbered(2, 5))
        monkeypatch.setattr(Writer, "flush", ends)
        with pytest.raises(Exception, match="ends here"):
            orders.commit()
        orders.crash()
        assert (ids(rows("shop.a")), ids(rows("shop.b"))) == ([0, 1, 2, 3, 4], [0, 1])
        monkeypatch.undo()
        orders.restart()
        orders.commit()
        assert ids(rows("shop.a")) == ids(rows("shop.b")) == list(range(5))


class TestWhenItWrites:
    def test_not_before_the_interval_is_over_unless_memory_is_full(self, run: Run, rows: Rows) -> None:
        orders = run(more={"iceberg.control.commit.interval-ms": "3600000", "flush.bytes": "4096"})
        orders.put(*numbered(0, 3))
        orders.commit()
        assert not rows()
        assert not orders.committed
        orders.put(*numbered(3, 300))
        orders.commit()
        assert len(rows()) == 300
        assert orders.committed == {PLACE: 300}


@pytest.mark.promise("P10")
@pytest.mark.parametrize(
    ("other", "branch", "partition"),
    [("a.b", "main", TopicPartition("c", 0)), ("a@b.c", "main", TopicPartition("d", 0))],
    ids=["dots", "a branch"],
)
def test_offsets_of_connectors_whose_names_are_alike_are_their_own(
    run: Run, catalog: Catalog, other: str, branch: str, partition: TopicPartition
) -> None:
    orders = run()
    orders.put({"id": 1})
    orders.commit()
    for name, of_branch, place in (("a", "main", TopicPartition("b.c", 0)), ("a", "b.c", TopicPartition("d", 0))):
        table = Table(catalog, "shop.orders", name, of_branch)
        table.alter_offsets({place: 5})
    table = Table(catalog, "shop.orders", other, branch)
    table.look()
    assert table.offset(partition) is None
