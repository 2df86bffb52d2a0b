"""A source connector in memory: what its author sees of delivery, offsets, pauses and errors."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from connect import (
    ConfigError,
    ConnectError,
    RecordMetadata,
    RetriableError,
    SourceConnector,
    SourceRecord,
    SourceTask,
    settings,
)
from connect.testing import Blocked, SourceRun

NUMBERS = settings.define(
    settings.String("topic", doc="Where numbers go.", validator=settings.non_empty),
    settings.Int("limit", default=10, doc="How many numbers there are.", validator=settings.at_least(0)),
    settings.Int("batch.size", default=3, doc="Numbers a poll.", validator=settings.at_least(1)),
    settings.Password("api.token", default=None, doc="Opens the source."),
)


class NumbersTask(SourceTask):
    settings = NUMBERS
    acknowledges_records = True

    def start(self, config: Mapping[str, str]) -> None:
        self.config = self.settings.parse(config)
        self.number = int(config.get("number", "0"))
        stored = self.context.offset({"source": self.number})
        self.next = stored["next"] if stored else 0
        self.refuse = 0
        self.acknowledged: list[tuple[Any, RecordMetadata | None]] = []
        self.commits = 0
        self.stops = 0

    def poll(self) -> list[SourceRecord] | None:
        if self.refuse:
            self.refuse -= 1
            raise RetriableError("not now.")
        first, self.next = self.next, min(self.next + self.config["batch.size"], self.config["limit"])
        self.context.metrics.count("numbers_total", self.next - first)
        return [
            SourceRecord(
                self.config["topic"], n, source_partition={"source": self.number}, source_offset={"next": n + 1}
            )
            for n in range(first, self.next)
        ]

    def commit(self) -> None:
        self.commits += 1

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.acknowledged.append((record.value, metadata))

    def stop(self) -> None:
        self.stops += 1


class Numbers(SourceConnector):
    settings = NUMBERS
    task = NumbersTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self.config, "number": str(number)} for number in range(max_tasks)]


DROP_ODD = """
from connect import Transformation

class DropOdd(Transformation):
    def apply(self, record):
        return None if record.value % 2 else record.replace(value=record.value * 10)
"""

TRANSFORMED = {"transforms": "even", "transforms.even.type": "drop_odd.DropOdd"}


@pytest.fixture
def _drop_odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "drop_odd.py").write_text(DROP_ODD)
    monkeypatch.syspath_prepend(tmp_path)


def values(records: list[SourceRecord]) -> list[Any]:
    return [record.value for record in records]


def test_records_come_in_order_and_their_offsets_are_stored() -> None:
    with SourceRun(Numbers, {"topic": "n"}) as run:
        assert values(run.poll_until(4)) == [0, 1, 2, 3, 4, 5]
        assert run.offsets == [({"source": 0}, {"next": 6})]
        assert values(run.poll()) == [6, 7, 8]
        assert values(run.poll_all()) == list(range(10))
        assert run.metric("numbers_total") == 10
        assert [len(batch) for batch in run.polled] == [3, 3, 3, 1]


def test_a_restart_goes_on_from_stored_offsets_and_takes_changed_keys() -> None:
    with SourceRun(Numbers, {"topic": "n", "limit": "4"}, offsets=[({"source": 0}, {"next": 2})]) as run:
        assert values(run.poll_all()) == [2, 3]
        run.restart({"limit": "6"})
        assert values(run.poll_all()) == [2, 3, 4, 5]


def test_a_crash_repeats_what_was_not_acknowledged_and_nothing_else() -> None:
    with SourceRun(Numbers, {"topic": "n"}) as run:
        run.poll()
        run.hold()
        run.poll()
        run.acknowledge(2)  # of three
        assert run.offsets == [({"source": 0}, {"next": 3})]
        run.crash()
        run.acknowledge()
        run.restart()
        assert values(run.poll()) == [3, 4, 5]


def test_acknowledgements_are_told_once_offsets_are_stored() -> None:
    with SourceRun(Numbers, {"topic": "n"}) as run:
        task = run.task
        assert isinstance(task, NumbersTask)
        run.hold()
        run.poll()
        assert (task.acknowledged, task.commits, run.offsets) == ([], 0, [])
        run.acknowledge()
        assert [value for value, _ in task.acknowledged] == [0, 1, 2]
        assert task.acknowledged[2][1] == RecordMetadata("n", 0, 2)
        assert (task.commits, run.offsets) == (1, [({"source": 0}, {"next": 3})])


@pytest.mark.usefixtures("_drop_odd")
def test_transformations_run_and_what_they_drop_is_told_without_metadata() -> None:
    with SourceRun(Numbers, {"topic": "n", "limit": "3", **TRANSFORMED}) as run:
        assert values(run.poll_all()) == [0, 20]
        assert isinstance(run.task, NumbersTask)
        assert (1, None) in run.task.acknowledged
        assert run.offsets == [({"source": 0}, {"next": 3})]


@pytest.mark.usefixtures("_drop_odd")
def test_converters_give_the_bytes_as_well() -> None:
    converters = dict.fromkeys(("key.converter", "value.converter"), "StringConverter")
    header = {"header.converter": "StringConverter"}
    with SourceRun(Numbers, {"topic": "n", "limit": "5", **TRANSFORMED, **converters, **header}) as run:
        assert values(run.poll_all()) == [0, 20, 40]
        assert [(message.key, message.value) for message in run.messages] == [
            (None, b"0"),
            (None, b"20"),
            (None, b"40"),
        ]


def test_bytes_need_converters() -> None:
    with SourceRun(Numbers, {"topic": "n"}) as run, pytest.raises(ConnectError, match=r"name key\.converter"):
        _ = run.messages


def test_a_refused_record_fails_the_task_or_is_skipped_as_configured() -> None:
    with SourceRun(Numbers, {"topic": "n"}) as run:
        run.refuse()
        with pytest.raises(ConnectError, match='Topic "n" refuses a record'):
            run.poll()
        assert run.offsets == []
        run.restart({"errors.tolerance": "all"})
        run.refuse()
        assert values(run.poll()) == [1, 2]
        assert run.skipped == 1
        assert run.offsets == [({"source": 0}, {"next": 3})]


def test_retriable_errors_poll_again() -> None:
    with SourceRun(Numbers, {"topic": "n"}) as run:
        assert isinstance(run.task, NumbersTask)
        run.task.refuse = 3
        assert values(run.poll_all()) == list(range(10))
        run.task.refuse = 1000
        with pytest.raises(RetriableError):
            run.poll_all()


def test_a_paused_task_is_not_polled() -> None:
    with SourceRun(Numbers, {"topic": "n"}) as run:
        run.poll()
        run.pause()
        assert values(run.poll()) == []
        run.resume()
        assert values(run.poll()) == [3, 4, 5]


def test_every_wrong_setting_is_named() -> None:
    with pytest.raises(ConfigError, match="topic") as raised:
        SourceRun(Numbers, {"limit": "-1"}).start()
    assert any("limit" in note for note in raised.value.__notes__)


def test_each_task_has_its_configuration() -> None:
    with SourceRun(Numbers, {"topic": "n", "tasks.max": "2", "limit": "2"}) as run:
        assert values(run.poll_all()) == [0, 1, 0, 1]
        assert len(run.tasks) == 2
        assert len(run.offsets) == 2


def test_more_task_configurations_than_tasks_max_are_refused() -> None:
    class Greedy(Numbers):
        def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
            return super().task_configs(max_tasks + 1)

    with pytest.raises(ConnectError, match=r"task_configs\(1\) gives 2"):
        SourceRun(Greedy, {"topic": "n"}).start()


def test_what_the_plug_in_raises_comes_out_of_the_method_that_had_it_run() -> None:
    class BadStart(NumbersTask):
        def start(self, config: Mapping[str, str]) -> None:
            raise ConnectError("no.")

    class BadPoll(NumbersTask):
        def poll(self) -> None:
            raise KeyError("x")

    class BadStop(NumbersTask):
        def stop(self) -> None:
            raise OSError("disk")

    def connector(task_class: type[SourceTask]) -> type[SourceConnector]:
        return type("Bad", (Numbers,), {"task": task_class})

    with pytest.raises(ConnectError, match=r"no\."):
        SourceRun(connector(BadStart), {"topic": "n"}).start()
    run = SourceRun(connector(BadPoll), {"topic": "n"}).start()
    with pytest.raises(KeyError):
        run.poll()
    with pytest.raises(RuntimeError, match="has ended"):
        run.poll()
    run.stop()
    with pytest.raises(OSError, match="disk"):
        SourceRun(connector(BadStop), {"topic": "n"}).start().stop()


def test_a_run_that_cannot_start_ends_what_has_started() -> None:
    closed: list[str] = []

    class Second(NumbersTask):
        def start(self, config: Mapping[str, str]) -> None:
            super().start(config)
            self.context.exit_stack.callback(closed.append, f"task {self.number}")
            if self.number:
                raise ConnectError("one is enough.")

        def stop(self) -> None:
            closed.append("stop")

    class Two(Numbers):
        task = Second

        def start(self, config: Mapping[str, str]) -> None:
            super().start(config)
            self.context.exit_stack.callback(closed.append, "connector")

    run = SourceRun(Two, {"topic": "n", "tasks.max": "2"})
    with pytest.raises(ConnectError, match="one is enough"):
        run.start()
    assert closed == ["task 1", "stop", "task 0", "connector"]
    run.stop()
    assert closed == ["task 1", "stop", "task 0", "connector"]


def test_what_closing_the_exit_stack_raises_is_raised_by_stop() -> None:
    class BadClose(NumbersTask):
        def start(self, config: Mapping[str, str]) -> None:
            super().start(config)
            self.context.exit_stack.callback(self.close)

        def close(self) -> None:
            raise OSError("disk")

    run = SourceRun(type("Bad", (Numbers,), {"task": BadClose}), {"topic": "n"}).start()
    with pytest.raises(OSError, match="disk"):
        run.stop()


class Waiting(NumbersTask):
    ends = True

    def poll(self) -> None:
        never = threading.Event()
        while not (self.ends and self.context.stopping()):
            never.wait(0.01)


def test_a_poll_that_waits_is_ended_by_stop() -> None:
    run = SourceRun(type("Waits", (Numbers,), {"task": Waiting}), {"topic": "n"}).start()
    run.begin_poll()
    run.stop()


def test_a_poll_that_does_not_look_whether_it_is_to_stop_is_found() -> None:
    deaf = type("Deaf", (Waiting,), {"ends": False})
    run = SourceRun(type("Hangs", (Numbers,), {"task": deaf}), {"topic": "n"}, timeout=0.05).start()
    task: Any = run.task
    with pytest.raises(Blocked, match="stopping"):
        run.poll()
    with pytest.raises(Blocked):
        run.stop()
    task.ends = True  # lets its thread go


def test_too_few_records_in_time_say_how_many_came() -> None:
    with SourceRun(Numbers, {"topic": "n", "limit": "2"}, timeout=0.05) as run:
        run.poll_all()
        with pytest.raises(AssertionError, match="3 records were wanted, 2 came"):
            run.poll_until(3)


def test_a_connector_asks_for_its_tasks_anew() -> None:
    with SourceRun(Numbers, {"topic": "n", "limit": "1"}) as run:
        assert not run.reconfiguration_requested
        run.connector.context.request_task_reconfiguration()
        assert run.reconfiguration_requested
        run.reconfigure()
        assert not run.reconfiguration_requested
        assert values(run.poll_all()) == [0]


def test_an_error_from_a_thread_of_the_connector_is_raised() -> None:
    with SourceRun(Numbers, {"topic": "n"}) as run:
        run.connector.context.raise_error(ConnectError("lost the source."))
        with pytest.raises(ConnectError, match="lost the source"):
            run.poll()
