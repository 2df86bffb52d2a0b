"""Thousands of random joins, leaves, crashes, returns and changes of configuration, with one leader after the other."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from connect.group.cooperative import Delays, Member, Memory, Share, rebalance
from connect.group.work import NOTHING, TaskId, Work

DELAYS = Delays(lost=5, stopped=30)
ENOUGH_ROUNDS = 12  # after which a group that is left alone is stable


@dataclass
class Worker:
    url: str
    id: str
    owned: Work = NOTHING


@dataclass
class Group:
    """A group as its members live it. `chance` decides what happens; every round is checked."""

    chance: random.Random
    now: float = 1000.0
    connectors: set[str] = field(default_factory=set)
    tasks: dict[TaskId, float] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)
    down: list[str] = field(default_factory=list)
    away: list[Worker] = field(default_factory=list)
    stopped: set[str] = field(default_factory=set)
    leader: str = ""
    memory: Memory = field(default_factory=Memory)
    delay: float = 0.0
    joined: int = 0

    def configured(self) -> Work:
        return Work.of(self.connectors, self.tasks)

    def join(self, url: str | None = None) -> Worker:
        self.joined += 1
        url = url or f"http://worker-{self.joined}/"
        worker = Worker(url, f"{url}#{self.joined}")
        self.workers.append(worker)
        self.stopped.discard(url)
        return worker

    def leave(self, worker: Worker, *, good_order: bool) -> None:
        self.workers.remove(worker)
        self.down.append(worker.url)
        if good_order:
            self.stopped.add(worker.url)

    def configure(self) -> None:
        name = f"c{self.chance.randrange(8)}"
        self.tasks = {task: load for task, load in self.tasks.items() if task.connector != name}
        self.connectors.discard(name)
        if self.chance.random() < 0.75:
            self.connectors.add(name)
            self.tasks |= {TaskId(name, number): 1.0 for number in range(self.chance.randrange(6))}

    def happen(self) -> None:
        """One random event."""
        what = self.chance.choice(
            ["join", "return", "crash", "stop", "configure", "forget", "new id", "part", "zombie", "wait"]
        )
        someone = self.chance.choice(self.workers) if self.workers else None
        if what == "join" and len(self.workers) < 8:
            self.join()
        elif what == "return" and self.down:
            self.join(self.down.pop(self.chance.randrange(len(self.down))))
        elif what in {"crash", "stop"} and someone and len(self.workers) > 1:
            self.leave(someone, good_order=what == "stop")
        elif what == "configure":
            self.configure()
        elif what == "forget" and someone:  # gives its work up, and stays
            someone.owned = NOTHING
        elif what == "new id" and someone:  # lost its session without stopping anything
            self.joined += 1
            someone.id = f"{someone.url}#{self.joined}"
        elif what == "part" and someone and len(self.workers) > 1:  # cut off, and back later with all it had
            self.workers.remove(someone)
            self.away.append(someone)
        elif what == "zombie" and self.away:
            zombie = self.join(self.away[0].url)
            zombie.owned = self.away.pop(0).owned
        elif what == "wait":
            self.now += self.chance.choice([0.5, 3.0, 40.0])

    def round(self) -> bool:
        """One rebalance. Returns whether anything was started or stopped."""
        self.now += 0.1
        leader = self.workers[0].id
        memory = self.memory if leader == self.leader else Memory()
        self.leader = leader
        owned_before = union(worker.owned for worker in self.workers)
        outcome = rebalance(
            [Member(worker.id, worker.url, worker.owned) for worker in self.workers],
            self.connectors,
            self.tasks,
            memory,
            self.now,
            delays=DELAYS,
            stopped=self.stopped,
        )
        self.check(outcome.shares, owned_before)
        # Sometimes the leader's answer reaches only some, and the leader does not learn that it reached anyone.
        half = self.chance.random() < 0.1
        for worker in self.workers:
            if not half or self.chance.random() < 0.5:
                share = outcome.shares[worker.id]
                worker.owned = (worker.owned - share.revoked) | share.new
        if not half:
            self.memory = outcome.memory
        self.delay = outcome.delay
        return half or any(share.new or share.revoked for share in outcome.shares.values())

    def check(self, shares: dict[str, Share], owned_before: Work) -> None:
        given = [share.new for share in shares.values()]
        assert len(union(given)) == sum(map(len, given)), "nothing is given to two members"
        assert not union(given) & owned_before, "nothing is given that somebody still has"
        assert union(given) | self.configured() == self.configured(), "nothing is given that is not configured"
        for worker in self.workers:
            assert not shares[worker.id].revoked - worker.owned, "only what a member has is revoked"

    def settle(self) -> None:
        """Rounds, as the members would ask for them, until nothing changes any more and nothing is waited for."""
        self.now += 200  # so that pauses between revocations are over
        for _ in range(ENOUGH_ROUNDS):
            if not self.round() and not self.delay:
                return
            self.now += self.delay
        raise AssertionError(f"not stable after {ENOUGH_ROUNDS} rounds")

    def check_stable(self) -> None:
        owned = [worker.owned for worker in self.workers]
        assert union(owned) == self.configured(), "everything is assigned"
        assert sum(map(len, owned)) == len(self.configured()), "nothing is owned twice"
        for counts in ([len(work.connectors) for work in owned], [len(work.tasks) for work in owned]):
            assert max(counts) - min(counts) <= 1, f"balanced: {counts}"


def union(works: Iterable[Work]) -> Work:
    total = NOTHING
    for work in works:
        total |= work
    return total


@pytest.mark.promise("P3")
@pytest.mark.parametrize("case", range(40))
def test_no_work_ever_has_two_owners_and_all_is_shared_out_evenly_in_the_end(seed: int, case: int) -> None:
    group = Group(random.Random(seed * 1000 + case))
    group.join()
    for _ in range(60):
        for _ in range(group.chance.randrange(1, 4)):
            group.happen()
        group.round()
        if group.chance.random() < 0.15:
            group.settle()
            group.check_stable()
    group.settle()
    group.check_stable()


@pytest.mark.parametrize("case", range(30))
def test_a_join_moves_its_fair_share_and_nothing_else(seed: int, case: int) -> None:
    group = Group(random.Random(seed * 1000 + case))
    for _ in range(group.chance.randrange(1, 8)):
        group.join()
    for _ in range(12):
        group.configure()
    group.settle()
    before = {worker.id: worker.owned for worker in group.workers}
    newcomer = group.join()
    group.settle()
    group.check_stable()
    for worker in group.workers:
        if worker is not newcomer:
            assert not worker.owned - before[worker.id], "who was there before gets nothing from others"
    size = len(group.workers)
    assert len(newcomer.owned.tasks) <= math.ceil(len(group.tasks) / size)
    assert len(newcomer.owned.connectors) <= math.ceil(len(group.connectors) / size)


@pytest.mark.parametrize("good_order", [True, False])
@pytest.mark.parametrize("case", range(20))
def test_a_restart_moves_nothing(seed: int, case: int, good_order: bool) -> None:
    group = Group(random.Random(seed * 1000 + case))
    for _ in range(4):
        group.join()
    for _ in range(12):
        group.configure()
    group.settle()
    before = {worker.url: worker.owned for worker in group.workers}
    restarted = group.chance.choice(group.workers[1:])
    group.leave(restarted, good_order=good_order)
    for _ in range(3):
        group.round()
    group.now += 1
    group.join(restarted.url)
    group.settle()
    assert {worker.url: worker.owned for worker in group.workers} == before


@pytest.mark.parametrize("case", range(20))
def test_a_loss_moves_only_what_was_lost(seed: int, case: int) -> None:
    group = Group(random.Random(seed * 1000 + case))
    for _ in range(5):
        group.join()
    for _ in range(12):
        group.configure()
    group.settle()
    before = {worker.id: worker.owned for worker in group.workers}
    lost = group.chance.choice(group.workers[1:])
    group.leave(lost, good_order=False)
    group.settle()
    group.check_stable()
    for worker in group.workers:
        assert not before[worker.id] - worker.owned


def test_the_same_round_gives_the_same_answer_in_any_order_of_members(seed: int) -> None:
    chance = random.Random(seed)
    members = [Member(f"m{number}", f"http://{number}/") for number in range(5)]
    tasks = {TaskId("x", number): chance.choice([0.5, 1.0, 2.0]) for number in range(40)}
    answers = []
    for _ in range(3):
        chance.shuffle(members)
        answers.append(rebalance(members, ["x"], tasks, Memory(), 0.0, delays=DELAYS).shares)
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("case", range(30))
def test_loads_of_any_kind_become_stable_and_leave_no_task_out(seed: int, case: int) -> None:
    group = Group(random.Random(seed * 1000 + case))
    group.tasks = {TaskId("x", number): group.chance.lognormvariate(0, 1.5) for number in range(60)}
    for _ in range(group.chance.randrange(1, 6)):
        group.join()
        group.round()
    group.settle()
    owners = Counter(task for worker in group.workers for task in worker.owned.tasks)
    assert owners == Counter(group.tasks.keys())
