"""/ui/connectors/{name}/edit: the configuration of a connector as a form, as JSON, or as a properties file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fastapi import APIRouter, Request, Response

from rest.ui.editor import MEANWHILE, Editor, digest
from rest.ui.notations import FORM, NOTATION, Written, written
from rest.ui.requests import cluster_of, lines_of, path_of, plain, refused, to

router = APIRouter(prefix="/ui", include_in_schema=False)


@router.get("/connectors/{name}/edit")
async def edit_page(request: Request, name: str) -> Response:
    """The configuration as it is, with masks in place of secrets: `?as=json`, `?as=properties`."""
    name, cluster = plain(name), cluster_of(request)
    answer = await cluster.ask("GET", "connectors", name, "config")
    if answer.refused:
        return refused(answer)
    stored: dict[str, str] = answer.body
    now = Written(FORM, stored).turned(request.query_params.get(NOTATION, FORM))
    editor = Editor(cluster, stored.get("connector.class", ""), name, {"seen": digest(stored)})
    return await editor.opened(now)


@router.post("/connectors/{name}/edit")
async def store_configuration(request: Request, name: str) -> Response:
    """Check what is written, and store it if that was requested and nothing is wrong."""
    name, cluster = plain(name), cluster_of(request)
    answer = await cluster.ask("GET", "connectors", name, "config")
    if answer.refused:
        return refused(answer)
    stored: dict[str, str] = answer.body
    sent = await lines_of(request)
    wanted, now = sent.get("do", [""])[-1], written(sent)
    now = replace(now, config=_with_line_ends(now.config, stored))
    editor = Editor(cluster, stored.get("connector.class", ""), name, {"seen": sent.get("seen", [""])[-1]})
    check = await editor.checked(now, wanted, "store")
    if isinstance(check, Response):
        return check
    if editor.more["seen"] != digest(stored):
        editor = replace(editor, more={"seen": digest(stored)})
        return await editor.page(now, pressed=True, check=check, said=MEANWHILE)
    done = await cluster.ask("PUT", "connectors", name, "config", body={**now.config, "name": name})
    if done.refused:
        return await editor.page(now, pressed=True, check=check, said=done.message)
    await cluster.caught_up(done)
    return to(path_of(name), "configure")


def _with_line_ends(config: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """The configuration with the line ends of values that nobody touched: browsers send others."""
    plain = {key: value.replace("\r\n", "\n").replace("\r", "\n") for key, value in stored.items()}
    return {key: stored[key] if value == plain.get(key) else value for key, value in config.items()}
