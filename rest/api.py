"""What all resources share: the herder, and how their operations are described."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from fastapi import Depends, Path, Query, Request, Response

from connect.herder.herder import Herder
from connect.plugins import Plugins
from rest.cluster_id import ClusterId
from rest.errors import ApiError
from rest.forwarding import Forwarding
from rest.internal_requests import InternalRequests
from rest.masking import Masks
from rest.prometheus import Prometheus
from rest.rules import SLASH
from rest.security.access import Access
from rest.security.recent_audit import RecentAudit

#: As in Kafka Connect.
REQUEST_TIMEOUT_S = 90.0

T = TypeVar("T")

_INT = re.compile(r"[+-]?\d{1,10}")


@dataclass(frozen=True)
class Api:
    """What the resources work with.

    Attributes:
        herder: carries out requests.
        plugins: of the worker.
        masks: hides secrets.
        forwarding: forwards requests to the worker that can carry them out.
        access: what the caller may do and see.
        cluster_id: of the Kafka cluster.
        internal: handles requests of other workers; None in standalone mode.
        prometheus: has what the workers measured; None where none is configured.
        timeout: of a request, in seconds.
        audit: the newest lines of the audit log; None where there is none.
    """

    herder: Herder
    plugins: Plugins
    masks: Masks
    forwarding: Forwarding
    access: Access
    cluster_id: ClusterId
    internal: InternalRequests | None = None
    timeout: float = REQUEST_TIMEOUT_S
    prometheus: Prometheus | None = None
    audit: RecentAudit | None = None

    async def result(self, asked: Future[T]) -> T:
        """The herder's result. ApiError when it takes too long: the operation continues without the caller."""
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(asked)), self.timeout)
        except TimeoutError:
            if asked.done() and not asked.cancelled():  # its own error
                raise
            busy = self.herder.busy_with() if self.access.sees_all() else ""  # it may name connectors
            raise ApiError(500, " ".join(filter(None, ["Request timed out.", busy]))) from None
        except asyncio.CancelledError:
            if asked.cancelled():
                raise ApiError(503, "The worker is shutting down.") from None
            raise


# What a request depends on is a coroutine though it waits for nothing: FastAPI gives anything else to a thread, and
# where tasks use all cores every change of threads costs milliseconds.


async def _api(request: Request) -> Api:
    api: Api = request.app.state.api
    return api


async def _connector(connector: Annotated[str, Path(description="The connector's name.")]) -> str:
    return connector.replace(SLASH, "/")


async def _task(
    task: Annotated[str, Path(description="The task's number.", json_schema_extra={"type": "integer"})],
) -> int:
    if not _INT.fullmatch(task) or not -(2**31) <= int(task) < 2**31:
        raise ApiError(404, "HTTP 404 Not Found")
    return int(task)


#: What the resources work with, of the application that was asked.
ApiDep = Annotated[Api, Depends(_api)]
#: A connector's name, of the path.
ConnectorName = Annotated[str, Depends(_connector)]
#: A task's number, of the path; anything but a number is 404.
TaskNumber = Annotated[int, Depends(_task)]
#: For workers among themselves: whether a request may go on to another worker.
Forward = Annotated[str | None, Query(include_in_schema=False)]
#: How a parameter is described that `flag` reads.
BOOLEAN = {"type": "boolean"}


async def _at_leader(request: Request, api: ApiDep) -> None:
    await api.forwarding.to_leader(request)


#: Of an operation that only the leader carries out: before it is, the request is sent on where another worker leads.
AT_LEADER = Depends(_at_leader)


def flag(text: str | None, default: bool = False) -> bool:
    """A boolean parameter as Kafka Connect reads it: "true" is true, anything else is false."""
    return default if text is None else text.lower() == "true"


class Answer(NamedTuple):
    """One of the responses of an operation: its description, and the type of its body; None where there is none."""

    description: str
    body: Any = None


def describe(
    answer: Any = None,
    *,
    status: int = 200,
    body: Any = None,
    errors: tuple[int, ...] = (),
    success: str = "Done.",
    also: Mapping[int, Answer] | None = None,
    links: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The description of an operation: arguments of a FastAPI route.

    Args:
        answer: the type of the response body, of `rest.models` or made of them.
        status: the code of success.
        body: the type of the request body.
        errors: the codes that are answered with `Error`; 500 besides.
        success: what success means.
        also: other codes that are not errors.
        links: OpenAPI links from the response to other operations.
    """
    answers = {code: _described(Answer(_ERRORS[code], _ERROR)) for code in (*errors, 500)}
    answers |= {code: _described(found) for code, found in {status: Answer(success, answer), **(also or {})}.items()}
    if links:
        answers[status]["links"] = dict(links)
    described: dict[str, Any] = {
        "status_code": status,
        "response_model": None,
        "response_class": Response,
        "responses": answers,
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
    502: "A server that the worker asks does not answer as it should.",
    503: "The worker does as many of these as it may at one time; ask again in a moment.",
}


def _described(answer: Answer) -> dict[str, Any]:
    return {"description": answer.description} | ({} if answer.body is None else {"content": _content(answer.body)})


def _content(kind: Any) -> dict[str, Any]:
    if isinstance(kind, dict):
        return {"application/json": {"schema": kind}}
    (schema,), _ = msgspec.json.schema_components([kind], ref_template="#/components/schemas/{name}")
    return {"application/json": {"schema": schema}}


def json_answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response in JSON."""
    return Response(msgspec.json.encode(body), status, headers, media_type="application/json")
