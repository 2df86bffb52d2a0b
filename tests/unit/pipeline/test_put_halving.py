"""The record that a put does not take is found, and only that one is given up."""

import pytest

from connect.api.sink import SinkTask
from connect.data.batch import SinkBatch
from connect.data.values import Values
from connect.errors import ConfigError, RetriableError
from connect.pipeline.put_halving import halves_puts, put_in_parts


def batch(*values: object) -> SinkBatch:
    return SinkBatch("t", Values(list(values)), offsets=list(range(len(values))))


class Target:
    """Takes a batch as a whole or not at all."""

    def __init__(self) -> None:
        self.taken: list[object] = []
        self.given_up: list[object] = []
        self.busy = 0

    def put(self, part: SinkBatch) -> None:
        values = list(part.values)
        if "busy" in values and self.busy:
            self.busy -= 1
            raise RetriableError("busy")
        if "bad" in values:
            raise ValueError("bad")
        self.taken += values

    def give_up(self, part: SinkBatch, error: Exception) -> None:
        self.given_up.append(part.offsets[0])


@pytest.mark.promise("P5")
@pytest.mark.parametrize("bad", [{0}, {6}, {2, 3}, set(range(7)), set()])
def test_each_bad_record_is_found_and_the_others_are_taken_in_order(bad: set[int]) -> None:
    target = Target()
    values = ["bad" if row in bad else row for row in range(7)]
    assert put_in_parts(target.put, batch(*values), target.give_up) is None
    assert target.taken == [value for value in values if value != "bad"]
    assert target.given_up == sorted(bad)


def test_what_is_refused_for_now_comes_again_without_what_was_taken_or_given_up() -> None:
    target = Target()
    target.busy = 1
    refused = put_in_parts(target.put, batch(1, "bad", 3, "busy", "bad", 6), target.give_up)
    assert refused is not None
    assert (target.taken, target.given_up) == ([1, 3], [1])
    assert list(refused.rest.values) == ["busy", "bad", 6]
    assert put_in_parts(target.put, refused.rest, target.give_up) is None
    assert target.taken == [1, 3, "busy", 6]
    assert target.given_up == [1, 4]


def test_only_a_task_that_declares_it_is_handed_parts_of_a_batch() -> None:
    class Plain(SinkTask):
        def start(self, config: object) -> None: ...

        def put(self, batch: SinkBatch) -> None: ...

    class Upserts(Plain):
        idempotent = True

    wanted = {"errors.put.tolerance": "all"}
    assert not halves_puts({}, Plain())
    assert halves_puts(wanted, Upserts())
    with pytest.raises(ConfigError, match="Plain does not declare"):
        halves_puts(wanted, Plain())
