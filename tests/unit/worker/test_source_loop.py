"""The loop of a source task: the order of calls, pauses, the lease, the end, and how often it polls."""

import itertools
import logging

import pytest

from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.errors import ConnectError, RetriableError
from connect.worker import messages

from .fakes import Clock, OneStep
from .source_setting import Setting, gives, nothing, record


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch)


# The order of calls.


@pytest.mark.promise("P1", "P2")
def test_the_calls_come_in_the_order_of_the_contract(at):
    at.run(gives(0, 1), gives(2))
    assert at.moved("start", "started", "poll", "send", "store", "commit", "stop") == [
        "start",
        "started",
        *("poll", "send") * 2,
        "poll",
        "store",
        "commit",
        "stop",
    ]
    assert at.stored == [{"a": 3}]
    assert at.producer.sent_rows == [0, 1, 2]
    assert at.producer.closed


def test_a_batch_passes_as_it_is(at):
    batch = SourceBatch.of([record(0), record(1)])
    at.run(lambda: batch)
    assert at.producer.sent_rows == [0, 1]


def test_a_task_that_cannot_start_is_not_stopped_but_what_it_opened_is_closed(at):
    at.task.errors["start"] = ConnectError("no such file")
    at.task.context.exit_stack.callback(at.calls.append, "closed")
    with pytest.raises(ConnectError, match="no such file"):
        at.run()
    assert at.moved("start", "started", "poll", "stop", "closed") == ["start", "closed"]
    assert at.producer.closed


def test_what_a_task_opened_is_closed_after_its_stop(at):
    at.task.context.exit_stack.callback(at.calls.append, "closed")
    at.run(gives(0, 1))
    assert at.calls[-2:] == ["stop", "closed"]


def test_a_stop_that_is_asked_for_while_a_task_starts_is_seen_by_it_and_ends_it(at):
    at.task.on_start = lambda: setattr(at.control, "stopping", True)
    at.run()
    assert at.task.context.stopping()
    assert at.moved("start", "started", "poll", "stop") == ["start", "started", "stop"]


@pytest.mark.parametrize("empty", [nothing, list])
def test_a_poll_that_brings_nothing_is_followed_by_a_wait(at, empty):
    waits = at.clock.now
    at.run(empty, gives(1))
    assert at.clock.now > waits
    assert at.producer.sent_rows == [1]


def test_a_poll_that_may_pass_is_polled_again(at):
    def refuses() -> None:
        raise RetriableError("no connection")

    at.run(refuses, refuses, gives(1))
    assert at.producer.sent_rows == [1]
    assert at.stored == [{"a": 2}]


@pytest.mark.promise("P1")
def test_a_poll_that_fails_fails_the_task_and_what_was_sent_is_stored(at):
    def breaks() -> None:
        raise ValueError("no such column")

    with pytest.raises(ValueError, match="no such column"):
        at.run(gives(0, 1), breaks)
    assert at.stored == [{"a": 2}]
    assert at.calls[-1] == "stop"


# Pausing.


@pytest.mark.promise("P1")
def test_a_task_that_is_resumed_right_after_it_began_paused_says_so(at):
    at.control.paused = True
    at.task.script.append(gives(0))

    def started(paused: bool) -> None:
        assert paused
        at.control.paused = False

    at.loop.run(started)
    assert messages.Paused(False) in at.control.said


def test_a_paused_task_is_not_polled_and_its_offsets_are_stored(at):
    def pause() -> None:
        at.control.paused = True
        at.control.waits.extend([lambda: None, resume])

    polls_at_resume: list[int] = []

    def resume() -> None:
        polls_at_resume.append(at.calls.count("poll"))
        at.control.paused = False

    waits = iter([lambda: None, lambda: None])
    at.run(gives(0), lambda: next(waits) and pause(), gives(1))
    assert polls_at_resume == [2]
    assert at.producer.sent_rows == [0, 1]
    assert at.stored == [{"a": 1}, {"a": 2}]
    assert [m for m in at.control.said if isinstance(m, messages.Paused)] == [
        messages.Paused(True),
        messages.Paused(False),
    ]


# The lease.


@pytest.mark.promise("P3")
def test_without_the_lease_nothing_is_sent_or_stored(at):
    def lose() -> list[SourceRecord]:
        at.control.lease = False
        return [record(1)]

    at.run(gives(0), lose)
    assert at.producer.sent_rows == [0]
    assert at.stored == []


@pytest.mark.promise("P3")
def test_a_lease_that_runs_out_in_the_chain_keeps_the_batch_from_being_sent(at):
    def slow(batch: SourceBatch) -> SourceBatch:
        at.control.lease = False
        return batch

    at.chain.steps.append(OneStep(slow))
    at.run(gives(0))
    assert at.producer.sent_rows == []


@pytest.mark.promise("P3")
def test_a_lease_that_runs_out_while_offsets_are_stored_keeps_the_source_from_being_polled(at, monkeypatch):
    def slow(entries: object) -> None:
        at.control.lease = False

    monkeypatch.setattr(at, "store", slow)
    at.run(gives(0), at.lets(61), gives(1))
    assert at.moved("poll") == ["poll"] * 2


# The end.


@pytest.mark.promise("P9")
def test_what_fails_at_the_end_is_logged_and_keeps_nothing_else_from_ending(at, caplog):
    at.task.errors = {"commit": OSError("no slot"), "stop": OSError("cannot close the file")}
    with caplog.at_level(logging.ERROR):
        at.run(gives(0))
    assert at.stored == [{"a": 1}]
    assert at.producer.closed
    assert "no slot" in caplog.text
    assert "cannot close the file" in caplog.text


@pytest.mark.promise("P9")
def test_the_first_error_is_the_one_that_is_told(at, caplog):
    at.task.errors = {"stop": OSError("cannot close the file")}

    def breaks() -> None:
        raise ValueError("no such column")

    with caplog.at_level(logging.ERROR), pytest.raises(ValueError, match="no such column"):
        at.run(breaks)
    assert "cannot close the file" in caplog.text


# How often it polls.


def test_the_longer_a_source_is_quiet_the_less_often_it_is_asked_and_at_once_after_a_record(at):
    moments: list[float] = []
    looks = lambda: moments.append(at.clock.now)  # noqa: E731
    at.run(*[looks] * 80, lambda: looks() or [record(0)], *[looks] * 3)
    waits = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert max(waits[:10]) < 0.05
    assert max(waits) == pytest.approx(2.0)
    assert max(waits[-2:]) < 0.05


def test_a_poll_that_waited_itself_is_followed_by_the_next_one(at):
    at.run(*[at.lets(1.0)] * 100)
    assert at.clock.now - Clock().now == pytest.approx(100, abs=2.1)  # the last poll waits for nothing


def test_acknowledgements_are_looked_for_while_records_are_under_way(at):
    at.at_once = False
    began = at.clock.now
    at.run(at.lets(100), lambda: [record(0)], *[lambda: None] * 10)
    assert at.clock.now - began < 100 + 1 + 11 * 0.2
