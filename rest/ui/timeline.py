"""The rebalances of the last hour as lanes of SVG, one for each worker, and all that are known in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from rest.ui.rendering import duration, iso

WIDTH: Final = 600
HEIGHT: Final = 20
_HOUR_MS: Final = 3_600_000
#: The drawing ends at the next multiple of this: it shall not differ each time it is looked at.
_STEP_MS: Final = 10_000
#: The most workers of a drawing, and names of what moved in a row.
_LANES: Final = 20
_NAMES: Final = 3

#: Of a mark: the worker joined, left, got or gave up work, or only took part.
Kind = Literal["joined", "left", "moved", "took-part"]
#: How each is drawn, for those who see no colours: its upper edge, and its height.
_EDGES: Final[Mapping[Kind, tuple[int, int]]] = {
    "joined": (0, HEIGHT // 2),
    "left": (HEIGHT // 2, HEIGHT // 2),
    "moved": (0, HEIGHT),
    "took-part": (HEIGHT // 2 - 3, 6),
}
_WORDS: Final = {
    "configuration": "The configuration changed",
    "given_back": "Work was given back, to be assigned to others",
    "delay": "What was held back for a worker had waited long enough",
    "catching_up": "A worker had to catch up with the config topic",
    "member": "Another worker asked for it",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """One rebalance in a lane: where it is drawn, and what it did to the worker."""

    x: str
    y: int
    width: str
    height: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Lane:
    """One worker in the last hour.

    Attributes:
        worker: its id.
        words: the same as the drawing.
        spans: while it was in the group: x and width.
        marks: the rebalances that it took part in.
    """

    worker: str
    words: str
    spans: Sequence[tuple[str, str]]
    marks: Sequence[Mark]


@dataclass(frozen=True, slots=True)
class Event:
    """One rebalance in words.

    Attributes:
        began: in ms since the epoch.
        why: a sentence without its full stop.
        took: how long.
        joined, left: workers.
        moved: how many connectors and tasks.
        details: who got and gave up what, and what is held back.
    """

    began: int
    why: str
    took: str
    joined: str
    left: str
    moved: int
    details: Sequence[str]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The lanes of at most twenty workers, of how many, and all rebalances, newest first."""

    lanes: Sequence[Lane]
    workers: int
    events: Sequence[Event]


def timeline(rebalances: Sequence[Mapping[str, Any]], now: float) -> Timeline:
    """Draw an answer of /cluster/rebalances. `now` is in ms since the epoch."""
    end = (int(now) // _STEP_MS + 1) * _STEP_MS
    oldest_first = rebalances[::-1]
    recent = [one for one in oldest_first if one["ended"] >= end - _HOUR_MS]
    workers = sorted({worker for one in recent for worker in _named(one)} or _members(oldest_first))
    lanes = [_lane(worker, oldest_first, end) for worker in workers]
    # Who stayed is of less interest in a large pool.
    busiest = sorted(lanes, key=lambda lane: sum(mark.kind in ("joined", "left") for mark in lane.marks), reverse=True)
    drawn = sorted(busiest[:_LANES], key=lambda lane: lane.worker)
    return Timeline(drawn, len(lanes), [_event(one) for one in rebalances])


def _named(one: Mapping[str, Any]) -> set[str]:
    return {*(one["members"] or ()), *one["joined"], *one["left"], *(share["worker_id"] for share in one["shares"])}


def _members(oldest_first: Sequence[Mapping[str, Any]]) -> set[str]:
    """The workers that the newest rebalance left in the group."""
    return _named(oldest_first[-1]) - set(oldest_first[-1]["left"]) if oldest_first else set()


def _lane(worker: str, oldest_first: Sequence[Mapping[str, Any]], end: int) -> Lane:
    begin = end - _HOUR_MS
    spans: list[tuple[int, int]] = []
    marks = []
    words = []
    since: int | None = None  # it has been in the group
    for number, one in enumerate(oldest_first):
        was, known = since is not None, one["members"] is not None
        there = worker in (one["members"] if known else _named(one)) or (was and not known)
        if not number and (worker in one["left"] or (there and worker not in one["joined"])):
            since, was = begin, True
        if there and not was:
            since = one["began"]
        elif was and not there and since is not None:
            spans.append((since, one["began"]))
            since = None
        kind = _kind(worker, one, there=there)
        if kind is not None and one["ended"] >= begin:
            (x, width), (y, height) = _place(one["began"], one["ended"], begin), _EDGES[kind]
            marks.append(Mark(x, y, width, height, kind))
            if kind in ("joined", "left"):
                words.append(f"{kind} at {iso(one['began'])[11:19]}")
    if since is not None:
        spans.append((since, end))
    drawn = [_place(start, stop, begin) for start, stop in spans if stop >= begin]
    return Lane(worker, ", ".join([f"{len(marks)} rebalances", *words]), drawn, marks)


def _kind(worker: str, one: Mapping[str, Any], *, there: bool) -> Kind | None:
    if worker in one["joined"]:
        return "joined"
    if worker in one["left"]:
        return "left"
    share = next((share for share in one["shares"] if share["worker_id"] == worker), None)
    if share is not None and (_count(share["assigned"]) or _count(share["revoked"])):
        return "moved"
    return "took-part" if there else None


def _place(start: int, stop: int, begin: int) -> tuple[str, str]:
    """Where a time is drawn: x and width. The shortest is still seen."""
    left = max(0.0, (start - begin) / _HOUR_MS * WIDTH)
    right = min(float(WIDTH), (stop - begin) / _HOUR_MS * WIDTH)
    left = min(left, WIDTH - 2.0)
    return f"{left:.1f}", f"{max(2.0, right - left):.1f}"


def _event(one: Mapping[str, Any]) -> Event:
    return Event(
        began=one["began"],
        why=_why(one),
        took=duration(one["ended"] - one["began"]),
        joined=", ".join(one["joined"]),
        left=", ".join(one["left"]),
        moved=sum(_count(share["assigned"]) for share in one["shares"]),
        details=[*_moves(one), *_waits(one)],
    )


def _why(one: Mapping[str, Any]) -> str:
    cause, reason = str(one["cause"]), str(one["reason"])
    own = [share["worker_id"] for share in one["shares"] if share["cause"] == cause]
    match cause:
        case "start":
            again = set(own) <= set(one["left"])
            return f"{', '.join(own)} started{' again' if again else ''}"
        case "lost":
            return f"{', '.join(own)} was out of the group and came back: {reason}"
        case "joined" | "left":
            return f"{', '.join(one[cause])} {cause}"
        case _:
            return reason[:1].upper() + reason[1:] or _WORDS.get(cause, cause)


def _moves(one: Mapping[str, Any]) -> list[str]:
    found = []
    for share in one["shares"]:
        for verb, moved in (("got", share["assigned"]), ("gave up", share["revoked"])):
            if _count(moved):
                found.append(f"{share['worker_id']} {verb} {_names(moved)}")
    return found


def _waits(one: Mapping[str, Any]) -> list[str]:
    return [
        f"{_names(waiting['work'])} waited for {waiting['worker_id']} until {iso(waiting['until'])[11:19]}"
        for waiting in one["waiting"]
    ]


def _count(moved: Mapping[str, Any]) -> int:
    return int(moved["connectors"] + moved["tasks"])


def _names(moved: Mapping[str, Any]) -> str:
    """orders, orders-0, orders-1 and 5 more."""
    tasks = (f"{task['connector']}-{task['task']}" for task in moved["first_tasks"])
    names = [*moved["first_connectors"], *tasks][:_NAMES]
    more = _count(moved) - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")
