"""What a member owns, from what the group tells it."""

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from connect.group import Assignment, Delays, Metadata, TaskId, Work, encode_metadata
from connect.group.wire import EAGER, NO_ERROR, decode_metadata, encode_assignment
from connect.herder.group_member import GroupMember
from connect.herder.rebalance_history import Moved, Rebalance
from connect.peers import PeerClient
from connect.settings.worker_keys import DISTRIBUTED
from connect.worker.lease import now

DELAY_S = Delays().lost
TOPICS = ("config.storage.topic", "offset.storage.topic", "status.storage.topic", "key.converter", "value.converter")

A, B = Work.of(["a"], [("a", 0)]), Work.of(["b"], [("b", 0)])


class Worker:
    """Notes what is stopped and started, and what was owned at that moment."""

    def __init__(self) -> None:
        self.stopped: list[tuple[Work, Work]] = []
        self.stopped_properly: dict[str, Work] = {}
        self.started: list[tuple[Work, Work]] = []
        raw = {"group.id": "g", "bootstrap.servers": "127.0.0.1:9", **dict.fromkeys(TOPICS, "t")}
        self.connectors: dict[str, int] = {}
        state = SimpleNamespace(
            offset=3, connectors=self.connectors, task_ids=lambda name: range(self.connectors[name])
        )
        config: Any = SimpleNamespace(state=state)
        self.member = GroupMember(
            raw,
            DISTRIBUTED.parse(raw),
            "http://w:1/",
            config,
            PeerClient(),
            lambda _: None,
        )
        self.member._listener = self  # as if it had joined

    def start(self, work: Work) -> None:
        self.started.append((work, self.member.owned))

    def stop(self, work: Work) -> None:
        self.stopped.append((work, self.member.owned))

    def loads(self) -> dict[TaskId, float]:
        return {}

    def stopped_workers(self) -> dict[str, Work]:
        return self.stopped_properly

    def joined(self, protocol: str, new: Work, revoked: Work | None = None) -> None:
        assignment = Assignment(NO_ERROR, "leader", "http://l:1/", 3, new, revoked or Work())
        self.member.joined(1, "me", protocol, encode_assignment(assignment, protocol))

    def leads(self, generation: int, **others: Work) -> Rebalance:
        """Lead a round with these members and what they own, at http://member:1/. Returns what is remembered of it."""
        protocol, mine = "sessioned", self.member.metadata()["sessioned"]
        members = [("me", mine)]
        for name, owned in others.items():
            current = Assignment(NO_ERROR, "", "http://w:1/", 3, owned) if owned else None
            url = f"http://{name.partition('_')[0]}:1/"
            members.append((name, encode_metadata(Metadata(url, 3, current), protocol)))
        shares = self.member.assign(protocol, "me", members)
        self.member.joined(generation, "me", protocol, shares["me"])
        return self.member.measured[0].recent()[0]


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_what_is_given_back_is_no_more_owned_when_it_is_stopped(worker: Worker) -> None:
    worker.joined("sessioned", A | B)
    worker.joined("sessioned", Work(), A)
    assert worker.stopped == [(A, B)]
    assert worker.member.owned == B


def test_what_is_new_is_owned_when_it_is_started(worker: Worker) -> None:
    worker.joined("sessioned", A)
    worker.joined("sessioned", B)
    assert worker.started == [(A, A), (B, A | B)]


def test_what_was_stopped_for_an_eager_group_is_not_claimed_in_the_next(worker: Worker) -> None:
    worker.joined(EAGER, A)
    worker.member.rejoining(EAGER)
    assert worker.stopped == [(A, Work())]
    for metadata in worker.member.metadata().values():
        assert decode_metadata(metadata).owned == Work()


def test_nothing_is_stopped_for_a_cooperative_group(worker: Worker) -> None:
    worker.joined("compatible", A)
    worker.member.rejoining("compatible")
    assert worker.stopped == []
    assert decode_metadata(worker.member.metadata()["compatible"]).owned == A


def test_who_is_out_of_the_group_owns_nothing(worker: Worker) -> None:
    worker.joined("sessioned", A)
    worker.member.lost("no word")
    assert worker.stopped == [(A, Work())]
    assert worker.member.role.generation == -1


# What the leader knows.


def test_the_leader_knows_who_joined_and_who_left(worker: Worker) -> None:
    worker.connectors |= {"a": 1, "b": 1}
    assert worker.leads(1).led is not None
    both = worker.leads(2, v_1=Work())
    assert both.led is not None
    assert (both.led.members, both.led.joined, both.led.left) == (["v:1", "w:1"], ["v:1"], [])
    again = worker.leads(3, v_2=Work())  # a worker has a new id in the group each time it joins
    assert again.led is not None
    assert (again.led.joined, again.led.left) == (["v:1"], ["v:1"])
    gone = worker.leads(4)
    assert gone.led is not None
    assert (gone.led.members, gone.led.joined, gone.led.left) == (["w:1"], [], ["v:1"])


def test_the_leader_knows_what_was_assigned_to_whom_and_what_waits(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker.member._membership, "complete_at", now)
    worker.connectors |= {"a": 1, "b": 1}
    first = worker.leads(1)
    assert first.led is not None
    assert first.assigned == first.led.assigned["w:1"] == Moved.of(A | B)
    # A second worker joins: half is given back, and assigned to it in the next round.
    back = worker.leads(2, v_1=Work())
    assert back.led is not None
    assert back.revoked == back.led.revoked["w:1"]
    moved = Work.of(back.revoked.first_connectors, back.revoked.first_tasks)
    assert len(moved) == 2
    to = worker.leads(3, v_1=Work())
    assert to.led is not None
    assert to.led.assigned == {"v:1": Moved.of(moved)}
    assert not to.led.waiting
    # It vanishes, and what it had waits for it.
    gone = worker.leads(4)
    assert gone.led is not None
    (waiting,) = gone.led.waiting
    assert (waiting.worker, waiting.work) == ("v:1", Moved.of(moved))
    assert waiting.until == pytest.approx((time.time() + DELAY_S) * 1000, abs=2_000)


def test_a_new_leader_knows_that_the_former_one_left_but_not_who_joined(worker: Worker) -> None:
    worker.joined("sessioned", A)  # member "leader" at http://l:1/ leads
    assert worker.member.measured[0].recent()[0].led is None
    found = worker.leads(2, v_1=Work())
    assert found.led is not None
    assert (found.led.members, found.led.joined, found.led.left) == (["v:1", "w:1"], None, ["l:1"])
    assert found.leader == "w:1"


def test_a_new_leader_keeps_the_work_of_the_former_one_for_it(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The former one has stopped in good order, and comes back at the address that it had."""
    monkeypatch.setattr(worker.member._membership, "complete_at", now)
    worker.connectors |= {"a": 1, "b": 1, "c": 0}
    worker.joined("sessioned", A)
    worker.stopped_properly = {"http://l:1/": B}
    alone = worker.leads(2, v_1=Work.of(["c"]))
    assert alone.assigned == Moved.of(Work())
    assert worker.member.owned == A
    # What has no owner is its own again, and nobody gives anything back.
    back = worker.leads(3, v_1=Work.of(["c"]), l_2=Work())
    assert back.led is not None
    assert back.led.assigned["l:1"] == Moved.of(B)
    assert back.revoked == Moved.of(Work())


def test_who_begins_a_pool_waits_for_nobody_who_stopped_long_ago(worker: Worker) -> None:
    worker.connectors |= {"a": 1, "b": 1}
    worker.stopped_properly = {"http://l:1/": A | B}
    first = worker.leads(1)
    assert first.assigned == Moved.of(A | B)


def test_who_was_out_of_the_group_compares_with_nothing(worker: Worker) -> None:
    worker.leads(1, v_1=Work())
    worker.member.lost("no word")
    found = worker.leads(5, u_1=Work())
    assert (found.cause, found.reason) == ("lost", "no word")
    assert found.led is not None
    assert (found.led.joined, found.led.left) == (None, [])


def test_what_a_worker_requests_before_it_joins_is_the_cause_of_that_rebalance_alone(worker: Worker) -> None:
    worker.member.rejoining("sessioned")  # another worker has begun it
    worker.member.rebalance("there is a connector a")
    found = worker.leads(1)
    assert (found.cause, found.reason) == ("configuration", "there is a connector a")
    assert worker.leads(2).cause == "member"


def test_a_worker_that_stops_leaves_the_group_when_what_it_gives_back_has_ended(worker: Worker) -> None:
    begun, may_end, happened = threading.Event(), threading.Event(), list[str]()

    def stop(work: Work) -> None:
        begun.set()
        may_end.wait(30)
        happened.append("ended")

    worker.joined("sessioned", A | B)
    worker.stop = stop  # type: ignore[method-assign]
    worker.member._membership.leave = lambda within: happened.append("left")  # type: ignore[method-assign,misc,assignment]
    giving = threading.Thread(target=worker.joined, args=("sessioned", Work(), A))
    giving.start()
    assert begun.wait(30)
    leaving = threading.Thread(target=worker.member.leave, args=(0.0,))
    leaving.start()
    leaving.join(0.2)
    assert happened == []
    may_end.set()
    leaving.join(30)
    giving.join(30)
    assert happened == ["ended", "left"]
