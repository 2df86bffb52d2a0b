"""Records of a key come in their order, whatever waits, crashes and is parked twice."""

import random
from collections.abc import Iterator

import pytest

from connect.data.record import TopicPartition
from connect.pipeline.error_headers import ParkedHeaders
from connect.pipeline.key_order import KeyOrder, Turn

T = TopicPartition("t", 0)


def place(offset: int, parked: int = 1, attempt: int = 1) -> ParkedHeaders:
    return ParkedHeaders(topic="t", partition=0, offset=offset, timestamp=None, attempt=attempt, parked=parked, due=0)


@pytest.fixture
def order() -> KeyOrder:
    return KeyOrder()


def test_what_follows_a_record_that_waits_waits_behind_it(order: KeyOrder) -> None:
    assert order.consumed(T, 0, b"k") is Turn.GO
    order.failed(b"k", place(0))
    assert order.is_behind(T, 1, b"k")
    assert not order.is_behind(T, 1, b"other")
    order.taken()
    assert order.consumed(T, 1, b"k") is Turn.WAIT
    assert order.consumed(T, 2, b"other") is Turn.GO
    assert order.consumed(T, 3, None) is Turn.GO
    order.parked(b"k", place(1))
    order.taken()
    assert order.due(place(1), b"k") is Turn.WAIT
    order.parked(b"k", place(1, parked=2))
    assert order.due(place(0), b"k") is Turn.GO
    assert order.due(place(1, parked=2), b"k") is Turn.GO  # in the same batch, behind it
    order.taken()
    assert len(order) == 0
    assert order.consumed(T, 4, b"k") is Turn.GO


def test_one_that_is_given_up_frees_its_key(order: KeyOrder) -> None:
    order.consumed(T, 0, b"k")
    order.failed(b"k", place(0))
    order.taken()
    assert order.due(place(0), b"k") is Turn.GO
    order.given_up(b"k", "t", 0, 0)
    assert order.consumed(T, 1, b"k") is Turn.GO


def test_after_a_crash_only_what_was_parked_last_counts(order: KeyOrder) -> None:
    order.begin(T, 5)
    order.learn(b"k" * 100, place(3, parked=2))
    order.learn(b"k" * 100, place(3, parked=1))
    assert len(order) == 1
    assert order.due(place(3, parked=1), b"k" * 100) is Turn.DROP
    assert order.due(place(3, parked=2), b"k" * 100) is Turn.GO
    order.taken()
    assert order.due(place(3, parked=2), b"k" * 100) is Turn.DROP


def test_a_record_waits_until_what_comes_before_it_was_read_once_more(order: KeyOrder) -> None:
    order.begin(T, 3)
    order.learn(b"k", place(4))
    assert order.due(place(4), b"k") is Turn.WAIT
    order.parked(b"k", place(4, parked=2))
    assert order.consumed(T, 3, b"k") is Turn.GO
    assert order.consumed(T, 4, b"k") is Turn.DROP
    assert order.due(place(4, parked=2), b"k") is Turn.GO


def test_partitions_that_go_are_forgotten(order: KeyOrder) -> None:
    order.consumed(T, 0, b"k")
    order.failed(b"k", place(0))
    order.forget(1)
    assert len(order) == 1
    order.forget(0)
    assert len(order) == 0
    assert order.consumed(T, 0, b"k") is Turn.GO


class World:
    """One partition with its retry topic: a log each, with what is committed of them; and a target."""

    def __init__(self, chance: random.Random, records: int) -> None:
        self.chance = chance
        self.source = [chance.choice([b"a", b"b", b"c"]) for _ in range(records)]
        self.tier: list[tuple[bytes, ParkedHeaders]] = []
        self.committed = (0, 0)
        self.delivered: list[int] = []

    def run(self, steps: int) -> Iterator[None]:
        """One life of a task, up to a crash."""
        chance, (at, waits) = self.chance, self.committed
        order = KeyOrder()
        order.begin(T, at)
        for key, parked in self.tier[waits:]:
            order.learn(key, parked)
        for _ in range(steps):
            rows: list[tuple[int, bytes, ParkedHeaders | None]] = []
            for _ in range(chance.randrange(1, 5)):
                if at < len(self.source) and chance.random() < 0.6:
                    self._turn(order, rows, order.consumed(T, at, self.source[at]), at, self.source[at], None)
                    at += 1
                elif waits < len(self.tier):
                    key, parked = self.tier[waits]
                    self._turn(order, rows, order.due(parked, key), parked.offset, key, parked)
                    waits += 1
            survivors = []
            for offset, key, parked in rows:
                if chance.random() < 0.4:
                    self._park(order.failed, offset, key, parked, failed=True)
                else:
                    survivors.append((offset, key, parked))
            for offset, key, parked in survivors:
                if order.is_behind(T, offset, key):
                    self._park(order.parked, offset, key, parked, failed=False)
                else:
                    self.delivered.append(offset)
            order.taken()
            if chance.random() < 0.5:
                self.committed = (at, waits)
            yield

    def _turn(self, order, rows, turn, offset, key, parked) -> None:
        if turn is Turn.GO:
            rows.append((offset, key, parked))
        elif turn is Turn.WAIT:
            self._park(order.parked, offset, key, parked, failed=False)

    def _park(self, tell, offset, key, before, *, failed: bool) -> None:
        parked = place(offset, parked=(before.parked if before else 0) + 1)
        self.tier.append((key, parked))
        tell(key, parked)


@pytest.mark.promise("P10")
@pytest.mark.parametrize("run", range(60))
def test_nothing_is_lost_and_the_last_of_each_key_is_delivered_last_whatever_crashes(seed: int, run: int) -> None:
    world = World(random.Random(f"{seed}-{run}"), records=40)
    for _ in range(200):
        for _ in world.run(world.chance.randrange(1, 12)):
            pass
        if world.committed[0] == 40 and world.committed[1] == len(world.tier):
            break
    assert set(world.delivered) == set(range(40))
    for key in set(world.source):
        mine = [offset for offset in world.delivered if world.source[offset] == key]
        assert mine[-1] == max(mine)
        # Each time that a key goes back, all of it that follows comes again too.
        for number, offset in enumerate(mine):
            following = {other for other in range(offset, 40) if world.source[other] == key}
            assert not following - set(mine[number:])
