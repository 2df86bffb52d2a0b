"""/cluster/audit: the newest lines of the audit logs of all workers. Not in Kafka."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Query, Request, Response

from rest.api import ApiDep, Forward, describe, flag, json_answer
from rest.errors import ApiError
from rest.models.pool import AuditEntries, AuditEntry
from rest.numbers import up_to
from rest.pool import ask_all, others_in_pool
from rest.security.recent_audit import KEPT, RecentAudit

router = APIRouter(prefix="/cluster/audit", tags=["cluster"])

_NO_AUDIT: Final = (
    "This worker keeps no audit log. rest.security.authentication switches on logins and their log,"
    " rest.security.audit.log the log alone."
)
_line: Final = msgspec.json.Decoder(AuditEntry)
_decoder: Final = msgspec.json.Decoder(AuditEntries)

_Connector = Annotated[str | None, Query(description="Only lines about this connector.")]
_User = Annotated[str | None, Query(description="Only lines of this user: user:alice, token:ci, or the name alone.")]
_Limit = Annotated[
    str, Query(description="The maximum number.", json_schema_extra={"type": "integer", "minimum": 1, "maximum": KEPT})
]


@router.get("", **describe(AuditEntries, errors=(400, 403)))
async def audit(
    request: Request,
    api: ApiDep,
    connector: _Connector = None,
    user: _User = None,
    limit: _Limit = "100",
    forward: Forward = None,
) -> Response:
    """The newest lines of the audit logs, newest first: changes, refused changes, failed logins."""
    most = up_to(KEPT, "limit", limit)
    if api.audit is None:
        raise ApiError(403, _NO_AUDIT)
    found = AuditEntries(_here(api.audit, api.herder.metrics().worker_id, connector, user), [])
    if flag(forward, default=True):
        asked = {"connector": connector, "user": user, "limit": limit, "forward": "false"}
        path = f"/cluster/audit?{urlencode({key: value for key, value in asked.items() if value is not None})}"
        answers, found.unreachable = await ask_all(api, request, await others_in_pool(api, request), path, _decoder)
        found.lines += [line for answer in answers for line in answer.lines]
    found.lines.sort(key=lambda line: line.time, reverse=True)
    del found.lines[most:]
    return json_answer(found)


def _here(recent: RecentAudit, worker: str, connector: str | None, user: str | None) -> list[AuditEntry]:
    found = []
    for data in recent.lines():
        line = _line.decode(data)
        of_user = line.user or ""
        if connector in (None, line.connector) and user in (None, of_user, of_user.partition(":")[2]):
            line.worker_id = worker
            found.append(line)
    return found
