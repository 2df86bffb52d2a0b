"""Serves the operations page for a cluster over HTTP. Needs the extra `rest`."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from fastapi import FastAPI
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from connect.cli._exit import OK
from connect.cli._rest_client import AnswerError, RestClient, UnreachableError
from rest.edge import Edge, Hosts, OnLoopback, Origins, OtherOrigins, Proxies
from rest.ui.cluster import Answer, Cluster
from rest.ui.router import router


class OutsideCluster(Cluster):
    """A cluster that is reached through one of its workers, for all readers of the page.

    Args:
        client: has asked whether it is of Java before.
    """

    def __init__(self, client: RestClient) -> None:
        self._client = client

    async def expanded(self, *more: str) -> Answer:
        """See `Cluster`."""
        if self._client.is_of_java():
            return await self.ask("GET", "connectors", expand=["status", "info"])
        return await super().expanded(*more)

    async def metrics(self, connector: str) -> Answer:
        """See `Cluster`."""
        return Answer(200, {}) if self._client.is_of_java() else await super().metrics(connector)

    async def ask(self, method: str, *path: str, body: object = None, **query: str | list[str]) -> Answer:
        """See `Cluster`. No response at all becomes one with the status 502."""
        try:
            return Answer(200, await asyncio.to_thread(self._client.request, method, path, body, query))
        except AnswerError as error:
            # A proxy leads to the page of its login once that has ended, or sends it.
            return Answer(error.status if error.status >= 400 else 502, {"message": error.said})
        except UnreachableError as error:
            return Answer(502, {"message": str(error)})


def serve(client: RestClient, listening: socket.socket) -> int:
    """Until Ctrl-C. Returns the exit code."""
    config = uvicorn.Config(
        _app(client, listening),
        log_level="warning",
        lifespan="off",
        access_log=False,
        timeout_graceful_shutdown=1,  # open pages do not keep the command
    )
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
    return OK


def _app(client: RestClient, listening: socket.socket) -> ASGIApp:
    """The pages alone. Like a worker's they answer only to this machine's names and their own forms."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.ui_cluster = OutsideCluster(client)
    app.include_router(router)

    @app.get("/")
    async def root() -> Response:
        return RedirectResponse("/ui")

    return OnLoopback(Edge(app, Hosts([]), Origins(OtherOrigins("")), Proxies([])), [listening])
