"""/connectors/{connector}: status of a connector and its tasks; pause, resume, stop, restart; its lag.

The lag is not in Kafka; after Burrow.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response

from connect.herder.errors import NotFoundError
from connect.peers import PeerError
from rest.api import (
    AT_LEADER,
    BOOLEAN,
    Answer,
    Api,
    ApiDep,
    ConnectorName,
    Forward,
    TaskNumber,
    describe,
    flag,
    json_answer,
)
from rest.elsewhere import answer_of
from rest.errors import ApiError
from rest.models.connectors import ConnectorStatusInfo, Restarts, Task, TaskId, TaskStateInfo
from rest.models.figures import ConnectorLagInfo

#: How long another worker is waited for, which asks the brokers how far a sink is behind.
_PEER_S: Final = 10.0

_lag_info = msgspec.json.Decoder(ConnectorLagInfo)

router = APIRouter(prefix="/connectors/{connector}", tags=["connectors"])


async def _stalled(
    stalled: Annotated[
        str | None,
        Query(
            description="true: a stalled task is STALLED, not RUNNING. Kafka has no such state.",
            json_schema_extra=BOOLEAN,
        ),
    ] = None,
) -> bool:
    if stalled not in (None, "true", "false"):
        raise ApiError(400, "stalled is true or false.")
    return flag(stalled)


#: The parameter `stalled`, ours alone: it is read to the letter.
Stalled = Annotated[bool, Depends(_stalled)]


@router.get("/status", **describe(ConnectorStatusInfo, errors=(400, 404)))
async def status(connector: ConnectorName, api: ApiDep, stalled: Stalled) -> Response:
    """The status of a connector and its tasks."""
    return json_answer(ConnectorStatusInfo.of(api.herder.status(connector), stalled=stalled))


@router.put("/pause", dependencies=[AT_LEADER], **describe(status=202, errors=(404, 409), success="It will be paused."))
async def pause(connector: ConnectorName, api: ApiDep) -> Response:
    """Stop a connector from moving records, but keep its tasks."""
    await api.result(api.herder.pause(connector))
    return Response(status_code=202)


@router.put(
    "/resume", dependencies=[AT_LEADER], **describe(status=202, errors=(404, 409), success="It will be resumed.")
)
async def resume(connector: ConnectorName, api: ApiDep) -> Response:
    """Let a paused or stopped connector continue."""
    await api.result(api.herder.resume(connector))
    return Response(status_code=202)


@router.put("/stop", dependencies=[AT_LEADER], **describe(status=204, errors=(404, 409)))
async def stop(connector: ConnectorName, api: ApiDep) -> Response:
    """End a connector's tasks, but keep its configuration (KIP-875)."""
    await api.result(api.herder.stop_connector(connector))
    return Response(status_code=204)


class _Restart(NamedTuple):
    include_tasks: bool
    only_failed: bool


async def _restart(
    connector: ConnectorName,
    request: Request,
    api: ApiDep,
    include_tasks: Annotated[
        str | None, Query(alias="includeTasks", description="true: its tasks too.", json_schema_extra=BOOLEAN)
    ] = None,
    only_failed: Annotated[
        str | None, Query(alias="onlyFailed", description="true: only what FAILED.", json_schema_extra=BOOLEAN)
    ] = None,
) -> _Restart:
    """The leader announces a restart of several parts to all workers; the connector alone restarts where it runs."""
    wanted = _Restart(flag(include_tasks), flag(only_failed))
    if any(wanted):
        await api.forwarding.to_leader(request)
    else:
        await api.forwarding.to_owner(request, connector)
    return wanted


@router.post(
    "/restart",
    **describe(
        ConnectorStatusInfo,
        status=202,
        errors=(404, 409),
        success="What is being restarted.",
        also={204: Answer("Done, without parameters.")},
    ),
)
async def restart(connector: ConnectorName, api: ApiDep, wanted: Annotated[_Restart, Depends(_restart)]) -> Response:
    """Restart a connector (KIP-745)."""
    state = await api.result(api.herder.restart_connector(connector, **wanted._asdict()))
    return json_answer(ConnectorStatusInfo.of(state), 202) if any(wanted) else Response(status_code=204)


@router.get("/restarts", **describe(Restarts, errors=(404,)))
async def restarts(connector: ConnectorName, api: ApiDep) -> Response:
    """The automatic restarts of what FAILED."""
    return json_answer(Restarts.of(api.herder.status(connector)))


@router.get("/tasks", **describe(list[Task], errors=(404,)))
async def tasks(connector: ConnectorName, api: ApiDep) -> Response:
    """A connector's tasks with their configurations."""
    configs = [
        await api.masks.shown(config, connector, task) for task, config in enumerate(api.herder.task_configs(connector))
    ]
    return json_answer([Task(TaskId(connector, number), config) for number, config in enumerate(configs)])


@router.get("/tasks/{task}/status", **describe(TaskStateInfo, errors=(400, 404)))
async def task_status(connector: ConnectorName, task: TaskNumber, api: ApiDep, stalled: Stalled) -> Response:
    """The status of a task."""
    try:
        found = next((status for status in api.herder.status(connector).tasks if status.task == task), None)
    except NotFoundError:
        found = None
    if found is None:
        raise ApiError(404, f"No status found for task {connector}-{task}")
    return json_answer(TaskStateInfo.of(found, stalled=stalled))


async def _at_owner(connector: ConnectorName, task: TaskNumber, request: Request, api: ApiDep) -> None:
    await api.forwarding.to_owner(request, connector, task)


@router.post("/tasks/{task}/restart", dependencies=[Depends(_at_owner)], **describe(status=204, errors=(404, 409)))
async def restart_task(connector: ConnectorName, task: TaskNumber, api: ApiDep) -> Response:
    """Restart a task."""
    await api.result(api.herder.restart_task(connector, task))
    return Response(status_code=204)


@router.get("/lag", **describe(ConnectorLagInfo, errors=(400, 404)))
async def get_lag(
    connector: ConnectorName,
    request: Request,
    api: ApiDep,
    forward: Forward = None,
) -> Response:
    """How far a sink is behind its topics, by partition, and whether it keeps up."""
    api.herder.info(connector)  # there is one
    owner = _other_owner(api, connector)
    if owner is not None and flag(forward, default=True):
        answer = await _ask(api, request, owner, connector)
        if answer is not None:
            return json_answer(answer)
    return json_answer(ConnectorLagInfo.of(await api.result(api.herder.lag(connector))))


def _other_owner(api: Api, connector: str) -> str | None:
    """The worker that measures the lag continuously, if it is not this one."""
    try:
        worker = api.herder.status(connector).connector.worker_id
    except NotFoundError:
        return None
    return None if worker == api.herder.metrics().worker_id else worker


async def _ask(api: Api, request: Request, worker: str, connector: str) -> ConnectorLagInfo | None:
    """The owner's response. None without one: it is gone, or a Java worker; then this worker measures itself."""
    path = f"/connectors/{quote(connector, safe='')}/lag?forward=false"
    try:
        return await answer_of(api, request, worker, path, _PEER_S, _lag_info)
    except PeerError:
        return None
