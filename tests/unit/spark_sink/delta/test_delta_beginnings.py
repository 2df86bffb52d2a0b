"""Where a task begins that has no offsets: at a time, if the configuration says one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from connect import ConfigError, SinkRecord, TopicPartition
from connect.testing import SinkRun
from spark_sink.running_keys import milliseconds
from spark_sink.sink.connector import SparkSinkConnector

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]


def at(second: int, partition: int = 0) -> SinkRecord:
    return SinkRecord("test", {"second": second}, partition=partition, timestamp=second * 1000)


@pytest.fixture
def begin(lake: Path) -> Iterator[Callable[..., SinkRun]]:
    """Makes a connector of a table, which a test starts."""
    with ExitStack() as made:

        def make(table: str, partitions: int = 1) -> SinkRun:
            config = {"name": "c", "engine": "worker", "table": str(lake / table), "starting.timestamp": "5000"}
            sink = SinkRun(SparkSinkConnector, config, partitions=partitions, timeout=60)
            made.callback(sink.crash)
            return sink

        yield make


def seconds(rows: Rows, *table: str) -> list[int]:
    return sorted(row["second"] for row in rows(*table))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1970-01-01T00:00:05Z", 5000),
        ("1970-01-01T01:00:05+01:00", 5000),
        (" 1970-01-01T00:00:05 ", 5000),
        ("1970-01-02", 86_400_000),
        ("5000", 5000),
    ],
)
def test_times_are_written_in_several_ways(text: str, found: int) -> None:
    assert milliseconds(text) == found


def test_what_is_no_time_is_refused(run: Run) -> None:
    with pytest.raises(ConfigError, match=r"starting\.timestamp.* is not a time\. Write 2026"):
        run(starting__timestamp="yesterday")


@pytest.mark.parametrize("several", [False, True], ids=["one table", "several tables"])
def test_it_begins_at_the_first_record_of_a_time_and_never_again(
    begin: Callable[..., SinkRun], rows: Rows, several: bool
) -> None:
    name = "test" if several else "orders"
    sink = begin("${topic}" if several else "orders", partitions=2)
    sink.put(*(at(second) for second in (3, 4, 6, 5)), *(at(second, 1) for second in (1, 2)))
    sink.start()
    sink.put(at(7), at(3, 1))
    sink.commit()
    # Partition 1 had no record so late: it began at its end.
    assert seconds(rows, name) == [3, 5, 6, 7]
    sink.restart()
    sink.put(at(1), at(0, 1))
    sink.commit()
    assert seconds(rows, name) == [0, 1, 3, 5, 6, 7]


def test_offsets_of_the_group_count(begin: Callable[..., SinkRun], rows: Rows) -> None:
    sink = begin("orders")
    sink.put(*(at(second) for second in (3, 4, 5, 6)))
    sink._topics.committed[TopicPartition("test", 0)] = 1
    sink.start()
    sink.commit()
    assert seconds(rows) == [4, 5, 6]
