"""PUT /connector-plugins/{plugin}/config/try: sample records through a configuration that is not created. Not in Kafka.

It reads payloads of topics, so who may? Whoever may create the connector: they could have these records anyway, by
creating it with the same topics, client overrides and transformations, and looking at what its tasks do. So a trial
checks what a creation checks: the role editor for the name, the policy for client overrides, masks, config providers.
Without a name it is the role for some connector, under whose name its holder could create the same. It does less than a
creation, as it writes nowhere, and shows less, as the tap does: fields are masked by their names, and tap.enabled=false
rules it out. The audit log has whose records were tried.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter, Request, Response

from connect.herder.trials import TrialRequest
from connect.worker.trials import TrialResult
from rest import bodies
from rest.api import Api, ApiDep, describe, json_answer
from rest.errors import ApiError
from rest.models.records import TapAnswer, TappedRecordInfo, Try, Untapped
from rest.plugins import PluginName, same_plugin
from rest.security.roles import Role

router = APIRouter(prefix="/connector-plugins/{plugin}/config/try", tags=["plugins"])

#: Bytes of all samples.
_MOST_BYTES: Final = 2**20


@router.put("", **describe(TapAnswer, body=Try, errors=(400, 403, 503)))
async def try_records(plugin: PluginName, request: Request, api: ApiDep) -> Response:
    """Run sample records through the converters and transformations of a configuration, without creating it.

    The records are those of a topic, or in the request; a source's have to be in the request. The answer is that of the
    tap: each record before and after every step, and whoever shows none, with the reason.
    """
    body = await bodies.typed(request, Try)
    config = await _whole(api, plugin, await bodies.part(request, "config"))
    api.access.changes(tried="samples" if body.samples else body.topic or config.get("topics"))
    if body.samples and body.from_end:
        raise ApiError(400, '"from_end" is for records of a topic. Leave it out beside "samples".')
    samples = [json.dumps(one) for one in body.samples]
    if (size := sum(map(len, samples))) > _MOST_BYTES:
        raise ApiError(400, f"The samples have {size:,} bytes. Up to {_MOST_BYTES:,} may be.")
    wanted = TrialRequest(config, body.topic, body.limit, body.from_end, samples)
    return json_answer(_answer(api, await api.result(api.herder.try_records(wanted))))


async def _whole(api: Api, plugin: str, written: dict[str, str | None]) -> Mapping[str, str]:
    """The configuration as a creation would have it: with its class, and stored secrets in place of masks."""
    named = written.setdefault("connector.class", plugin)
    if named is not None and not same_plugin(api, named, plugin):
        raise ApiError(400, f"Included connector type {named} does not match request type {plugin}")
    name = (written.get("name") or "").strip()
    if name:
        api.access.require(Role.EDITOR, name)
    config = await api.masks.written(name, written)
    api.access.changes(name or None)
    return {key: value for key, value in config.items() if value is not None}


def _answer(api: Api, found: TrialResult) -> TapAnswer:
    """As if the first task of the connector ran here and had taken these records now."""
    here, now = api.herder.metrics().worker_id, int(time.time() * 1000)
    records = [TappedRecordInfo(0, here, now, seen) for seen in found.records]
    return TapAnswer(records, [Untapped(here, reason) for reason in found.reasons])
