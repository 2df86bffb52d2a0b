"""How far a query is, from reports as Spark gives them, in this process's Spark and over Spark Connect."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql.streaming.listener import StreamingQueryProgress

from connect.data.record import TopicPartition
from connect.telemetry.metrics import Registry
from spark_sink.query import progress
from spark_sink.query.progress import QueryProgress

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
Offsets = Mapping[str, Mapping[str, int]] | None


def report(
    batch: int, start: Offsets, end: Offsets, rows: int, latest: Offsets = None, run: int = 1, at: int | None = None
) -> str:
    """A report as Spark 4.2 writes it."""
    source = {
        "description": "org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStream@7918a8a2",
        "startOffset": start,
        "endOffset": end,
        "latestOffset": latest or end,
        "numInputRows": rows,
        "inputRowsPerSecond": 0.0,
        "processedRowsPerSecond": 95.2,
    }
    return json.dumps(
        {
            "id": "705b3ec1-f72a-48b9-a40d-cfea674aa493",
            "runId": f"a5adb724-6ae5-48fd-99ac-{run:012d}",
            "name": None,
            "timestamp": f"2026-11-22T05:56:{batch if at is None else at:02d}.074Z",
            "batchId": batch,
            "batchDuration": 500,
            "numInputRows": rows,
            "inputRowsPerSecond": 0.0,
            "processedRowsPerSecond": 95.2,
            "durationMs": {"addBatch": 400, "latestOffset": 54, "triggerExecution": 500},
            "stateOperators": [],
            "sources": [source],
            "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
        }
    )


class InJava:
    """A report in the JVM. Counts how many were brought over."""

    def __init__(self, text: str, brought: list[str]) -> None:
        self._text, self._brought = text, brought

    def json(self) -> str:
        self._brought.append(self._text)
        return self._text


class Classic:
    """A query of this process's Spark."""

    def __init__(self, *reports: str) -> None:
        self._jsq = self
        self.brought: list[str] = []
        self.reports = [InJava(text, self.brought) for text in reports]

    def recentProgress(self) -> Sequence[InJava]:  # noqa: N802 - Spark's name
        return self.reports


class Connect:
    """A query of Spark Connect."""

    def __init__(self, *reports: str) -> None:
        told = [json.loads(text) for text in reports]
        for each in told:
            del each["numInputRows"]  # over Spark Connect it is not there
        self.recentProgress = [StreamingQueryProgress.fromJson(each) for each in told]


Make = Callable[..., Any]


@pytest.fixture(params=[Classic, Connect])
def query(request: pytest.FixtureRequest) -> Make:
    """Makes a query with these reports."""
    made: Make = request.param
    return made


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def seen(registry: Registry) -> QueryProgress:
    return QueryProgress("orders", registry.labelled())


def test_nothing_is_known_before_the_first_report(seen, query):
    seen.take(query())
    assert (seen.rows, seen.offsets, seen.latest, seen.topics, seen.lag) == (0, {}, {}, set(), -1)


def test_batches_are_counted_once(seen, query):
    reports = [
        report(0, None, {"t": {"0": 10, "1": 0}}, 10, {"t": {"0": 10, "1": 0}}),
        report(1, {"t": {"0": 10, "1": 0}}, {"t": {"0": 15, "1": 7}}, 12, {"t": {"0": 20, "1": 7}}),
    ]
    seen.take(query(*reports[:1]))
    assert (seen.rows, seen.lag) == (10, 0)
    for _ in range(3):
        seen.take(query(*reports))
        assert (seen.rows, seen.lag) == (22, 5)
    assert seen.offsets == {T0: 15, T1: 7}
    assert seen.latest == {T0: 20, T1: 7}
    assert seen.topics == {"t"}


def test_reports_of_idle_moments_have_the_number_of_the_batch_that_comes(seen, query):
    at = {"t": {"0": 10}}
    reports = [
        report(0, None, at, 10),
        report(1, at, at, 0, at=20),
        report(1, at, at, 0, {"t": {"0": 14}}, at=30),
        report(1, at, {"t": {"0": 14}}, 4, at=40),
    ]
    for count, rows, lag in ((1, 10, 0), (2, 10, 0), (3, 10, 4), (4, 14, 0)):
        seen.take(query(*reports[:count]))
        assert (seen.rows, seen.lag) == (rows, lag)


def test_a_gate_that_is_shut_from_the_start_makes_a_batch_of_nothing(seen, query):
    seen.take(query(report(0, None, {}, 0).replace('"latestOffset": {}', '"latestOffset": null')))
    assert (seen.rows, seen.offsets, seen.lag, seen.topics) == (0, {}, -1, set())


def test_a_batch_that_was_read_twice_to_be_written_counts_once(seen, query):
    at = {"t": {"0": 500, "1": 500}}
    seen.take(query(report(0, None, at, 2000), report(1, at, {"t": {"0": 550, "1": 550}}, 200)))
    assert seen.rows == 1100


def test_marks_of_transactions_are_no_rows(seen, query):
    seen.take(query(report(0, {"t": {"0": 0}}, {"t": {"0": 12}}, 10)))
    assert seen.rows == 10


def test_a_partition_made_anew_counts_from_its_first_record(seen, query):
    seen.take(query(report(7, {"t": {"0": 500, "1": 3}}, {"t": {"0": 30, "1": 5}}, 32)))
    assert (seen.rows, seen.offsets, seen.lag) == (32, {T0: 30, T1: 5}, 0)


def test_only_topics_of_which_records_were_read_are_told(seen, query):
    start = {"t": {"0": 500}, "u": {"0": 7}, "w": {"0": 0}}
    seen.take(query(report(3, start, {"t": {"0": 500}, "u": {"0": 9}, "w": {"0": 0}}, 2)))
    assert seen.topics == {"u"}
    seen.take(query(report(4, {"u": {"0": 9}}, {"u": {"0": 9}, "x": {"0": 1}}, 1, at=5)))
    assert seen.topics == {"u", "x"}


def test_a_query_that_begins_anew_goes_on_counting(seen, query):
    at = {"t": {"0": 10}}
    seen.take(query(report(0, None, at, 10)))
    seen.take(query(report(1, at, {"t": {"0": 13}}, 3, run=2)))
    assert seen.rows == 13
    seen.take(query(report(1, at, {"t": {"0": 13}}, 3, run=3)))  # the same batch, as after a crash
    assert (seen.rows, seen.offsets) == (16, {T0: 13})


def test_topics_that_are_gone_keep_their_offsets_and_do_not_lag(seen, query):
    seen.take(query(report(0, None, {"t": {"0": 10}, "u": {"0": 5}}, 15)))
    seen.take(query(report(1, {"t": {"0": 10}, "u": {"0": 5}}, {"t": {"0": 11}, "u": {"0": 5}}, 1, {"t": {"0": 11}})))
    assert seen.offsets == {T0: 11, U0: 5}
    assert seen.lag == 0


def test_batches_are_measured(seen, query, registry):
    at = {"t": {"0": 10}}
    seen.take(query(report(0, None, at, 10), report(1, at, at, 0, at=9)))
    found = registry.snapshot()
    samples = {sample.name: sample for sample in found}
    assert {dict(sample.labels)["query"] for sample in found} == {"orders"}
    phases = {dict(s.labels)["phase"]: s.value.sum for s in found if s.name == "connect_spark_phase_seconds"}
    assert phases == {"addBatch": 0.4, "latestOffset": 0.054}
    assert samples["connect_spark_rows_total"].value == 10
    assert samples["connect_spark_rows_per_second"].value == 20
    assert samples["connect_spark_batch_seconds"].value.seen == 1


def test_rows_that_are_ranges_are_as_many_records_as_the_offsets_moved(registry):
    ranges = QueryProgress("all", registry.labelled(), rows_are_ranges=True)
    ranges.take(Classic(report(0, {"t": {"0": 5}}, {"t": {"0": 25}, "u": {"0": 100}}, 2)))
    assert (ranges.rows, ranges.topics) == (120, {"t", "u"})


def test_only_new_reports_are_brought_over_from_java(seen):
    reports = [report(n, {"t": {"0": n}}, {"t": {"0": n + 1}}, 1) for n in range(50)]
    first = Classic(*reports[:48])
    seen.take(first)
    assert len(first.brought) == 48
    again = Classic(*reports)
    seen.take(again)
    assert len(again.brought) == 3  # two new ones, and one that is known
    assert seen.rows == 50


def test_offsets_are_found_in_both_forms():
    as_text, as_map = {"endOffset": '{"t": {"0": 3}}'}, {"endOffset": {"t": {"0": 3}}}
    assert progress._offsets(as_text, "endOffset") == progress._offsets(as_map, "endOffset") == {T0: 3}
    for nothing in (None, "null", "{}", {}):
        assert progress._offsets({"endOffset": nothing}, "endOffset") == {}
    assert progress._offsets({}, "endOffset") == {}
