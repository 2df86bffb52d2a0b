"""A sink connector in memory: what its author sees of batches, commits, partitions and errors."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connect import (
    ConnectError,
    Offsets,
    RetriableError,
    SinkBatch,
    SinkConnector,
    SinkRecord,
    SinkTask,
    TopicPartition,
    schema,
)
from connect.testing import Message, SinkRun

T0, T1 = TopicPartition("test", 0), TopicPartition("test", 1)


class Target:
    """What sinks write to."""

    def __init__(self) -> None:
        self.rows: list[Any] = []


class CollectTask(SinkTask):
    target: Target

    def start(self, config: Mapping[str, str]) -> None:
        self.refuse = 0
        self.calls: list[tuple[str, Any]] = []
        self.buffer: list[Any] = []

    def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
        self.calls.append(("open", sorted(partitions)))
        return None

    def put(self, batch: SinkBatch) -> None:
        self.calls.append(("put", [record.value for record in batch]))
        if self.refuse:
            self.refuse -= 1
            self.context.timeout(5000)
            raise RetriableError("not now.")
        for record in batch:
            if record.value == "poison":
                if self.context.errant_records is None:
                    raise ConnectError("poison.")
                self.context.errant_records.report(record, ConnectError("poison."))
            else:
                self.buffer.append(record.value)

    def flush(self, offsets: Offsets) -> None:
        self.target.rows += self.buffer
        self.buffer = []

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append(("close", sorted(partitions)))


class Shared(SinkConnector):
    """Says nothing of its tasks."""


def test_a_sink_that_says_nothing_of_its_tasks_has_as_many_as_it_may():
    connector = Shared()
    connector.start({"a": "b"})
    first, second = connector.task_configs(2)
    assert first == second == {"a": "b"}
    assert first is not second


class Collect(SinkConnector):
    """Give it a target: `Collect(target)`."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def task_class(self) -> type[CollectTask]:
        return type("CollectTask", (CollectTask,), {"target": self.target})

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self.config)] * max_tasks


@pytest.fixture
def target() -> Target:
    return Target()


def puts(run: SinkRun) -> list[Any]:
    return [values for name, values in run.task.calls if name == "put"]  # type: ignore[attr-defined]


def test_what_one_call_puts_arrives_as_one_batch_and_is_durable_after_a_commit(target: Target) -> None:
    with SinkRun(Collect(target), {}) as run:
        stored = run.put("a", "b")
        run.put("c")
        assert puts(run) == [["a", "b"], ["c"]]
        assert [(record.topic, record.offset) for record in stored] == [("test", 0), ("test", 1)]
        assert (run.committed, target.rows) == ({}, [])
        run.commit()
        assert (run.committed, target.rows) == ({T0: 3}, ["a", "b", "c"])
        assert run.pre_commits == [({T0: 3}, {T0: 3})]


def test_a_stop_commits_and_a_restart_goes_on(target: Target) -> None:
    run = SinkRun(Collect(target), {}).start()
    run.put("a")
    run.stop()
    assert (run.committed, target.rows) == ({T0: 1}, ["a"])
    run.restart()
    run.put("b")
    run.stop()
    assert target.rows == ["a", "b"]


def test_a_crash_commits_nothing_and_what_was_not_committed_comes_again(target: Target) -> None:
    with SinkRun(Collect(target), {}) as run:
        run.put("a")
        run.commit()
        run.put("b")
        run.crash()
        assert run.committed == {T0: 1}
        run.restart()
        run.deliver()
        assert puts(run) == [["b"]]


def test_a_batch_that_was_refused_comes_again_as_it_was(target: Target) -> None:
    with SinkRun(Collect(target), {}) as run:
        run.task.refuse = 2  # type: ignore[attr-defined]
        run.put("a", "b")
        assert puts(run) == [["a", "b"]] * 3
        assert run.retries == 2
        run.task.refuse = 2  # type: ignore[attr-defined]
        run.put("c", tries=1)
        assert puts(run)[3:] == [["c"]]
        run.commit()
        assert run.committed == {T0: 2}
        run.put("d")
        assert puts(run)[-2:] == [["c"], ["d"]]
        run.task.refuse = 1000  # type: ignore[attr-defined]
        with pytest.raises(RetriableError):
            run.put("e")


def test_an_empty_batch_is_put_when_the_test_says_so(target: Target) -> None:
    with SinkRun(Collect(target), {}) as run:
        run.put_nothing()
        run.put("a")
        run.put_nothing()
        assert puts(run) == [[], ["a"], []]


def test_partitions_come_and_go(target: Target) -> None:
    with SinkRun(Collect(target), {}, partitions=2) as run:
        run.put("a", partition=0)
        run.put("b", partition=1)
        run.revoke(T1)
        assert run.committed == {T1: 1}
        run.put("c", partition=1)
        assert puts(run)[2:] == []
        run.lose(T0)
        assert run.committed == {T1: 1}
        run.assign(T0, T1)
        run.deliver()
        assert sorted(puts(run)[-1]) == ["a", "c"]
        names = [call for call in run.task.calls if call[0] != "put"]  # type: ignore[attr-defined]
        assert names == [("open", [T0, T1]), ("close", [T1]), ("close", [T0]), ("open", [T0, T1])]


def test_a_partition_that_the_test_assigned_is_not_assigned_again(target: Target) -> None:
    with SinkRun(Collect(target), {"tasks.max": "2"}) as run:
        run.assign(T1, task=0)
        run.put("a", partition=1)
        run.put("b", partition=1)
        first, second = (task.calls for task in run.tasks)  # type: ignore[attr-defined]
        assert first == [("open", [T0]), ("open", [T1]), ("put", ["a"]), ("put", ["b"])]
        assert second == []


def test_partitions_are_shared_out_among_tasks(target: Target) -> None:
    with SinkRun(Collect(target), {"tasks.max": "2"}, partitions=3) as run:
        assignments = [sorted(p.partition for p in task.context.assignment) for task in run.tasks]
        assert assignments == [[0, 2], [1]]
        run.put(*(SinkRecord("test", n, partition=n) for n in range(3)))
        run.commit()
        assert sorted(target.rows) == [0, 1, 2]


def test_a_sink_that_knows_its_offsets_is_placed_there(target: Target) -> None:
    class Knowing(CollectTask):
        def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
            return {T0: 2}

    Knowing.target = target
    with SinkRun(type("K", (SinkConnector,), {"task": Knowing}), {}) as run:
        run.put(0, 1, 2, 3)
        assert puts(run) == [[2, 3]]


def test_the_context_rewinds_pauses_and_asks_for_commits(target: Target) -> None:
    with SinkRun(Collect(target), {}, partitions=2) as run:
        run.put("a", "b")
        run.task.context.rewind({T0: 1})
        run.deliver()
        assert puts(run) == [["a", "b"], ["b"]]
        run.task.context.pause(T0)
        run.put("c")
        run.put("d", partition=1)
        assert puts(run)[2:] == [["d"]]
        run.task.context.resume(T0)
        run.task.context.request_commit()
        run.deliver()
        assert puts(run)[3:] == [["c"]]
        assert run.committed == {T0: 3, T1: 1}


def test_a_paused_task_gets_nothing(target: Target) -> None:
    with SinkRun(Collect(target), {}) as run:
        run.put("a")
        run.pause()
        assert run.committed == {T0: 1}
        run.put("b")
        run.put_nothing()
        assert puts(run) == [["a"]]
        run.resume()
        assert puts(run) == [["a"], ["b"]]


def test_errant_records_are_collected_where_errors_are_tolerated(target: Target) -> None:
    with SinkRun(Collect(target), {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead"}) as run:
        run.put("a", "poison", "b")
        assert [(record.value, str(error)) for record, error in run.errant] == [("poison", "poison.")]
        assert run.skipped == 1
    for config in ({}, {"errors.tolerance": "all"}):  # there is no reporter, as in Kafka Connect
        with SinkRun(Collect(target), config) as run, pytest.raises(ConnectError, match="poison"):
            run.put("poison")


def test_converters_decode_messages(target: Target) -> None:
    converters = dict.fromkeys(("key.converter", "value.converter", "header.converter"), "StringConverter")
    with SinkRun(Collect(target), converters) as run:
        run.put(b"a", Message("test", b"b", b"key", (("h", b"x"),)))
        assert puts(run) == [["a", "b"]]


def test_records_keep_what_they_have(target: Target) -> None:
    class Keeping(CollectTask):
        def put(self, batch: SinkBatch) -> None:
            self.target.rows += batch

    Keeping.target = target
    with SinkRun(type("K", (SinkConnector,), {"task": Keeping}), {"topics": "a,b"}) as run:
        run.put(SinkRecord("b", 1, schema.INT32, "k", schema.STRING, timestamp=5))
        run.put(2, key="x", schema=schema.INT64)
        assert target.rows[0] == SinkRecord("b", 1, schema.INT32, "k", schema.STRING, timestamp=5)
        assert (target.rows[1].topic, target.rows[1].value_schema) == ("a", schema.INT64)


def test_what_the_task_raises_at_its_end_is_raised_by_stop(target: Target) -> None:
    class Bad(CollectTask):
        def flush(self, offsets: Offsets) -> None:
            raise OSError("disk full")

    run = SinkRun(type("K", (SinkConnector,), {"task": Bad}), {}).start()
    run.put("a")
    with pytest.raises(OSError, match="disk full"):
        run.stop()
    assert run.committed == {}
