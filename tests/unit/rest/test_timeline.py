"""The rebalances on the page of the cluster: lanes and words, made of an answer of /cluster/rebalances."""

from __future__ import annotations

import time
from typing import Any

import pytest

from connect.herder.rebalance_history import Led, Moved, Rebalance
from rest.ui import cluster
from rest.ui.timeline import HEIGHT, WIDTH, timeline

from .page_reader import Text, shown

HOUR = 3_600_000
NOW = 1_700_000_000_000  # a multiple of ten seconds, so that the drawing ends ten later
END = NOW + 10_000
A, B, C = "a:1", "b:1", "c:1"
NOTHING: dict[str, Any] = {"connectors": 0, "tasks": 0, "first_connectors": [], "first_tasks": []}


def moved(*names: str, tasks: int = 0) -> dict[str, Any]:
    """These connectors, and so many tasks of the first."""
    first = [{"connector": names[0], "task": number} for number in range(min(tasks, 20))]
    return {"connectors": len(names), "tasks": tasks, "first_connectors": list(names), "first_tasks": first}


def share(worker: str, cause: str = "member", **work: Any) -> dict[str, Any]:
    return {"worker_id": worker, "cause": cause, "assigned": NOTHING, "revoked": NOTHING, **work}


def one(minutes_ago: float, *members: str, **more: Any) -> dict[str, Any]:
    """A rebalance of half a second, with these members."""
    began = int(END - minutes_ago * 60_000)
    found = {"began": began, "ended": began + 500, "cause": "member", "reason": "", "joined": [], "left": []}
    shares = [share(worker) for worker in members]
    return {**found, "members": list(members), "waiting": [], "shares": shares, **more}


def test_a_lane_shows_when_a_worker_was_there_and_what_happened_to_it() -> None:
    found = timeline(
        [
            one(15, A, left=[B]),
            one(30, A, B, joined=[B], shares=[share(A, revoked=moved("x")), share(B, "start", assigned=moved("x"))]),
            one(45, A, joined=[A]),
        ],
        NOW,
    )
    first, second = found.lanes
    assert (first.worker, first.spans) == (A, [(f"{WIDTH / 4:.1f}", f"{WIDTH * 3 / 4:.1f}")])
    assert [(mark.x, mark.kind) for mark in first.marks] == [
        ("150.0", "joined"),
        ("300.0", "moved"),
        ("450.0", "took-part"),
    ]
    assert (second.worker, second.spans) == (B, [("300.0", "150.0")])
    assert [(mark.x, mark.width, mark.kind) for mark in second.marks] == [
        ("300.0", "2.0", "joined"),
        ("450.0", "2.0", "left"),
    ]
    assert second.words == "2 rebalances, joined at 21:43:30, left at 21:58:30"
    # No two kinds look alike without colours.
    assert len({(mark.y, mark.height) for lane in found.lanes for mark in lane.marks}) == 4
    assert all(mark.y + mark.height <= HEIGHT for lane in found.lanes for mark in lane.marks)


def test_who_was_there_before_all_that_is_known_was_there_since_the_left_edge() -> None:
    found = timeline([one(15, A, left=[B])], NOW)
    assert [(lane.worker, lane.spans) for lane in found.lanes] == [
        (A, [("0.0", "600.0")]),
        (B, [("0.0", "450.0")]),
    ]
    assert timeline([one(90, A, left=[B])], NOW).lanes[0].spans == [("0.0", "600.0")]
    assert [lane.worker for lane in timeline([one(90, A, left=[B])], NOW).lanes] == [A]
    assert timeline([], NOW) == timeline([], NOW + 5)
    assert timeline([], NOW).lanes == []


def test_where_the_leader_did_not_tell_who_takes_part_is_there() -> None:
    unknown = one(30, A, B)
    unknown["members"] = None
    found = timeline([one(15, A, left=[]), unknown], NOW)
    assert [(lane.worker, lane.spans) for lane in found.lanes] == [(A, [("0.0", "600.0")]), (B, [("0.0", "450.0")])]


def test_a_long_one_is_drawn_as_long_as_it_was_and_an_old_one_not_at_all() -> None:
    long = one(30, A)
    long["ended"] = long["began"] + 6 * 60_000
    found = timeline([long, one(90, A)], NOW)
    ((mark,),) = [lane.marks for lane in found.lanes]
    assert (mark.x, mark.width) == ("300.0", "60.0")
    assert len(found.events) == 2


def test_of_many_workers_those_are_drawn_that_came_and_went() -> None:
    many = [f"w{number:02}" for number in range(30)]
    found = timeline([one(5, *many, joined=["w29"], left=["w30"])], NOW)
    assert found.workers == 31
    assert len(found.lanes) == 20
    assert [lane.worker for lane in found.lanes][-2:] == ["w29", "w30"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"cause": "start", "shares": [share(A), share(B, "start")]}, "b:1 started"),
        ({"cause": "start", "shares": [share(B, "start")], "left": [B]}, "b:1 started again"),
        ({"cause": "lost", "shares": [share(B, "lost")], "reason": "x"}, "b:1 was out of the group and came back: x"),
        ({"cause": "joined", "joined": [B, C]}, "b:1, c:1 joined"),
        ({"cause": "left", "left": [B]}, "b:1 left"),
        ({"cause": "configuration", "reason": "there is a connector x"}, "There is a connector x"),
        ({"cause": "given_back", "reason": ""}, "Work was given back, to be assigned to others"),
        ({"cause": "member"}, "Another worker asked for it"),
        ({"cause": "weather"}, "weather"),
    ],
)
def test_the_cause_is_said_in_words(more: dict[str, Any], why: str) -> None:
    (event,) = timeline([one(5, A, **more)], NOW).events
    assert event.why == why


def test_what_moved_is_counted_and_named() -> None:
    waiting = [{"worker_id": C, "until": NOW, "work": moved("z")}]
    shares = [share(A, revoked=moved("x", tasks=3)), share(B, assigned=moved("x", "y", tasks=7))]
    (event,) = timeline([one(5, A, B, shares=shares, waiting=waiting, left=[C])], NOW).events
    assert (event.moved, event.took, event.left) == (9, "500 ms", C)
    assert event.details == [
        "a:1 gave up x, x-0, x-1 and 1 more",
        "b:1 got x, y, x-0 and 6 more",
        "z waited for c:1 until 22:13:20",
    ]


# The page.


def test_the_page_of_the_cluster_has_them(client, herder) -> None:
    assert "There was none since the workers started." in str(shown(client, "/ui/cluster"))
    led = Led(["here:1", "<b>:1"], ["<b>:1"], [], {}, {}, [])
    began = int(time.time() * 1000)
    herder.rebalanced = [
        Rebalance(2, "here:1", "m", began - 60_000, began - 59_000, "member", "", Moved(), Moved(), led)
    ]
    answer = client.get("/ui/cluster")
    page = Text(answer.text)
    assert "<b>" not in answer.text
    labels = [attrs["aria-label"] for tag, attrs in page.elements if tag == "svg"]
    assert [label.partition(" in the last hour: ")[0] for label in labels] == ["<b>:1", "here:1"]
    assert "<b>:1 joined" in str(page)
    assert "<b>:1 does not tell:" in str(page)
    assert 'id="rebalances"' in answer.text
    assert "/ui/cluster/audit" in answer.text
    assert "here:1 leads 0 0" in str(page)  # also a worker that runs nothing is one


def test_a_cluster_that_does_not_tell_of_them_has_its_page(client, monkeypatch) -> None:
    ask = cluster.InsideCluster.ask

    async def as_java(self: Any, method: str, *path: str, **more: Any) -> cluster.Answer:
        if path[0] == "cluster":
            return cluster.Answer(404, {"error_code": 404, "message": "HTTP 404 Not Found"})
        return await ask(self, method, *path, **more)

    monkeypatch.setattr(cluster.InsideCluster, "ask", as_java)
    text = str(shown(client, "/ui/cluster"))
    assert "These workers do not tell of rebalances." in text
    assert "Loggers" in text
    assert "These workers do not show their audit logs." in str(shown(client, "/ui/cluster/audit", 404))
