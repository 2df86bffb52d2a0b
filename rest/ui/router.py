"""/ui: the pages. Each asks the REST interface with the rights of whoever looks, and shows what it answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from rest.rules import SLASH
from rest.ui.cluster import Answer, Cluster, InsideCluster
from rest.ui.rendering import HEADERS, page
from rest.ui.views import STATES, Row, overview, row, rows

router = APIRouter(prefix="/ui", include_in_schema=False)

_STATIC: Final = {"page.css": "text/css", "page.js": "text/javascript"}
#: Stands in the path of an action for the number of a task.
_TASK: Final = "{task}"


class _Action(NamedTuple):
    """What a button does: a request below the connector's path, and what is said when it was accepted."""

    method: str
    path: Sequence[str]
    query: Mapping[str, str]
    done: str


_ACTIONS: Final[Mapping[str, _Action]] = {
    "pause": _Action("PUT", ["pause"], {}, "The connector pauses."),
    "resume": _Action("PUT", ["resume"], {}, "The connector resumes."),
    "stop": _Action("PUT", ["stop"], {}, "The connector stops: its tasks end, configuration and offsets stay."),
    "restart": _Action("POST", ["restart"], {"includeTasks": "true"}, "The connector and its tasks restart."),
    "restart-failed": _Action(
        "POST", ["restart"], {"includeTasks": "true", "onlyFailed": "true"}, "What failed restarts."
    ),
    "restart-task": _Action("POST", ["tasks", _TASK, "restart"], {}, "The task restarts."),
    "delete": _Action("DELETE", [], {}, "The connector was deleted. Its offsets stay in Kafka."),
}
#: By what a page says after a change. Only these words: a link must not be able to put others into a page.
_DONE: Final = {
    **{name: action.done for name, action in _ACTIONS.items()},
    "configure": "The new configuration is stored; the tasks start with it.",
}
_SORTS: Final[Mapping[str, Callable[[Row], Any]]] = {
    "name": lambda one: one.name,
    "state": lambda one: (STATES.index(one.state) if one.state in STATES else len(STATES), one.name),
    "rate": lambda one: (-(one.per_second or 0), one.name),
    "lag": lambda one: (-(one.lag or 0), one.name),
}


def _cluster(request: Request) -> Cluster:
    """The cluster behind this page: of the worker that serves it, unless the application names another."""
    outside: Cluster | None = getattr(request.app.state, "ui_cluster", None)
    return outside or InsideCluster(request.app.state.interface, request.scope)


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Style and script."""
    kind = _STATIC.get(name)
    if kind is None:
        return page("error.html", status=404, title="Not found", message=f"There is no file {name}.")
    text = (files("rest.ui") / "static" / name).read_bytes()
    return Response(text, headers={**HEADERS, "Cache-Control": "no-cache"}, media_type=kind)


@router.get("")
@router.get("/")
async def overview_page(request: Request) -> Response:
    """What runs, and what needs attention."""
    answer = await _expanded(_cluster(request))
    if answer.refused:
        return _refused(answer)
    found = rows(answer.body)
    return page("overview.html", overview=overview(found), rows=found, states=STATES)


@router.get("/connectors")
async def connectors_page(request: Request) -> Response:
    """All connectors, sought and sorted by the address, so that a link leads to the same list."""
    answer = await _expanded(_cluster(request))
    if answer.refused:
        return _refused(answer)
    asked = {key: request.query_params.get(key, "") for key in ("search", "state", "type", "sort")}
    found = [
        one
        for one in rows(answer.body)
        if asked["search"].lower() in f"{one.name} {one.plugin} {one.topics}".lower()
        and asked["state"] in ("", one.state)
        and asked["type"] in ("", one.type)
    ]
    found.sort(key=_SORTS.get(asked["sort"], _SORTS["name"]))
    return page("connectors.html", rows=found, asked=asked, said=_done(request), states=STATES, of=len(answer.body))


@router.get("/connectors/{name}")
async def connector_page(request: Request, name: str) -> Response:
    """One connector: its tasks, topics, offsets and configuration."""
    return await _connector(request, _plain(name), said=_done(request))


@router.post("/connectors/{name}")
async def change_connector(request: Request, name: str) -> Response:
    """What a button of its page asks for. Says on the page what the cluster answered."""
    name, form = _plain(name), await _form(request)
    cluster, wanted = _cluster(request), form.get("do", "")
    if wanted == "configure":
        return await _configure(request, cluster, name, form.get("config", ""))
    action = _ACTIONS.get(wanted)
    if action is None:
        return page("error.html", status=400, title="Not done", message="There is no such action.")
    parts = [form.get("task", "") if part is _TASK else part for part in action.path]
    answer = await cluster.ask(action.method, "connectors", name, *parts, **action.query)
    if answer.refused:
        return await _connector(request, name, said=answer.message, refused=True, status=answer.status)
    if wanted == "delete":
        return _to("/ui/connectors", wanted)
    return _to(f"/ui/connectors/{quote(name, safe='')}", wanted)


@router.get("/plugins")
async def plugins_page(request: Request) -> Response:
    """What can run here."""
    answer = await _cluster(request).ask("GET", "connector-plugins", connectorsOnly="false")
    if answer.refused:
        return _refused(answer)
    return page("plugins.html", plugins=sorted(answer.body, key=lambda one: (one["type"], one["class"])))


async def _expanded(cluster: Cluster) -> Answer:
    return await cluster.ask("GET", "connectors", expand=["status", "info", "metrics"], stalled="true")


async def _connector(
    request: Request, name: str, *, said: str = "", refused: bool = False, written: str | None = None,
    findings: Mapping[str, list[str]] | None = None, status: int = 200,
) -> Response:  # fmt: skip
    cluster = _cluster(request)
    info, state, topics, offsets, measured = await asyncio.gather(
        cluster.ask("GET", "connectors", name),
        cluster.ask("GET", "connectors", name, "status", stalled="true"),
        cluster.ask("GET", "connectors", name, "topics"),
        cluster.ask("GET", "connectors", name, "offsets"),
        _expanded(cluster),
    )
    if info.refused or state.refused:
        return _refused(info if info.refused else state)
    metrics = {} if measured.refused else measured.body.get(name, {})
    return page(
        "connector.html",
        status=status,
        row=row(name, {**metrics, "status": state.body, "info": info.body}),
        config=info.body["config"],
        written=written or json.dumps(info.body["config"], indent=2, sort_keys=True),
        findings=findings or {},
        topics=[] if topics.refused else topics.body.get(name, {}).get("topics", []),
        offsets=None if offsets.refused else json.dumps(offsets.body["offsets"], indent=2),
        no_offsets=offsets.message if offsets.refused else "",
        said=said,
        refused=refused,
    )


async def _configure(request: Request, cluster: Cluster, name: str, written: str) -> Response:
    """Validate first: a connector must not fail for what can be said beforehand."""
    try:
        config = json.loads(written)
    except ValueError as error:
        return await _connector(
            request, name, said=f"This is no JSON: {error}", refused=True, written=written, status=400
        )
    plugin = str(config.get("connector.class", "")) if isinstance(config, dict) else ""
    answer = await cluster.ask("PUT", "connector-plugins", plugin, "config", "validate", body={**config, "name": name})
    findings = {} if answer.refused else _findings(answer.body)
    if not answer.refused and not findings:
        answer = await cluster.ask("PUT", "connectors", name, "config", body=config)
    if answer.refused or findings:
        said = answer.message if answer.refused else "Nothing was changed:"
        return await _connector(request, name, said=said, refused=True, written=written, findings=findings, status=400)
    return _to(f"/ui/connectors/{quote(name, safe='')}", "configure")


def _findings(validated: Mapping[str, Any]) -> dict[str, list[str]]:
    values = (one["value"] for one in validated["configs"])
    return {value["name"]: value["errors"] for value in values if value["errors"]}


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, as a browser sends them by default."""
    sent = parse_qs((await request.body()).decode(errors="replace"), keep_blank_values=True)
    return {key: values[-1] for key, values in sent.items()}


def _plain(name: str) -> str:
    return name.replace(SLASH, "/")


def _to(path: str, done: str) -> Response:
    """After a change the browser gets the page anew: to load it again repeats nothing."""
    return RedirectResponse(f"{path}?done={done}", 303)


def _done(request: Request) -> str:
    return _DONE.get(request.query_params.get("done", ""), "")


def _refused(answer: Answer) -> Response:
    titles = {401: "Log in", 403: "Not allowed", 404: "Not found"}
    return page(
        "error.html", status=answer.status, title=titles.get(answer.status, "Not available"), message=answer.message
    )
