"""Up to where a shard is read: never beyond what is certain, and never short of it for good."""

import time
from typing import Any

import pytest

from connectors.elasticsearch.source import offsets
from connectors.elasticsearch.source.following import Followed, Limits
from connectors.elasticsearch.source.offsets import Position
from connectors.elasticsearch.source.shards import Checkpoint, Shard

SHARD = Shard("orders", "u1", 0)


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def _limits(clock: Clock | None = None, **given: Any) -> Limits:
    chosen = {"cursor": "", "delay": 5.0, "refresh": True, "kind": lambda index: "long", "highest": lambda shard: None}
    return Limits(**{**chosen, **given}, clock=clock or Clock())


def _followed(seq_no: int = -1) -> Followed:
    return Followed(SHARD, Position(seq_no))


def test_by_number_up_to_the_checkpoint() -> None:
    reach = _limits().of(_followed(7), Checkpoint("u1", 9, 99))
    assert (reach.anything, reach.limit, reach.pending) == (True, {"range": {"_seq_no": {"lte": 9}}}, False)


def test_by_number_nothing_where_nothing_is_new() -> None:
    assert not _limits().of(_followed(9), Checkpoint("u1", 9, 99)).anything
    assert not _limits().of(_followed(), Checkpoint("u1", -1, 99)).anything


def test_without_refresh_up_to_a_checkpoint_that_is_old_enough() -> None:
    clock, followed = Clock(), _followed()
    limits = _limits(clock, refresh=False)
    assert limits.of(followed, Checkpoint("u1", 3, 99)) == (False, None, True)
    clock.now += 4.9
    assert limits.of(followed, Checkpoint("u1", 8, 99)) == (False, None, True)
    clock.now += 0.1
    reach = limits.of(followed, Checkpoint("u1", 8, 99))
    assert (reach.limit, reach.pending) == ({"range": {"_seq_no": {"lte": 3}}}, True)
    clock.now += 5
    reach = limits.of(followed, Checkpoint("u1", 8, 99))
    assert (reach.limit, reach.pending) == ({"range": {"_seq_no": {"lte": 8}}}, False)


def test_a_date_is_to_be_old_enough_by_itself() -> None:
    now = int(time.time() * 1000)
    for kind, unit in (("date", 1), ("date_nanos", 1_000_000)):
        for top, pending in ((now - 6_000, False), (now, True)):
            limits = _limits(cursor="at", kind=lambda index, kind=kind: kind, highest=lambda s, t=top * unit: t)  # type: ignore[misc]
            reach = limits.of(_followed(), Checkpoint("u1", 9, 99))
            assert reach.limit is not None
            bound = reach.limit["range"]["at"]["lte"]
            assert now - 5_000 <= bound <= now - 4_000
            assert (reach.anything, reach.pending) == (True, pending)


def test_others_are_read_up_to_the_highest_of_then() -> None:
    clock, followed, top = Clock(), _followed(), [4]
    limits = _limits(clock, cursor="n", highest=lambda shard: top[0])
    assert limits.of(followed, Checkpoint("u1", 1, 99)) == (False, None, True)
    clock.now, top[0] = clock.now + 5, 6
    reach = limits.of(followed, Checkpoint("u1", 2, 99))
    assert (reach.limit, reach.pending) == ({"range": {"n": {"lte": 4}}}, True)
    clock.now += 5
    reach = limits.of(followed, Checkpoint("u1", 2, 99))
    assert (reach.limit, reach.pending) == ({"range": {"n": {"lte": 6}}}, False)


def test_what_is_remembered_is_bounded() -> None:
    clock, followed = Clock(), _followed()
    for turn in range(10_000):
        clock.now += 0.01
        followed.aged(turn, 5.0, clock.now)
    assert len(followed._seen) < 120
    assert followed.aged(0, 5.0, clock.now) == pytest.approx(9_500, abs=10)


def test_a_field_that_nobody_has_yet() -> None:
    assert _limits(cursor="n", kind=lambda index: "").of(_followed(), Checkpoint("u1", 3, 99)) == (False, None, False)
    assert _limits(cursor="n").of(_followed(), Checkpoint("u1", 3, 99)) == (False, None, False)


def test_a_shard_that_has_less_than_was_read_is_noticed() -> None:
    assert _followed(100).went_back(Checkpoint("u1", 50, 99))
    assert not _followed(99).went_back(Checkpoint("u1", 50, 99))
    assert not _followed(offsets.BEHIND_ALL).went_back(Checkpoint("u1", 50, 99))


def test_a_shard_is_due_when_it_has_moved_or_something_was_too_young() -> None:
    followed = _followed()
    assert followed.due(Checkpoint("u1", -1, 99))
    followed.read_up_to(Checkpoint("u1", 5, 99), pending=False)
    assert not followed.due(Checkpoint("u1", 5, 99))
    assert followed.due(Checkpoint("u1", 6, 99))
    followed.read_up_to(Checkpoint("u1", 5, 99), pending=True)
    assert followed.due(Checkpoint("u1", 5, 99))
    assert not followed.due(None)
