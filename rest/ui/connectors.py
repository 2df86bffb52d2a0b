"""/ui/connectors: the list, and a page for each connector with its actions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from fastapi import APIRouter, Request, Response

from rest.ui.charts import shown_charts
from rest.ui.cluster import Answer, Cluster
from rest.ui.editor import MEANWHILE, Editor, digest
from rest.ui.live import LIVE
from rest.ui.many import Changed, change_many, wanted_of
from rest.ui.notations import NOTATION, TEXT, written
from rest.ui.rendering import page
from rest.ui.requests import cluster_of, done, fields_of, form_of, path_of, plain, refused, to
from rest.ui.sparklines import sparklines
from rest.ui.views import STATES, Row, row, rows

router = APIRouter(prefix="/ui", include_in_schema=False)

#: Stands in the path of an action for the number of a task.
_TASK: Final = "{task}"


class _Action(NamedTuple):
    """What a button does: a request below the connector's path."""

    method: str
    path: Sequence[str]
    query: Mapping[str, str]


_ACTIONS: Final[Mapping[str, _Action]] = {
    "pause": _Action("PUT", ["pause"], {}),
    "resume": _Action("PUT", ["resume"], {}),
    "stop": _Action("PUT", ["stop"], {}),
    "restart": _Action("POST", ["restart"], {"includeTasks": "true"}),
    "restart-failed": _Action("POST", ["restart"], {"includeTasks": "true", "onlyFailed": "true"}),
    "restart-task": _Action("POST", ["tasks", _TASK, "restart"], {}),
    "delete": _Action("DELETE", [], {}),
    "reset-offsets": _Action("DELETE", ["offsets"], {}),
}
_SORTS: Final[Mapping[str, Callable[[Row], Any]]] = {
    "name": lambda one: one.name,
    "state": lambda one: (STATES.index(one.state) if one.state in STATES else len(STATES), one.name),
    "rate": lambda one: (-(one.measured.per_second or 0), one.name),
    "lag": lambda one: (-(one.measured.lag or 0), one.name),
}


#: How long a page waits for offsets, in seconds.
_OFFSETS_S: Final = 3.0
_NEW: Final[Mapping[str, Any]] = {"connector": {"state": "UNASSIGNED", "worker_id": ""}, "tasks": []}


class _Said(NamedTuple):
    """What a page shows at its top: a refusal, and what the user wrote, so that it is not lost.

    Attributes:
        seen: the digest of the configuration that `config` was made of; None for the one that is stored now.
    """

    message: str
    status: int = 400
    config: str | None = None
    seen: str | None = None
    offsets: str | None = None
    findings: Mapping[str, Sequence[str]] = {}


@router.get("/connectors")
async def connectors_page(request: Request) -> Response:
    """All connectors, filtered and sorted by the address, so that a link leads to the same list."""
    return await _listed(request)


@router.post("/connectors")
async def change_connectors(request: Request) -> Response:
    """An action on the connectors that were selected, or its undoing; see `rest.ui.many`."""
    form, cluster = await fields_of(request), cluster_of(request)
    changed = await change_many(cluster, wanted_of(form))
    return await _listed(request, changed)


async def _listed(request: Request, changed: Changed | None = None) -> Response:
    answer = await cluster_of(request).expanded("timeseries")
    if answer.refused:
        return refused(answer)
    asked = {key: request.query_params.get(key, "") for key in ("search", "state", "type", "sort")}
    found = [
        one
        for one in rows(answer.body)
        if one.has(asked["search"]) and asked["state"] in ("", one.state) and asked["type"] in ("", one.type)
    ]
    found.sort(key=_SORTS.get(asked["sort"], _SORTS["name"]))
    return page(
        "connectors.html",
        rows=found,
        rights=await cluster_of(request).rights(),
        lines={one.name: sparklines(answer.body[one.name]) for one in found},
        asked=asked,
        said=done(request),
        changed=changed,
        states=STATES,
        of=len(answer.body),
    )


@router.get("/connectors/{name}")
async def connector_page(request: Request, name: str) -> Response:
    """One connector: its tasks, topics, offsets and configuration."""
    return await _shown(request, plain(name))


@router.post("/connectors/{name}")
async def change_connector(request: Request, name: str) -> Response:
    """The action of a button of its page. The page shows the cluster's response."""
    name, form = plain(name), await form_of(request)
    cluster, wanted = cluster_of(request), form.get("do", "")
    if wanted == "configure":
        return await _configure(request, cluster, name, form)
    if wanted == "set-offsets":
        return await _set_offsets(request, cluster, name, form.get("offsets", ""))
    action = _ACTIONS.get(wanted)
    if action is None:
        return page("error.html", status=400, title="Not done", message="There is no such action.")
    parts = [form.get("task", "") if part is _TASK else part for part in action.path]
    answer = await cluster.ask(action.method, "connectors", name, *parts, **action.query)
    if answer.refused:
        return await _shown(request, name, _Said(answer.message, answer.status))
    return to("/ui/connectors" if wanted == "delete" else path_of(name), wanted)


async def _shown(request: Request, name: str, said: _Said | None = None) -> Response:
    cluster = cluster_of(request)
    hours, live = request.query_params.get("hours", "1"), LIVE in request.scope
    info, state, topics, offsets, series, measured = await asyncio.gather(
        cluster.ask("GET", "connectors", name),
        cluster.ask("GET", "connectors", name, "status", stalled="true"),
        cluster.ask("GET", "connectors", name, "topics"),
        _offsets(cluster, name, live=live),
        cluster.ask("GET", "connectors", name, "timeseries", hours=hours),
        cluster.metrics(name),
    )
    if info.refused or (state.refused and state.status != 404):
        return refused(info if info.refused else state)
    status = {**_NEW, "type": info.body["type"]} if state.refused else state.body  # nobody has begun with it yet
    metrics = {} if measured.refused else measured.body.get(name, {})
    config, known = info.body["config"], None if offsets.refused else _in_lines(offsets.body["offsets"])
    return page(
        "connector.html",
        status=said.status if said else 200,
        rights=await cluster.rights(name),
        row=row(name, {**metrics, "status": status, "info": info.body}),
        shown=shown_charts(series, hours),
        config=config,
        seen=(said and said.seen) or digest(config),
        written=(said and said.config) or _in_lines(dict(sorted(config.items()))),
        findings=said.findings if said else {},
        topics=[] if topics.refused else topics.body.get(name, {}).get("topics", []),
        offsets=(said and said.offsets) or known,
        live=live,
        no_offsets=offsets.message if offsets.refused else "",
        letters="errors.deadletterqueue.topic.name" in config,
        said=said.message if said else done(request),
        refused=said is not None,
    )


async def _offsets(cluster: Cluster, name: str, *, live: bool) -> Answer:
    """They are in no live part: those of sinks are asked of Kafka, over a new connection.

    Where no broker answers, a reader does not wait for as long as the worker does.
    """
    if live:
        return Answer(200, {"offsets": []})
    try:
        return await asyncio.wait_for(cluster.ask("GET", "connectors", name, "offsets"), _OFFSETS_S)
    except TimeoutError:
        return Answer(504, {"message": f"No answer within {_OFFSETS_S:g} s. Load the page again for them."})


def _in_lines(value: Any) -> str:
    """A value as JSON that people read and change."""
    return json.dumps(value, indent=2, ensure_ascii=False)


async def _configure(request: Request, cluster: Cluster, name: str, form: Mapping[str, str]) -> Response:
    """Validate first: a connector must not fail for an error that validation finds."""
    text, seen = form.get("config", ""), form.get("seen")
    before = await cluster.ask("GET", "connectors", name, "config")
    if before.refused:
        return refused(before)
    now = written({NOTATION: ["json"], TEXT: [text]})
    check = await Editor(cluster, before.body.get("connector.class", ""), name).check(now)
    answer = check.refusal
    if answer is None and not check.count:
        if seen not in (None, digest(before.body)):
            return await _shown(request, name, _Said(MEANWHILE, 409, text))
        answer = await cluster.ask("PUT", "connectors", name, "config", body={**now.config, "name": name})
    if answer is None or answer.refused:
        message = answer.message if answer else check.problem or "Nothing was changed:"
        return await _shown(request, name, _Said(message, 400, text, seen, findings=check.errors))
    await cluster.caught_up(answer)
    return to(path_of(name), "configure")


async def _set_offsets(request: Request, cluster: Cluster, name: str, written: str) -> Response:
    try:
        offsets = json.loads(written)
    except (ValueError, RecursionError) as error:
        return await _shown(request, name, _Said(f"These are not offsets in JSON: {error}", offsets=written))
    answer = await cluster.ask("PATCH", "connectors", name, "offsets", body={"offsets": offsets})
    if answer.refused:
        return await _shown(request, name, _Said(answer.message, answer.status, offsets=written))
    return to(path_of(name), "set-offsets")
