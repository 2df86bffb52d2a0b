"""What the pages share: their cluster, how they read a form, and how they respond."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs, quote

from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from rest.rules import SLASH
from rest.ui.cluster import Answer, Cluster, InsideCluster
from rest.ui.rendering import page

#: By what a page says after a change. Only these words: a link must not be able to put others into a page.
DONE: Final = {
    "pause": "The connector pauses.",
    "resume": "The connector resumes.",
    "stop": "The connector stops: its tasks end, configuration and offsets stay.",
    "restart": "The connector and its tasks restart.",
    "restart-failed": "What failed restarts.",
    "restart-task": "The task restarts.",
    "delete": "The connector was deleted. Its offsets stay in Kafka.",
    "configure": "The new configuration is stored; the tasks start with it.",
    "set-level": "The level is set on all workers.",
    "restore": "The connector has its earlier configuration again; the tasks start with it.",
    "create": "The connector is there; its tasks start.",
    "set-offsets": "The offsets are set. Resume the connector to go on from there.",
    "reset-offsets": "The offsets are forgotten. Resume the connector to start over.",
    "replay": "The dead letters are written again.",
}
#: Of a form. A list has one for each connector; a body has room for millions, and each is an object.
_MOST_FIELDS: Final = 100_000
_TITLES: Final = {401: "Log in", 403: "Not allowed", 404: "Not found"}


def cluster_of(request: Request) -> Cluster:
    """The cluster behind this page: of the worker that serves it, unless the application names another."""
    outside: Cluster | None = getattr(request.app.state, "ui_cluster", None)
    return outside or InsideCluster(request.app.state.interface, request.scope)


async def fields_of(request: Request) -> dict[str, list[str]]:
    """The fields of a form, as a browser sends them by default; of some there are several.

    Raises:
        HTTPException: there are more than any page has.
    """
    text = (await request.body()).decode(errors="replace")
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:  # nothing else is an error to it
        raise HTTPException(413) from None


async def lines_of(request: Request) -> dict[str, list[str]]:
    """The same, with the line ends of this machine."""
    return {
        key: [value.replace("\r\n", "\n") for value in values] for key, values in (await fields_of(request)).items()
    }


async def form_of(request: Request) -> dict[str, str]:
    """The last of each field, with these line ends."""
    return {key: values[-1] for key, values in (await lines_of(request)).items()}


def plain(name: str) -> str:
    """A connector's name, from a path."""
    return name.replace(SLASH, "/")


def path_of(name: str, *parts: str) -> str:
    """The path of a connector's page, or of one below it."""
    return "/".join(["/ui/connectors", quote(name, safe=""), *parts])


def to(path: str, done: str) -> Response:
    """Redirect after a change, so that reloading repeats nothing. `done`: of `DONE`."""
    return RedirectResponse(f"{path}?done={done}", 303)


def done(request: Request) -> str:
    """What the previous request did, in words; empty for nothing."""
    return DONE.get(request.query_params.get("done", ""), "")


def why_missing(answer: Answer, unknown: str) -> str:
    """Why a part of a page is missing; empty where it is not. Java workers do not know what it asks for: `unknown`."""
    if answer.status == 404:
        return unknown
    return answer.message if answer.refused else ""


def refused(answer: Answer) -> Response:
    """A page instead of one that the cluster refuses to show."""
    title = _TITLES.get(answer.status, "Not available")
    return page("error.html", status=answer.status, title=title, message=answer.message)
