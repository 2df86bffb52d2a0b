"""The driver's side of reading: which offsets a batch takes, and into which parts it is cut."""

import math
import pickle
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from connect.data.batch import SinkBatch
from connect.data.record import SinkRecord, TopicPartition
from connect.data.schema import INT64, Schema
from connect.errors import ConnectError
from connect.kafka.reading.range_consumer import DataLossError
from spark_sink.lease_file import LeaseFile
from spark_sink.reading import admission, driver
from spark_sink.reading import sizes as reading_sizes
from spark_sink.reading.driver import TopicReader
from spark_sink.reading.part import Part, begins_and_ends, cut
from spark_sink.reading.plan import ReadPlan, RowShape

from .conftest import StandingTime

ALL = ReadAllAvailable()
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
ROWS = RowShape(Schema.struct({"id": INT64}))


class Topics:
    """What a broker knows; stands in for `TopicEnds`.

    Attributes:
        ranges: for each partition its first offset and its end.
        looked: how often partitions were looked for.
    """

    def __init__(self) -> None:
        self.ranges: dict[TopicPartition, tuple[int, int]] = {}
        self.looked = 0

    def __call__(self, worker: Any, connector: Any, topics: Any) -> "Topics":
        return self

    def partitions(self) -> list[TopicPartition]:
        self.looked += 1
        return list(self.ranges)

    def ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._asked(places, 1)

    def begins(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._asked(places, 0)

    def _asked(self, places: Iterable[TopicPartition], which: int) -> dict[TopicPartition, int]:
        try:
            return {place: self.ranges[place][which] for place in places}
        except KeyError as error:
            raise ConnectError(f"The ends of the topics are not known: no {error}") from error


class Sized:
    """Records of so many bytes in each partition; stands in for `RangeConsumer`.

    Attributes:
        looks: the offsets from which records were read.
    """

    def __init__(self, sizes: dict[TopicPartition, int]) -> None:
        self._sizes = sizes
        self.looks: list[int] = []

    def read(self, place: TopicPartition, start: int, end: int, rows: int) -> Iterable[SinkBatch]:
        if place not in self._sizes:
            raise ConnectError("no broker answers")
        self.looks.append(start)
        half = self._sizes[place] // 2
        key, value = b"k" * half, b"v" * (self._sizes[place] - half)
        yield SinkBatch.of([SinkRecord(place.topic, value, key=key) for _ in range(min(rows, end - start))])

    def close(self) -> None: ...


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Topics:
    made = Topics()
    monkeypatch.setattr(driver, "TopicEnds", made)
    return made


def reader(**plan: Any) -> TopicReader:
    return TopicReader(
        ReadPlan(**({"connector": "c", "topics": ("t", "u"), "pattern": "", "worker": {}, "config": {}} | plan)), None
    )


def ranges(parts: Iterable[Any]) -> list[tuple[str, int, int, int]]:
    return sorted((part.topic, part.partition, part.start, part.end) for part in parts)


def rows_in(parts: Iterable[Any]) -> int:
    return sum(end - start for _, _, start, end in ranges(parts))


def test_a_new_query_begins_where_its_plan_says_and_else_with_the_first_records(topics):
    topics.ranges = {T0: (0, 10), T1: (100, 130), U0: (40, 50)}
    one = reader(start={"t": {"0": 7}, "u": {"0": 45}})
    begin = one.initialOffset()
    assert begin == {"t": {"0": 7}, "u": {"0": 45}}
    end = one.latestOffset(begin, ALL)
    assert end == {"t": {"0": 10, "1": 130}, "u": {"0": 50}}
    assert ranges(one.partitions(begin, end)) == [("t", 0, 7, 10), ("t", 1, 100, 130), ("u", 0, 45, 50)]


def test_a_batch_that_is_made_again_by_another_reader_has_the_same_parts(topics):
    topics.ranges = {T0: (0, 10), T1: (100, 130)}
    end = reader().latestOffset({}, ALL)
    topics.ranges = {T0: (0, 99), T1: (100, 199), U0: (0, 5)}
    assert ranges(reader().partitions({}, end)) == [("t", 0, 0, 10), ("t", 1, 100, 130)]


def test_a_part_of_a_partition_that_is_gone_is_for_the_executors_to_miss(topics):
    topics.ranges = {T0: (0, 10)}
    assert ranges(reader().partitions({"u": {"0": 3}}, {"t": {"0": 10}, "u": {"0": 9, "1": 4}})) == [
        ("t", 0, 0, 10),
        ("u", 0, 3, 9),
        ("u", 1, 0, 4),
    ]


def test_nothing_new_gives_the_same_offsets_and_no_part(topics):
    topics.ranges = {T0: (0, 10), T1: (5, 5)}
    one = reader()
    end = one.latestOffset({}, ALL)
    assert end == {"t": {"0": 10, "1": 5}}
    assert one.latestOffset(end, ALL) == end
    assert one.partitions(end, end) == []
    assert one.partitions({}, {"t": {"1": 5}}) == []


def test_partitions_and_topics_that_come_are_found_after_a_while(topics, monkeypatch):
    now = [time.monotonic()]
    monkeypatch.setattr(driver.time, "monotonic", lambda: now[0])
    topics.ranges = {T0: (0, 10)}
    one = reader()
    end = one.latestOffset({}, ALL)
    topics.ranges = {T0: (0, 12), T1: (3, 9), U0: (0, 0)}
    assert one.latestOffset(end, ALL) == {"t": {"0": 12}}
    assert topics.looked == 2  # for the partitions, and for the first record of a new one
    now[0] += 5.0
    assert one.latestOffset(end, ALL) == {"t": {"0": 12, "1": 9}, "u": {"0": 0}}


def test_a_topic_that_is_gone_keeps_its_offsets_and_the_others_go_on(topics):
    topics.ranges = {T0: (0, 10), U0: (0, 10)}
    one = reader()
    end = one.latestOffset({}, ALL)
    topics.ranges = {T0: (0, 20)}
    assert one.latestOffset(end, ALL) == {"t": {"0": 20}, "u": {"0": 10}}


@pytest.mark.promise("P9")
def test_brokers_that_do_not_answer_are_waited_for_and_in_the_end_an_error(topics, monkeypatch):
    now = [time.monotonic()]
    monkeypatch.setattr(driver.time, "monotonic", lambda: now[0])
    topics.ranges = {T0: (0, 10)}
    one = reader()
    answer = topics.ends

    def refuse(places):
        raise ConnectError("The ends of the topics are not known: timed out")

    monkeypatch.setattr(topics, "ends", refuse)
    with pytest.raises(ConnectError, match="timed out"):
        one.latestOffset({}, ALL)  # they never did: something else may be wrong
    monkeypatch.setattr(topics, "ends", answer)
    end = one.latestOffset({}, ReadMaxRows(6))
    monkeypatch.setattr(topics, "ends", refuse)
    now[0] += 59
    assert one.latestOffset(end, ALL) == {"t": {"0": 10}}  # as far as is known
    assert one.latestOffset({"t": {"0": 10}}, ALL) == {"t": {"0": 10}}
    now[0] += 2
    with pytest.raises(ConnectError, match="timed out"):
        one.latestOffset({"t": {"0": 10}}, ALL)
    monkeypatch.setattr(topics, "ends", answer)
    topics.ranges = {T0: (0, 12)}
    assert one.latestOffset({"t": {"0": 10}}, ALL) == {"t": {"0": 12}}


@pytest.mark.promise("P9")
def test_a_partition_that_ends_before_the_offset_is_lost(topics):
    topics.ranges = {T0: (0, 30), U0: (0, 5)}
    with pytest.raises(DataLossError, match=r"t-0 ends at offset 30, before 50.*fail\.on\.data\.loss=false"):
        reader().latestOffset({"t": {"0": 50}}, ALL)


def test_a_partition_made_anew_is_read_from_its_first_record_where_that_is_wished(topics):
    topics.ranges = {T0: (0, 30), T1: (7, 20)}
    one = reader(fail_on_data_loss=False)
    start = {"t": {"0": 50, "1": 25}}
    end = one.latestOffset(start, ALL)
    assert end == {"t": {"0": 30, "1": 20}}
    assert ranges(one.partitions(start, end)) == [("t", 0, 0, 30), ("t", 1, 7, 20)]
    assert ranges(reader(fail_on_data_loss=False).partitions(start, end)) == [("t", 0, 0, 30), ("t", 1, 7, 20)]
    assert one.latestOffset(end, ALL) == end


def test_the_limit_of_records_is_told_to_spark():
    assert reader().getDefaultReadLimit() == ReadAllAvailable()
    assert reader(most_records=500).getDefaultReadLimit() == ReadMaxRows(500)
    assert reader(most_records=500, most_bytes=10).getDefaultReadLimit() == ReadMaxRows(500)
    assert reader(most_bytes=10).getDefaultReadLimit() == ReadAllAvailable()


@pytest.mark.parametrize(
    ("sizes", "limits", "records"),
    [
        ({T0: 10}, {"most_bytes": 1000}, 100),
        ({T0: 10}, {"most_bytes": 1000, "most_records": 5}, 5),
        ({T0: 10}, {"most_bytes": 1000, "most_records": 500}, 100),
        ({T0: 1000}, {"most_bytes": 10}, 1),
        ({T0: 1000}, {"most_bytes": 0}, 1000),
        ({T0: 1000}, {"most_bytes": 10_000, "record_bytes": 10.0}, 10),  # once they are looked at
        ({T0: 10, T1: 30}, {"most_bytes": 1000}, 50),
        ({T0: 0}, {"most_bytes": 100}, 100),
        ({}, {"most_bytes": 20 * 1024}, 20),  # nothing could be looked at: the guess
        ({}, {"most_bytes": 1000, "record_bytes": 100.0}, 10),
    ],
)
def test_the_narrower_limit_of_a_batch_holds(topics, monkeypatch, sizes, limits, records):
    monkeypatch.setattr(reading_sizes, "RangeConsumer", lambda *_, **__: Sized(sizes))
    monkeypatch.setattr(reading_sizes, "task_client_settings", lambda *_: SimpleNamespace(librdkafka={}))
    topics.ranges = dict.fromkeys(sizes or {T0: 0}, (0, 1000))
    one = reader(**limits)
    end = one.latestOffset({}, one.getDefaultReadLimit())
    assert rows_in(one.partitions({}, end)) == records


def test_records_are_looked_at_again_where_the_limit_is_near_and_else_only_after_a_while(topics, monkeypatch):
    now = [time.monotonic()]
    monkeypatch.setattr(reading_sizes.time, "monotonic", lambda: now[0])
    sizes = {T0: 100}
    seen = Sized(sizes)
    monkeypatch.setattr(reading_sizes, "RangeConsumer", lambda *_, **__: seen)
    monkeypatch.setattr(reading_sizes, "task_client_settings", lambda *_: SimpleNamespace(librdkafka={}))
    topics.ranges = {T0: (0, 10**6)}
    one = reader(most_bytes=10**6, most_records=2000)
    end = one.latestOffset({}, ReadMaxRows(2000))
    end = one.latestOffset(end, ReadMaxRows(2000))
    assert (end, seen.looks) == ({"t": {"0": 4000}}, [0])  # a fifth of the limit: not near
    now[0] += 31
    sizes[T0] = 1000
    end = one.latestOffset(end, ReadMaxRows(2000))
    assert (end, seen.looks) == ({"t": {"0": 5000}}, [0, 4000])
    sizes[T0] = 10_000
    assert one.latestOffset(end, ReadMaxRows(2000)) == {"t": {"0": 5100}}  # at the limit: each time
    assert seen.looks == [0, 4000, 5000]
    few = reader(most_bytes=10**6)
    topics.ranges = {T0: (0, 0)}
    assert few.latestOffset({"t": {"0": 0}}, ALL) == {"t": {"0": 0}}  # nothing waits
    assert seen.looks == [0, 4000, 5000]


def test_no_batch_is_larger_than_the_limit_and_all_is_read_in_the_end(topics):
    topics.ranges = {T0: (0, 1000), T1: (990, 1000), U0: (0, 1)}
    one, at, rows = reader(), {}, []
    while (end := one.latestOffset(at, ReadMaxRows(100))) != at:
        rows.append(rows_in(one.partitions(at, end)))
        at = end
    assert at == {"t": {"0": 1000, "1": 1000}, "u": {"0": 1}}
    assert sum(rows) == 1011
    assert max(rows) <= 100
    assert len(rows) <= 12


def test_partitions_take_turns_where_a_batch_has_no_record_for_each(topics):
    places = [TopicPartition("t", number) for number in range(7)]
    topics.ranges = dict.fromkeys(places, (0, 1000))
    one, at = reader(), {}
    for _ in range(7):
        at = one.latestOffset(at, ReadMaxRows(2))
    assert at == {"t": {str(number): 2 for number in range(7)}}


@pytest.mark.promise("P3")
def test_nothing_new_is_offered_while_the_gate_is_shut(topics, tmp_path):
    topics.ranges = {T0: (0, 10)}
    path = tmp_path / "lease_file"
    one = reader(lease_file=str(path))
    assert one.latestOffset({"t": {"0": 3}}, ALL) == {"t": {"0": 3}}
    lease_file = LeaseFile(path)
    assert one.latestOffset({}, ALL) == {}
    lease_file.hold_until(math.inf)
    assert one.latestOffset({}, ALL) == {"t": {"0": 10}}
    lease_file.hold_until(time.clock_gettime(time.CLOCK_BOOTTIME) - 0.001)
    topics.ranges = {T0: (0, 20)}
    assert one.latestOffset({"t": {"0": 10}}, ALL) == {"t": {"0": 10}}


@pytest.mark.parametrize("most_bytes", [0, 1 << 40])
def test_nothing_is_offered_when_the_gate_was_shut_while_brokers_were_asked(topics, tmp_path, monkeypatch, most_bytes):
    topics.ranges = {T0: (0, 10)}
    lease_file = LeaseFile(tmp_path / "lease_file")
    lease_file.hold_until(math.inf)
    ends = topics.ends
    monkeypatch.setattr(topics, "ends", lambda places: (lease_file.hold_until(0.0), ends(places))[1])
    one = reader(lease_file=str(lease_file.path), most_bytes=most_bytes)
    assert one.latestOffset({}, ALL) == {}


def test_what_comes_after_the_start_is_not_for_a_query_of_what_is_there(topics):
    topics.ranges = {T0: (0, 10)}
    one = reader()
    one.prepareForTriggerAvailableNow()
    topics.ranges = {T0: (0, 99), T1: (0, 99)}
    end = one.latestOffset({}, ReadMaxRows(6))
    assert end == {"t": {"0": 6}}
    end = one.latestOffset(end, ReadMaxRows(6))
    assert end == {"t": {"0": 10}}
    assert one.latestOffset(end, ReadMaxRows(6)) == end
    assert one.reportLatestOffset() == {"t": {"0": 10}}


def test_a_query_of_what_is_there_keeps_its_pace_to_the_end(topics, monkeypatch):
    stands = StandingTime()
    monkeypatch.setattr(admission, "time", stands)
    topics.ranges = {T0: (0, 35), T1: (0, 5)}
    one, at = reader(most_per_second=20), {}
    one.prepareForTriggerAvailableNow()
    began = stands.now
    while (end := one.latestOffset(at, ALL)) != at:
        at = end
    assert at == {"t": {"0": 35, "1": 5}}
    assert stands.now == pytest.approx(began + 1)  # the first twenty at once, the others in a second


def test_where_topics_end_is_reported_once_it_is_known(topics):
    topics.ranges = {T0: (0, 10), U0: (3, 4)}
    one = reader()
    assert one.reportLatestOffset() is None
    one.latestOffset({}, ReadMaxRows(1))
    assert one.reportLatestOffset() == {"t": {"0": 10}, "u": {"0": 4}}


def test_ranges_of_rows_are_cut_for_the_executors_but_not_into_crumbs(topics):
    topics.ranges = {T0: (0, 0), T1: (0, 0)}
    start, end = {"t": {"0": 0, "1": 0}}, {"t": {"0": 100_000, "1": 100}}
    parts = ranges(reader(rows=ROWS, parts=4).partitions(start, end))
    assert parts == [("t", 0, 0, 33334), ("t", 0, 33334, 66668), ("t", 0, 66668, 100_000), ("t", 1, 0, 100)]
    assert len(reader(rows=ROWS, parts=100).partitions(start, end)) == 6  # of 20,000, and the small one
    assert len(reader(rows=ROWS, parts=0).partitions(start, end)) == 2
    assert len(reader(rows=None, parts=4).partitions(start, end)) == 2  # raw records of a partition keep their order


def test_ranges_that_somebody_else_reads_are_rows_of_one_part(topics):
    topics.ranges = {T0: (0, 0), U0: (5, 5)}
    start, end = {"t": {"0": 0}, "u": {"0": 5}}, {"t": {"0": 50_000}, "u": {"0": 7}}
    one = reader(only_ranges=True, parts=3)
    (part,) = one.partitions(start, end)
    (rows,) = one.read(pickle.loads(pickle.dumps(part)))
    assert rows.to_pylist() == [
        {"topic": "t", "partition": 0, "start": 0, "end": 25_000},
        {"topic": "t", "partition": 0, "start": 25_000, "end": 50_000},
        {"topic": "u", "partition": 0, "start": 5, "end": 7},
    ]
    assert one.partitions(end, end) == []


def test_the_ranges_of_a_partition_together():
    parts = [Part("t", 0, 5, 7), Part("u", 0, 1, 2), Part("t", 0, 7, 9)]
    assert begins_and_ends(parts) == {T0: (5, 9), U0: (1, 2)}


@given(st.integers(0, 10**12), st.integers(1, 10**7), st.integers(1, 10**7))
def test_the_pieces_of_a_range_are_the_range(start, length, size):
    size = max(size, length // 1000)
    pieces = list(cut(Part("t", 3, start, start + length), size))
    assert [piece.start for piece in pieces] == [start, *(piece.end for piece in pieces[:-1])]
    assert pieces[-1].end == start + length
    assert {(piece.topic, piece.partition) for piece in pieces} == {("t", 3)}
    lengths = [piece.end - piece.start for piece in pieces]
    assert max(lengths) < 2 * size or len(pieces) == 1
    if len(pieces) > 1:
        assert min(lengths[:-1]) >= size


def test_a_reader_and_its_parts_travel_without_a_client(topics):
    topics.ranges = {T0: (0, 10)}
    plan = {"worker": {"bootstrap.servers": "b"}, "config": {"name": "c"}, "rows": ROWS, "start": {"t": {"0": 3}}}
    one = reader(**plan)
    one.latestOffset({}, ALL)
    there: TopicReader = pickle.loads(pickle.dumps(one))
    assert there._ends is None
    assert there.initialOffset() == {"t": {"0": 3}}
    assert there.latestOffset({}, ALL) == {"t": {"0": 10}}
    part = pickle.loads(pickle.dumps(Part("t", 1, 5, 9)))
    assert ranges([part]) == [("t", 1, 5, 9)]


@pytest.mark.promise("P8")
def test_a_plan_is_shown_without_its_configurations():
    plan = ReadPlan("c", ("t",), "", {"sasl.jaas.config": "hidden-1"}, {"password": "hidden-2"})
    assert "hidden" not in repr(plan)
    assert "topics=('t',)" in repr(plan)
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert plan.id != ReadPlan("c", ("t",), "", {}, {}).id


def test_a_plan_names_topics_or_a_pattern():
    assert ReadPlan("c", ("t", "u"), "", {}, {}).subscription() == ["t", "u"]
    pattern = ReadPlan("c", (), r"t\d++", {}, {}).subscription()
    assert not isinstance(pattern, list)
    assert pattern.fullmatch("t12")
    assert not pattern.fullmatch("t12x")
