"""Progress: what a task tells its worker, and how often."""

from typing import Any

import pytest

from connect.data.column import Plain
from connect.telemetry.metrics import Registry
from connect.worker import progress
from connect.worker.messages import Progress, UsedTopics
from connect.worker.progress import ProgressReport

from .fakes import Clock, FakeControl


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def report(control: Any, **counts: int) -> ProgressReport:
    def measure(made: ProgressReport) -> None:
        for name, value in counts.items():
            setattr(made, name, value)

    made = ProgressReport(control, Registry())
    made.measure = measure
    return made


def test_what_moves_is_told_at_once_and_then_once_a_second(clock):
    control = FakeControl(clock, [])
    made = report(control)
    for _ in range(25):
        made.read += 1
        made.tell_if_due()
        clock.now += 0.1
    assert [message.read for message in control.progress()] == [1, 11, 21]


def test_an_idle_task_says_nothing_twice(clock):
    control = FakeControl(clock, [])
    made = report(control, lag=0)
    for _ in range(100):
        made.tell_if_due()
        clock.now += 1
    assert len(control.said) == 1
    made.registry.gauge("of_a_plug_in").set(3)
    for _ in range(5):  # one that is idle looks every five seconds only
        clock.now += 1
        made.tell_if_due()
    assert [sample.value for sample in control.progress()[-1].metrics] == [3]


def test_it_says_what_was_counted_and_what_was_measured(clock):
    control = FakeControl(clock, [])
    made = report(control, lag=4, errors=1)
    made.read, made.records = 10, 9
    made.tell()
    assert control.said == [Progress(records=9, read=10, lag=4, errors=1, metrics=[])]


def test_topics_are_named_again_in_a_while_as_somebody_may_have_reset_them(clock):
    control = FakeControl(clock, [])
    made = report(control)
    for _ in range(21):
        made.used(Plain(["a", "b"]))
        made.used(Plain(["a"]))
        clock.now += 1
    told = [message.topics for message in control.said if isinstance(message, UsedTopics)]
    assert told == [["a", "b"]] * 3
