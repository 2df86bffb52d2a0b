"""A table for each topic by one query: columns of each topic's own, exactly once, topics side by side."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from connect.errors import ConnectError
from connect.kafka.broker.embedded import Broker
from spark_sink.query import topic_tables
from spark_sink.query.sink_task import SinkQuery
from spark_sink.query.table_task import TableTask
from spark_sink.session import Session, open_session
from spark_sink.session.server import Server
from spark_sink.tables import TableWriter
from tests.support.waiting import until

from .sink_runs import Sink, make_topic, numbers, produce, rows

pytestmark = pytest.mark.slow

MakeSink = Callable[..., Sink]


@pytest.fixture
def sink(broker: Broker, session: Session, monkeypatch: pytest.MonkeyPatch, lake: Path) -> MakeSink:
    """Makes a connector that writes a table for each topic: `sink(topics)`; underscores stand for dots."""

    def make(*topics: str, **config: str) -> Sink:
        keys = {key.replace("_", "."): value for key, value in config.items()}
        named = {"topics": ",".join(topics), "table": str(lake / "${topic}"), **keys}
        return Sink(broker, session, monkeypatch, named)

    return make


def make_topics(broker: Broker, *names: str) -> list[str]:
    family = uuid.uuid4().hex[:6]
    return [make_topic(broker, name=f"{name}-{family}") for name in names]


def test_new_fields_of_a_topic_neither_end_the_query_nor_touch_another_table(
    broker: Broker, sink: MakeSink, lake: Path
) -> None:
    one, other = make_topics(broker, "one", "other")
    produce(broker, one, [{"n": 1}])
    produce(broker, other, [{"n": 1, "kind": "other"}])
    with sink(one, other).running() as run:
        run.until(lambda: numbers(lake / one) == [1] and numbers(lake / other) == [1])
        query = run.task.queries[0].running
        produce(broker, one, [{"n": n} for n in range(2, 1000)])
        produce(broker, one, [{"n": 1000, "inner": {"a": 1}}, {"n": 1001, "inner": {"b": "x"}, "more": True}])
        produce(broker, other, [{"n": 2, "kind": "again"}])
        run.until(lambda: len(numbers(lake / one)) == 1001 and numbers(lake / other) == [1, 2])
        assert len(run.task.queries) == 1
        assert run.task.queries[0].running is query
    assert rows(lake / one)[-2:] == [
        {"n": 1000, "inner": {"a": 1, "b": None}, "more": None},
        {"n": 1001, "inner": {"a": None, "b": "x"}, "more": True},
    ]
    assert rows(lake / other) == [{"n": 1, "kind": "other"}, {"n": 2, "kind": "again"}]
    said = [json.loads(commit.get("userMetadata") or "null") for commit in DeltaTable(lake / other).history()]
    assert [each["offsets"] for each in said if each] == [{other: {"0": [1, 1]}}, {other: {"0": [0, 0]}}]


def test_the_group_and_the_figures_say_how_many_records_were_written(broker: Broker, sink: MakeSink) -> None:
    topics = make_topics(broker, "a", "b", "c")
    for count, topic in enumerate(topics, 1):
        produce(broker, topic, [{"n": n} for n in range(count * 10)])
    one = sink(*topics)
    with one.running() as run:
        run.until(lambda: {(t, 0): at for (t, _), (at, _) in one.committed().items()} == ends(topics))
        assert (run.progress.read, run.progress.lag, run.progress.topics) == (60, 0, set(topics))


def ends(topics: list[str]) -> dict[tuple[str, int], int]:
    return {(topic, 0): count * 10 for count, topic in enumerate(topics, 1)}


@pytest.mark.promise("P10")
def test_a_batch_that_wrote_some_topics_before_it_failed_writes_the_others_when_it_comes_again(
    broker: Broker, sink: MakeSink, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = make_topics(broker, *(f"t{number}" for number in range(12)))
    for topic in topics:
        produce(broker, topic, [{"n": n} for n in range(50)])
    written: list[str | None] = []

    class FailsForOne(TableWriter):
        def __call__(self, df: Any, batch_id: int, *ranges: Any) -> None:
            if self.topic == topics[5]:
                raise RuntimeError("no room")
            super().__call__(df, batch_id, *ranges)
            written.append(self.topic)

    one = sink(*topics)
    with monkeypatch.context() as patched, one.running() as run:
        patched.setattr(topic_tables, "TableWriter", FailsForOne)
        with pytest.raises(ConnectError, match="no room"):
            run.until(lambda: False)
    assert written, "the topics beside it were being written, and are finished"
    one.run_until({(topic, 0): 50 for topic in topics})
    assert {topic: numbers(lake / topic) for topic in topics} == {topic: list(range(50)) for topic in topics}


@pytest.mark.promise("P10")
def test_offsets_altered_past_a_topic_that_fails_repeat_nothing_of_the_others(
    broker: Broker, sink: MakeSink, lake: Path
) -> None:
    good, bad = make_topics(broker, "good", "bad")
    one = sink(good, bad)
    produce(broker, good, [{"n": n} for n in range(10)])
    produce(broker, bad, [{"n": 0}])
    one.run_until({(good, 0): 10, (bad, 0): 1})
    produce(broker, good, [{"n": n} for n in range(10, 20)])
    produce(broker, bad, [b"no JSON", {"n": 2}])
    with one.running() as run, pytest.raises(ConnectError, match=f"{bad}"):
        run.until(lambda: False)
    assert numbers(lake / good) == list(range(20)), "it is written, though its batch is not done"
    one.alter({(bad, 0): 2})
    one.run_until({(good, 0): 20, (bad, 0): 3})
    assert numbers(lake / good) == list(range(20))
    assert numbers(lake / bad) == [0, 2]


def test_jobs_of_all_topics_are_the_querys(
    broker: Broker, sink: MakeSink, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = make_topics(broker, "a", "b", "c")
    groups: set[tuple[str, str]] = set()

    class Tells(TableWriter):
        def __call__(self, df: Any, batch_id: int, *ranges: Any) -> None:
            context = df.sparkSession.sparkContext
            groups.add((threading.current_thread().name, context.getLocalProperty("spark.jobGroup.id")))
            super().__call__(df, batch_id, *ranges)

    monkeypatch.setattr(topic_tables, "TableWriter", Tells)
    for topic in topics:
        produce(broker, topic, [{"n": 1}])
    with sink(*topics).running() as run:
        run.until(lambda: all(numbers(lake / topic) == [1] for topic in topics))
        run_id = str(run.task.queries[0].running.runId)
    assert {group for _, group in groups} == {run_id}, "who stops the query stops these jobs"
    assert len({thread for thread, _ in groups}) > 1


def test_a_table_for_each_topic_that_transformations_make(broker: Broker, sink: MakeSink, lake: Path) -> None:
    (topic,) = make_topics(broker, "routed")
    produce(broker, topic, [{"n": n, "to": "even" if n % 2 == 0 else "odd"} for n in range(10)])
    routing = {
        "transforms": "route",
        "transforms_route_type": "io.confluent.connect.transforms.ExtractTopic$Value",
        "transforms_route_field": "to",
    }
    sink(topic, **routing).run_until({(topic, 0): 10})
    assert numbers(lake / "even") == [0, 2, 4, 6, 8]
    assert numbers(lake / "odd") == [1, 3, 5, 7, 9]


def test_upserts_and_tombstones_of_several_topics(broker: Broker, sink: MakeSink, lake: Path) -> None:
    one, other = make_topics(broker, "one", "other")
    connector = sink(one, other, mode="upsert", pk_mode="record_value", pk_fields="n")
    produce(broker, one, [{"n": 1, "a": 1}, {"n": 2, "a": 1}, {"n": 1, "a": 2}])
    produce(broker, other, [{"n": 1, "b": "x"}])
    connector.run_until({(one, 0): 3, (other, 0): 1})
    produce(broker, one, [{"n": 2, "a": 3, "new": True}])
    connector.run_until({(one, 0): 4})
    assert rows(lake / one) == [{"n": 1, "a": 2, "new": None}, {"n": 2, "a": 3, "new": True}]
    assert rows(lake / other) == [{"n": 1, "b": "x"}]


def test_a_topic_of_tombstones_only_does_not_hold_up_the_others(broker: Broker, sink: MakeSink, lake: Path) -> None:
    silent, topic = make_topics(broker, "silent", "topic")
    produce(broker, silent, [b"null"] * 3)
    produce(broker, topic, [{"n": 1}])
    one = sink(silent, topic)
    one.run_until({(silent, 0): 3, (topic, 0): 1})
    produce(broker, silent, [{"n": 7}])
    one.run_until({(silent, 0): 4})
    assert numbers(lake / topic) == [1]
    assert numbers(lake / silent) == [7]


class AQueryForEachTopic(TableTask):
    """As it was up to 0.2.0."""

    def ledger(self) -> str:
        return "generations"

    def former(self) -> None:
        return None

    def prepare(self) -> None:
        super().prepare()
        assert isinstance(self.topics, list)
        self.queries[:] = [self.make_query(topic, [topic], only_ranges=False) for topic in self.topics]


class FailsAfterWriting(AQueryForEachTopic):
    """Leaves batches that are begun, and written, and not finished."""

    def write(self, query: SinkQuery, rows: Any) -> Any:
        writer = TableWriter(self._settings, self.context.connector, self.app_id(query), query.topics[0])

        def write_and_fail(df: Any, batch_id: int) -> None:
            writer(df, batch_id)
            if df.limit(1).collect()[0]["_value"]["n"] >= 10:
                raise RuntimeError("the power is gone")

        return rows.writeStream.foreachBatch(write_and_fail)


@pytest.mark.promise("P10")
def test_a_connector_that_had_a_query_for_each_topic_goes_on_where_these_were(
    broker: Broker, sink: MakeSink, lake: Path
) -> None:
    topics = make_topics(broker, "a", "b", "never")
    a, b, never = topics
    for topic in (a, b):
        produce(broker, topic, [{"n": n} for n in range(10)])
    one = sink(*topics)
    with one.running(AQueryForEachTopic) as run:
        run.until(lambda: {at for at, _ in one.committed().values()} == {10} and len(one.committed()) == 2)
    produce(broker, b, [{"n": n} for n in range(10, 15)])
    with pytest.raises(ConnectError, match="the power is gone"), one.running(FailsAfterWriting) as run:
        run.until(lambda: False)
    for topic in topics:
        produce(broker, topic, [{"n": n} for n in range(20, 30)])
    one.run_until({(a, 0): 20, (b, 0): 25, (never, 0): 10})
    assert numbers(lake / a) == [*range(10), *range(20, 30)]
    assert numbers(lake / b) == [*range(15), *range(20, 30)]
    assert numbers(lake / never) == list(range(20, 30))


@pytest.mark.promise("P1", "P10")
def test_a_task_that_goes_between_workers_of_two_versions_loses_and_repeats_nothing(
    broker: Broker, sink: MakeSink, lake: Path
) -> None:
    topics = make_topics(broker, "a", "b")
    one = sink(*topics)
    count = 0
    for task in (AQueryForEachTopic, TableTask, AQueryForEachTopic, TableTask):
        with one.running(task) as run:
            for _ in range(3):  # batches
                for topic in topics:
                    produce(broker, topic, [{"n": n} for n in range(count, count + 10)])
                count += 10
                run.until(lambda: [at for at, _ in one.committed().values()] == [count, count])  # noqa: B023
    assert {topic: numbers(lake / topic) for topic in topics} == {topic: list(range(count)) for topic in topics}


@pytest.mark.promise("P1", "P10")
def test_a_topic_called_all_is_not_taken_for_the_query_of_all(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topics = [make_topic(broker, name="all"), *make_topics(broker, "b")]
    one = sink(*topics)
    for task, more in ((AQueryForEachTopic, range(10)), (TableTask, range(10, 20))):
        for topic in topics:
            produce(broker, topic, [{"n": n} for n in more])
        with one.running(task) as run:
            run.until(lambda: [at for at, _ in one.committed().values()] == [more[-1] + 1] * 2)  # noqa: B023
    assert {topic: numbers(lake / topic) for topic in topics} == {topic: list(range(20)) for topic in topics}


@pytest.fixture
def remote(connect_server: Server, no_shared_spark: None) -> Iterator[Session]:
    with open_session({"spark.remote": connect_server.url}, "topics") as session:
        yield session


def test_over_spark_connect(
    broker: Broker, remote: Session, monkeypatch: pytest.MonkeyPatch, lake: Path, tmp_path: Path
) -> None:
    topics = make_topics(broker, "a", "b", "c")
    for topic in topics:
        produce(broker, topic, [{"n": n, topic[0]: n} for n in range(100)])
    config = {"topics": ",".join(topics), "table": str(lake / "${topic}"), "checkpoint.location": str(tmp_path / "ck")}
    one = Sink(broker, remote, monkeypatch, config)
    one.run_until({(topic, 0): 100 for topic in topics})
    produce(broker, topics[0], [{"n": 100, "new": "x"}])
    one.run_until({(topics[0], 0): 101})
    assert numbers(lake / topics[1]) == list(range(100))
    assert rows(lake / topics[0])[-1] == {"n": 100, "a": None, "new": "x"}
    assert rows(lake / topics[2])[-1] == {"n": 99, "c": 99}


def test_stop_while_topics_are_written_cancels_them_and_loses_nothing(
    broker: Broker, sink: MakeSink, session: Session, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = make_topics(broker, *"abcd")
    for topic in topics:
        produce(broker, topic, [{"n": n} for n in range(10)])
    begun = threading.Event()

    class Slow(TableWriter):
        def __call__(self, df: Any, batch_id: int, *ranges: Any) -> None:
            begun.set()
            df.sparkSession.range(1).mapInArrow(_sleeps, "id bigint").collect()
            super().__call__(df, batch_id, *ranges)

    one = sink(*topics)
    with monkeypatch.context() as patched, one.running() as run:
        patched.setattr(topic_tables, "TableWriter", Slow)
        run.until(begun.is_set)
        run.task.stop()
        tracker = session.spark.sparkContext.statusTracker()
        until(lambda: not tracker.getActiveJobsIds(), 30, "the jobs, which would take a minute, are cancelled")
    one.run_until({(topic, 0): 10 for topic in topics})
    assert {topic: numbers(lake / topic) for topic in topics} == {topic: list(range(10)) for topic in topics}


def _sleeps(batches: Any) -> Any:
    time.sleep(60)
    yield from batches
