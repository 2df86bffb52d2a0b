"""A record on its way through a chain, for people: the record, each step with its changes, the resulting record."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from connect.cli._table import coloured, plain
from connect.converters import json_schema
from connect.data.times import EPOCH
from connect.pipeline.outcome import SeenOutcome, SeenStep
from connect.pipeline.seen import Change, SeenRecord

#: The most characters of one value in a line; --json shows all.
_WIDTH: Final = 200
_COLOUR: Final = {"failed": "FAILED", "dropped": "~", "kept": "+"}


def told(outcome: SeenOutcome, name: str, *, full: bool = False) -> str:
    """All about one record.

    Args:
        name: of the record.
        full: whether values are shown whole.
    """
    return "\n".join(_lines(outcome, name, None if full else _WIDTH))


def value_text(value: Any, width: int | None = _WIDTH) -> str:
    """A plain value on one line, of at most this length."""
    if value is msgspec.UNSET:
        return "nothing"
    if isinstance(value, dict) and len(value) == 1:
        if isinstance(value.get("base64"), str):
            data = base64.b64decode(value["base64"])
            return _cut(f"0x{data.hex()} ({len(data)} bytes)", width)
        if isinstance(value.get("text"), str):
            text = value["text"]
            return _cut(f"bytes '{text}'" if '"' in text and "'" not in text else f"bytes {_quoted(text)}", width)
    return _cut(_quoted(value), width)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def moment(timestamp: int | None) -> str:
    """A timestamp, in UTC."""
    if timestamp is None:
        return "none"
    try:
        at = EPOCH + dt.timedelta(milliseconds=timestamp)
    except OverflowError:
        return str(timestamp)
    return at.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def _lines(outcome: SeenOutcome, name: str, width: int | None) -> Iterator[str]:
    before = outcome.before
    if before.offset is None:
        index = f"{name}, for topic {before.topic}"
    else:
        index = f"{name}, {before.topic}-{before.partition}@{before.offset}"
    last = outcome.steps[-1] if outcome.steps else None
    said: str = outcome.verdict
    if last is not None and said != "kept":
        said = f"{said} by {last.title}" if said == "dropped" else f"{said} in {last.title}"
    yield f"{index}: {coloured(_COLOUR[outcome.verdict], plain(said))}"
    yield from _record(before, width)
    for place_in_chain, step in enumerate(outcome.steps, 1):
        yield from _step(place_in_chain, step, width)
    if outcome.after is not None and outcome.steps:
        yield "  then"
        yield from _record(outcome.after, width)


def _record(seen: SeenRecord, width: int | None) -> Iterator[str]:
    yield f"      topic      {plain(seen.topic)}" + ("" if seen.partition is None else f", partition {seen.partition}")
    yield f"      timestamp  {moment(seen.timestamp)}"
    for name, value, schema in (("key", seen.key, seen.key_schema), ("value", seen.value, seen.value_schema)):
        yield plain(f"      {name:9}  {value_text(value, width)}{_type(schema, width)}")
    for header in seen.headers:
        yield plain(f"      header     {header.key} = {value_text(header.value, width)}{_type(header.schema, None)}")


def _type(schema: dict[str, Any] | None, width: int | None) -> str:
    return "" if schema is None else f"  {_cut(repr(json_schema.from_json(schema, lambda _, value: value)), width)}"


def _step(index: int, step: SeenStep, width: int | None) -> Iterator[str]:
    head = f"  {index} {plain(step.title)}"
    match step.verdict:
        case "unchanged":
            yield f"{head}: changes nothing"
        case "passed by":
            yield f"{head}: its predicate does not choose this record"
        case "dropped":
            yield coloured("~", f"{head}: drops it")
        case "failed":
            yield coloured("FAILED", f"{head}: fails")
            if step.error is not None:
                yield plain(f"      {step.error.class_name}: {step.error.message}")
                yield plain(f"      {step.error.advice}")
        case "changed":
            yield head
            for change in step.changes:
                yield f"      {_change(change, width)}"


def _change(change: Change, width: int | None) -> str:
    sign = change.sign
    before, after = _typed(change.before, change.before_type, width), _typed(change.after, change.after_type, width)
    if change.path == "timestamp":
        before, after = moment(change.before), moment(change.after)
    text = {"+": after, "-": before, "~": f"{before} -> {after}"}[sign]
    return coloured(sign, plain(f"{sign} {change.path}: {text}"))


def _typed(value: Any, kind: Any, width: int | None) -> str:
    return value_text(value, width) + ("" if kind is msgspec.UNSET else f" ({_cut(kind, width)})")


def _cut(text: str, width: int | None) -> str:
    if width is None or len(text) <= width:
        return text
    return f"{text[:width]}… ({len(text)} characters)"
