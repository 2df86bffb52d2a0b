"""Reads request bodies. An error is reported with its position, and status 400.

Where Kafka Connect expects text (configurations), numbers and booleans become the text that was written: 3, 1.50, true.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, NoReturn, TypeVar

import msgspec
from fastapi import Request

from connect.errors import one_line
from connect.herder.model import OffsetEntry
from rest.errors import ApiError

T = TypeVar("T")

#: Of an integer in an offset: more than any position has, and than Python makes a number of without a fuss is 4,300.
_MOST_DIGITS = 1000


class Wanted(NamedTuple):
    """A connector to create. None is what was written as null."""

    name: str
    config: dict[str, str | None]
    initial_state: str | None


async def create_request(request: Request) -> Wanted:
    """POST /connectors: a name, a configuration, an initial state."""
    body = _object(await _json(request, as_text=True), "The request")
    _only(body, {"name", "config", "initial_state"}, "The request")
    name = body.get("name")
    if name is None:
        name = (body.get("config") or {}).get("name") if isinstance(body.get("config"), dict) else None
    if name is not None and not isinstance(name, str):
        raise ApiError(400, '"name" is not text.')
    if body.get("config") is None:
        raise ApiError(400, '"config" is missing. Write {"name": "...", "config": {"connector.class": "...", ...}}.')
    return Wanted((name or "").strip(), _texts(body["config"], '"config"'), _state(body.get("initial_state")))


async def config(request: Request) -> dict[str, str | None]:
    """A configuration, or a part of one: keys with text; null where a key is to be removed."""
    return _texts(await _json(request, as_text=True), "The request")


async def part(request: Request, name: str) -> dict[str, str | None]:
    """A configuration that is one field of the body, likewise."""
    body = _object(await _json(request, as_text=True), "The request")
    return _texts(body.get(name), f'"{name}"')


async def offsets(request: Request) -> list[OffsetEntry]:
    """PATCH /connectors/{connector}/offsets."""
    body = _object(await _json(request), "The request")
    _only(body, {"offsets"}, "The request")
    entries = body.get("offsets") or []
    if not isinstance(entries, list):
        raise ApiError(400, '"offsets" is not a list. Write {"offsets": [{"partition": {...}, "offset": {...}}]}.')
    if not entries:
        raise ApiError(400, "Partitions / offsets need to be provided for an alter offsets request")
    return [_offset(_object(entry, f"Offset {number}")) for number, entry in enumerate(entries, 1)]


async def typed(request: Request, kind: type[T]) -> T:
    """A body of this type; an error says where in the body it is."""
    data = await request.body()
    if not data.strip():
        raise ApiError(400, "The request has no body.")
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, f"The request has a wrong form: {one_line(error)}.") from None


async def level(request: Request) -> str:
    """PUT /admin/loggers/{logger}."""
    found = _object(await _json(request), "The request").get("level")
    if found is None:
        raise ApiError(400, "Desired 'level' parameter was not specified in request.")
    if not isinstance(found, str):
        raise ApiError(400, '"level" is not text.')
    return found


def _offset(entry: dict[str, Any]) -> OffsetEntry:
    _only(entry, {"partition", "offset"}, "An offset")
    partition, offset = entry.get("partition"), entry.get("offset")
    if partition is None:
        raise ApiError(400, "The partition for a sink connector offset cannot be null or missing")
    return OffsetEntry(_object(partition, '"partition"'), None if offset is None else _object(offset, '"offset"'))


def _state(state: Any) -> str | None:
    if state is None:
        return None
    if not isinstance(state, str) or state.upper() not in {"RUNNING", "PAUSED", "STOPPED"}:
        raise ApiError(400, f'"initial_state" is {state}. Write RUNNING, PAUSED or STOPPED.')
    return state.upper()


async def _json(request: Request, *, as_text: bool = False) -> Any:
    data = await request.body()
    if not data.strip():
        raise ApiError(400, "The request has no body.")
    whole, fraction = (str, str) if as_text else (_whole, _fraction)
    try:
        text = data.decode(json.detect_encoding(data))  # json itself lets half a character pass
        found = json.loads(text, parse_int=whole, parse_float=fraction, parse_constant=_no_constant)
        if b"\\u" in data:
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ApiError(
            400, f"The request is not JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from None
    except UnicodeEncodeError:
        raise ApiError(400, "The request is not text: one of its \\u is half a character (a lone surrogate).") from None
    except (UnicodeDecodeError, RecursionError):
        raise ApiError(400, "The request is not JSON in UTF-8.") from None
    return found


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ApiError(400, f"A number of the request has {len(digits):,} digits. The limit is {_MOST_DIGITS:,}.")
    return int(digits)


def _fraction(written: str) -> float:
    if math.isinf(found := float(written)):
        raise ApiError(400, f"The number {written[:40]} of the request is too large.")
    return found


def _no_constant(word: str) -> NoReturn:
    raise ApiError(400, f"The request is not JSON: {word} is not a number.")


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ApiError(400, f"{what} is not a JSON object.")
    return value


def _only(value: dict[str, Any], known: set[str], what: str) -> None:
    if unknown := sorted(value.keys() - known):
        raise ApiError(400, f'{what} has the unknown field "{unknown[0]}". Known are {", ".join(sorted(known))}.')


def _texts(value: Any, what: str) -> dict[str, str | None]:
    return {key: _text(key, one) for key, one in _object(value, what).items()}


def _text(key: str, value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value
    raise ApiError(400, f'The value of "{key}" is not text. Write lists as one text: "a,b".')
