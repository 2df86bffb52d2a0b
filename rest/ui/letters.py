"""/ui/connectors/{name}/dead-letters: the records that a connector gave up, grouped by error, and their replay."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from rest.errors import ApiError
from rest.numbers import whole
from rest.ui.rendering import page
from rest.ui.requests import cluster_of, done, form_of, path_of, plain, refused, to

router = APIRouter(prefix="/ui", include_in_schema=False)

_SHOWN: Final = "50"


@router.get("/connectors/{name}/dead-letters")
async def letters_page(request: Request, name: str) -> Response:
    """The newest, those of one error if the address names it, and the number of each error."""
    return await _shown(request, plain(name))


@router.get("/connectors/{name}/dead-letters/{partition}/{offset}")
async def letter_page(request: Request, name: str, partition: str, offset: str) -> Response:
    """One dead letter, whole."""
    return await _one(request, plain(name), partition, offset)


@router.post("/connectors/{name}/dead-letters/{partition}/{offset}")
async def replay_letter(request: Request, name: str, partition: str, offset: str) -> Response:
    """Write it again into its original topic: as it is, or with the value of the form."""
    name, form = plain(name), await form_of(request)
    try:
        place = {"partition": whole("The partition", partition), "offset": whole("The offset", offset)}
    except ApiError:  # which the interface says, too
        return await _one(request, name, partition, offset)
    body: dict[str, Any] = {"places": [place], "again": "again" in form}
    if form.get("do") == "edit":
        text = form.get("value", "")
        body["values"] = [{**place, "text": text.replace("\n", "\r\n") if "crlf" in form else text}]
    answer = await cluster_of(request).ask("POST", "connectors", name, "dlq", "replay", body=body)
    if answer.refused:
        return await _one(request, name, partition, offset, answer.message, answer.status, form.get("value"))
    if not answer.body["replayed"]:
        return await _one(request, name, partition, offset, _why_not(answer.body), 409, form.get("value"))
    return await _replayed(request, name, answer.body)


@router.post("/connectors/{name}/dead-letters")
async def replay_letters(request: Request, name: str) -> Response:
    """Write them again into their original topics: all, or those of one error."""
    name, form = plain(name), await form_of(request)
    body = {"fingerprint": form["fingerprint"]} if form.get("fingerprint") else {}
    answer = await cluster_of(request).ask("POST", "connectors", name, "dlq", "replay", body=body)
    if answer.refused:
        return await _shown(request, name, answer.message, answer.status)
    if not answer.body["replayed"]:
        return await _shown(request, name, _why_not(answer.body), 409)
    return await _replayed(request, name, answer.body)


async def _replayed(request: Request, name: str, replayed: Mapping[str, Any]) -> Response:
    """Back to the page, once at least one is written; a reader has to know of those that are not."""
    count, skipped = len(replayed["replayed"]), replayed["skipped"]
    said = [f"{count} {'is' if count == 1 else 'are'} written again."]
    if skipped:
        said.append(f"{len(skipped)} {'is' if len(skipped) == 1 else 'are'} not: {skipped[0]['reason']}")
    if not replayed["complete"]:
        said.append("There are more. Replay them again for the rest.")
    if replayed["warning"]:
        said.append(replayed["warning"])
    if len(said) > 1:
        return await _shown(request, name, " ".join(said))
    return to(path_of(name, "dead-letters"), "replay")


def _why_not(replayed: Mapping[str, Any]) -> str:
    if replayed["skipped"]:
        return f"Nothing was written: {replayed['skipped'][0]['reason']}"
    if before := replayed["marked_before"]:
        return f"{'It was' if before == 1 else f'All {before} were'} replayed before. Nothing was written."
    gone = "it is not there any more." if replayed["complete"] else "there was not enough time to read the topic."
    return f"Nothing was written: {gone}"


async def _one(
    request: Request,
    name: str,
    partition: str,
    offset: str,
    said: str = "",
    status: int = 200,
    value: str | None = None,
) -> Response:
    """Its page. `value` is what the user wrote, so that it is not lost."""
    answer = await cluster_of(request).ask("GET", "connectors", name, "dlq", partition, offset)
    if answer.refused:
        return refused(answer)
    return page(
        "letter.html",
        status=status,
        name=name,
        letter=answer.body,
        line_end=_line_end(answer.body["value"]),
        said=said,
        value=value,
        rights=await cluster_of(request).rights(name),
    )


def _line_end(value: Mapping[str, Any] | None) -> str:
    """The line end of a text; empty where a field of a page cannot give the text back as it is, or there is none."""
    text = "\0" if value is None or value.get("cut") else value.get("text", "\0")
    others = text.replace("\r\n", "")
    if "\0" in others or "\r" in others or ("\n" in others and len(others) < len(text)):
        return ""
    return "\r\n" if len(others) < len(text) else "\n"


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
        rights=await cluster.rights(name),
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
