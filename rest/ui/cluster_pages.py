"""/ui/graph and /ui/cluster: the way of the records; the workers with their tasks, rebalances and loggers."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from connect.connector_states import Measured, total
from rest.ui.cluster import Cluster
from rest.ui.graph import graph
from rest.ui.rendering import page
from rest.ui.requests import cluster_of, done, form_of, refused, to, why_missing
from rest.ui.timeline import timeline
from rest.ui.views import STATES, Part, Row, rows

router = APIRouter(prefix="/ui", include_in_schema=False)

#: The most connectors of a drawing: more is a tangle, and the topics of each are asked for.
_DRAWN: Final = 100
#: Rebalances that are drawn and listed.
_REBALANCES: Final = 100
_LEVELS: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")


@dataclass(slots=True)
class WorkerRow:
    """A worker, by what runs on it."""

    worker: str
    connectors: list[str] = field(default_factory=list)
    tasks: list[tuple[str, Part]] = field(default_factory=list)

    @property
    def states(self) -> Mapping[str, int]:
        """How many of its tasks are in each state."""
        return Counter(part.state for _, part in self.tasks)

    @property
    def measured(self) -> Measured:
        """The metrics of its tasks together."""
        return total(part.measured for _, part in self.tasks)


@router.get("/graph")
async def graph_page(request: Request) -> Response:
    """Sources, topics and sinks, for the connectors that the address searches for."""
    cluster, search = cluster_of(request), request.query_params.get("search", "")
    answer = await cluster.expanded()
    if answer.refused:
        return refused(answer)
    found = [one for one in rows(answer.body) if one.has(search)]
    drawn = found[:_DRAWN]
    used = await asyncio.gather(*(_topics(cluster, one) for one in drawn))
    topics = {one.name: names for one, names in zip(drawn, used, strict=True)}
    return page("graph.html", graph=graph(drawn, topics), search=search, drawn=len(drawn), of=len(found))


@router.get("/cluster")
async def cluster_page(request: Request) -> Response:
    """The workers with what runs on each, and the loggers of the one that answers."""
    return await _shown(request)


@router.post("/cluster")
async def set_level(request: Request) -> Response:
    """Set the level of a logger on all workers."""
    form = await form_of(request)
    logger, level = form.get("logger", "").strip(), form.get("level", "")
    answer = await cluster_of(request).ask("PUT", "admin", "loggers", logger, body={"level": level}, scope="cluster")
    if answer.refused:
        return await _shown(request, answer.message, answer.status)
    return to("/ui/cluster", "set-level")


async def _shown(request: Request, said: str = "", status: int = 200) -> Response:
    cluster = cluster_of(request)
    answer, loggers, rebalances = await asyncio.gather(
        cluster.expanded(),
        cluster.ask("GET", "admin", "loggers"),
        cluster.ask("GET", "cluster", "rebalances", limit=str(_REBALANCES)),
    )
    if answer.refused:
        return refused(answer)
    levels: dict[str, Any] = {} if loggers.refused else loggers.body
    told: Sequence[Mapping[str, Any]] = [] if rebalances.refused else rebalances.body["rebalances"]
    return page(
        "cluster.html",
        status=status,
        workers=_workers(rows(answer.body), (told[0]["members"] or ()) if told else ()),
        leader=told[0]["leader"] if told else "",
        states=STATES,
        timeline=timeline(told, time.time() * 1000),
        unreachable=[] if rebalances.refused else rebalances.body["unreachable"],
        no_timeline=why_missing(rebalances, "These workers do not tell of rebalances."),
        loggers=sorted(levels.items()),
        no_loggers=loggers.message if loggers.refused else "",
        levels=_LEVELS,
        said=said or done(request),
        refused=bool(said),
    )


def _workers(found: Sequence[Row], members: Sequence[str]) -> list[WorkerRow]:
    """The members of the group, which may have nothing to run, and whoever else runs something."""
    by_id = {worker: WorkerRow(worker) for worker in members}
    for one in found:
        for part in one.parts:
            if part.worker:
                worker = by_id.setdefault(part.worker, WorkerRow(part.worker))
                if part.task is None:
                    worker.connectors.append(one.name)
                else:
                    worker.tasks.append((one.name, part))
    return [by_id[worker] for worker in sorted(by_id)]


async def _topics(cluster: Cluster, one: Row) -> list[str]:
    """The topics that a connector has used; those of its configuration until it has used one."""
    answer = await cluster.ask("GET", "connectors", one.name, "topics")
    used = [] if answer.refused else answer.body.get(one.name, {}).get("topics", [])
    return used or [topic.strip() for topic in one.topics.split(",") if topic.strip() and one.type == "sink"]
