"""Errors in Kafka Connect's form: {"error_code": 404, "message": "Connector orders not found"}."""

from __future__ import annotations

import http
import logging

import msgspec
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from connect.errors import ConnectError
from connect.herder.errors import HerderError
from connect.telemetry.redaction import redactor
from rest.models.worker import Error

log = logging.getLogger("connect.rest")


class ApiError(Exception):
    """An error response."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def error_answer(status: int, message: str) -> Response:
    """An error as a response. Secrets in it are hidden."""
    text = redactor.redact(message).encode(errors="replace").decode()  # names of files may not be text
    body = msgspec.json.encode(Error(status, text))
    return Response(body, status, media_type="application/json")


def plain_error(status: int) -> Response:
    """An error without further text: "HTTP 404 Not Found"."""
    return error_answer(status, f"HTTP {status} {http.HTTPStatus(status).phrase}")


def install(app: FastAPI) -> None:
    """Install these responses in an app, for all errors."""
    app.add_exception_handler(ApiError, _answer)
    app.add_exception_handler(HerderError, _answer)
    app.add_exception_handler(ConnectError, _answer)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(ClientDisconnect, _to_nobody)
    app.add_exception_handler(Exception, _unforeseen)


async def _answer(_: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, ApiError | HerderError) else 500
    return error_answer(status, str(error))


async def _of_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return plain_error(error.status_code)


async def _to_nobody(_: Request, __: Exception) -> Response:
    """The client left before all of its body had arrived: no error of the worker, and nobody reads the response."""
    return plain_error(400)


async def _unforeseen(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return error_answer(500, f"{type(error).__name__}: {error}")
