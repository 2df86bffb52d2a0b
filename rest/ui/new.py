"""/ui/new: the catalogue of connectors, and a form for a new one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from rest.ui.cluster import Answer, Cluster
from rest.ui.forms import Form, form, written
from rest.ui.rendering import page
from rest.ui.requests import cluster_of, form_of, path_of, refused, to

router = APIRouter(include_in_schema=False)


@router.get("/new")
async def catalogue_page(request: Request) -> Response:
    """All connector plug-ins; with a class, the form for it."""
    cluster, plugin = cluster_of(request), request.query_params.get("class", "")
    if plugin:
        return await _form(cluster, {"connector.class": plugin}, errors=False)
    answer = await cluster.ask("GET", "connector-plugins")
    if answer.refused:
        return refused(answer)
    found = sorted(answer.body, key=lambda one: (one["type"], one["class"].rpartition(".")[2].lower()))
    return page("catalogue.html", plugins=found)


@router.post("/new")
async def create_connector(request: Request) -> Response:
    """Validate the form, and create the connector if that was requested and nothing is wrong."""
    cluster, sent = cluster_of(request), await form_of(request)
    try:
        config = written(sent)
    except ValueError as error:
        return page("error.html", status=400, title="Not done", message=f"{error} Go back to correct it.")
    if sent.get("do") != "create":
        return await _form(cluster, config, errors=True)
    answer = await cluster.validate(config)
    if answer.refused or answer.body["error_count"]:
        return await _form(cluster, config, errors=True, answer=answer)
    made = await cluster.ask("POST", "connectors", body={"name": config["name"], "config": config})
    if made.refused:
        return await _form(cluster, config, errors=True, answer=answer, said=made.message)
    return to(path_of(config["name"]), "create")


async def _form(
    cluster: Cluster, config: Mapping[str, str], *, errors: bool, answer: Answer | None = None, said: str = ""
) -> Response:
    answer = answer or await cluster.validate(config)
    if answer.refused:
        return refused(answer)
    made = form(answer.body, config, errors=errors)
    status = 400 if errors and (made.count or said) else 200
    return page(
        "new.html", status=status, form=made, config=config, checked=errors, said=said, **_elsewhere(config, made)
    )


def _elsewhere(config: Mapping[str, str], made: Form) -> dict[str, Any]:
    """The same as a file, and as a request."""
    secret = {one.key for group in made.groups for one in group.fields if one.secret}
    shown = {key: "${env:NAME}" if key in secret else value for key, value in sorted(config.items())}
    name = config.get("name") or "NAME"
    file = json.dumps({"name": name, "config": {key: shown[key] for key in shown if key != "name"}}, indent=2)
    return {
        "file": file,
        "commands": f"connect apply -f {shlex.quote(f'{name}.json')}\n"
        f"curl -H 'Content-Type: application/json' -d @{shlex.quote(f'{name}.json')} http://WORKER:8083/connectors",
    }
