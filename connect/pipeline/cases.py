"""The expected results of a record in a chain, and the differences of an outcome.

An expectation is a mapping of properties; properties that it does not name may have any value:

    {"value": {"id": 5}, "headers": {"trace": "abc"}, "topic": "orders"}
    {"dropped": True}                       or the alias of the transformation that should drop it
    {"error": {"stage": "VALUE_CONVERTER", "class": "DataError", "message": "a pattern"}}     or True for any error

With `"match": "partial"` objects may have more fields, and records more headers, than are named.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from connect.converters import json_schema
from connect.data.record import SinkRecord
from connect.data.schema import Schema
from connect.data.times import timestamp_ms
from connect.errors import ConnectError
from connect.pipeline.outcome import Outcome, StepFailure
from connect.pipeline.seen import Snapshot, plain

_ATTRIBUTES: Final = ("topic", "partition", "timestamp", "key", "key_schema", "value", "value_schema", "headers")
_KNOWN: Final = frozenset({*_ATTRIBUTES, "dropped", "error", "match"})
_OF_ERROR: Final = frozenset({"stage", "class", "message", "transformation"})


class ExpectationError(ConnectError):
    """The form of an expectation is wrong. `path` leads to it: ("error", "stage")."""

    def __init__(self, path: Sequence[str], message: str) -> None:
        super().__init__(message)
        self.path = tuple(path)


@dataclass(frozen=True, slots=True)
class Problem:
    """One difference between outcome and expectation.

    Attributes:
        path: such as `value.id`; empty for the record as a whole.
        expected, found: as text.
    """

    path: str
    expected: str
    found: str

    def __str__(self) -> str:
        index = f"{self.path}: " if self.path else ""
        return f"{index}expected {self.expected}, got {self.found}"


def check_form(expected: Any) -> None:
    """Raise ExpectationError for an invalid expectation, before anything runs."""
    if not isinstance(expected, Mapping):
        raise ExpectationError((), "an expectation has keys: value, key, dropped, error.")
    if unknown := sorted(str(key) for key in expected.keys() - _KNOWN):
        raise ExpectationError((unknown[0],), f'"{unknown[0]}" is not known here; known are {_listed(_KNOWN)}.')
    looked_at = [name for name in (*_ATTRIBUTES, "dropped", "error") if name in expected]
    if not looked_at:
        raise ExpectationError((), f"nothing is expected; name one of {_listed(_KNOWN - {'match'})}.")
    for alone in ("dropped", "error"):
        if alone in expected and len(looked_at) > 1:
            raise ExpectationError((alone,), f'"{alone}" must be the only key: there is no record then.')
    if expected.get("match", "exact") not in ("exact", "partial"):
        raise ExpectationError(("match",), "match is exact or partial.")
    if not (expected.get("dropped", True) is True or isinstance(expected["dropped"], str)):
        raise ExpectationError(("dropped",), "dropped is true, or the alias of a transformation.")
    if "error" in expected:
        _check_error(expected["error"])
    for name in ("key_schema", "value_schema"):
        if isinstance(expected.get(name), Mapping):
            _schema(name, expected[name])
    headers = expected.get("headers", {})
    if not isinstance(headers, Mapping) and not (isinstance(headers, list) and all(map(_is_pair, headers))):
        raise ExpectationError(("headers",), "headers are an object, or a list of [key, value].")


def problems(expected: Mapping[str, Any], outcome: Outcome) -> list[Problem]:
    """The differences between an outcome and an expectation; empty without any."""
    if "error" in expected:
        return _of_error(expected["error"], outcome)
    if "dropped" in expected:
        by = expected["dropped"]
        last = outcome.steps[-1] if outcome.steps else None
        if outcome.verdict == "dropped" and (by is True or (last is not None and last.alias == by)):
            return []
        return [Problem("", "it to be dropped" + ("" if by is True else f" by {by}"), _told(outcome))]
    after = outcome.after
    if after is None:
        return [Problem("", "it to be kept", _told(outcome))]
    partial = expected.get("match") == "partial"
    return [
        problem for name in _ATTRIBUTES if name in expected for problem in _of(name, expected[name], after, partial)
    ]


def _of(name: str, wanted: Any, after: Snapshot, partial: bool) -> Iterator[Problem]:
    record = after.record
    match name:
        case "topic" | "partition" | "timestamp":
            yield from differences(name, wanted, getattr(record, name), partial)
        case "key" | "value":
            found, _ = after.side(name)
            if name in after.raw:
                yield from _of_bytes(name, wanted, found, partial)
            else:
                yield from differences(name, wanted, found, partial)
        case "key_schema" | "value_schema":
            _, schema = after.side("key" if name == "key_schema" else "value")
            if isinstance(wanted, Mapping):
                wanted_schema = _schema(name, wanted)
                if wanted_schema != schema:
                    yield Problem(name, repr(wanted_schema), repr(schema) if schema is not None else "no schema")
            elif wanted != (None if schema is None else repr(schema)):
                yield Problem(name, str(wanted or "no schema"), repr(schema) if schema is not None else "no schema")
        case "headers":
            yield from _of_headers(wanted, after, partial)


def _of_headers(wanted: Any, after: Snapshot, partial: bool) -> Iterator[Problem]:
    found = [(key, value) for key, value, _ in after.headers()]
    raw = "headers" in after.raw
    pairs: list[tuple[str, Any]] = list(wanted.items()) if isinstance(wanted, Mapping) else [tuple(p) for p in wanted]
    if not partial and [key for key, _ in pairs] != [key for key, _ in found]:
        yield Problem("headers", _names(pairs), _names(found))
        return
    left = list(found)
    for key, value in pairs:
        there = [one for one in left if one[0] == key]
        if not there:
            yield Problem(f"headers.{key}", text(value), "nothing")
            continue
        candidates = [
            list(_of_bytes(f"headers.{key}", value, one, partial))
            if raw
            else list(differences(f"headers.{key}", value, one, partial))
            for _, one in there
        ]
        best = min(range(len(candidates)), key=lambda index: len(candidates[index])) if partial else 0
        left.remove(there[best])
        yield from candidates[best]


def differences(path: str, wanted: Any, found: Any, partial: bool) -> Iterator[Problem]:
    """The differences between a value and the expected one.

    1, 1.0 and true are three values. A decimal is expected as a number or as text, a moment as text in ISO 8601 or in
    milliseconds since the epoch, bytes as {"text": ...} or {"base64": ...}.
    """
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key in wanted:
            if key in found:
                yield from differences(f"{path}.{key}", wanted[key], found[key], partial)
            else:
                yield Problem(f"{path}.{key}", text(wanted[key]), "nothing")
        if not partial:
            yield from (Problem(f"{path}.{key}", "nothing", text(found[key])) for key in found if key not in wanted)
    elif _is_list(wanted) and _is_list(found):
        if len(wanted) != len(found):
            yield Problem(path, f"{len(wanted)} elements", f"{len(found)}: {text(found)}")
        else:
            for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
                yield from differences(f"{path}[{index}]", one, other, partial)
    elif not _same(wanted, found):
        one, other = text(wanted), text(found)
        if one == other:
            one, other = f"{one} ({type(wanted).__name__})", f"{other} ({type(found).__name__})"
        yield Problem(path, one, other)


def text(value: Any) -> str:
    """A value on one line."""
    return json.dumps(plain(value), ensure_ascii=False)


def _same(wanted: Any, found: Any) -> bool:
    match found:
        case bool() | None:
            return wanted is found
        case Decimal():
            if isinstance(wanted, bool) or not isinstance(wanted, int | float | str | Decimal):
                return False
            try:
                return Decimal(str(wanted)) == found
            except InvalidOperation:
                return False
        case bytes() | bytearray() | memoryview():
            return _bytes(wanted) == bytes(found)
        case dt.datetime() | dt.date() | dt.time():
            if isinstance(wanted, int) and isinstance(found, dt.datetime):
                return timestamp_ms(found) == wanted
            return bool(wanted == found or wanted == plain(found) or wanted == found.isoformat())
        case float() if isinstance(wanted, float) and math.isnan(found):
            return math.isnan(wanted)
    return type(wanted) is type(found) and bool(wanted == found)


def _of_bytes(path: str, wanted: Any, found: bytes | None, partial: bool) -> Iterator[Problem]:
    """Bytes: exactly these, or JSON with the same meaning if the expectation is neither text nor bytes."""
    exact = _bytes(wanted)
    if exact is not None or wanted is None or found is None:
        if exact != found or (exact is None and wanted is not None):
            yield Problem(path, text(wanted) if exact is None else _shown(exact), _shown(found))
        return
    try:
        meant = json.loads(found)
    except ValueError:
        yield Problem(path, f"JSON: {text(wanted)}", _shown(found))
        return
    yield from differences(path, wanted, meant, partial)


def _bytes(wanted: Any) -> bytes | None:
    if isinstance(wanted, bytes):
        return wanted
    if isinstance(wanted, str):
        return wanted.encode()
    if isinstance(wanted, Mapping) and len(wanted) == 1:
        if isinstance(wanted.get("text"), str):
            return str(wanted["text"]).encode()
        if isinstance(wanted.get("base64"), str):
            try:
                return base64.b64decode(wanted["base64"], validate=True)
            except binascii.Error:
                return None
    return None


def _shown(data: bytes | None) -> str:
    if data is None:
        return "null"
    try:
        return f"bytes {json.dumps(data.decode(), ensure_ascii=False)}"
    except UnicodeDecodeError:
        return f"bytes 0x{data.hex()}"


def _of_error(wanted: Any, outcome: Outcome) -> list[Problem]:
    last = outcome.steps[-1] if outcome.steps else None
    if last is None or last.failure is None:
        return [Problem("", "an error", _told(outcome))]
    failure, found = last.failure, []
    if wanted is True:
        return []
    if "stage" in wanted and str(wanted["stage"]).upper() != failure.stage:
        found.append(Problem("error.stage", str(wanted["stage"]).upper(), failure.stage))
    names = [failure.class_name, failure.reported_as]
    if "class" in wanted and wanted["class"] not in [*names, *(name.rpartition(".")[2] for name in names)]:
        found.append(Problem("error.class", str(wanted["class"]), failure.class_name))
    if "transformation" in wanted and wanted["transformation"] != last.alias:
        found.append(Problem("error.transformation", str(wanted["transformation"]), str(last.alias)))
    if "message" in wanted and not re.search(str(wanted["message"]), failure.message):
        found.append(Problem("error.message", f"what matches {wanted['message']}", failure.message))
    return found


def _check_error(wanted: Any) -> None:
    if wanted is True:
        return
    if not isinstance(wanted, Mapping):
        raise ExpectationError(("error",), f"error is true, or has some of {_listed(_OF_ERROR)}.")
    if unknown := sorted(str(key) for key in wanted.keys() - _OF_ERROR):
        known = _listed(_OF_ERROR)
        raise ExpectationError(("error", unknown[0]), f'"{unknown[0]}" is not known here; known are {known}.')
    try:
        re.compile(str(wanted.get("message", "")))
    except re.error as error:
        raise ExpectationError(("error", "message"), f"message is not a regular expression: {error}.") from None


def _schema(name: str, wanted: Mapping[str, Any]) -> Schema | None:
    try:
        return json_schema.from_json(wanted, lambda _, value: value)
    except ConnectError as error:
        raise ExpectationError((name,), str(error)) from error


def _told(outcome: Outcome) -> str:
    """The outcome of a record, on one line."""
    last = outcome.steps[-1] if outcome.steps else None
    if last is not None and last.failure is not None:
        return f"an error in {last.seen().title}: {_error(last.failure)}"
    if outcome.verdict == "dropped" and last is not None:
        return f"it dropped by {last.seen().title}"
    after = outcome.after
    assert after is not None
    value, _ = after.side("value")
    where = f" in topic {after.record.topic}" if isinstance(after.record, SinkRecord) else f" for {after.record.topic}"
    return f"a record{where} with the value {text(value)}"


def _error(failure: StepFailure) -> str:
    return f"{failure.class_name.rpartition('.')[2]}: {failure.message}"


def _names(pairs: Sequence[tuple[str, Any]]) -> str:
    return ", ".join(key for key, _ in pairs) or "none"


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _is_pair(one: Any) -> bool:
    return isinstance(one, list | tuple) and len(one) == 2 and isinstance(one[0], str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
