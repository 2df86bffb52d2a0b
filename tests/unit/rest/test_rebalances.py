"""/cluster/rebalances: who is asked, and how what they tell becomes one list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from connect.group import Work
from connect.herder.model import ConnectorState
from connect.herder.rebalance_history import Led, Moved, Rebalance, Waiting
from connect.peers import PeerClient, PeerError
from connect.storage import ConnectorStatus, State, TaskStatus
from rest.models.pool import MovedInfo, RebalanceInfo, RebalanceShare
from rest.rebalances import merged

BEGAN = 1_700_000_000_000
HERE, OTHER, THIRD = "here:1", "other:1", "third:1"
WORK = Moved.of(Work.of(["a"], [("a", 0), ("a", 1)]))
MOVED = {
    "connectors": 1,
    "tasks": 2,
    "first_connectors": ["a"],
    "first_tasks": [{"connector": "a", "task": 0}, {"connector": "a", "task": 1}],
}
NOTHING: dict[str, Any] = {"connectors": 0, "tasks": 0, "first_connectors": [], "first_tasks": []}


def one(generation: int, cause: str = "member", reason: str = "", led: Led | None = None, **more: Any) -> Rebalance:
    began = BEGAN + generation * 1000
    told: dict[str, Any] = {"leader": HERE if led else OTHER, "assigned": Moved(), "revoked": Moved(), **more}
    member = f"{told['leader']}-member"
    return Rebalance(generation, told.pop("leader"), member, began, began + 250, cause, reason, led=led, **told)


def led(*members: str, joined: tuple[str, ...] | None = (), left: tuple[str, ...] = (), **more: Any) -> Led:
    return Led(members, joined, left, more.get("assigned", {}), more.get("revoked", {}), more.get("waiting", ()))


def share(worker: str, cause: str, reason: str = "") -> RebalanceShare:
    return RebalanceShare(worker, cause, reason, BEGAN, BEGAN + 1)


def info(*shares: RebalanceShare, generation: int = 1, **more: Any) -> RebalanceInfo:
    return RebalanceInfo(generation, HERE, "m", BEGAN, BEGAN + 1, "member", "", shares=list(shares), **more)


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What other workers answer, by their ids: the body, or an error."""
    answers: dict[str, Any] = {}

    def send(_: PeerClient, method: str, url: str, body: Any, headers: Mapping[str, str], timeout: float) -> bytes:
        worker, _, path = url.removeprefix("http://").partition("/")
        assert (method, body) == ("GET", None)
        assert "forward=false" in path
        answer = answers.get(worker, PeerError(f"{worker} does not answer"))
        if isinstance(answer, Exception):
            raise answer
        return msgspec.json.encode(answer)

    monkeypatch.setattr(PeerClient, "send", send)
    return answers


def test_a_worker_without_a_group_has_none(client) -> None:
    assert client.get("/cluster/rebalances").json() == {"rebalances": [], "unreachable": []}


def test_the_leader_tells_who_joined_what_moved_and_what_waits(client, herder, peers) -> None:
    waiting = [Waiting("gone:1", WORK, BEGAN + 9000)]
    told = led(HERE, OTHER, joined=(OTHER,), left=("gone:1",), assigned={OTHER: WORK}, waiting=waiting)
    herder.rebalanced = [one(7, led=told, revoked=WORK)]
    (found,) = client.get("/cluster/rebalances").json()["rebalances"]
    assert found == {
        "generation": 7,
        "leader": HERE,
        "leader_member": f"{HERE}-member",
        "began": BEGAN + 7000,
        "ended": BEGAN + 7250,
        "cause": "joined",
        "reason": "",
        "members": [HERE, OTHER],
        "joined": [OTHER],
        "left": ["gone:1"],
        "waiting": [{"worker_id": "gone:1", "until": BEGAN + 9000, "work": MOVED}],
        "shares": [
            {
                "worker_id": HERE,
                "cause": "member",
                "reason": "",
                "began": BEGAN + 7000,
                "ended": BEGAN + 7250,
                "assigned": NOTHING,
                "revoked": MOVED,
            },
            {
                "worker_id": OTHER,
                "cause": "",
                "reason": "",
                "began": None,
                "ended": None,
                "assigned": MOVED,
                "revoked": NOTHING,
            },
        ],
    }


def test_one_rebalance_is_one_entry_whoever_tells_of_it(client, herder, peers) -> None:
    """A follower asks the leader who there is, and then all of them."""
    herder.rebalanced = [one(3, "configuration", "there is a connector a"), one(2)]
    there = herder.__class__()
    there.rebalanced = [
        one(3, led=led(HERE, OTHER, THIRD), leader=OTHER),
        one(2, led=led(HERE, OTHER, THIRD, joined=(THIRD,)), leader=OTHER),
    ]
    peers[OTHER] = answer_of(there, OTHER)
    third = herder.__class__()
    third.rebalanced = [one(3), one(2, "start")]
    peers[THIRD] = answer_of(third, THIRD)
    answer = client.get("/cluster/rebalances").json()
    assert answer["unreachable"] == []
    newest, before = answer["rebalances"]
    assert (newest["generation"], newest["cause"], newest["reason"]) == (3, "configuration", "there is a connector a")
    assert (before["generation"], before["cause"], before["joined"]) == (2, "start", [THIRD])
    assert [one["worker_id"] for one in newest["shares"]] == [HERE, OTHER, THIRD]
    assert all(one["began"] for one in newest["shares"])
    assert len(client.get("/cluster/rebalances?limit=1").json()["rebalances"]) == 1


def answer_of(herder: Any, worker: str) -> dict[str, Any]:
    """What a worker with this herder answers to another one."""
    from rest.rebalances import _here

    return {"rebalances": [_here(worker, each) for each in herder.rebalanced], "unreachable": []}


def test_who_is_asked_by_another_worker_asks_no_other(client, herder, peers) -> None:
    herder.rebalanced = [one(3)]
    answer = client.get("/cluster/rebalances?forward=false").json()
    assert len(answer["rebalances"]) == 1
    assert answer["unreachable"] == []


def test_a_java_worker_and_one_that_does_not_answer_are_named(client, herder, peers) -> None:
    herder.rebalanced = [one(3, led=led(HERE, OTHER, THIRD))]
    peers[OTHER] = PeerError("GET ... was answered with 404: {}", 404)
    unreachable = client.get("/cluster/rebalances").json()["unreachable"]
    assert [(one["worker_id"], one["error"]) for one in unreachable] == [
        (OTHER, "It does not know this request: a Java worker, or an older version."),
        (THIRD, "third:1 does not answer"),
    ]


def test_without_the_leaders_word_those_are_asked_that_run_something(client, herder, peers) -> None:
    herder.rebalanced = [one(3)]
    herder.configs["x"] = {"name": "x"}
    tasks = [TaskStatus("x", 0, State.RUNNING, THIRD)]
    herder.status = lambda name: ConnectorState(name, ConnectorStatus(name, State.RUNNING, HERE), tasks, "sink")
    peers[OTHER] = PeerError("GET ... was answered with 404: {}", 404)
    third = herder.__class__()
    third.rebalanced = [one(3, "start")]
    peers[THIRD] = answer_of(third, THIRD)
    answer = client.get("/cluster/rebalances").json()
    assert [one["worker_id"] for one in answer["unreachable"]] == [OTHER]
    (found,) = answer["rebalances"]
    assert [one["worker_id"] for one in found["shares"]] == [HERE, THIRD]
    assert (found["members"], found["cause"], found["joined"]) == (None, "start", [THIRD])


@pytest.mark.parametrize("limit", ["0", "201", "many", "-1"])
def test_what_makes_no_sense_is_refused(client, limit: str) -> None:
    assert client.get(f"/cluster/rebalances?limit={limit}").status_code == 400


# What is made of several accounts.


@pytest.mark.parametrize(
    ("causes", "found"),
    [
        (("member", "member"), "member"),
        (("member", "given_back"), "given_back"),
        (("delay", "start"), "start"),
        (("configuration", "catching_up"), "configuration"),
        (("lost", "configuration"), "lost"),
        (("member", "weather"), "weather"),  # of a newer version
    ],
)
def test_the_cause_is_what_the_worker_says_that_began_it(causes: tuple[str, str], found: str) -> None:
    (entry,) = merged([info(share(HERE, causes[0])), info(share(OTHER, causes[1]))])
    assert entry.cause == found


def test_who_joined_in_the_generation_before_and_was_late_does_not_join_again() -> None:
    """As its leader knows; a new leader does not, and believes it."""
    late, leaders = share(OTHER, "start"), share(HERE, "given_back")
    (entry,) = merged([info(late), info(leaders, members=[HERE, OTHER], joined=[])])
    assert (entry.cause, entry.joined) == ("given_back", [])
    (entry,) = merged([info(late), info(leaders, members=[HERE, OTHER], joined=None)])
    assert (entry.cause, entry.joined) == ("start", [OTHER])


def test_another_workers_cause_is_who_joined_or_left_as_the_leader_knows() -> None:
    both = [info(share(OTHER, "member")), info(share(HERE, "member"), members=[HERE, OTHER], left=[THIRD])]
    (entry,) = merged(both)
    assert (entry.cause, entry.left) == ("left", [THIRD])
    (entry,) = merged([info(share(HERE, "member"), members=[HERE, OTHER], joined=[OTHER], left=[OTHER])])
    assert (entry.cause, entry.joined, entry.left) == ("joined", [OTHER], [OTHER])


def test_the_same_number_of_another_group_is_another_rebalance() -> None:
    """Generations begin again when a group was empty for long; its members' ids never do."""
    first, second = info(share(HERE, "start")), info(share(OTHER, "start"))
    second.leader_member, second.began = "n", BEGAN + 5
    assert [one.leader_member for one in merged([first, second])] == ["n", "m"]


def test_a_workers_own_account_counts_more_than_its_leaders() -> None:
    mine = RebalanceShare(OTHER, "member", "", BEGAN, BEGAN + 9, MovedInfo(tasks=2))
    leaders = info(share(HERE, "member"), RebalanceShare(OTHER), members=[HERE, OTHER])
    for told in ([info(mine), leaders], [leaders, info(mine)]):
        (entry,) = merged(told)
        assert {one.worker_id: one.assigned.tasks for one in entry.shares} == {HERE: 0, OTHER: 2}
        assert entry.members == [HERE, OTHER]
