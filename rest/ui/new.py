"""/ui/new: the catalogue of connectors, and a form for a new one. /ui/check: what is wrong with what is in a form."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from rest.ui.editor import Editor
from rest.ui.notations import FORM, NOTATION, Written, written
from rest.ui.rendering import HEADERS, page
from rest.ui.requests import cluster_of, lines_of, path_of, refused, to

router = APIRouter(prefix="/ui", include_in_schema=False)


@router.get("/new")
async def catalogue_page(request: Request) -> Response:
    """All connector plug-ins; with a class, the form for it."""
    cluster, plugin = cluster_of(request), request.query_params.get("class", "")
    if plugin:
        empty = Written(FORM, {"connector.class": plugin})
        return await Editor(cluster, plugin).opened(empty.turned(request.query_params.get(NOTATION, FORM)))
    answer = await cluster.ask("GET", "connector-plugins")
    if answer.refused:
        return refused(answer)
    found = sorted(answer.body, key=lambda one: (one["type"], one["class"].rpartition(".")[2].lower()))
    return page("catalogue.html", plugins=found)


@router.post("/new")
async def create_connector(request: Request) -> Response:
    """Check what is written, and create the connector if that was requested and nothing is wrong."""
    sent = await lines_of(request)
    wanted, now = sent.get("do", [""])[-1], written(sent)
    editor = Editor(cluster_of(request), now.config.get("connector.class") or sent.get("class", [""])[-1])
    if not editor.plugin:
        return page("error.html", status=400, title="Not done", message=now.problem or "No connector.class is written.")
    check = await editor.checked(now, wanted, "create")
    if isinstance(check, Response):
        return check
    name = now.config.get("name", "").strip()  # the interface takes blanks from this name, not from that in the config
    made = await editor.cluster.ask("POST", "connectors", body={"name": name, "config": {**now.config, "name": name}})
    if made.refused:
        return await editor.page(now, pressed=True, check=check, said=made.message)
    await editor.cluster.caught_up(made)
    return to(path_of(name), "create")


@router.post("/check")
async def check_configuration(request: Request) -> Response:
    """The errors of what is in a form, by key, and the file that it is by now. Of a connector that exists: `name`."""
    sent = await lines_of(request)
    now, name = written(sent), sent.get("name", [""])[-1] or None
    editor = Editor(cluster_of(request), now.config.get("connector.class") or sent.get("class", [""])[-1], name)
    check = await editor.check(now)
    if check.refusal is not None:
        return JSONResponse({"message": check.refusal.message}, check.refusal.status, HEADERS)
    said = {"errors": check.errors, "problem": check.problem, **editor.elsewhere(now, check)}
    return JSONResponse(said, headers=HEADERS)
