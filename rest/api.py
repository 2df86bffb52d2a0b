"""What all resources share: the herder they ask, and how their operations are described."""

from __future__ import annotations

import re
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Path, Query

from connect.herder.herder import Herder
from connect.plugins import Plugins
from rest.calls import REQUEST_TIMEOUT_S, result
from rest.errors import ApiError
from rest.internal_requests import InternalRequests
from rest.masking import Masks
from rest.rules import SLASH
from rest.security.access import Access

T = TypeVar("T")

_INT = re.compile(r"[+-]?\d{1,10}")


@dataclass(frozen=True)
class Api:
    """What the resources work with.

    Attributes:
        herder: does what is asked.
        plugins: of the worker.
        masks: hides secrets.
        internal: takes requests of other workers; None in standalone mode.
        timeout: seconds until a request is given up.
        access: what whoever asks may do and see.
    """

    herder: Herder
    plugins: Plugins
    masks: Masks
    internal: InternalRequests | None = None
    timeout: float = REQUEST_TIMEOUT_S
    access: Access = field(default_factory=Access)

    async def result(self, asked: Future[T]) -> T:
        """What the herder answers. ApiError when it takes too long."""
        return await result(self.herder, asked, self.timeout, self.access)


def _connector(connector: Annotated[str, Path(description="The connector's name.")]) -> str:
    return connector.replace(SLASH, "/")


def _task(task: Annotated[str, Path(description="The task's number.")]) -> int:
    if not _INT.fullmatch(task) or not -(2**31) <= int(task) < 2**31:
        raise ApiError(404, "HTTP 404 Not Found")
    return int(task)


def _forward(
    forward: Annotated[
        str | None, Query(description="For workers among themselves: whether this request may go on to the leader.")
    ] = None,
) -> None:
    """Taken as Kafka Connect takes it; the herder knows whom to ask."""


#: A connector's name, of the path.
ConnectorName = Annotated[str, Depends(_connector)]
#: A task's number, of the path; anything but a number is 404.
TaskNumber = Annotated[int, Depends(_task)]
#: The parameter `forward`.
FORWARD = Depends(_forward)


def flag(text: str | None, default: bool = False) -> bool:
    """A boolean parameter as Kafka Connect reads it: "true" is true, anything else is not."""
    return default if text is None else text.lower() == "true"


def describe(
    answer: Any = None, *, status: int = 200, body: Any = None, errors: tuple[int, ...] = (), said: str = "Done."
) -> dict[str, Any]:
    """How an operation is described: arguments of a FastAPI route. Types are those of `rest.models`."""
    described: dict[str, Any] = {
        "status_code": status,
        "response_model": None,
        "responses": {status: {"description": said, **({} if answer is None else {"content": _content(answer)})}}
        | {code: {"description": _ERRORS[code], "content": _content(_ERROR)} for code in (*errors, 500)},
    }
    if body is not None:
        described["openapi_extra"] = {"requestBody": {"required": True, "content": _content(body)}}
    return described


_ERROR = {"$ref": "#/components/schemas/Error"}
_ERRORS = {
    400: "The request is wrong; the message says why.",
    403: "The worker's configuration rules it out.",
    404: "There is no such thing.",
    409: "It exists already, or the group is being rebalanced.",
    500: "The worker could not do it, or not in time.",
}


def _content(kind: Any) -> dict[str, Any]:
    if isinstance(kind, dict):
        return {"application/json": {"schema": kind}}
    (schema,), _ = msgspec.json.schema_components([kind], ref_template="#/components/schemas/{name}")
    return {"application/json": {"schema": schema}}
