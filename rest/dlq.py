"""/connectors/{connector}/dlq: read and replay the dead letters of a connector. Not in Kafka."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from connect.herder.dead_letters import AFTER, MOST, DeadLetters, Wanted
from connect.herder.replay import MOST_REPLAYED, ReplayRequest, replay
from rest import bodies
from rest.api import Api, ApiDep, ConnectorName, describe, json_answer
from rest.errors import ApiError
from rest.models.records import DeadLetter, DeadLetterGroups, DeadLetterPage, Replay, ReplayOutcome
from rest.numbers import WHOLE, whole

_PAGE = 50
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST}
_AFTER = {"type": "string", "pattern": AFTER}


def _milliseconds(what: str) -> Any:
    return Query(description=f"{what}, in ms since the epoch.", json_schema_extra=WHOLE)


router = APIRouter(prefix="/connectors/{connector}/dlq", tags=["dead letters"])


async def _of_any_error(
    connector: ConnectorName,
    since: Annotated[str | None, _milliseconds("Of this time or later")] = None,
    until: Annotated[str | None, _milliseconds("Of this time or earlier")] = None,
    stage: Annotated[str | None, Query(description="The stage that failed, such as VALUE_CONVERTER.")] = None,
    error: Annotated[str | None, Query(description="A part of the error's class or message.")] = None,
    key: Annotated[str | None, Query(description="The record's key, as text.")] = None,
) -> Wanted:
    return Wanted(
        since=whole("since", since),
        until=whole("until", until),
        stage=stage,
        error=error,
        key=key,
        connector=connector,
    )


_OfAnyError = Annotated[Wanted, Depends(_of_any_error)]


async def _of_one_error(
    wanted: _OfAnyError,
    fingerprint: Annotated[str | None, Query(description="Of the error, as in /dlq/groups.")] = None,
) -> Wanted:
    return replace(wanted, fingerprint=fingerprint)


@router.get("", **describe(DeadLetterPage, errors=(400, 404)))
async def list_dead_letters(
    connector: ConnectorName,
    api: ApiDep,
    wanted: Annotated[Wanted, Depends(_of_one_error)],
    limit: Annotated[str | None, Query(description="The maximum number.", json_schema_extra=_LIMIT)] = None,
    after: Annotated[
        str | None, Query(description="The value of next in the previous page.", json_schema_extra=_AFTER)
    ] = None,
) -> Response:
    """Dead letters, the newest first, with the beginnings of their payloads."""
    most = whole("limit", limit)
    return await _ask(api, connector, lambda letters: letters.page(wanted, _PAGE if most is None else most, after))


@router.get("/groups", **describe(DeadLetterGroups, errors=(400, 404)))
async def dead_letter_groups(connector: ConnectorName, api: ApiDep, wanted: _OfAnyError) -> Response:
    """Dead letters grouped by error, the most frequent first."""
    return await _ask(api, connector, lambda letters: letters.groups(wanted))


@router.get("/{partition}/{offset}", **describe(DeadLetter, errors=(400, 404)))
async def dead_letter(
    connector: ConnectorName,
    api: ApiDep,
    partition: Annotated[str, Path(description="Of the dead letter.", json_schema_extra=WHOLE)],
    offset: Annotated[str, Path(description="Of the dead letter.", json_schema_extra=WHOLE)],
) -> Response:
    """One dead letter, whole: its payload, its headers, its stack trace."""
    where = whole("The partition", partition), whole("The offset", offset)
    return await _ask(api, connector, lambda letters: letters.one(*where))


async def _ask(api: Api, connector: str, ask: Callable[[DeadLetters], Any]) -> Response:
    return json_answer(await api.result(api.herder.dead_letters(connector, ask)))


@router.post("/replay", **describe(ReplayOutcome, body=Replay, errors=(400, 404)))
async def replay_dead_letters(connector: ConnectorName, request: Request, api: ApiDep) -> Response:
    """Write dead letters again into their original topics, or have their connector try them again."""
    body = await bodies.typed(request, Replay)
    wanted = _request(connector, body)
    outcome = await api.result(api.herder.dead_letters(connector, lambda letters: replay(letters, wanted)))
    if not wanted.dry_run:
        api.access.changes(connector, replayed=len(outcome.replayed), edited=bool(wanted.put or wanted.values))
    return json_answer(outcome)


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
