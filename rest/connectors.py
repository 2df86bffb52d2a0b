"""/connectors: create, read, change and delete. Status and control are in `rest.states`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response

from connect.herder.errors import NotFoundError
from connect.herder.model import TargetState
from rest import bodies, metrics, timeseries
from rest.api import AT_LEADER, Answer, Api, ApiDep, ConnectorName, Forward, describe, flag, json_answer
from rest.errors import ApiError
from rest.models.connectors import Connector, ConnectorStatusInfo, CreateConnector, ExpandedConnector, Topics, Written
from rest.security.access import keys_changed
from rest.security.roles import Role
from rest.states import Stalled

router = APIRouter(prefix="/connectors", tags=["connectors"])

_TARGETS = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}
_TEXTS = dict[str, str]
#: What can be asked for a connector that was made just now.
_LINKS = {
    name: {"operationId": name, "parameters": {"connector": "$response.body#/name"}}
    for name in ("info", "get_config", "status", "tasks", "pause", "resume", "stop", "restart", "get_offsets", "delete")
}


@router.get(
    "",
    **describe(list[str] | dict[str, ExpandedConnector], errors=(400,), success="Names, or with expand a map of them."),
)
async def list_connectors(
    request: Request,
    api: ApiDep,
    stalled: Stalled,
    expand: Annotated[
        list[str] | None, Query(description="status, info, metrics, timeseries: any of them, repeated.")
    ] = None,
    connector: Annotated[list[str] | None, Query(description="Only these, repeated.")] = None,
    forward: Forward = None,
) -> Response:
    """List connectors."""
    names = api.access.visible(api.herder.connectors())
    if connector:
        names = [name for name in names if name in connector]
    if not expand:
        return json_answer(names)
    found = await asyncio.gather(*(_expanded(api, name, expand, stalled=stalled) for name in names))
    answer = {name: what for name, what in found if what is not None}
    ask_others = flag(forward, default=True)
    if "metrics" in expand:
        measured = await metrics.of_all(api, request, list(answer), ask_others=ask_others)
        for name, what in answer.items():
            what.metrics = measured[name]
    if "timeseries" in expand:
        lines = await timeseries.of_all(api, request, list(answer), ask_others=ask_others)
        for name, what in answer.items():
            what.timeseries = lines[name]
    return json_answer(answer)


async def _expanded(api: Api, name: str, what: list[str], *, stalled: bool) -> tuple[str, ExpandedConnector | None]:
    found = ExpandedConnector()
    try:
        if "info" in what:
            found.info = await _shown(api, name)
        if "status" in what:
            found.status = ConnectorStatusInfo.of(api.herder.status(name), stalled=stalled)
    except NotFoundError:  # it went in between, or nothing is known yet
        return name, None
    return name, found


# What is written. Masks and rights are seen to by the worker that was asked, then it sends the request on; so what the
# handlers below get is of a request that this worker is to carry out.


class _Creation(NamedTuple):
    name: str
    config: dict[str, str]
    target: TargetState | None


async def _creation(request: Request, api: ApiDep) -> _Creation:
    wanted = await bodies.create_request(request)
    api.access.require(Role.EDITOR, wanted.name)
    config = await _whole(api, wanted.name, wanted.config)
    body = {"name": wanted.name, "config": config, "initial_state": wanted.initial_state}
    await _to_leader(api, request, body)
    return _Creation(wanted.name, config, None if wanted.initial_state is None else _TARGETS[wanted.initial_state])


async def _config(connector: ConnectorName, request: Request, api: ApiDep) -> dict[str, str]:
    config = await _whole(api, connector, await bodies.config(request))
    await _to_leader(api, request, config)
    return config


async def _patch(connector: ConnectorName, request: Request, api: ApiDep) -> dict[str, str | None]:
    patch = await api.masks.written(connector, await bodies.config(request), part=True)
    before = stored_config(api, connector)
    merged = {key: value for key, value in {**before, **patch}.items() if value is not None}
    api.access.changes(connector, **keys_changed(before, merged))
    await _to_leader(api, request, patch)
    return patch


async def _to_leader(api: Api, request: Request, body: Any) -> None:
    await api.forwarding.to_leader(request, msgspec.json.encode(body), api.masks.in_answer)


async def _whole(api: Api, name: str, written: dict[str, str | None]) -> dict[str, str]:
    """A configuration to store: with its name, and stored secrets in place of masks."""
    named = written.get("name")
    if named is not None and named != name:
        raise ApiError(400, f"Connector name configuration ({named}) doesn't match connector name in the URL ({name})")
    if empty := [key for key, value in written.items() if value is None and key != "name"]:
        raise ApiError(400, f"Null value can not be supplied as the configuration value of {', '.join(empty)}.")
    config = await api.masks.written(name, written)
    given = {key: value for key, value in config.items() if value is not None} | {"name": name}
    api.access.changes(name, **keys_changed(stored_config(api, name), given))
    return given


def stored_config(api: Api, name: str) -> Mapping[str, str]:
    """A connector's configuration as stored, unmasked; empty for an unknown one."""
    try:
        return api.herder.info(name).config
    except NotFoundError:
        return {}


async def _shown(api: Api, name: str) -> Connector:
    info = api.herder.info(name)
    return Connector.of(info, await api.masks.shown(info.config, name))


async def _created(api: Api, request: Request, name: str) -> Response:
    location = f"{request.base_url}connectors/{quote(name, safe='+')}"
    return json_answer(await _shown(api, name), 201, {"Location": location})


@router.post(
    "", **describe(Connector, status=201, body=CreateConnector, errors=(400, 409), success="Created.", links=_LINKS)
)
async def create(request: Request, api: ApiDep, wanted: Annotated[_Creation, Depends(_creation)]) -> Response:
    """Create a connector."""
    change = await api.result(api.herder.put_connector(*wanted, replace=False, by=api.access.author()))
    return await _created(api, request, change.info.name)


@router.get("/{connector}", **describe(Connector, errors=(404,)))
async def info(connector: ConnectorName, api: ApiDep) -> Response:
    """A connector: configuration, tasks, type."""
    return json_answer(await _shown(api, connector))


@router.delete("/{connector}", dependencies=[AT_LEADER], **describe(status=204, errors=(404, 409)))
async def delete(connector: ConnectorName, api: ApiDep) -> Response:
    """Delete a connector. Its offsets stay."""
    await api.result(api.herder.delete_connector(connector, by=api.access.author()))
    return Response(status_code=204)


@router.get("/{connector}/config", **describe(_TEXTS, errors=(404,)))
async def get_config(connector: ConnectorName, api: ApiDep) -> Response:
    """A connector's configuration."""
    return json_answer(await api.masks.shown(api.herder.info(connector).config, connector))


@router.put(
    "/{connector}/config",
    **describe(
        Connector,
        body=dict[str, Written],
        errors=(400, 409),
        success="Changed.",
        also={201: Answer("Created.", Connector)},
        links=_LINKS,
    ),
)
async def put_config(
    connector: ConnectorName, request: Request, api: ApiDep, config: Annotated[dict[str, str], Depends(_config)]
) -> Response:
    """Create a connector, or replace its configuration."""
    change = await api.result(api.herder.put_connector(connector, config, by=api.access.author()))
    return await _created(api, request, connector) if change.created else json_answer(await _shown(api, connector))


@router.patch("/{connector}/config", **describe(Connector, body=dict[str, Written | None], errors=(400, 404, 409)))
async def patch_config(
    connector: ConnectorName, api: ApiDep, patch: Annotated[dict[str, str | None], Depends(_patch)]
) -> Response:
    """Change some keys of a connector's configuration; null removes one (KIP-477)."""
    await api.result(api.herder.patch_connector(connector, patch, by=api.access.author()))
    return json_answer(await _shown(api, connector))


@router.get("/{connector}/topics", **describe(dict[str, Topics], errors=(403,)))
async def topics(connector: ConnectorName, api: ApiDep) -> Response:
    """The topics that a connector used (KIP-558)."""
    return json_answer({connector: Topics(api.herder.active_topics(connector))})


@router.put("/{connector}/topics/reset", **describe(status=202, errors=(403,), success="They are forgotten."))
async def reset_topics(connector: ConnectorName, api: ApiDep) -> Response:
    """Forget the topics that a connector used."""
    api.herder.reset_active_topics(connector)
    return Response(status_code=202)
