"""/connectors/{connector}/dlq: the dead letters of a connector, looked at and replayed. Not in Kafka."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from connect.herder.dead_letters import AFTER, MOST, DeadLetters, Wanted
from connect.herder.replay import MOST_REPLAYED, ReplayRequest, replay
from rest import bodies
from rest.api import Api, ConnectorName, describe
from rest.calls import json_answer
from rest.errors import ApiError
from rest.models import DeadLetter, DeadLetterGroups, DeadLetterPage, Replay, ReplayOutcome

_PAGE = 50
#: More digits than any moment, partition or offset has.
_LONGEST = 18
_INTEGER = {"type": "integer", "minimum": 0, "maximum": 10**_LONGEST - 1}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST}
_AFTER = {"type": "string", "pattern": AFTER}


def _number(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST:
        raise ApiError(400, f"{name} is a whole number.")
    return int(text)


def _milliseconds(what: str) -> Any:
    return Query(description=f"{what}, in ms since the epoch.", json_schema_extra=_INTEGER)


Since = Annotated[str | None, _milliseconds("Of this time or later")]
Until = Annotated[str | None, _milliseconds("Of this time or earlier")]
Stage = Annotated[str | None, Query(description="Where they failed, such as VALUE_CONVERTER.")]
Error = Annotated[str | None, Query(description="A part of the error's class or message.")]
Fingerprint = Annotated[str | None, Query(description="Of the error, as /dlq/groups says it.")]
Key = Annotated[str | None, Query(description="The record's key, as text.")]


def routes(api: Api) -> APIRouter:
    """The resource."""
    router = APIRouter(prefix="/connectors/{connector}/dlq", tags=["dead letters"])

    @router.get("", **describe(DeadLetterPage, errors=(400, 404)))
    async def list_dead_letters(
        connector: ConnectorName,
        since: Since = None,
        until: Until = None,
        stage: Stage = None,
        error: Error = None,
        fingerprint: Fingerprint = None,
        key: Key = None,
        limit: Annotated[str | None, Query(description="At most so many.", json_schema_extra=_LIMIT)] = None,
        after: Annotated[
            str | None, Query(description="What the page before said under next.", json_schema_extra=_AFTER)
        ] = None,
    ) -> Response:
        """Dead letters, the newest first, with the beginnings of their payloads."""
        wanted = _wanted(connector, since, until, stage, error, fingerprint, key)
        most = _number("limit", limit)

        def ask(letters: DeadLetters) -> Any:
            return letters.page(wanted, _PAGE if most is None else most, after)

        return json_answer(await api.result(api.herder.dead_letters(connector, ask)))

    @router.get("/groups", **describe(DeadLetterGroups, errors=(400, 404)))
    async def dead_letter_groups(
        connector: ConnectorName,
        since: Since = None,
        until: Until = None,
        stage: Stage = None,
        error: Error = None,
        key: Key = None,
    ) -> Response:
        """Dead letters by what went wrong, the most frequent first."""
        wanted = _wanted(connector, since, until, stage, error, None, key)
        return json_answer(await api.result(api.herder.dead_letters(connector, lambda letters: letters.groups(wanted))))

    @router.get("/{partition}/{offset}", **describe(DeadLetter, errors=(400, 404)))
    async def dead_letter(
        connector: ConnectorName,
        partition: Annotated[str, Path(description="Of the dead letter.", json_schema_extra=_INTEGER)],
        offset: Annotated[str, Path(description="Of the dead letter.", json_schema_extra=_INTEGER)],
    ) -> Response:
        """One dead letter, whole: its payload, its headers, its stack trace."""
        place = _number("The partition", partition), _number("The offset", offset)

        def ask(letters: DeadLetters) -> Any:
            return letters.one(place[0] or 0, place[1] or 0)

        return json_answer(await api.result(api.herder.dead_letters(connector, ask)))

    @router.post("/replay", **describe(ReplayOutcome, body=Replay, errors=(400, 404)))
    async def replay_dead_letters(connector: ConnectorName, request: Request) -> Response:
        """Write dead letters again into the topics they came from, or have their connector try them again."""
        body = await bodies.typed(request, Replay)
        wanted = _request(connector, body)
        outcome = await api.result(api.herder.dead_letters(connector, lambda letters: replay(letters, wanted)))
        if not wanted.dry_run:
            api.access.changes(connector, replayed=len(outcome.replayed), edited=bool(wanted.put or wanted.values))
        return json_answer(outcome)

    return router


def _wanted(connector: str, since: str | None, until: str | None, *texts: str | None) -> Wanted:
    stage, error, fingerprint, key = texts
    return Wanted(
        since=_number("since", since),
        until=_number("until", until),
        stage=stage,
        error=error,
        fingerprint=fingerprint,
        key=key,
        connector=connector,
    )


def _request(connector: str, body: Replay) -> ReplayRequest:
    places = None if body.places is None else frozenset((one.partition, one.offset) for one in body.places)
    wanted = Wanted(
        since=body.since,
        until=body.until,
        stage=body.stage,
        error=body.error,
        fingerprint=body.fingerprint,
        key=body.key,
        places=places,
        connector=connector,
    )
    try:
        values = {(one.partition, one.offset): one.data() for one in body.values}
    except ValueError as error:
        raise ApiError(400, f"values: {error}.") from None
    return ReplayRequest(
        wanted=wanted,
        limit=MOST_REPLAYED if body.limit is None else body.limit,
        to=body.to,
        into=body.into,
        put=body.put,
        drop=body.drop,
        values=values,
        dry_run=body.dry_run,
        again=body.again,
    )
