"""Dead letters for people: tables, and one in full."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from connect.cli._table import coloured, plain, table
from connect.cli._trial_text import moment

_ERROR: Final = 80
_KEY: Final = 30
_HEX_ROWS: Final = 64


def letters_table(letters: Sequence[Mapping[str, Any]]) -> str:
    """A line each."""
    rows = [
        (
            f"{one['partition']}:{one['offset']}",
            moment(one["timestamp"]),
            (one["error"] or {}).get("stage", "-"),
            _cut(_error(one["error"]), _ERROR),
            _cut(_short(one["key"]), _KEY),
            _origin(one["error"]),
        )
        for one in letters
    ]
    return table(["PLACE", "TIME", "STAGE", "ERROR", "KEY", "FROM"], rows)


def groups_table(groups: Sequence[Mapping[str, Any]]) -> str:
    """A line each."""
    rows = [
        (
            one["count"],
            one["stage"] or "-",
            _cut(_said(one["exception"], one["message"]), _ERROR),
            moment(one["first"]),
            moment(one["last"]),
            f"{one['partition']}:{one['offset']}",
            one["fingerprint"],
        )
        for one in groups
    ]
    return table(["COUNT", "STAGE", "ERROR", "FIRST", "LAST", "NEWEST", "FINGERPRINT"], rows)


def letter_text(letter: Mapping[str, Any], topic: str, decoded: Mapping[str, str], *, as_hex: bool) -> str:
    """All of one.

    Args:
        decoded: the converters' output for "key" and "value", if they were tried.
        as_hex: show bytes as such even if they are text.
    """
    return "\n".join(_letter(letter, topic, decoded, as_hex=as_hex))


def _letter(letter: Mapping[str, Any], topic: str, decoded: Mapping[str, str], *, as_hex: bool) -> Iterator[str]:
    yield plain(f"dead letter  {topic} {letter['partition']}:{letter['offset']}, {moment(letter['timestamp'])}")
    error = letter["error"]
    if error is None:
        yield "error        its headers do not say what happened (errors.deadletterqueue.context.headers.enable)"
    else:
        yield coloured("FAILED", plain(f"error        {error['stage']}: {_error(error)}"))
        yield plain(f"in           {error['class_name']}, connector {error['connector']}, task {error['task']}")
        yield plain(f"from         {_origin(error)}")
        yield f"fingerprint  {error['fingerprint']}"
        if error["omitted"]:
            yield plain(f"left out     its value: {error['omitted']}")
    for header in letter["headers"]:
        yield plain(f"header       {header['key']} = {_short(header['value'])}")
    for part in ("key", "value"):
        yield from _payload(part, letter[part], as_hex=as_hex)
        if part in decoded:
            yield plain(f"  converted  {decoded[part]}")
    if error is not None and error["stacktrace"]:
        yield "stack trace"
        yield from (f"  {plain(line)}" for line in error["stacktrace"].splitlines())


def _payload(part: str, shown: Mapping[str, Any] | None, *, as_hex: bool) -> Iterator[str]:
    if shown is None:
        yield f"{part:12} null"
        return
    text = shown.get("text")
    if text is None or as_hex:
        yield f"{part:12} {shown['size']} bytes"
        yield from _hex(data_of(shown) or b"")
        return
    lines = ((laid_out(text) if text[:1] in ("{", "[") else None) or text).splitlines() or [""]
    if len(lines) == 1:
        yield plain(f"{part:12} {lines[0]}")
    else:
        yield f"{part:12} {shown['size']} bytes"
        yield from (f"  {plain(line)}" for line in lines)


def data_of(shown: Mapping[str, Any] | None) -> bytes | None:
    """The bytes of a key or a value, as REST shows and takes it: as text, in base64, or null."""
    if shown is None:
        return None
    if shown.get("text") is not None:
        return str(shown["text"]).encode()
    return None if shown.get("base64") is None else base64.b64decode(shown["base64"])


def laid_out(text: str, indent: int = 2) -> str | None:
    """JSON on several lines, or with a negative indent on one, digits as they are written. None where it is not JSON.

    NaN, which Python and others write, is not JSON.
    """
    try:
        return msgspec.json.format(text, indent=indent)
    except (msgspec.DecodeError, RecursionError):
        return None


def _hex(data: bytes) -> Iterator[str]:
    rows = [data[start : start + 16] for start in range(0, len(data), 16)]
    for number, row in enumerate(rows[:_HEX_ROWS]):
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"  {number * 16:06x}  {row.hex(' '):47}  {text}"
    if len(rows) > _HEX_ROWS:
        yield f"  ... {len(data) - 16 * _HEX_ROWS} more bytes; --json has all"


def _error(error: Mapping[str, Any] | None) -> str:
    return "-" if error is None else _said(error["exception"], error["message"])


def _said(exception: str, message: str | None) -> str:
    name = exception.rpartition(".")[2] or "-"
    return name if message is None else f"{name}: {message}"


def _origin(error: Mapping[str, Any] | None) -> str:
    if error is None:
        return "-"
    if error["source_partition"] is not None:
        return f"{json.dumps(error['source_partition'])} at {json.dumps(error['source_offset'])}"
    return "-" if error["topic"] is None else f"{error['topic']}-{error['partition']}@{error['offset']}"


def _short(shown: Mapping[str, Any] | None) -> str:
    if shown is None:
        return "null"
    if shown.get("text") is not None:
        return json.dumps(shown["text"], ensure_ascii=False) + ("…" if shown.get("cut") else "")
    return f"0x{base64.b64decode(shown['base64']).hex()}" + ("…" if shown.get("cut") else "")


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 1]}…"
