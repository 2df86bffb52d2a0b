"""The Spark sink's task on a real broker and a real Spark: where it begins, goes on, rests and starts over."""

import json
import sys
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from deltalake import DeltaTable

from connect.errors import ConfigError, ConnectError, RetriableError
from connect.kafka.broker.embedded import Broker
from spark_sink.query import supervised, table_task
from spark_sink.query.table_task import TableTask
from spark_sink.session import Session
from spark_sink.tables import TableWriter

from .sink_runs import Sink, delete_before, make_topic, numbers, produce, rows

MakeSink = Callable[..., Sink]


@pytest.fixture
def sink(broker: Broker, session: Session, monkeypatch: pytest.MonkeyPatch, lake: Path) -> MakeSink:
    """Makes a connector for one table: `sink(topic, mode="upsert")`; underscores stand for dots."""

    def make(topics: str = "", **config: str) -> Sink:
        keys = {key.replace("_", "."): value for key, value in config.items()}
        named = {"topics": topics} if topics else {}
        return Sink(broker, session, monkeypatch, {"table": str(lake / "rows"), **named, **keys})

    return make


class DiesAfterWriting(TableWriter):
    def __call__(self, df: Any, batch_id: int, *ranges: Any) -> None:
        super().__call__(df, batch_id, *ranges)
        raise RuntimeError("the power is gone")


class AlwaysBusy(TableWriter):
    def __call__(self, df: Any, batch_id: int, *ranges: Any) -> None:
        raise RetriableError("the store is busy")


def tmp_counter(folder: Path) -> Callable[[], int]:
    """Counts calls, in whichever process they are."""
    file = folder.with_name("calls")

    def count() -> int:
        with file.open("a") as out:
            out.write(".")
        return file.stat().st_size

    return count


def python_workers(session: Session) -> list[psutil.Process]:
    """The processes in which Spark runs Python for executors."""
    found = []
    for child in psutil.Process(session.pid).children():
        with suppress(psutil.NoSuchProcess):  # it ends just now
            if "pyspark.daemon" in " ".join(child.cmdline()):
                found += child.children()
    return found


def noted(table: Path) -> set[tuple[str, int, int]]:
    """The offsets that commits say they have."""
    found = set()
    for commit in DeltaTable(table).history():
        for topic, partitions in json.loads(commit.get("userMetadata") or "{}").get("offsets", {}).items():
            for partition, (first, last) in partitions.items():
                found |= {(topic, int(partition), offset) for offset in range(first or 0, last + 1)}
    return found


@pytest.mark.quick
def test_records_become_rows_and_the_group_hears_of_it(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker, 2)
    for partition in (0, 1):
        produce(broker, topic, [{"n": 2 * n + partition, "s": f"x{n}"} for n in range(100)], partition)
    one = sink(topic)
    with one.running() as run:
        run.until(lambda: len(one.committed()) == 2 and {o for o, _ in one.committed().values()} == {100})
        progress = run.progress
        assert (progress.read, progress.written, progress.lag) == (200, 200, 0)
        assert progress.topics == {topic}
        mark = run.task.generation.mark
    assert {note for _, note in one.committed().values()} == {mark}
    assert numbers(lake / "rows") == list(range(200))
    assert noted(lake / "rows") == {(topic, partition, offset) for partition in (0, 1) for offset in range(100)}


@pytest.mark.promise("P9")
def test_a_query_that_somebody_else_stops_goes_on(
    broker: Broker, sink: MakeSink, lake: Path, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": 1}])
    one = sink(topic)
    with one.running() as run:
        run.until(lambda: numbers(lake / "rows") == [1])
        for query in session.spark.streams.active:
            query.stop()
        produce(broker, topic, [{"n": 2}])
        run.until(lambda: numbers(lake / "rows") == [1, 2])
    assert "was ended, and Spark gives no error" in caplog.text


def test_fields_that_only_one_of_many_partitions_has(broker: Broker, sink: MakeSink, lake: Path) -> None:
    count = 42  # some of them are not among those in which the schema is looked for
    topic = make_topic(broker, count)
    for partition in range(count):
        produce(broker, topic, [{"n": partition, f"only_{partition}": "x"}], partition)
    sink(topic).run_until({(topic, partition): 1 for partition in range(count)})
    assert [row[f"only_{row['n']}"] for row in rows(lake / "rows")] == ["x"] * count


@pytest.mark.slow
def test_a_function_of_the_users_takes_batches_in_place_of_the_table(
    broker: Broker, sink: MakeSink, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "task_batches.py").write_text(
        "SEEN = []\n"
        "def take(rows, batch, context):\n"
        "    SEEN.append((batch, context.offsets))\n"
        "    context.write(rows.where('_value.n >= 5'))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(10)])
    one = sink(topic, foreach_batch="task_batches:take")
    one.run_until({(topic, 0): 10})
    assert numbers(lake / "rows") == list(range(5, 10))
    seen = sys.modules["task_batches"].SEEN  # type: ignore[attr-defined]
    assert seen[0][0] == 0
    assert {at for _, offsets in seen for at in offsets} == {(topic, 0)}
    assert max(last for _, offsets in seen for _, last in offsets.values()) == 9
    with (
        pytest.raises(ConfigError, match="importing no_such_batches failed"),
        sink(topic, foreach_batch="no_such_batches:take").running(),
    ):
        pass


@pytest.mark.slow
def test_a_new_connector_begins_at_a_time(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker, 3)
    for n, partition, moment in ((0, 0, 1000), (1, 0, 5000), (2, 0, 4000), (3, 1, 1000), (4, 2, 6000)):
        produce(broker, topic, [{"n": n}], partition, moment)
    one = sink(topic, starting_timestamp="1970-01-01T00:00:05Z")
    one.run_until({(topic, 0): 3, (topic, 2): 1})
    assert numbers(lake / "rows") == [1, 2, 4]
    produce(broker, topic, [{"n": 5}], 1, 2000)  # behind the end where it began
    one.run_until({(topic, 1): 2})
    assert numbers(lake / "rows") == [1, 2, 4, 5]


@pytest.mark.slow
def test_it_goes_on_where_it_was(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    one = sink(topic)
    for run in range(3):
        produce(broker, topic, [{"n": run * 10 + n} for n in range(10)])
        one.run_until({(topic, 0): (run + 1) * 10})
    assert numbers(lake / "rows") == list(range(30))


@pytest.mark.slow
def test_while_paused_nothing_is_written(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(10)])
    one = sink(topic)
    with one.running() as run:
        run.until(lambda: one.committed().get((topic, 0), (0, ""))[0] == 10)
        run.task.pause()
        run.until(lambda: not run.progress.busy)
        produce(broker, topic, [{"n": n} for n in range(10, 20)])
        for _ in range(20):
            run.task.watch(0.05)
        assert numbers(lake / "rows") == list(range(10))
        run.task.resume()
        run.until(lambda: len(numbers(lake / "rows")) == 20)


@pytest.mark.slow
def test_without_a_lease_nothing_is_written(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(10)])
    one = sink(topic)
    with one.running() as run:
        run.until(lambda: len(numbers(lake / "rows")) == 10)
        run.context.lease = -1.0
        run.task.watch(0)
        run.until(lambda: not run.progress.busy)
        produce(broker, topic, [{"n": n} for n in range(10, 20)])
        for _ in range(20):
            run.task.watch(0.05)
        assert numbers(lake / "rows") == list(range(10))
        run.context.lease = 60.0
        run.until(lambda: len(numbers(lake / "rows")) == 20)


def test_offsets_that_somebody_altered_begin_a_new_checkpoint(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker, 2)
    produce(broker, topic, [{"n": n} for n in range(10)], 0)
    produce(broker, topic, [{"n": 100 + n} for n in range(10)], 1)
    one = sink(topic)
    one.run_until({(topic, 0): 10, (topic, 1): 10})
    one.alter({(topic, 0): 7})
    produce(broker, topic, [{"n": 110}], 1)
    one.run_until({(topic, 0): 10, (topic, 1): 11})
    assert numbers(lake / "rows") == [*range(7), *(n for n in (7, 8, 9) for _ in range(2)), *range(100, 111)]
    one.run_until({(topic, 0): 10})  # nothing more: the new generation is the current one
    assert len(numbers(lake / "rows")) == 24


@pytest.mark.slow
def test_a_batch_that_was_begun_is_finished_before_altered_offsets_count(
    broker: Broker, sink: MakeSink, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(broker, 2)
    produce(broker, topic, [{"n": n} for n in range(10)], 0)
    produce(broker, topic, [{"n": 100 + n} for n in range(10)], 1)
    one = sink(topic)

    with monkeypatch.context() as patched, one.running() as run:
        patched.setattr(table_task, "TableWriter", DiesAfterWriting)
        with pytest.raises(ConnectError, match="the power is gone"):
            run.until(lambda: False)
    assert len(numbers(lake / "rows")) == 20
    one.alter({(topic, 0): 10})
    produce(broker, topic, [{"n": 10}], 0)
    one.run_until({(topic, 0): 11, (topic, 1): 10})
    assert numbers(lake / "rows") == [*range(11), *range(100, 110)]


@pytest.mark.promise("P1")
def test_offsets_altered_past_a_batch_that_fails_drop_it(
    broker: Broker, sink: MakeSink, lake: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic = make_topic(broker, 2)
    produce(broker, topic, [*({"n": n} for n in range(100)), b"{broken", *({"n": n} for n in range(101, 201))], 0)
    produce(broker, topic, [{"n": 1000 + n} for n in range(10)], 1)
    one = sink(topic)
    with one.running() as run, pytest.raises(ConnectError, match=f"{topic}.*100"):
        run.until(lambda: False)
    one.alter({(topic, 0): 101})
    one.run_until({(topic, 0): 201, (topic, 1): 10})
    assert numbers(lake / "rows") == [*range(101, 201), *range(1000, 1010)]
    (warning,) = [each.getMessage() for each in caplog.records if "is dropped" in each.getMessage()]
    assert f"{topic}-0 0 to 200, {topic}-1 0 to 9" in warning


@pytest.mark.slow
@pytest.mark.promise("P1")
def test_offsets_altered_past_records_that_are_gone(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(10)])
    one = sink(topic)
    one.run_until({(topic, 0): 10})
    produce(broker, topic, [{"n": n} for n in range(10, 100)])
    delete_before(broker, topic, 50)
    with one.running() as run, pytest.raises(ConnectError, match="are gone before they were read"):
        run.until(lambda: False)
    one.alter({(topic, 0): 50})
    one.run_until({(topic, 0): 100})
    assert numbers(lake / "rows") == [*range(10), *range(50, 100)]


@pytest.mark.slow
def test_offsets_altered_past_a_first_batch_of_which_nothing_is_left(
    broker: Broker, sink: MakeSink, lake: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [b"{broken"] * 3)
    one = sink(topic)
    with one.running() as run, pytest.raises(ConnectError, match=f"{topic}-0@0"):
        run.until(lambda: False)
    delete_before(broker, topic, 3)
    one.alter({(topic, 0): 3})
    with one.running() as run:
        produce(broker, topic, [{"n": 1}])
        run.until(lambda: numbers(lake / "rows") == [1])
    assert "is dropped" in caplog.text


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_a_batch_that_is_in_the_table_is_not_repeated_though_it_cannot_be_read_again(
    broker: Broker, sink: MakeSink, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(broker, 2)
    produce(broker, topic, [{"n": n} for n in range(10)], 0)
    produce(broker, topic, [{"n": 100 + n} for n in range(10)], 1)
    one = sink(topic)
    with monkeypatch.context() as patched, one.running() as run:
        patched.setattr(table_task, "TableWriter", DiesAfterWriting)
        with pytest.raises(ConnectError, match="the power is gone"):
            run.until(lambda: False)
    delete_before(broker, topic, 5)
    one.alter({(topic, 0): 5})
    one.run_until({(topic, 0): 10, (topic, 1): 10})
    assert numbers(lake / "rows") == sorted([*range(10), *range(5, 10), *range(100, 110)])


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_a_batch_that_was_written_while_its_query_was_ended_is_reported(
    broker: Broker, sink: MakeSink, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the worker's engine, to which the connector may move now, writes it again."""
    ending = threading.Event()

    class EndedAfterWriting(TableWriter):
        def __call__(self, df: Any, batch_id: int, *ranges: Any) -> None:
            super().__call__(df, batch_id, *ranges)
            assert ending.wait(60)
            raise RuntimeError("ended within its batch")

    end = TableTask._end

    def ended(task: TableTask, query: Any) -> None:
        ending.set()
        end(task, query)

    monkeypatch.setattr(table_task, "TableWriter", EndedAfterWriting)
    monkeypatch.setattr(TableTask, "_end", ended)
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(10)])
    one = sink(topic)
    with one.running() as run:
        run.until(lambda: numbers(lake / "rows") == list(range(10)))
        assert one.committed() == {}
    assert {at: offset for at, (offset, _) in one.committed().items()} == {(topic, 0): 10}


@pytest.mark.slow
@pytest.mark.promise("P1", "P10")
def test_python_processes_that_are_killed_cost_neither_the_session_nor_a_record(
    broker: Broker, sink: MakeSink, session: Session, lake: Path
) -> None:
    topic = make_topic(broker, 2)
    one = sink(topic, max_records_per_batch="2000")
    seen = 0
    with one.running() as run:
        for turn in range(1, 6):
            for partition in (0, 1):
                produce(
                    broker, topic, [{"n": 2 * n + partition} for n in range(turn * 2000 - 2000, turn * 2000)], partition
                )
            run.until(lambda: len(python_workers(session)) > 0)
            for worker in python_workers(session):
                with suppress(psutil.NoSuchProcess):
                    worker.kill()
                    seen += 1
            run.until(lambda: sum(at for at, _ in one.committed().values()) == turn * 4000)  # noqa: B023 - called at once
    assert seen
    assert session.ended() is None
    assert numbers(lake / "rows") == list(range(20_000))


@pytest.mark.slow
def test_what_passes_begins_the_query_anew_and_what_does_not_pass_fails_the_task(
    broker: Broker, sink: MakeSink, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": 1}])
    one, tries = sink(topic), tmp_counter(lake)

    class Unlucky(TableWriter):
        def __call__(self, df: Any, batch_id: int, *ranges: Any) -> None:
            if tries() <= 2:
                raise RetriableError("the store is busy")
            super().__call__(df, batch_id, *ranges)

    monkeypatch.setattr(table_task, "TableWriter", Unlucky)
    with one.running() as run:
        run.until(lambda: numbers(lake / "rows") == [1])
    assert tries() == 4
    monkeypatch.setattr(supervised, "_TRIES", 1)
    monkeypatch.setattr(table_task, "TableWriter", AlwaysBusy)
    produce(broker, topic, [{"n": 2}])
    with one.running() as run, pytest.raises(RetriableError, match="the store is busy"):
        run.until(lambda: False)


@pytest.mark.slow
def test_it_begins_where_the_group_was_left_by_another_engine(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(10)])
    one = sink(topic)
    one.alter({(topic, 0): 4})
    one.run_until({(topic, 0): 10})
    assert numbers(lake / "rows") == list(range(4, 10))


def test_new_fields_become_columns(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(5)])
    one = sink(topic)
    with one.running() as run:
        run.until(lambda: len(numbers(lake / "rows")) == 5)
        produce(
            broker, topic, [{"n": 5, "inner": {"a": 1}}, {"n": 6, "inner": {"a": 2, "b": "x"}}, {"n": 7, "more": True}]
        )
        run.until(lambda: len(numbers(lake / "rows")) == 8)
    found = rows(lake / "rows")
    assert found[0] == {"n": 0, "inner": None, "more": None}
    assert [row["inner"] for row in found[5:]] == [{"a": 1, "b": None}, {"a": 2, "b": "x"}, None]
    assert found[7]["more"] is True


@pytest.mark.slow
def test_a_transformation_that_remembers_records_hides_no_new_fields(
    broker: Broker, sink: MakeSink, lake: Path, session: Session
) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": 1}])
    once = {"transforms_once_type": "Deduplicate", "transforms_once_fields": "n"}
    with sink(topic, transforms="once", **once).running() as run:
        run.until(lambda: numbers(lake / "rows") == [1])
        for query in session.spark.streams.active:
            query.stop()  # the next run of the query remembers nothing
        produce(broker, topic, [{"n": 1, "more": "x"}])
        run.until(lambda: len(rows(lake / "rows")) == 2)
    assert sorted(str(row["more"]) for row in rows(lake / "rows")) == ["None", "x"]


@pytest.mark.promise("P10")
def test_an_upsert_does_not_depend_on_what_the_query_has_seen(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": 1, "a": 1, "b": 2}, {"n": 2, "a": 1, "b": 2}])
    one = sink(topic, mode="upsert", pk_mode="record_value", pk_fields="n")
    one.run_until({(topic, 0): 2})
    produce(broker, topic, [{"n": 1, "a": 5}])
    one.run_until({(topic, 0): 3})  # this run has seen no other record
    produce(broker, topic, [{"n": 2, "a": 5}, {"n": 3, "a": 1, "b": 2}])
    one.run_until({(topic, 0): 5})  # and this one has
    assert rows(lake / "rows") == [{"n": 1, "a": 5, "b": None}, {"n": 2, "a": 5, "b": None}, {"n": 3, "a": 1, "b": 2}]


def test_a_record_that_contradicts_the_table_fails_the_task_with_its_place(broker: Broker, sink: MakeSink) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [*({"n": n} for n in range(5)), {"n": "five"}])
    with sink(topic).running() as run, pytest.raises(ConnectError, match=f"{topic}-0@5"):
        run.until(lambda: False)


@pytest.mark.slow
def test_or_it_becomes_a_dead_letter(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": 0}, b"no JSON", {"n": "two"}, {"n": 3}])
    keys = {"errors.tolerance": "all", "schema.evolution.on.mismatch": "quarantine"}
    one = sink(topic, errors_deadletter_table=str(lake / "letters"), **keys)
    one.run_until({(topic, 0): 4})
    assert numbers(lake / "rows") == [0, 3]
    letters = DeltaTable(lake / "letters").to_pyarrow_table().to_pylist()
    assert sorted(str(letter) for letter in letters if "no JSON" in str(letter)), letters
    assert len(letters) == 2


@pytest.mark.slow
def test_a_table_for_each_topic_also_for_topics_that_come(broker: Broker, sink: MakeSink, lake: Path) -> None:
    family = f"many-{uuid.uuid4().hex[:6]}"
    first = make_topic(broker, name=f"{family}-a")
    produce(broker, first, [{"n": 1}])
    one = sink(topics_regex=f"{family}-.*", table=str(lake / "${topic}"))
    with one.running() as run:
        run.until(lambda: numbers(lake / first) == [1])
        second = make_topic(broker, name=f"{family}-b")
        produce(broker, second, [{"n": 2, "other": "column"}])
        run.until(lambda: numbers(lake / second) == [2])
    assert rows(lake / first) == [{"n": 1}]


@pytest.mark.slow
def test_an_empty_topic_is_waited_for(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    with sink(topic).running() as run:
        for _ in range(5):
            run.task.watch(0.05)
        produce(broker, topic, [{"n": 1}])
        run.until(lambda: numbers(lake / "rows") == [1])


@pytest.mark.slow
def test_what_is_there_and_no_more(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(10)])
    one = sink(topic, trigger="available_now", max_records_per_batch="4")
    with one.running() as run:
        run.until(lambda: run.task.queries[0].done)
        produce(broker, topic, [{"n": 10}])
        run.task.watch(0.1)
    assert numbers(lake / "rows") == list(range(10))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"starting_timestamp": "3000", "ending_timestamp": "6000"}, [3, 4, 5, 13, 14, 15]),
        ({"ending_timestamp": "2000"}, [0, 1, 10, 11]),
        ({"starting_offsets": '{"%s": {"0": 4, "1": -1}}', "ending_offsets": '{"%s": {"0": 6}}'}, [4, 5]),
        ({"starting_timestamp": "8000", "ending_timestamp": "9000"}, []),
    ],
    ids=["times", "to a time", "offsets", "behind the end"],
)
def test_a_backfill_ends_where_it_is_told(
    broker: Broker, sink: MakeSink, lake: Path, keys: dict[str, str], expected: list[int]
) -> None:
    topic = make_topic(broker, 2)
    for n in range(8):
        for partition in range(2):
            produce(broker, topic, [{"n": n + 10 * partition}], partition, 1 + n * 1000)
    told = {key: value % topic if "%s" in value else value for key, value in keys.items()}
    one = sink(topic, trigger="available_now", max_records_per_batch="3", **told)
    with one.running() as run:
        run.until(lambda: run.task.queries[0].done)
        produce(broker, topic, [{"n": 99}], 0, 4000)
        run.task.watch(0.1)
    assert (sorted(numbers(lake / "rows")) if expected else list(lake.glob("rows/*.parquet"))) == expected


@pytest.mark.slow
@pytest.mark.promise("P3")
def test_what_is_there_is_written_to_the_end_though_the_task_was_paused_and_without_a_lease(
    broker: Broker, sink: MakeSink, lake: Path
) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(30)])
    with sink(topic, trigger="available_now", max_records_per_batch="10").running() as run:
        run.until(lambda: len(numbers(lake / "rows")) >= 10)
        run.task.pause()
        run.until(lambda: run.task.queries[0].running is None)
        assert not run.task.queries[0].done
        assert len(numbers(lake / "rows")) < 30
        run.context.lease = -1.0
        run.task.resume()
        for _ in range(5):
            run.task.watch(0.05)
        assert run.task.queries[0].running is None
        run.context.lease = 60.0
        run.until(lambda: run.task.queries[0].done)
    assert numbers(lake / "rows") == list(range(30))
