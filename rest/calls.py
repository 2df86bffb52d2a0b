"""Waiting for the herder: not for ever, and saying what it was busy with when it took too long."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any, TypeVar

import msgspec
from fastapi import Response

from connect.herder.herder import Herder
from rest.errors import ApiError
from rest.security.access import Access

#: As in Kafka Connect.
REQUEST_TIMEOUT_S = 90.0

T = TypeVar("T")


async def result(herder: Herder, asked: Future[T], seconds: float, access: Access) -> T:
    """What the herder answers. The work goes on when nobody waits any more."""
    try:
        return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(asked)), seconds)
    except TimeoutError:
        if asked.done() and not asked.cancelled():  # its own error
            raise
        busy = herder.busy_with() if access.sees_all() else ""  # it may name connectors
        raise ApiError(500, " ".join(filter(None, ["Request timed out.", busy]))) from None
    except asyncio.CancelledError:
        if asked.cancelled():
            raise ApiError(503, "The worker is shutting down.") from None
        raise


def json_answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(msgspec.json.encode(body), status, headers, media_type="application/json")
