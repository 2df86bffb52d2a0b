"""The bodies of responses: unpacked, in UTF-8, from JSON."""

from __future__ import annotations

import codecs
import json
import re
import zlib
from email.message import Message
from typing import Any, Final, NoReturn

import orjson

from connect.http import Answer
from connect.kit.failures import PASSING, RestError

_GZIP: Final = 31
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")


def unpacked(answer: Answer, most_bytes: int) -> Answer:
    """The response without its packing: some servers use gzip whatever the request says.

    Raises:
        RestError: it is cut off, is no gzip, or is longer than `most_bytes` when it is unpacked.
    """
    packing = _header(answer, "content-encoding").strip().lower()
    if packing not in ("gzip", "x-gzip") or not answer.content:
        return answer
    status, passing = answer.status, answer.status in PASSING
    rest, parts, left = answer.content, [], most_bytes + 1
    while rest:
        unpacking = zlib.decompressobj(_GZIP)
        try:
            part = unpacking.decompress(rest, left)
        except zlib.error as error:
            why = f"The answer is not gzip, as it says: {error}."
            raise RestError(why, status=status, passing=passing) from None
        parts.append(part)
        left -= len(part)
        if left <= 0:
            raise RestError(f"The answer is longer than {most_bytes} bytes.", status=status, passing=passing)
        if not unpacking.eof:
            raise RestError("The answer is cut off.", status=status, passing=True)
        rest = unpacking.unused_data
    headers = [(name, value) for name, value in answer.headers if name.lower() != "content-encoding"]
    return Answer(status, headers, b"".join(parts))


def utf8_of(answer: Answer) -> bytes:
    """The text of a response in UTF-8, without a byte order mark. What is no UTF-8 is what Content-Type says.

    Raises:
        RestError: it is neither.
    """
    content = answer.content.removeprefix(codecs.BOM_UTF8)
    if content.isascii():
        return content
    try:
        content.decode()
        return content
    except UnicodeDecodeError as error:
        kind = Message()
        kind["content-type"] = _header(answer, "content-type")
        charset = kind.get_content_charset("utf-8")
        try:
            return content.decode(charset).encode()
        except (LookupError, ValueError):
            raise RestError(f"The answer is not {charset}: {error}.", status=answer.status) from None


def json_of(answer: Answer) -> Any:
    """The JSON of a response. An empty one is None.

    Raises:
        RestError: it is not JSON.
    """
    content = utf8_of(answer)
    try:
        return parsed(content) if content.strip() else None
    except ValueError as error:
        raise RestError(f"The answer is not JSON: {error}.", status=answer.status) from None


def parsed(text: bytes) -> Any:
    r"""The JSON of a text in UTF-8. Raises ValueError.

    It may have half of a surrogate pair, as "\ud83d": servers write it where they cut a text within an emoji.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if not _HALF.search(text):
            raise
    try:
        return json.loads(text, parse_int=_whole, parse_constant=_refused)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _whole(text: str) -> int | float:
    """A whole number as the fast parser reads it: beyond 64 bits it is a double."""
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 64 else float(text)


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _header(answer: Answer, wanted: str) -> str:
    return next((value for name, value in answer.headers if name.lower() == wanted), "")
