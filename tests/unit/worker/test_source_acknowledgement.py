"""The loop of a source task: which offsets are stored when, who is told that it is done, and what Kafka refuses."""

from typing import Any

import pytest

from connect.api.source import RecordMetadata
from connect.data.record import SourceRecord
from connect.kafka.writing.refusals import DeliveryError
from connect.worker import messages

from .fakes import OneStep
from .source_setting import Setting, Task, gives, nothing, record


class AcknowledgingTask(Task):
    acknowledges_records = True


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch)


@pytest.fixture
def acknowledging(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch, AcknowledgingTask)


# Which offsets are stored.


@pytest.mark.promise("P1")
def test_offsets_of_the_acknowledged_prefix_are_stored_and_no_others(at):
    at.at_once = False
    at.run(
        gives(0, 1),
        gives(2, 3),
        gives(4, 5),
        at.acknowledges(3),  # the first batch, and half of the second
        at.lets(61),
        nothing,
    )
    assert at.stored == [{"a": 2}]


@pytest.mark.promise("P1")
def test_a_batch_that_is_acknowledged_before_an_earlier_one_waits_for_it(at):
    at.at_once = False

    def later_first() -> None:
        at.producer.pending.rotate(-2)
        at.producer.acknowledge(2)

    at.run(gives(0, 1), gives(2, 3), later_first, at.lets(61), nothing)
    assert at.stored == []


@pytest.mark.promise("P1")
def test_each_source_partition_has_its_own_last_offset(at):
    at.run(lambda: [record(0, "a"), record(5, "b"), record(1, "a"), record(6, "b")], gives(9, file="c"))
    assert at.stored == [{"a": 2, "b": 7, "c": 10}]


def test_source_partitions_may_hold_nested_values(at):
    nested = [
        SourceRecord("t", value, source_partition={"file": "a", "key": [1, {"x": value % 2}]},
                     source_offset={"position": value + 1})
        for value in range(4)
    ]  # fmt: skip
    stored: list[Any] = []
    at.store = stored.extend
    at.run(lambda: nested)
    assert [(partition["key"][1]["x"], offset["position"]) for partition, offset in stored] == [(0, 3), (1, 4)]


@pytest.mark.promise("P1")
def test_records_that_a_transformation_drops_move_the_offset_too(at):
    at.chain.steps.append(OneStep(lambda batch: batch.slice(0, 0)))
    at.run(gives(0, 1))
    assert at.producer.sent_rows == []
    assert at.stored == [{"a": 2}]


@pytest.mark.promise("P1", "P2")
def test_offsets_that_could_not_be_stored_are_stored_later_unless_newer_ones_are(at):
    at.refuse_stores = 1
    at.run(gives(0), gives(7, file="b"), at.lets(61), nothing, gives(1), at.lets(61), nothing)
    assert at.stored == [{"a": 2, "b": 8}]
    assert at.moved("store", "commit") == ["store", "commit"]


def test_nothing_is_stored_when_nothing_moved(at):
    at.run(nothing, at.lets(61), nothing, at.lets(61))
    assert at.moved("store", "commit") == []


# Who is told.


@pytest.mark.promise("P2")
def test_the_task_is_told_only_when_everything_that_it_returned_is_stored(at):
    at.at_once = False
    told: list[int] = []
    at.task.commit = lambda: told.append(at.producer.deliveries.outstanding)  # type: ignore[method-assign]
    at.run(gives(0, 1), gives(2, 3), at.acknowledges(2), at.lets(61), at.acknowledges(2), nothing, nothing)
    assert at.stored[-1] == {"a": 4}
    assert told == [0]


@pytest.mark.promise("P2")
@pytest.mark.parametrize("where", ["poll", "chain"])
def test_a_task_that_is_stopped_before_its_last_batch_is_sent_is_told_nothing(at, where):
    """What it returned before is stored; upstream must not forget what it returned last."""

    def stop(batch: Any = None) -> Any:
        at.control.stopping = batch is None or 2 in batch.values.to_list()
        return batch

    if where == "chain":
        at.chain.steps.append(OneStep(stop))
    at.run(gives(0, 1), lambda: (where == "poll" and stop(), [record(2)])[1])
    assert at.producer.sent_rows == [0, 1]
    assert at.stored == [{"a": 2}]
    assert at.moved("commit") == []


@pytest.mark.promise("P2")
def test_a_task_whose_records_never_stop_is_told_nevertheless(at):
    """Between polls there is always something under way: the loop lets it settle before it tells."""
    at.at_once = False
    told: list[Any] = []
    at.task.commit = lambda: told.append(at.stored[-1]["a"])  # type: ignore[method-assign]
    returned = [0]

    def stream() -> list[SourceRecord]:
        if len(at.producer.pending) > 2:
            at.producer.acknowledge(1)
        at.clock.now += 10
        returned[0] += 1
        return [record(returned[0] - 1)]

    def settle(timeout: float) -> bool:
        at.producer.acknowledge(min(2, len(at.producer.pending)))
        return not at.producer.deliveries.outstanding

    def begin() -> list[SourceRecord]:
        at.producer.drain = settle  # type: ignore[method-assign]
        return stream()

    at.run(begin, *[stream] * 30)
    assert len(told) > 2
    assert told == sorted(told)


@pytest.mark.promise("P2")
def test_a_task_is_told_where_an_answer_takes_long(at):
    at.at_once = False
    told: list[Any] = []
    sent: list[float] = []
    at.task.commit = lambda: told.append(at.stored[-1]["a"])  # type: ignore[method-assign]

    def stream() -> list[SourceRecord]:
        sent.append(at.clock.now)
        return [record(len(sent))]

    def wait(timeout: float) -> bool:
        at.clock.now += timeout
        while at.producer.pending and sent[at.producer.sent - len(at.producer.pending)] <= at.clock.now - 0.7:
            at.producer.acknowledge(1)
        return not at.producer.deliveries.outstanding

    def begin() -> list[SourceRecord]:
        at.producer.drain = wait  # type: ignore[method-assign]
        at.clock.now += 61
        return stream()

    while_it_ran: list[Any] = []
    at.run(begin, *[stream] * 30, lambda: while_it_ran.extend(told))
    assert while_it_ran


@pytest.mark.promise("P1", "P2")
def test_a_record_is_reported_when_it_is_acknowledged(acknowledging):
    at = acknowledging
    at.at_once = False
    at.run(gives(0, 1), at.acknowledges(1), nothing)
    assert at.task.done == [(0, RecordMetadata("t", 0, 0))]


def test_dropped_records_are_reported_without_a_place(acknowledging):
    at = acknowledging
    at.chain.steps.append(OneStep(lambda batch: batch.take([0, 2])))
    at.run(gives(0, 1, 2))
    assert sorted(at.task.done, key=lambda done: done[0]) == [
        (0, RecordMetadata("t", 0, 0)),
        (1, None),
        (2, RecordMetadata("t", 0, 2)),
    ]


def test_a_task_may_choose_of_which_records_it_is_told(acknowledging):
    at = acknowledging
    at.task.acknowledged_rows = lambda batch: [0, 2, 3]
    at.chain.steps.append(OneStep(lambda batch: batch.take([0, 1, 3])))
    at.run(gives(5, 6, 7, 8))
    assert sorted(at.task.done, key=lambda done: done[0]) == [
        (5, RecordMetadata("t", 0, 5)),
        (7, None),
        (8, RecordMetadata("t", 0, 8)),
    ]


def test_a_task_that_does_not_ask_is_not_told_of_every_record(at):
    at.run(gives(0, 1))
    assert at.task.done == []


# Records that Kafka refuses.


@pytest.mark.promise("P1", "P5")
def test_a_refused_record_fails_the_task_and_no_offset_behind_it_is_stored(at):
    at.at_once = False

    def refuse() -> None:
        at.producer.acknowledge(2)
        at.producer.refuse()

    with pytest.raises(DeliveryError, match="MSG_SIZE_TOO_LARGE"):
        at.run(gives(0, 1), gives(2, 3), gives(4), refuse, nothing)
    at.producer.acknowledge(len(at.producer.pending))
    assert at.stored == [{"a": 2}]


@pytest.mark.promise("P5")
def test_a_refused_record_is_skipped_and_counted_where_errors_are_tolerated(at):
    at.chain.policy.tolerate = True
    at.at_once = False

    def refuse() -> None:
        at.producer.refuse(1)
        at.producer.acknowledge(2)

    at.run(gives(0, 1, 2), refuse, nothing)
    assert at.stored == [{"a": 3}]
    assert at.chain.policy.counts.skipped == 1
    last = [message for message in at.control.said if isinstance(message, messages.Progress)][-1]
    assert (last.read, last.records, last.errors) == (3, 2, 1)


@pytest.mark.promise("P1", "P5")
def test_the_offset_of_a_refused_record_waits_for_its_dead_letter(at):
    """Also where that was sent with the next batch."""
    at.chain.policy.tolerate, at.dead_letters, at.at_once = True, True, False

    def wait(timeout: float) -> bool:
        at.clock.now += timeout
        return not at.producer.deliveries.outstanding

    def refuse() -> None:
        at.producer.drain = wait  # type: ignore[method-assign]
        at.producer.refuse(1)
        at.producer.acknowledge(1)

    at.run(gives(0, 1), refuse, gives(2), at.lets(61), nothing)
    assert len(at.producer.pending) == 2
    assert at.stored == []


@pytest.mark.promise("P1", "P2")
@pytest.mark.parametrize("by", ["kafka", "the chain"])
def test_a_task_is_told_that_a_record_is_given_up_when_its_dead_letter_is_acknowledged(acknowledging, by):
    """It may acknowledge the record upstream then, where it is gone for good."""
    at = acknowledging
    at.chain.policy.tolerate, at.dead_letters, at.at_once = True, True, False
    told: list[Any] = []

    def wait(timeout: float) -> bool:
        at.clock.now += timeout
        return not at.producer.deliveries.outstanding

    def bad(batch: Any) -> Any:
        if 1 in batch.values.to_list():
            raise ValueError("bad")
        return batch

    def give_up() -> None:
        at.producer.drain = wait  # type: ignore[method-assign]
        if by == "kafka":
            at.producer.refuse(1)
            at.producer.acknowledge(1)
        else:
            at.producer.pending.rotate(-1)
            at.producer.acknowledge(1)
            assert len(at.producer.pending) == 1

    if by == "the chain":
        at.chain.steps.append(OneStep(bad))
    at.run(gives(0, 1), give_up, gives(2), lambda: told.extend(at.task.done), at.acknowledges(2), nothing)
    assert [value for value, _ in told] == [0]
    assert (1, None) in at.task.done
