"""The loop of a sink task: the order of calls, and what may be committed when."""

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from connect.api.sink import SinkTask
from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.delivery import sink as delivery
from connect.delivery.context import SinkContext
from connect.delivery.sink import SinkDelivery
from connect.errors import ConnectError, RetriableError
from connect.pipeline import Chain, ErrorPolicy
from connect.telemetry import outages
from connect.telemetry.metrics import Registry
from connect.worker import loop, messages, sink_loop
from connect.worker.progress import ProgressReport
from connect.worker.sink_loop import SinkLoop

from .fakes import T0, T1, Clock, FakeConsumer, FakeControl, NotesCalls, OneStep, mixed, rows


class Task(NotesCalls, SinkTask):
    """Notes its calls, and does with batches and offsets what the test says."""

    def __init__(self, calls: list[Any]) -> None:
        super().__init__(calls)
        self.on_put: Callable[[SinkBatch], None] = lambda batch: None
        self.on_pre_commit: Callable[[dict[TopicPartition, int]], Any] = lambda offsets: offsets
        self.known: dict[TopicPartition, int] | None = None
        self.opened: Sequence[str] = ()

    def start(self, config: Mapping[str, str]) -> None:
        self.calls.append("start")
        for what in self.opened:
            self.context.exit_stack.callback(self.closes, what)
        self.fail("start")

    def opens(self, *whats: str) -> None:
        """What the start puts on the exit stack."""
        self.opened = whats

    def closes(self, what: str) -> None:
        self.calls.append(f"{what} closed")
        self.fail(what)

    def open(self, partitions: Sequence[TopicPartition]) -> Any:
        self.calls.append(("open", sorted(partitions)))
        self.fail("open")
        return self.known

    def put(self, batch: SinkBatch) -> None:
        self.calls.append(("put", list(batch.values)))
        self.on_put(batch)

    def pre_commit(self, offsets: Any) -> Any:
        self.calls.append(("pre_commit", dict(offsets)))
        return self.on_pre_commit(dict(offsets))

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append(("close", sorted(partitions)))
        self.fail("close")


class Setting:
    """A sink task, its loop and the fakes around it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[Any] = []
        self.clock = Clock()
        for module in (sink_loop, loop, delivery):
            monkeypatch.setattr(module, "time", self.clock)
        monkeypatch.setattr(outages, "outages", outages.Outages())  # what other tests have waited for is not over yet
        self.control = FakeControl(self.clock, self.calls)
        self.consumer = FakeConsumer(self.control, self.clock, self.calls)
        self.task = Task(self.calls)
        self.chain = Chain([], ErrorPolicy())
        self.report = ProgressReport(self.control, Registry())
        self.delivers = delivers = SinkDelivery(self.task, self.chain, self.control.await_lease)
        self.loop = SinkLoop(delivers, {}, self._consumer, self.control, self.report, 60.0)
        self.task.context = SinkContext("test", 0, {}, Registry().labelled(), delivers)
        self.task.context.owner = self.loop.partitions

    def _consumer(self, listener: Any) -> FakeConsumer:
        self.calls.append("consumer")
        self.consumer.listener = listener
        return self.consumer

    def run(self, *polls: Callable[[], SinkBatch | None]) -> None:
        self.consumer.script.extend(polls)
        self.loop.run(lambda _: self.calls.append("started"))

    # What polls do.

    def assigns(self, *partitions: TopicPartition) -> Callable[[], None]:
        return lambda: self.consumer.assign(*partitions)

    def revokes(self, *partitions: TopicPartition) -> Callable[[], None]:
        return lambda: self.consumer.take_away(*partitions)

    def loses(self, *partitions: TopicPartition) -> Callable[[], None]:
        return lambda: self.consumer.take_away(*partitions, how="lost")

    def gives(self, batch: SinkBatch) -> Callable[[], SinkBatch]:
        return lambda: self.consumer.gives(batch)

    def nothing(self) -> None:
        return None

    def lets(self, seconds: float) -> Callable[[], None]:
        return lambda: setattr(self.clock, "now", self.clock.now + seconds)

    def pauses(self) -> None:
        self.control.paused = True

    def resumes(self) -> None:
        self.control.paused = False

    def puts(self) -> list[list[Any]]:
        """The batches that were put, the empty ones left out."""
        return [call[1] for call in self.calls if call[0] == "put" and call[1]]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch)


def fails(times: int, error: Exception, before: Callable[[], None] = lambda: None) -> Callable[[SinkBatch], None]:
    """Refuse so many batches that are not empty."""
    left = [times]

    def put(batch: SinkBatch) -> None:
        if len(batch) and left[0]:
            left[0] -= 1
            before()
            raise error

    return put


# The order of calls.


@pytest.mark.promise("P1")
def test_the_calls_come_in_the_order_of_the_contract(at):
    at.run(at.assigns(T0, T1), at.gives(rows(0, 3)), at.gives(rows(5, 1, T1)))
    assert [call for call in at.calls if call not in ("poll", ("put", []))] == [
        "start",
        "consumer",
        "started",
        ("open", [T0, T1]),
        ("put", [0, 1, 2]),
        ("put", [5]),
        ("pre_commit", {T0: 3, T1: 6}),
        "commit",
        ("close", [T0, T1]),
        "stop",
    ]
    assert at.consumer.committed == [{T0: 3, T1: 6}]
    assert at.consumer.closed


def test_a_task_that_cannot_start_is_not_stopped_but_what_it_opened_is_closed(at):
    at.task.errors["start"] = ConnectError("no such database")
    at.task.opens("file", "connection")
    with pytest.raises(ConnectError, match="no such database"):
        at.run()
    assert at.calls == ["start", "connection closed", "file closed"]


def test_what_a_task_opened_is_closed_after_its_stop_whatever_ends_it(at):
    at.task.opens("connection")
    at.task.errors["open"] = ConnectError("no such table")
    at.task.errors["stop"] = ConnectError("it does not end")
    with pytest.raises(ConnectError, match="no such table"):
        at.run(at.assigns(T0))
    assert at.calls[-2:] == ["stop", "connection closed"]


def test_a_task_that_has_started_is_stopped_where_its_consumer_cannot_be_made(at, monkeypatch):
    def refuse(listener):
        raise ConnectError("no such topic")

    monkeypatch.setattr(at.loop, "_make_consumer", refuse)
    at.task.opens("connection")
    with pytest.raises(ConnectError, match="no such topic"):
        at.run()
    assert at.calls == ["start", "stop", "connection closed"]


def test_errors_of_closing_are_logged_and_hide_no_other(at, caplog):
    at.task.errors["start"] = ConnectError("no such database")
    at.task.opens("file", "connection")
    at.task.errors["connection"] = OSError("broken pipe")
    with pytest.raises(ConnectError, match="no such database"):
        at.run()
    assert at.calls == ["start", "connection closed", "file closed"]
    assert "While stopping: OSError: broken pipe" in caplog.text


def test_a_quiet_task_gets_an_empty_batch_now_and_then(at):
    at.run(at.assigns(T0), at.gives(rows(0, 1)), *[at.nothing] * 12)
    empty = [call for call in at.calls if call == ("put", [])]
    assert 2 <= len(empty) <= 4  # 12 polls of 0.2 s, one a second


def test_the_longer_a_task_is_quiet_the_less_often_it_wakes(at):
    at.consumer.can_be_woken = True
    began = at.clock.now
    moments = []
    at.run(*[lambda: moments.append(at.clock.now - began)] * 60)
    waits = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert max(waits[:10]) <= 1
    assert max(waits) == 5


def test_a_task_that_is_resumed_right_after_it_began_paused_says_so(at):
    at.control.paused = True

    def started(paused: bool) -> None:
        assert paused
        at.control.paused = False

    at.consumer.script.append(lambda: None)
    at.loop.run(started)
    assert messages.Paused(False) in at.control.said


def test_a_paused_task_that_can_be_woken_sleeps_until_it_is(at):
    at.consumer.can_be_woken = True
    at.control.paused = True
    began = at.clock.now
    at.run(*[at.nothing] * 20)
    assert at.clock.now - began > 60  # it has not looked up all the time


def test_a_quiet_task_commits_in_time_all_the_same(at):
    at.consumer.can_be_woken = True
    began = at.clock.now
    at.run(at.assigns(T0), at.gives(rows(0, 1)), *[at.nothing] * 60)
    assert at.consumer.committed == [{T0: 1}]
    assert at.clock.now - began > 60


def test_a_task_may_ask_for_its_next_put_sooner(at):
    at.task.on_put = lambda batch: at.task.context.timeout(300)
    at.run(at.assigns(T0), at.gives(rows(0, 1)), *[at.nothing] * 12)
    assert len([call for call in at.calls if call == ("put", [])]) >= 5


def test_the_group_member_is_reported_at_each_assignment(at):
    at.run(at.assigns(T0))
    assert messages.Membership("connect-test", "member-1") in at.control.said


def test_the_target_says_where_to_begin(at):
    at.task.known = {T0: 40}
    at.run(at.assigns(T0), at.gives(rows(40, 2)))
    assert at.consumer.committed == [{T0: 42}]


# What may be committed.


@pytest.mark.promise("P1")
def test_only_what_the_task_says_is_durable_is_committed(at):
    at.task.on_pre_commit = lambda offsets: {T0: 2}
    at.run(at.assigns(T0, T1), at.gives(rows(0, 3)), at.gives(rows(0, 3, T1)))
    assert at.consumer.committed == [{T0: 2}]


@pytest.mark.promise("P1")
def test_never_more_is_committed_than_was_delivered(at):
    at.task.on_pre_commit = lambda offsets: {T0: 1_000_000, T1: 7, TopicPartition("other", 0): 3}
    at.run(at.assigns(T0, T1), at.gives(rows(0, 3)))
    assert at.consumer.committed == [{T0: 3}]


@pytest.mark.promise("P1")
@pytest.mark.parametrize("nothing", [{}, None])
def test_a_task_may_say_that_nothing_is_durable_yet(at, nothing):
    at.task.on_pre_commit = lambda offsets: nothing
    at.run(at.assigns(T0), at.gives(rows(0, 3)))
    assert at.consumer.committed == []


@pytest.mark.promise("P1")
def test_a_batch_that_fails_the_task_is_not_committed(at):
    at.task.on_put = lambda batch: fails(1, ConnectError("constraint"))(batch) if 3 in list(batch.values) else None
    with pytest.raises(ConnectError, match="constraint"):
        at.run(at.assigns(T0), at.gives(rows(0, 3)), at.gives(rows(3, 3)))
    assert at.consumer.committed == [{T0: 3}]
    assert at.calls[-2:] == [("close", [T0]), "stop"]


@pytest.mark.promise("P1")
def test_a_batch_whose_records_no_step_can_take_is_not_committed(at):
    def broken(batch: SinkBatch) -> SinkBatch:
        if 4 in list(batch.values):
            raise ValueError("no number")
        return batch

    at.chain.steps.append(OneStep(broken))
    with pytest.raises(ConnectError, match="record t-0@4"):
        at.run(at.assigns(T0), at.gives(rows(0, 3)), at.gives(rows(3, 3)))
    assert at.puts() == [[0, 1, 2]]
    assert at.consumer.committed == [{T0: 3}]


def test_records_that_a_transformation_drops_are_committed_as_well(at):
    at.chain.steps.append(OneStep(lambda batch: batch.slice(0, 1)))
    at.run(at.assigns(T0), at.gives(rows(0, 3)))
    assert at.puts() == [[0]]
    assert at.consumer.committed == [{T0: 3}]


@pytest.mark.promise("P1")
def test_a_commit_that_the_broker_refuses_is_tried_again(at):
    at.consumer.refuse_commits = 1
    at.run(at.assigns(T0), at.gives(rows(0, 3)), at.lets(61), at.lets(61), at.nothing)
    assert at.consumer.committed == [{T0: 3}]
    assert [call[0] for call in at.calls if call[0] == "pre_commit"] == ["pre_commit"] * 2


@pytest.mark.promise("P9")
def test_commits_that_fail_are_one_outage_whatever_is_said_of_each(at, caplog):
    at.consumer.refuse_commits = 3
    with caplog.at_level(logging.WARNING):
        at.run(at.assigns(T0), at.gives(rows(0, 3)), *[at.lets(61)] * 4, at.nothing)
    assert at.consumer.committed == [{T0: 3}]
    assert caplog.text.count("Offsets were not committed") == 1


@pytest.mark.promise("P1")
def test_a_flush_that_may_pass_later_commits_nothing_now(at):
    answers = iter([RetriableError("busy")])

    def pre_commit(offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        for error in answers:
            raise error
        return offsets

    at.task.on_pre_commit = pre_commit
    at.run(at.assigns(T0), at.gives(rows(0, 3)), at.lets(61), at.nothing, at.lets(61), at.nothing)
    assert at.consumer.committed == [{T0: 3}]


@pytest.mark.promise("P1")
def test_a_flush_that_fails_fails_the_task(at):
    def pre_commit(offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        raise ConnectError("disk full")

    at.task.on_pre_commit = pre_commit
    with pytest.raises(ConnectError, match="disk full"):
        at.run(at.assigns(T0), at.gives(rows(0, 3)), at.lets(61), at.nothing)
    assert at.consumer.committed == []


def test_what_was_committed_is_not_committed_again(at):
    at.run(at.assigns(T0), at.gives(rows(0, 3)), at.lets(61), at.lets(61), at.lets(61))
    assert at.consumer.committed == [{T0: 3}]


def test_a_task_may_ask_for_a_commit(at):
    at.task.on_put = lambda batch: at.task.context.request_commit()
    at.run(at.assigns(T0), at.gives(rows(0, 3)), at.gives(rows(3, 3)))
    assert at.consumer.committed == [{T0: 3}, {T0: 6}]


# A batch that is refused for now.


@pytest.mark.promise("P1", "P7")
def test_a_refused_batch_is_handed_in_again_while_nothing_else_is_consumed(at):
    paused = []
    at.task.on_put = fails(2, RetriableError("database is down"))
    note = lambda: paused.append(set(at.consumer.paused))  # noqa: E731
    at.run(at.assigns(T0, T1), at.gives(rows(0, 3)), *[note] * 40)
    assert at.puts() == [[0, 1, 2]] * 3
    assert paused[0] == {T0, T1}
    assert paused[-1] == set()
    assert at.consumer.committed == [{T0: 3}]


@pytest.mark.promise("P1")
def test_a_refused_batch_is_not_committed_when_the_task_ends(at):
    at.task.on_put = fails(1000, RetriableError("database is down"))
    at.run(at.assigns(T0), at.gives(rows(0, 3)), at.nothing, at.lets(61), at.nothing)
    assert at.consumer.committed == []
    assert ("close", [T0]) in at.calls


@pytest.mark.parametrize("milliseconds", [1, 700, 30_000])
def test_the_task_says_how_long_to_wait_before_the_next_try(at, milliseconds):
    at.task.on_put = fails(1, RetriableError("busy"), before=lambda: at.task.context.timeout(milliseconds))
    tried: list[float] = []
    refuse = at.task.on_put

    def put(batch: SinkBatch) -> None:
        if len(batch):
            tried.append(at.clock.now)
        refuse(batch)

    at.task.on_put = put
    at.run(at.assigns(T0), at.gives(rows(0, 3)), *[at.nothing] * 200)
    assert tried[1] - tried[0] == pytest.approx(milliseconds / 1000, abs=0.001)


@pytest.mark.promise("P1")
def test_rows_of_revoked_partitions_leave_a_held_batch(at):
    at.task.on_put = fails(1, RetriableError("busy"))
    places = [(T0, 0), (T1, 10), (T0, 1), (T1, 11)]
    at.run(at.assigns(T0, T1), at.gives(mixed(places)), at.revokes(T1), *[at.nothing] * 40)
    assert at.puts() == [[0, 10, 1, 11], [0, 1]]
    assert at.consumer.committed == [{T0: 2}]


def test_a_partition_that_comes_while_a_batch_is_held_waits(at):
    paused = []
    at.task.on_put = fails(1, RetriableError("busy"))
    at.run(
        at.assigns(T0),
        at.gives(rows(0, 3)),
        at.assigns(T1),
        lambda: paused.append(set(at.consumer.paused)),
        *[at.nothing] * 40,
    )
    assert paused == [{T0, T1}]
    assert at.consumer.paused == set()


def test_a_refused_batch_that_is_taken_resumes_no_partition_that_the_task_paused(at):
    seen = []

    def put(batch: SinkBatch) -> None:
        if len(batch):
            at.task.context.pause(T1)
        refuse(batch)

    refuse = fails(1, RetriableError("busy"))
    at.task.on_put = put
    polls = [at.nothing] * 40
    at.run(at.assigns(T0, T1), at.gives(rows(0, 3)), *polls, lambda: seen.append(set(at.consumer.paused)))
    assert at.puts() == [[0, 1, 2]] * 2
    assert seen == [{T1}]


# Pausing.


@pytest.mark.promise("P1")
def test_a_paused_task_commits_and_gets_nothing_more(at):
    at.run(at.assigns(T0, T1), at.gives(rows(0, 3)), at.pauses, at.nothing, at.lets(10), at.nothing)
    assert at.consumer.paused == {T0, T1} or at.consumer.closed
    pause = at.calls.index(("pre_commit", {T0: 3}))
    assert not [call for call in at.calls[pause:] if call[0] == "put"]
    assert messages.Paused(True) in at.control.said
    assert at.consumer.committed == [{T0: 3}]


def test_a_resumed_task_goes_on_except_where_it_paused_itself(at):
    seen = []
    note = lambda: seen.append(set(at.consumer.paused))  # noqa: E731
    at.task.on_put = lambda batch: at.task.context.pause(T1)
    at.run(at.assigns(T0, T1), at.gives(rows(0, 1)), note, at.pauses, note, at.resumes, note)
    assert seen == [{T1}, {T0, T1}, {T1}]
    assert [m for m in at.control.said if isinstance(m, messages.Paused)] == [
        messages.Paused(True),
        messages.Paused(False),
    ]


def test_a_task_that_resumes_partitions_while_its_worker_paused_it_stays_paused(at):
    seen = []

    def resume() -> None:
        at.task.context.resume(T0)
        seen.append(set(at.consumer.paused))

    at.run(at.assigns(T0), at.gives(rows(0, 1)), at.pauses, resume, at.resumes, lambda: seen.append(at.consumer.paused))
    assert seen == [{T0}, set()]


def test_a_partition_that_comes_during_a_pause_is_paused(at):
    seen = []
    at.run(at.assigns(T0), at.pauses, at.assigns(T1), lambda: seen.append(set(at.consumer.paused)))
    assert seen == [{T0, T1}]


def test_a_refused_batch_waits_out_a_pause_and_nothing_is_consumed_before_it_is_taken(at):
    at.task.on_put = fails(1, RetriableError("busy"))
    at.run(at.assigns(T0), at.gives(rows(0, 3)), at.pauses, at.nothing, at.resumes, *[at.nothing] * 40)
    assert at.puts() == [[0, 1, 2]] * 2
    assert at.consumer.committed == [{T0: 3}]


# Rewinding.


@pytest.mark.promise("P1")
def test_a_task_that_rewinds_gets_the_records_again_and_nothing_behind_is_committed(at):
    def rewind(batch: SinkBatch) -> None:
        if len(batch):
            at.task.context.rewind({T0: 1})

    at.task.on_put = rewind
    at.run(at.assigns(T0), at.gives(rows(0, 3)), at.lets(61), at.nothing)
    assert at.consumer.committed == [{T0: 1}]


@pytest.mark.promise("P1")
def test_a_rewind_before_the_batch_is_refused_counts_when_it_is_taken(at):
    at.task.on_put = fails(1, RetriableError("busy"), before=lambda: at.task.context.rewind({T0: 0}))
    at.run(at.assigns(T0), at.gives(rows(0, 3)), *[at.nothing] * 40)
    assert at.puts() == [[0, 1, 2]] * 2
    assert at.consumer.committed == [{T0: 0}]


@pytest.mark.promise("P1")
def test_a_task_may_rewind_while_it_opens_partitions(at):
    def opens(partitions: Sequence[TopicPartition]) -> None:
        at.task.context.rewind(dict.fromkeys(partitions, 2) | {T1: 7})

    at.task.open = opens
    at.run(at.assigns(T0), at.nothing, at.lets(61), at.nothing)
    assert at.consumer.began == [{T0: 2}]
    assert at.consumer.sought == [{T1: 7}]
    assert at.consumer.committed == [{T0: 2}]


def test_where_a_task_says_that_its_target_stands_goes_before_where_it_rewinds_to(at):
    def opens(partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        at.task.context.rewind(dict.fromkeys(partitions, 2))
        return {T0: 5}

    at.task.open = opens
    at.run(at.assigns(T0, T1))
    assert at.consumer.began == [{T0: 5, T1: 2}]


def test_rewinding_a_partition_that_is_not_ours_does_nothing(at):
    at.task.on_put = lambda batch: at.task.context.rewind({T1: 0})
    at.run(at.assigns(T0), at.gives(rows(0, 3)))
    assert at.consumer.committed == [{T0: 3}]


# Partitions that go.


@pytest.mark.promise("P1")
def test_a_revoked_partition_is_committed_before_it_is_closed(at):
    at.run(at.assigns(T0, T1), at.gives(rows(0, 3)), at.gives(rows(0, 2, T1)), at.revokes(T1), at.nothing)
    begin = at.calls.index(("pre_commit", {T1: 2}))
    assert at.calls[begin : begin + 3] == [("pre_commit", {T1: 2}), "commit", ("close", [T1])]
    assert at.consumer.committed == [{T1: 2}, {T0: 3}]


@pytest.mark.promise("P1", "P3")
def test_a_lost_partition_is_closed_and_never_committed(at):
    at.run(at.assigns(T0, T1), at.gives(rows(0, 3)), at.gives(rows(0, 2, T1)), at.loses(T1), at.nothing)
    assert ("close", [T1]) in at.calls
    assert at.consumer.committed == [{T0: 3}]
    assert ("pre_commit", {T1: 2}) not in at.calls


@pytest.mark.promise("P1")
def test_a_partition_that_comes_back_starts_afresh(at):
    at.run(
        at.assigns(T0),
        at.gives(rows(0, 3)),
        at.revokes(T0),
        at.assigns(T0),
        at.gives(rows(3, 1)),
    )
    assert at.consumer.committed == [{T0: 3}, {T0: 4}]


@pytest.mark.promise("P1", "P3")
def test_what_was_taken_before_a_partition_was_lost_is_not_committed_when_it_comes_back(at):
    at.run(at.assigns(T0), at.gives(rows(0, 3)), at.loses(T0), at.assigns(T0), at.lets(61), at.nothing)
    assert at.consumer.committed == []


# The lease.


@pytest.mark.promise("P3")
def test_without_the_lease_nothing_is_flushed_when_partitions_go(at):
    def lose() -> None:
        at.control.lease = False
        at.consumer.take_away(T0)

    at.run(at.assigns(T0), at.gives(rows(0, 3)), lose)
    assert ("close", [T0]) in at.calls
    assert not [call for call in at.calls if call[0] == "pre_commit"]


@pytest.mark.promise("P3")
def test_without_the_lease_nothing_is_put_or_committed(at):
    def lose() -> SinkBatch:
        at.control.lease = False
        return at.consumer.gives(rows(3, 3))

    at.run(at.assigns(T0), at.gives(rows(0, 3)), lose)
    assert at.puts() == [[0, 1, 2]]
    assert at.consumer.committed == []


@pytest.mark.promise("P3")
def test_a_lease_that_runs_out_in_the_chain_keeps_the_batch_from_being_put(at):
    def slow(batch: SinkBatch) -> SinkBatch:
        at.control.lease = False
        return batch

    at.chain.steps.append(OneStep(slow))
    at.run(at.assigns(T0), at.gives(rows(0, 3)))
    assert at.puts() == []


@pytest.mark.promise("P3")
def test_a_lease_that_runs_out_while_the_task_flushes_keeps_the_commit_back(at):
    def slow(offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        at.control.lease = False
        return offsets

    at.task.on_pre_commit = slow
    at.run(at.assigns(T0), at.gives(rows(0, 3)), at.lets(61), at.nothing)
    assert at.consumer.committed == []


@pytest.mark.promise("P3")
def test_a_lease_that_runs_out_while_dead_letters_are_waited_for_keeps_the_task_from_flushing(at, monkeypatch):
    def slow(seconds: float) -> bool:
        at.control.lease = False
        return True

    monkeypatch.setattr(at.delivers, "settled", slow)
    at.run(at.assigns(T0), at.gives(rows(0, 3)), at.lets(61), at.nothing)
    assert not [call for call in at.calls if call[0] == "pre_commit"]


@pytest.mark.promise("P3")
def test_a_lease_that_runs_out_while_the_task_flushes_keeps_a_refused_batch_from_being_put_again(at):
    def slow(offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        at.control.lease = False
        return offsets

    def busy() -> SinkBatch:
        at.task.on_put = fails(1, RetriableError("busy"))
        return at.consumer.gives(rows(3, 3))

    at.task.on_pre_commit = slow
    at.run(at.assigns(T0), at.gives(rows(0, 3)), busy, at.lets(61))
    assert at.puts() == [[0, 1, 2], [3, 4, 5]]


# The end.


@pytest.mark.promise("P9")
def test_what_fails_at_the_end_is_logged_and_keeps_nothing_else_from_ending(at, caplog):
    at.task.errors = {"stop": OSError("cannot close the file")}
    with caplog.at_level(logging.ERROR):
        at.run(at.assigns(T0), at.gives(rows(0, 3)))
    assert at.consumer.committed == [{T0: 3}]
    assert "cannot close the file" in caplog.text


@pytest.mark.promise("P9")
def test_the_first_error_is_the_one_that_is_told(at, caplog):
    at.task.errors = {"stop": OSError("cannot close the file")}
    at.task.on_put = fails(1, ConnectError("constraint"))
    with caplog.at_level(logging.ERROR), pytest.raises(ConnectError, match="constraint"):
        at.run(at.assigns(T0), at.gives(rows(0, 3)))
    assert "cannot close the file" in caplog.text


def test_the_last_report_is_told_after_everything_else(at):
    at.consumer.waiting = 5
    at.run(at.assigns(T0), at.gives(rows(0, 3)))
    last = [message for message in at.control.said if isinstance(message, messages.Progress)][-1]
    assert (last.read, last.records) == (3, 3)


def test_a_member_is_told_while_it_joins_and_said_to_have_left_in_the_end(at):
    at.run(at.nothing, at.nothing)
    said = [m for m in at.control.said if isinstance(m, messages.Membership | messages.LeftGroup)]
    assert said == [messages.Membership("connect-test", "member-1"), messages.LeftGroup()]


def test_a_member_that_cannot_leave_is_left_to_the_worker(at):
    at.consumer.may_leave = False
    at.run(at.nothing)
    assert messages.LeftGroup() not in at.control.said
    assert messages.Membership("connect-test", "member-1") in at.control.said
