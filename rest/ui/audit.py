"""/ui/cluster/audit: who changed what, as the audit logs of all workers have it."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response

from rest.ui.rendering import page
from rest.ui.requests import cluster_of, why_missing

router = APIRouter(prefix="/ui", include_in_schema=False)

_LINES: Final = 200


@router.get("/cluster/audit")
async def audit_page(request: Request) -> Response:
    """The newest lines, of one connector or user where the address says so: `?connector=orders&user=alice`."""
    asked = {name: request.query_params.get(name, "").strip() for name in ("connector", "user")}
    query = {name: value for name, value in asked.items() if value}
    answer = await cluster_of(request).ask("GET", "cluster", "audit", limit=str(_LINES), **query)
    return page(
        "audit.html",
        status=answer.status,
        asked=asked,
        found=None if answer.refused else answer.body,
        refusal=why_missing(answer, "These workers do not show their audit logs."),
        most=_LINES,
    )
