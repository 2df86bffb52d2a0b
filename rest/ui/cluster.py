"""The cluster that the page shows: anything with Kafka Connect's REST interface."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.types import ASGIApp, Message, Scope

#: What of a browser's request says who asks. The rest is about a page, not about what the page asks for.
_IDENTITY: Final = (b"authorization", b"host", b"cookie", b"forwarded")
#: Each holds those before it.
ROLES: Final = ("viewer", "operator", "editor", "admin")
_PREFIX: Final = b"x-forwarded-"
#: How often, and with which pause in seconds, a worker is asked whether it has read what another has stored.
_LOOKS: Final = 30
_LOOK_AGAIN_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: its HTTP status, and the JSON of its body; None where it has none."""

    status: int
    body: Any

    @property
    def refused(self) -> bool:
        """Whether the request was refused."""
        return self.status >= 400

    @property
    def message(self) -> str:
        """Why it was refused, in the interface's words."""
        said = self.body.get("message") if isinstance(self.body, dict) else None
        return str(said or f"The worker answered with HTTP {self.status}.")


@dataclass(frozen=True, slots=True)
class Rights:
    """What the page's reader may do, for a connector or for all of them.

    Attributes:
        user: None without logins.
        role: of `ROLES`; None for no role.
        somewhere: the highest for any connector.
    """

    user: str | None
    role: str | None
    somewhere: str | None

    def may(self, role: str, *, somewhere: bool = False) -> bool:
        """Whether they have this role, or a higher one."""
        has = self.somewhere if somewhere else self.role
        return has is not None and ROLES.index(has) >= ROLES.index(role)


class Cluster(ABC):
    """Sends requests to the REST interface with the rights of the page's reader. Called in the server's event loop."""

    @abstractmethod
    async def ask(self, method: str, *path: str, body: object = None, **query: str | list[str]) -> Answer:
        """Send one request. Each part of the path is quoted. A refusal is not an exception."""

    async def expanded(self, *more: str) -> Answer:
        """All connectors: their states, configurations and, where workers report them, metrics, and `more` of these."""
        return await self.ask("GET", "connectors", expand=["status", "info", "metrics", *more], stalled="true")

    async def caught_up(self, stored: Answer) -> None:
        """Wait until the worker that is asked shows a configuration as the response to its change has it.

        Where another one leads, that has stored it, and this one reads it a moment later.
        """
        for _ in range(_LOOKS):
            seen = await self.ask("GET", "connectors", stored.body["name"], "config")
            if seen.body == stored.body["config"]:
                return
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def metrics(self, connector: str) -> Answer:
        """Only the metrics of one connector, by its name; of Java workers those of none."""
        return await self.ask("GET", "connectors", expand="metrics", connector=connector)

    async def rights(self, connector: str | None = None) -> Rights:
        """What the page's reader may do with a connector, or with all of them."""
        asked = {} if connector is None else {"connector": connector}
        answer = await self.ask("GET", "rights", **asked)
        if answer.refused:  # workers that know no roles
            return Rights(None, ROLES[-1], ROLES[-1])
        return Rights(answer.body["user"], answer.body["role"], answer.body["somewhere"])

    async def validate(self, config: Mapping[str, Any]) -> Answer:
        """The cluster's validation of a connector's configuration, key by key."""
        plugin = str(config.get("connector.class", ""))
        return await self.ask("PUT", "connector-plugins", plugin, "config", "validate", body=dict(config))


class InsideCluster(Cluster):
    """The interface of the worker that serves the page, called within the process, without a connection.

    Args:
        interface: with its guard, which checks each request as any other.
        scope: of the browser's request: its user and address.
    """

    def __init__(self, interface: ASGIApp, scope: Scope) -> None:
        self._interface = interface
        self._scope = scope

    async def ask(self, method: str, *path: str, body: object = None, **query: str | list[str]) -> Answer:
        """See `Cluster`."""
        sent = b"" if body is None else json.dumps(body).encode()
        status, received = 500, bytearray()

        async def receive() -> Message:
            return {"type": "http.request", "body": sent, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                received.extend(message.get("body", b""))

        await self._interface(self._request(method, path, query, sent), receive, send)
        return Answer(status, json.loads(received) if received else None)

    def _request(self, method: str, path: Sequence[str], query: Mapping[str, str | list[str]], sent: bytes) -> Scope:
        raw = "/" + "/".join(quote(part, safe="") for part in path)
        kept = [(name, value) for name, value in self._scope["headers"] if _says_who(name)]
        of_body = [(b"content-type", b"application/json"), (b"content-length", str(len(sent)).encode())]
        return {
            **{key: value for key, value in self._scope.items() if key not in _OF_ONE_APPLICATION},
            "method": method,
            "path": "/" + "/".join(path),
            "raw_path": raw.encode(),
            "query_string": urlencode(query, doseq=True).encode(),
            "headers": [*kept, (b"accept", b"application/json"), *(of_body if sent else [])],
        }


#: What a router notes in a scope about the route that it took.
_OF_ONE_APPLICATION: Final = {"app", "router", "endpoint", "path_params", "route", "fastapi_astack", "state"}


def _says_who(name: bytes) -> bool:
    return name in _IDENTITY or name.startswith(_PREFIX)
