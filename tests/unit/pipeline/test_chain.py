import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.api import Predicate, StoppedAt, Transformation
from connect.data.batch import Batch, SinkBatch, SourceBatch
from connect.data.column import Plain
from connect.data.record import SinkRecord, SourceRecord
from connect.data.values import Values
from connect.errors import DataError, RetriableError
from connect.pipeline import Chain, ErrorPolicy, RecordError, Stage
from connect.pipeline.steps import Transform


class Doubling:
    """Doubles numbers; anything else in a batch makes it raise. Keeps what it was given."""

    stage = Stage.VALUE_CONVERTER
    operation = "Doubling"
    apply_one: Callable[[Any], Any] | None = None

    def __init__(self) -> None:
        self.runs: list[list[Any]] = []
        self.closed = 0

    def run(self, batch: Any) -> Any:
        values = batch.values.to_list()
        self.runs.append(values)
        if bad := [value for value in values if not isinstance(value, int)]:
            raise DataError(f"{bad[0]!r} is not a number.")
        return batch.with_columns(values=Values([value * 2 for value in values]))

    def close(self) -> None:
        self.closed += 1


class Counting:
    """Remembers every record, so it is not pure; drops what it saw before, and raises for the first `fails` calls."""

    stage = Stage.TRANSFORMATION
    operation = "Counting"

    def __init__(self, errors: Sequence[Exception] = ()) -> None:
        self.seen: list[Any] = []
        self._errors = list(errors)
        self.apply_one = self._apply

    def _apply(self, record: Any) -> Any:
        if record.value == "bad":
            raise DataError("bad")
        if self._errors:
            raise self._errors.pop(0)
        dropped = record.value in self.seen
        self.seen.append(record.value)
        return None if dropped else record

    def run(self, batch: Any) -> Any:
        raise AssertionError("it is to be run record by record")

    def close(self) -> None:
        pass


def no_pause(seconds: float) -> None:
    raise AssertionError("there is nothing to wait for")


def tolerant() -> ErrorPolicy:
    return ErrorPolicy(tolerate=True, pause=no_pause)


def sink_batch(values: list[Any]) -> SinkBatch:
    return SinkBatch("t", Values(values), offsets=list(range(100, 100 + len(values))), partitions=3)


@given(st.lists(st.booleans(), max_size=60), st.sampled_from(["sink", "source"]))
def test_halving_finds_exactly_the_bad_records_wherever_they_are(good: list[bool], kind: str) -> None:
    values = [row if is_good else f"bad {row}" for row, is_good in enumerate(good)]
    batch: Batch[Any]
    if kind == "sink":
        batch = sink_batch(values)
    else:
        batch = SourceBatch("t", Values(values), source_offsets=[{"position": row} for row in range(len(values))])
    policy = tolerant()
    out = Chain([Doubling()], policy).run(batch)

    kept = [row for row, is_good in enumerate(good) if is_good]
    assert type(out) is type(batch)
    assert [record.value for record in out.records()] == [row * 2 for row in kept]
    if isinstance(out, SinkBatch):
        assert out.offsets.to_list() == [100 + row for row in kept]
        assert {record.partition for record in out.records()} <= {3}
    else:
        assert isinstance(out, SourceBatch)
        assert out.rows.to_list() == kept
        assert out.source_offsets.to_list() == [{"position": row} for row in kept]
    assert policy.counts.skipped == policy.counts.failures == policy.counts.errors == len(values) - len(kept)
    assert policy.counts.retries == 0


def test_a_good_batch_runs_whole() -> None:
    step = Doubling()
    Chain([step], tolerant()).run(sink_batch(list(range(50))))
    assert len(step.runs) == 1


def test_one_bad_record_costs_two_runs_for_each_halving_and_is_itself_run_alone_once() -> None:
    step = Doubling()
    Chain([step], tolerant()).run(sink_batch([*range(20), "bad", *range(43)]))
    assert len(step.runs) == 1 + 2 * 6  # 64 records
    assert step.runs.count(["bad"]) == 1


def test_later_steps_see_only_what_earlier_ones_kept() -> None:
    second = Doubling()
    out = Chain([Doubling(), second], tolerant()).run(sink_batch([1, "bad", 2]))
    assert second.runs == [[2, 4]]
    assert out.values.to_list() == [4, 8]


def test_nothing_is_run_on_an_empty_batch() -> None:
    second = Doubling()
    out = Chain([Doubling(), second], tolerant()).run(sink_batch(["bad", "bad"]))
    assert len(out) == 0
    assert second.runs == []


def test_without_tolerance_the_error_names_the_place_and_what_to_do() -> None:
    with pytest.raises(RecordError) as raised:
        Chain([Doubling()], ErrorPolicy(pause=no_pause)).run(sink_batch([1, 2, "bad", 4]))
    said = str(raised.value)
    assert "record t-3@102: value converter Doubling failed: DataError: 'bad' is not a number." in said
    assert "errors.tolerance" in said
    assert isinstance(raised.value.__cause__, DataError)


def test_the_place_is_where_the_record_was_consumed_whatever_became_of_its_topic() -> None:
    batch = sink_batch(["bad"]).with_columns(topics=Plain(["elsewhere"]), partitions=Plain([9]))
    with pytest.raises(RecordError, match="record t-3@100:"):
        Chain([Doubling()], ErrorPolicy(pause=no_pause)).run(batch)


def test_the_place_of_a_source_record_is_in_its_source() -> None:
    record = SourceRecord("t", "bad", source_partition={"filename": "a.txt"}, source_offset={"position": 7})
    with pytest.raises(RecordError, match=r"for topic t from {'filename': 'a.txt'} at {'position': 7}"):
        Chain([Doubling()], ErrorPolicy(pause=no_pause)).run(SourceBatch.of([record]))


def test_a_failure_that_passes_costs_no_record_and_no_pause_while_halving() -> None:
    class Flaky(Doubling):
        def run(self, batch: Any) -> Any:
            if not self.runs:
                self.runs.append([])
                raise RetriableError("busy")
            return super().run(batch)

    policy = ErrorPolicy(pause=no_pause)
    assert Chain([Flaky()], policy).run(sink_batch([1, 2, 3])).values.to_list() == [2, 4, 6]
    assert policy.counts.errors == 0


class Stopping(Exception):
    pass


def test_a_task_that_is_to_stop_ends_retries_at_once() -> None:
    class Busy(Doubling):
        def run(self, batch: Any) -> Any:
            self.runs.append(batch.values.to_list())
            raise RetriableError("busy")

    def stop(seconds: float) -> None:
        raise Stopping

    step = Busy()
    with pytest.raises(Stopping):
        Chain([step], ErrorPolicy(retry_timeout_ms=-1, tolerate=True, pause=stop)).run(sink_batch([1, 2]))
    assert step.runs == [[1, 2], [1]]


@given(st.lists(st.sampled_from(["a", "b", "c", "bad"]), max_size=30))
def test_a_step_that_remembers_sees_every_record_once_and_in_order(values: list[str]) -> None:
    step = Counting()
    policy = tolerant()
    out = Chain([step], policy).run(sink_batch(values))
    good = [value for value in values if value != "bad"]
    assert step.seen == good
    assert out.values.to_list() == list(dict.fromkeys(good))
    assert policy.counts.skipped == len(values) - len(good)


def test_a_step_that_remembers_is_tried_again_for_the_record_that_failed_alone() -> None:
    waits: list[float] = []
    step = Counting([RetriableError("busy"), RetriableError("busy")])
    out = Chain([step], ErrorPolicy(retry_timeout_ms=-1, pause=waits.append)).run(sink_batch(["a", "b"]))
    assert step.seen == ["a", "b"]
    assert out.values.to_list() == ["a", "b"]
    assert waits == [0.3, 0.6]


def test_every_step_is_closed_though_one_of_them_fails() -> None:
    class Stubborn(Doubling):
        def close(self) -> None:
            raise OSError("will not")

    steps = [Doubling(), Stubborn(), Doubling()]
    with pytest.raises(OSError, match="will not"):
        Chain(steps, tolerant()).close()
    assert [step.closed for step in steps] == [1, 0, 1]


def test_what_a_record_by_record_step_moves_keeps_its_origin() -> None:
    class Route(Counting):
        def _apply(self, record: SinkRecord) -> SinkRecord:
            return record.replace(topic="other", partition=0)

    out = Chain([Route()], tolerant()).run(sink_batch(["a"]))
    (record,) = out.records()
    assert (record.topic, record.partition, record.offset) == ("other", 0, 100)
    assert (record.original_topic, record.original_partition, record.original_offset) == ("t", 3, 100)


def test_the_trace_of_a_bad_record_tells_of_no_halving() -> None:
    chain = Chain([Doubling()], ErrorPolicy())
    with pytest.raises(RecordError, match="'bad' is not a number") as raised:
        chain.run(SinkBatch("t", Values([*range(50), "bad", *range(50)]), offsets=list(range(101))))
    cause = raised.value.__cause__
    assert isinstance(cause, DataError)
    assert cause.__context__ is None
    assert cause.__cause__ is None


class Resuming(Transformation):
    """Numbers what it sees, drops what is even, and stops at the first that is bad. Fails so often before."""

    resumes = True

    def __init__(self, failures: int = 0) -> None:
        self.seen: list[Any] = []
        self.runs = 0
        self._failures = failures

    def apply(self, record: Any) -> Any:
        raise AssertionError("it is to be run whole")

    def apply_batch(self, batch: Any) -> Any:
        self.runs += 1
        kept: list[int] = []
        for row, value in enumerate(batch.values):
            if value == "bad" or self._failures:
                self._failures -= bool(self._failures)
                error = RetriableError("later") if value != "bad" else DataError("bad")
                raise StoppedAt(row, batch.take(kept), error)
            self.seen.append(value)
            if value % 2:
                kept.append(row)
        return batch.take(kept)


class Above(Predicate):
    """Selects values above ten, and what is bad."""

    def test(self, record: Any) -> bool:
        return record.value == "bad" or record.value > 10


@pytest.mark.parametrize("seed", range(30))
def test_a_step_that_resumes_sees_every_record_once_though_some_are_bad(seed: int) -> None:
    chance = random.Random(seed)
    values = ["bad" if chance.random() < chance.choice([0.0, 0.1, 0.9]) else chance.randrange(20) for _ in range(30)]
    for predicate in (None, Above()):
        made, policy = Resuming(), tolerant()
        rejected: list[Any] = []
        policy.dead_letter = lambda failure, into=rejected: into.append(failure.record.offset - 100)
        result = Chain([Transform(made, predicate)], policy).run(sink_batch(values))
        selected = [value for value in values if value != "bad" and (predicate is None or value > 10)]
        assert made.seen == selected
        kept = [n for n, value in enumerate(values) if value != "bad" and (value % 2 or (predicate and value <= 10))]
        assert [offset - 100 for offset in result.offsets] == kept
        assert rejected == [n for n, value in enumerate(values) if value == "bad"]
        assert made.runs <= 1 + values.count("bad")


def test_a_step_that_resumes_is_tried_again_at_the_record_that_failed() -> None:
    made = Resuming(failures=2)
    policy = ErrorPolicy(retry_timeout_ms=60_000, pause=lambda _: None)
    result = Chain([Transform(made)], policy).run(sink_batch([1, 2, 3]))
    assert made.seen == [1, 2, 3]
    assert result.values.to_list() == [1, 3]


def test_a_step_that_resumes_may_fail_without_a_word_of_where() -> None:
    class Silent(Resuming):
        def apply_batch(self, batch: Any) -> Any:
            if "worse" in batch.values.to_list() and "bad" not in batch.values.to_list():
                raise ValueError("somewhere")
            return super().apply_batch(batch)

    policy = tolerant()
    rejected: list[Any] = []
    policy.dead_letter = lambda failure: rejected.append(failure.record.value)
    result = Chain([Transform(Silent())], policy).run(sink_batch([1, "bad", 3, "worse", 5]))
    assert result.values.to_list() == [1, 3, 5]
    assert rejected == ["bad", "worse"]
