"""/ui/connectors/{name}/tap: the next records of a connector, step by step, whenever somebody asks for them."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from rest.ui.rendering import page
from rest.ui.requests import cluster_of, plain, refused

router = APIRouter(prefix="/ui", include_in_schema=False)


@router.get("/connectors/{name}/tap")
async def tap_page(request: Request, name: str) -> Response:
    """The form, and the records once they are asked for: `?records=5`. Waits for them, at most five seconds."""
    name, wanted, cluster = plain(name), request.query_params.get("records"), cluster_of(request)
    if wanted is None:
        return page("tap.html", name=name, wanted="5", found=None, rights=await cluster.rights(name))
    answer = await cluster.ask("GET", "connectors", name, "tap", records=wanted, seconds="5")
    if answer.refused:
        return refused(answer)
    return page("tap.html", name=name, wanted=wanted, found=answer.body, rights=await cluster.rights(name))
