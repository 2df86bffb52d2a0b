"""/connectors: made, changed, paused, restarted, deleted, and how they are."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import copy_context
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response

from connect.herder.errors import NotFoundError
from connect.herder.model import TargetState
from rest import bodies
from rest.api import BOOLEAN, FORWARD, Answer, Api, ConnectorName, TaskNumber, describe, flag
from rest.calls import json_answer
from rest.elsewhere import RESOLVED, Resolved
from rest.errors import ApiError
from rest.metrics import MetricsOfAll
from rest.models import (
    Connector,
    ConnectorStatusInfo,
    CreateConnector,
    ExpandedConnector,
    Task,
    TaskId,
    TaskStateInfo,
    Topics,
    Written,
)
from rest.security.access import keys_changed
from rest.security.roles import Role

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


async def _stalled(
    stalled: Annotated[
        str | None,
        Query(
            description="true: a task that stands still is STALLED, not RUNNING. Kafka has no such state.",
            json_schema_extra=BOOLEAN,
        ),
    ] = None,
) -> bool:
    if stalled not in (None, "true", "false"):
        raise ApiError(400, "stalled is true or false.")
    return flag(stalled)


#: The parameter `stalled`, ours alone: it is read to the letter.
Stalled = Annotated[bool, Depends(_stalled)]


def routes(api: Api) -> APIRouter:
    """The resource."""
    router = APIRouter(prefix="/connectors", tags=["connectors"])
    herder, masks = api.herder, api.masks
    metrics = MetricsOfAll(herder)

    def send_on(request: Request, body: Any) -> None:
        """Should the request have to go to another worker: with stored secrets in the place of masks, and back."""
        if RESOLVED not in request.scope:
            return
        caller = copy_context()  # what comes back is read outside of the login

        async def readable(answer: bytes) -> bytes:
            return await asyncio.create_task(masks.in_answer(answer), context=caller)

        request.scope[RESOLVED].append(Resolved(msgspec.json.encode(body), readable))

    async def shown(name: str) -> Connector:
        info = herder.info(name)
        return Connector.of(info, await masks.shown(info.config, name))

    @router.get(
        "",
        **describe(
            list[str] | dict[str, ExpandedConnector], errors=(400,), said="Names, or with expand a map of them."
        ),
    )
    async def list_connectors(
        request: Request,
        stalled: Stalled,
        expand: Annotated[list[str] | None, Query(description="status, info, metrics: any of them, repeated.")] = None,
        forward: Annotated[str | None, Query(include_in_schema=False)] = None,
    ) -> Response:
        """List connectors."""
        names = api.access.visible(herder.connectors())
        if not expand:
            return json_answer(names)
        found = await asyncio.gather(*(expanded(name, expand, stalled=stalled) for name in names))
        answer = {name: what for name, what in found if what is not None}
        if "metrics" in expand:
            measured = await metrics.of(request, list(answer), ask_others=flag(forward, default=True))
            for name, what in answer.items():
                what.metrics = measured[name]
        return json_answer(answer)

    async def expanded(name: str, what: list[str], *, stalled: bool) -> tuple[str, ExpandedConnector | None]:
        found = ExpandedConnector()
        try:
            if "info" in what:
                found.info = await shown(name)
            if "status" in what:
                found.status = ConnectorStatusInfo.of(herder.status(name), stalled=stalled)
        except NotFoundError:  # it went in between, or nothing is known yet
            return name, None
        return name, found

    @router.post(
        "",
        dependencies=[FORWARD],
        **describe(Connector, status=201, body=CreateConnector, errors=(400, 409), said="Created.", links=_LINKS),
    )
    async def create(request: Request) -> Response:
        """Create a connector."""
        wanted = await bodies.create_request(request)
        api.access.require(Role.EDITOR, wanted.name)
        config = await new_config(wanted.name, wanted.config)
        send_on(request, {"name": wanted.name, "config": config, "initial_state": wanted.initial_state})
        target = None if wanted.initial_state is None else _TARGETS[wanted.initial_state]
        change = await api.result(herder.put_connector(wanted.name, config, target, replace=False))
        return await created(request, change.info.name)

    async def created(request: Request, name: str) -> Response:
        location = f"{request.base_url}connectors/{quote(name, safe='+')}"
        return json_answer(await shown(name), 201, {"Location": location})

    async def new_config(name: str, written: dict[str, str | None]) -> dict[str, str]:
        """A configuration to put: named, with stored secrets in the place of masks."""
        named = written.get("name")
        if named is not None and named != name:
            raise ApiError(
                400, f"Connector name configuration ({named}) doesn't match connector name in the URL ({name})"
            )
        if empty := [key for key, value in written.items() if value is None]:
            raise ApiError(400, f"Null value can not be supplied as the configuration value of {', '.join(empty)}.")
        config = await masks.written(name, written)
        given = {key: value for key, value in config.items() if value is not None} | {"name": name}
        api.access.changes(name, **keys_changed(stored(name), given))
        return given

    def stored(name: str) -> Mapping[str, str]:
        try:
            return herder.info(name).config
        except NotFoundError:
            return {}

    @router.get("/{connector}", **describe(Connector, errors=(404,)))
    async def info(connector: ConnectorName) -> Response:
        """A connector: configuration, tasks, type."""
        return json_answer(await shown(connector))

    @router.delete("/{connector}", dependencies=[FORWARD], **describe(status=204, errors=(404, 409)))
    async def delete(connector: ConnectorName) -> Response:
        """Delete a connector. Its offsets stay."""
        await api.result(herder.delete_connector(connector))
        return Response(status_code=204)

    @router.get("/{connector}/config", **describe(_TEXTS, errors=(404,)))
    async def get_config(connector: ConnectorName) -> Response:
        """A connector's configuration."""
        return json_answer(await masks.shown(herder.info(connector).config, connector))

    @router.put(
        "/{connector}/config",
        dependencies=[FORWARD],
        **describe(
            Connector,
            body=dict[str, Written],
            errors=(400, 409),
            said="Changed.",
            also={201: Answer("Created.", Connector)},
            links=_LINKS,
        ),
    )
    async def put_config(connector: ConnectorName, request: Request) -> Response:
        """Create a connector, or give it another configuration."""
        config = await new_config(connector, await bodies.config(request))
        send_on(request, config)
        change = await api.result(herder.put_connector(connector, config))
        return await created(request, connector) if change.created else json_answer(await shown(connector))

    @router.patch(
        "/{connector}/config",
        dependencies=[FORWARD],
        **describe(Connector, body=dict[str, Written | None], errors=(400, 404, 409)),
    )
    async def patch_config(connector: ConnectorName, request: Request) -> Response:
        """Change some keys of a connector's configuration; null removes one (KIP-477)."""
        patch = await masks.written(connector, await bodies.config(request), part=True)
        send_on(request, patch)
        before = stored(connector)
        merged = {key: value for key, value in {**before, **patch}.items() if value is not None}
        api.access.changes(connector, **keys_changed(before, merged))
        await api.result(herder.patch_connector(connector, patch))
        return json_answer(await shown(connector))

    @router.get("/{connector}/status", **describe(ConnectorStatusInfo, errors=(400, 404)))
    async def status(connector: ConnectorName, stalled: Stalled) -> Response:
        """How a connector and its tasks are."""
        return json_answer(ConnectorStatusInfo.of(herder.status(connector), stalled=stalled))

    @router.put("/{connector}/pause", **describe(status=202, errors=(404, 409), said="It will be paused."))
    async def pause(connector: ConnectorName) -> Response:
        """Let a connector move nothing, but keep its tasks."""
        await api.result(herder.pause(connector))
        return Response(status_code=202)

    @router.put("/{connector}/resume", **describe(status=202, errors=(404, 409), said="It will go on."))
    async def resume(connector: ConnectorName) -> Response:
        """Let a connector go on that is paused or stopped."""
        await api.result(herder.resume(connector))
        return Response(status_code=202)

    @router.put("/{connector}/stop", dependencies=[FORWARD], **describe(status=204, errors=(404, 409)))
    async def stop(connector: ConnectorName) -> Response:
        """End a connector's tasks, but keep its configuration (KIP-875)."""
        await api.result(herder.stop_connector(connector))
        return Response(status_code=204)

    @router.post(
        "/{connector}/restart",
        dependencies=[FORWARD],
        **describe(
            ConnectorStatusInfo,
            status=202,
            errors=(404, 409),
            said="What is being restarted.",
            also={204: Answer("Done, without parameters.")},
        ),
    )
    async def restart(
        connector: ConnectorName,
        include_tasks: Annotated[
            str | None, Query(alias="includeTasks", description="true: its tasks too.", json_schema_extra=BOOLEAN)
        ] = None,
        only_failed: Annotated[
            str | None, Query(alias="onlyFailed", description="true: only what FAILED.", json_schema_extra=BOOLEAN)
        ] = None,
    ) -> Response:
        """Restart a connector (KIP-745)."""
        tasks, failed = flag(include_tasks), flag(only_failed)
        state = await api.result(herder.restart_connector(connector, include_tasks=tasks, only_failed=failed))
        if not tasks and not failed:
            return Response(status_code=204)
        return json_answer(ConnectorStatusInfo.of(state), 202)

    @router.get("/{connector}/tasks", **describe(list[Task], errors=(404,)))
    async def tasks(connector: ConnectorName) -> Response:
        """A connector's tasks with their configurations."""
        configs = [await masks.shown(config, connector) for config in herder.task_configs(connector)]
        return json_answer([Task(TaskId(connector, number), config) for number, config in enumerate(configs)])

    @router.get("/{connector}/tasks/{task}/status", **describe(TaskStateInfo, errors=(400, 404)))
    async def task_status(connector: ConnectorName, task: TaskNumber, stalled: Stalled) -> Response:
        """How a task is."""
        try:
            found = next((status for status in herder.status(connector).tasks if status.task == task), None)
        except NotFoundError:
            found = None
        if found is None:
            raise ApiError(404, f"No status found for task {connector}-{task}")
        return json_answer(TaskStateInfo.of(found, stalled=stalled))

    @router.post("/{connector}/tasks/{task}/restart", dependencies=[FORWARD], **describe(status=204, errors=(404, 409)))
    async def restart_task(connector: ConnectorName, task: TaskNumber) -> Response:
        """Restart a task."""
        await api.result(herder.restart_task(connector, task))
        return Response(status_code=204)

    @router.get("/{connector}/topics", **describe(dict[str, Topics], errors=(403,)))
    async def topics(connector: ConnectorName) -> Response:
        """The topics that a connector used (KIP-558)."""
        return json_answer({connector: Topics(herder.active_topics(connector))})

    @router.put("/{connector}/topics/reset", **describe(status=202, errors=(403,), said="They are forgotten."))
    async def reset_topics(connector: ConnectorName) -> Response:
        """Forget the topics that a connector used."""
        herder.reset_active_topics(connector)
        return Response(status_code=202)

    return router
