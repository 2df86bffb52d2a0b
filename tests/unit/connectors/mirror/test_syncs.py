"""Which offset syncs are written, and what they tell of offsets: never too much."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.data.record import TopicPartition
from connectors.mirror.groups import Checkpoints
from connectors.mirror.notes import Checkpoint, OffsetSync
from connectors.mirror.source_task import _Route
from connectors.mirror.syncs import SyncChooser, SyncHistory, SyncStore

PLACE = TopicPartition("orders", 0)


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300)), min_size=1, max_size=300), st.integers(0, 2**31))
def test_a_group_that_goes_on_where_it_is_told_misses_nothing(steps: list[tuple[int, int]], seed: int) -> None:
    """Copies, in order, of records whose offsets have gaps on either side; any of them are known by a sync."""
    chance = random.Random(seed)
    copies, upstream, downstream = [], 0, 0
    for up, down in steps:
        upstream, downstream = upstream + up, downstream + down
        copies.append((upstream, downstream))
    history = SyncHistory()
    for copy in copies:
        if chance.random() < 0.5:
            history.add(*copy)
    for committed in {0, upstream, upstream + 1, *(chance.randrange(upstream + 2) for _ in range(30))}:
        found = history.translate(committed)
        if found is None:
            continue
        missed = [copy for copy in copies if copy[0] >= committed and copy[1] < found]
        assert missed == []
        assert found <= downstream + 1


def test_a_million_records_need_a_few_dozen_syncs() -> None:
    history = SyncHistory()
    for upstream in range(0, 1_000_000, 101):
        history.add(upstream, upstream + 7)
        assert len(history) < 60
    for behind in (0, 50, 1000, 10_000, 400_000):
        offset = 999_900 - behind
        found = history.translate(offset)
        assert found is not None
        assert 0 <= offset + 7 - found <= 210 + behind * 0.6


def test_the_first_copy_of_a_record_counts_where_there_are_two() -> None:
    history = SyncHistory()
    history.add(5, 50)
    history.add(5, 60)
    assert history.translate(5) == 50
    assert history.translate(6) == 51


def test_what_is_older_than_all_syncs_is_not_known() -> None:
    store = SyncStore()
    assert store.translate(PLACE, 3) is None
    store.add(OffsetSync(PLACE, 5, 50))
    assert store.translate(PLACE, 4) is None


def test_a_target_that_was_made_anew_starts_anew() -> None:
    history = SyncHistory()
    history.add(5, 50)
    history.add(9, 1)
    assert history.translate(8) is None
    assert history.translate(9) == 1


def test_the_last_record_gets_its_sync_late_and_once() -> None:
    chooser = SyncChooser(PLACE, 100)
    assert chooser.acknowledged(0, 10) == OffsetSync(PLACE, 0, 10)
    assert chooser.acknowledged(1, 11) is None
    assert chooser.acknowledged(2, 12) is None
    assert chooser.late() == OffsetSync(PLACE, 2, 12)
    assert chooser.late() is None
    assert chooser.acknowledged(3, 113) == OffsetSync(PLACE, 3, 113)
    assert chooser.late() is None


@pytest.mark.parametrize("lag", [0, 1, 7, 100])
def test_enough_rows_are_asked_for_whatever_the_batches(lag: int, seed: int) -> None:
    chance = random.Random(seed)
    route, chooser = _Route("A", PLACE, "A.orders", lag), SyncChooser(PLACE, lag)
    every = SyncChooser(PLACE, lag)
    at, ours, theirs = 0, [], []
    for _ in range(50):
        rows = range(chance.choice((1, 2, 5, 250)))
        chosen = route.chosen(rows, lag + 1)
        assert chosen == sorted(set(chosen))
        assert chosen[-1] == rows[-1]
        ours += [sync for row in chosen if (sync := chooser.acknowledged(at + row, at + row))]
        theirs += [sync for row in rows if (sync := every.acknowledged(at + row, at + row))]
        at += len(rows)
    assert ours == theirs


def checkpoints() -> Checkpoints:
    store = SyncStore()
    store.add(OffsetSync(PLACE, 0, 100))
    store.add(OffsetSync(PLACE, 50, 150))
    return Checkpoints(store, lambda topic: topic == "orders", lambda topic: f"A.{topic}")


def test_a_checkpoint_is_written_when_it_tells_more() -> None:
    held = checkpoints()
    there = TopicPartition("A.orders", 0)
    (first,) = held.newer("shop", {PLACE: (60, "note"), TopicPartition("other", 0): (5, "")})
    assert first == Checkpoint("shop", there, 60, 151, "note")
    held.remember(first)
    assert held.newer("shop", {PLACE: (70, "")}) == []
    assert held.newer("shop", {PLACE: (60, "")}) == []
    # Only a group that went back itself goes back.
    assert held.newer("shop", {PLACE: (50, "")}) == [Checkpoint("shop", there, 50, 150, "")]


def test_a_checkpoint_goes_back_where_the_copy_was_made_anew() -> None:
    store = SyncStore()
    held = Checkpoints(store, lambda _: True, lambda topic: f"A.{topic}")
    there = TopicPartition("A.orders", 0)
    held.remember(Checkpoint("shop", there, 4990, 4990, ""))
    store.add(OffsetSync(PLACE, 5000, 5000))
    assert held.newer("shop", {PLACE: (4995, "")}) == []
    store.add(OffsetSync(PLACE, 5001, 0))
    assert held.newer("shop", {PLACE: (5050, "")}) == [Checkpoint("shop", there, 5050, 1, "")]
