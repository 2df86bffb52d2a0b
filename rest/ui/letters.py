"""/ui/connectors/{name}/dead-letters: the records that a connector gave up, grouped by error, and their replay."""

from __future__ import annotations

import asyncio
from typing import Final

from fastapi import APIRouter, Request, Response

from rest.ui.rendering import page
from rest.ui.requests import cluster_of, done, form_of, path_of, plain, refused, to

router = APIRouter(include_in_schema=False)

_SHOWN: Final = "50"


@router.get("/connectors/{name}/dead-letters")
async def letters_page(request: Request, name: str) -> Response:
    """The newest, those of one error if the address names it, and the number of each error."""
    return await _shown(request, plain(name))


@router.get("/connectors/{name}/dead-letters/{partition}/{offset}")
async def letter_page(request: Request, name: str, partition: str, offset: str) -> Response:
    """One dead letter, whole."""
    name = plain(name)
    answer = await cluster_of(request).ask("GET", "connectors", name, "dlq", partition, offset)
    if answer.refused:
        return refused(answer)
    return page("letter.html", name=name, letter=answer.body)


@router.post("/connectors/{name}/dead-letters")
async def replay_letters(request: Request, name: str) -> Response:
    """Write them again into their original topics: all, or those of one error."""
    name, form = plain(name), await form_of(request)
    body = {"fingerprint": form["fingerprint"]} if form.get("fingerprint") else {}
    answer = await cluster_of(request).ask("POST", "connectors", name, "dlq", "replay", body=body)
    if answer.refused:
        return await _shown(request, name, answer.message, answer.status)
    return to(path_of(name, "dead-letters"), "replay")


async def _shown(request: Request, name: str, said: str = "", status: int = 200) -> Response:
    cluster = cluster_of(request)
    fingerprint = request.query_params.get("fingerprint", "")
    wanted = {"fingerprint": fingerprint} if fingerprint else {}
    groups, newest = await asyncio.gather(
        cluster.ask("GET", "connectors", name, "dlq", "groups"),
        cluster.ask("GET", "connectors", name, "dlq", limit=_SHOWN, **wanted),
    )
    if groups.refused or newest.refused:
        return refused(groups if groups.refused else newest)
    return page(
        "letters.html",
        status=status,
        name=name,
        groups=groups.body["groups"],
        topic=groups.body["topic"],
        count=groups.body["count"],
        complete=groups.body["complete"],
        letters=newest.body["letters"],
        fingerprint=fingerprint,
        said=said or done(request),
        refused=bool(said),
    )
