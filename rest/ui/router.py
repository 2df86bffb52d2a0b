"""/ui: the pages. Each sends requests to the REST interface with the rights of its reader, and shows the responses."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from fastapi import APIRouter, Request, Response

from rest.ui import audit, cluster_pages, configuration, connectors, history, letters, live, new, tap, trying
from rest.ui.rendering import HEADERS, page
from rest.ui.requests import cluster_of, refused
from rest.ui.views import STATES, overview, rows

#: All of them. Each path has the prefix where it is declared: metrics and traces name a route by its own router's path.
router = APIRouter(include_in_schema=False)

_STATIC: Final = {"page.css": "text/css", "page.js": "text/javascript", "check.js": "text/javascript"}


@router.get("/ui/static/{name}")
async def static(name: str) -> Response:
    """Style and script."""
    kind = _STATIC.get(name)
    if kind is None:
        return page("error.html", status=404, title="Not found", message=f"There is no file {name}.")
    text = (files("rest.ui") / "static" / name).read_bytes()
    return Response(text, headers={**HEADERS, "Cache-Control": "no-cache"}, media_type=kind)


@router.get("/ui")
@router.get("/ui/")
async def overview_page(request: Request) -> Response:
    """What runs, and what needs attention."""
    cluster = cluster_of(request)
    answer = await cluster.expanded()
    if answer.refused:
        return refused(answer)
    rights = await cluster.rights()
    return page("overview.html", overview=overview(rows(answer.body)), states=STATES, rights=rights)


@router.get("/ui/plugins")
async def plugins_page(request: Request) -> Response:
    """What can run here."""
    answer = await cluster_of(request).ask("GET", "connector-plugins", connectorsOnly="false")
    if answer.refused:
        return refused(answer)
    return page("plugins.html", plugins=sorted(answer.body, key=lambda one: (one["type"], one["class"])))


for part in (audit, cluster_pages, configuration, connectors, history, letters, live, new, tap, trying):
    router.include_router(part.router)
