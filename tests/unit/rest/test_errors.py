"""What goes wrong is answered, and logged where it is a fault of ours."""

import asyncio
import logging
from typing import Any

import pytest
from fastapi import FastAPI, Request

from rest import errors


@pytest.mark.promise("P8")
def test_a_client_that_goes_before_its_body_has_come_is_no_error_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    app = FastAPI()
    errors.install(app)
    came: list[Any] = []

    @app.put("/connectors/orders/config")
    async def put(request: Request) -> None:
        came.append(await request.body())

    messages = iter([{"type": "http.request", "body": b"{}", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        pass

    scope = {"type": "http", "method": "PUT", "path": "/connectors/orders/config", "headers": [], "query_string": b""}
    with caplog.at_level(logging.INFO):
        asyncio.run(app(scope, receive, send))
    assert came == []
    assert caplog.text == ""
