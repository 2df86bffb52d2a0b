"""Where the transactions of a source task end."""

import pytest

from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.delivery.boundaries import End, IntervalBoundary, PollBoundary, TaskBoundary, boundary_of
from connect.errors import ConfigError, ConnectError


def record(value: int) -> SourceRecord:
    return SourceRecord("t", value, source_partition={"f": "a"}, source_offset={"at": value})


def test_with_each_poll():
    boundary = PollBoundary()
    assert boundary.within(SourceBatch.of([record(1)])) == []
    assert boundary.after(0) is boundary.after(0) is End.COMMIT
    assert boundary.keeps_rest


def test_after_an_interval():
    boundary = IntervalBoundary(10, 100)
    assert [boundary.after(moment) for moment in (100, 109.9, 110, 111)] == [None, None, End.COMMIT, End.COMMIT]
    boundary.ended(111)
    assert boundary.due() == 121
    assert boundary.after(120.9) is None


def test_where_the_task_says():
    boundary = TaskBoundary()
    records = [record(value) for value in range(5)]
    boundary.commit(records[1])
    boundary.abort(records[3])
    batch = SourceBatch.of(records)
    assert boundary.within(batch) == [(2, End.COMMIT), (4, End.ABORT)]
    assert boundary.within(batch) == []
    assert boundary.after(0) is None
    boundary.commit()
    assert boundary.after(0) is End.COMMIT
    assert boundary.after(0) is None
    assert not boundary.keeps_rest


def test_of_records_that_are_alike_the_one_that_is_meant():
    boundary = TaskBoundary()
    records = [record(7) for _ in range(3)]
    boundary.commit(records[1])
    assert boundary.within(SourceBatch.of(records)) == [(2, End.COMMIT)]


def test_a_record_of_a_batch_of_columns_is_found_by_what_it_holds():
    boundary = TaskBoundary()
    batch = SourceBatch.of([record(value) for value in range(3)]).take([0, 1, 2])
    boundary.abort(record(1))
    assert boundary.within(batch) == [(2, End.ABORT)]


def test_a_record_may_come_with_a_later_batch():
    boundary = TaskBoundary()
    boundary.commit(record(4))
    assert boundary.within(SourceBatch.of([record(1), record(2)])) == []
    assert boundary.within(SourceBatch.of([record(3), record(4), record(5)])) == [(2, End.COMMIT)]


@pytest.mark.parametrize("one", [None, record(1)])
def test_nobody_may_want_both(one: SourceRecord | None):
    boundary = TaskBoundary()
    boundary.commit(one)
    with pytest.raises(ConnectError, match="to commit and to abort the same transaction"):
        boundary.abort(one)


def test_the_configuration_chooses():
    def of(**config: str) -> object:
        return boundary_of({key.replace("_", "."): value for key, value in config.items()}, 60, 0)

    assert isinstance(of(), PollBoundary)
    assert isinstance(of(transaction_boundary="Connector"), TaskBoundary)
    default, given = (
        of(transaction_boundary="INTERVAL"),
        of(transaction_boundary="interval", transaction_boundary_interval_ms="500"),
    )
    assert isinstance(default, IntervalBoundary)
    assert isinstance(given, IntervalBoundary)
    assert (default.seconds, given.seconds) == (60, 0.5)
    with pytest.raises(ConfigError):
        of(transaction_boundary="never")
