"""One action on many connectors, which can be undone where that is possible."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rest.ui.cluster import Cluster

#: Requests under way at a time.
_AT_ONCE: Final = 10
#: For each action its request, and how its outcome is said.
_ACTIONS: Final[Mapping[str, tuple[str, str, Mapping[str, str], str]]] = {
    "pause": ("PUT", "pause", {}, "paused"),
    "resume": ("PUT", "resume", {}, "resumed"),
    "stop": ("PUT", "stop", {}, "stopped"),
    "restart": ("POST", "restart", {"includeTasks": "true"}, "restarted"),
    "restart-failed": (
        "POST",
        "restart",
        {"includeTasks": "true", "onlyFailed": "true"},
        "restarted if they had failed",
    ),
}
#: What brings a connector back to the state that it had.
_BACK: Final = {"PAUSED": "pause", "STOPPED": "stop"}


class Wanted(NamedTuple):
    """An action on a connector."""

    action: str
    connector: str


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of it.

    Attributes:
        said: in words.
        refused: the connectors that were not changed, each with the reason.
        undo: what would undo it; empty where nothing can, or it was an undoing.
    """

    said: str
    refused: Sequence[tuple[str, str]]
    undo: Sequence[Wanted]


def wanted_of(form: Mapping[str, Sequence[str]]) -> list[Wanted]:
    """What a form asks for: one action for all `name`s, or an `undo` for each."""
    action = form.get("do", [""])[-1]
    if action == "undo":
        found = [Wanted(*one.split(" ", 1)) for one in form.get("undo", ()) if " " in one]
    else:
        found = [Wanted(action, name) for name in form.get("name", ())]
    return [one for one in found if one.action in _ACTIONS]


async def change_many(cluster: Cluster, wanted: Sequence[Wanted]) -> Changed:
    """Do it, some at a time. A refusal keeps none of the others from it."""
    if not wanted:
        return Changed("Nothing is selected.", [], [])
    room = asyncio.Semaphore(_AT_ONCE)

    async def change(one: Wanted) -> tuple[Wanted, str, Wanted | None]:
        method, path, query, _ = _ACTIONS[one.action]
        async with room:
            before = await cluster.ask("GET", "connectors", one.connector, "status")
            answer = await cluster.ask(method, "connectors", one.connector, path, **query)
        if answer.refused:
            return one, answer.message, None
        state = "" if before.refused else before.body["connector"]["state"]
        back = Wanted(_BACK.get(state, "resume"), one.connector)
        return one, "", back if method == "PUT" and back.action != one.action else None

    outcomes = await asyncio.gather(*map(change, wanted))
    refused = [(one.connector, why) for one, why, _ in outcomes if why]
    words = {_ACTIONS[one.action][3] for one, why, _ in outcomes if not why}
    undo = [back for *_, back in outcomes if back is not None]
    return Changed(_said(len(outcomes) - len(refused), words), refused, undo)


def _said(count: int, words: Collection[str]) -> str:
    if not count:
        return "Nothing was changed."
    are = "1 connector is" if count == 1 else f"{count} connectors are"
    return f"{are} {' or '.join(sorted(words))}."
