"""A batch that was begun is finished before altered offsets count: how its end is seen."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connect.data.record import TopicPartition
from connect.telemetry.metrics import Registry
from spark_sink.query import sink_task
from spark_sink.query.generations import Generation
from spark_sink.query.progress import QueryProgress
from spark_sink.query.sink_task import SinkQuery, SinkQueryTask

T0 = TopicPartition("t", 0)
OLD = Generation(1, "000001-old", {})


class Generations:
    """Says what a checkpoint says, each time that it is looked at; the last word stays."""

    def __init__(self, *said: tuple[int, bool]) -> None:
        self._said = list(said)

    def positions(self, generation: Generation, query: str) -> tuple[dict[TopicPartition, int], bool]:
        at, unfinished = self._said.pop(0) if len(self._said) > 1 else self._said[0]
        return {T0: at}, unfinished

    def begun(self, generation: Generation, query: str) -> tuple[int, dict[TopicPartition, int]]:
        return 3, {T0: 20}


class Finishing(SinkQueryTask):
    """Its queries end at once, without an error, unless they are others."""

    def __init__(self, generations: Generations) -> None:
        self.started: Any = SimpleNamespace(isActive=False, exception=lambda: None, stop=lambda: None)
        self.generations: Any = generations
        self.lease_file: Any = SimpleNamespace(path=Path("lease"))

    def checkpoint_location(self) -> str:
        return ""

    def write(self, query: SinkQuery, rows: Any) -> Any: ...

    def keep_going(self) -> None: ...

    def _begin_shut(self, query: SinkQuery, generation: Generation, lease_file: str) -> Any:
        return self.started


@pytest.fixture(autouse=True)
def _in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_task.time, "sleep", lambda _: None)


def test_a_batch_that_is_finished_between_two_looks_is_not_dropped(caplog: pytest.LogCaptureFixture) -> None:
    task = Finishing(Generations((10, True), (10, True), (20, False)))
    query = SinkQuery("all", ["t"], QueryProgress("all", Registry().labelled()))
    assert task._finished(query, OLD) == {T0: 20}
    assert "is dropped" not in caplog.text


def test_a_batch_that_is_not_finished_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    task = Finishing(Generations((10, True)))
    query = SinkQuery("all", ["t"], QueryProgress("all", Registry().labelled()))
    assert task._finished(query, OLD) == {T0: 10}
    assert "is dropped (offsets t-0 10 to 19)" in caplog.text


def test_a_batch_may_take_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(0, 100_000, 600))
    monkeypatch.setattr(sink_task.time, "monotonic", lambda: next(moments))
    task = Finishing(Generations(*[(10, True)] * 20, (20, False)))
    task.started.isActive = True
    query = SinkQuery("all", ["t"], QueryProgress("all", Registry().labelled()))
    assert task._finished(query, OLD) == {T0: 20}


def test_a_batch_of_which_no_record_is_left_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    task = Finishing(Generations((10, True)))
    task.started = None
    query = SinkQuery("all", ["t"], QueryProgress("all", Registry().labelled()))
    assert task._finished(query, OLD) == {T0: 10}
    assert "is dropped (offsets t-0 10 to 19): its records are gone." in caplog.text
