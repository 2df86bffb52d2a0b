"""/ui/connectors/{name}/history: the versions of a connector's configuration, what each changed, and the way back."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from rest.ui.rendering import page
from rest.ui.requests import cluster_of, path_of, plain, refused, to

router = APIRouter(prefix="/ui", include_in_schema=False)


@router.get("/connectors/{name}/history")
async def history_page(request: Request, name: str) -> Response:
    """All versions, newest first."""
    name = plain(name)
    answer = await cluster_of(request).ask("GET", "connectors", name, "history")
    if answer.refused:
        return refused(answer)
    return page("history.html", name=name, versions=answer.body["versions"])


@router.get("/connectors/{name}/history/{version}")
async def version_page(request: Request, name: str, version: str) -> Response:
    """One version, and what it changed."""
    return await _shown(request, plain(name), version)


@router.post("/connectors/{name}/history/{version}")
async def restore_version(request: Request, name: str, version: str) -> Response:
    """Return to a version."""
    name = plain(name)
    cluster = cluster_of(request)
    answer = await cluster.ask("POST", "connectors", name, "history", version, "restore")
    if answer.refused:
        return await _shown(request, name, version, answer.message, answer.status)
    await cluster.caught_up(answer)
    return to(path_of(name), "restore")


async def _shown(request: Request, name: str, version: str, said: str = "", status: int = 200) -> Response:
    since = {key: value for key, value in request.query_params.items() if key == "since"}
    answer = await cluster_of(request).ask("GET", "connectors", name, "history", version, **since)
    if answer.refused:
        return refused(answer)
    rights = await cluster_of(request).rights(name)
    return page("version.html", status=status, name=name, version=answer.body, said=said, rights=rights)
