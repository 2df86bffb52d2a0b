"""Bodies of responses as servers write them: packed, with marks, in other character sets, with halves of emojis."""

from __future__ import annotations

import gzip
import json

import pytest

from connect.http import Answer
from connect.kit import RestError, json_of
from connect.kit.answers import parsed, unpacked

ITEMS = [{"name": "Jürgen"}]
GZIP = [("Content-Encoding", "gzip")]


def said(body: bytes, kind: str = "application/json") -> Answer:
    return Answer(200, [("content-type", kind)], body)


@pytest.mark.parametrize(
    ("charset", "kind"),
    [
        ("utf-8", "application/json"),
        ("utf-8-sig", "application/json"),
        ("utf-8", "application/json; charset=ISO-8859-1"),  # a default of servers, and not true
        ("iso-8859-1", "application/json; charset=ISO-8859-1"),
        ("cp1252", 'application/json;charset="windows-1252"'),
    ],
)
def test_a_text_is_utf_8_or_what_the_server_says(charset: str, kind: str) -> None:
    assert json_of(said(json.dumps(ITEMS, ensure_ascii=False).encode(charset), kind)) == ITEMS


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=none-such", ""])
def test_a_text_in_nothing_that_is_known_is_an_error(kind: str) -> None:
    with pytest.raises(RestError, match="The answer is not"):
        json_of(said('["é"]'.encode("latin-1"), kind))


def test_half_of_a_surrogate_pair_is_one() -> None:
    """A server that cuts texts at a length cuts emojis in two."""
    found = parsed(rb'[{"text": "cut \ud83d", "n": 12345678901234567890123, "m": -5, "x": 1.5}]')
    assert found == [{"text": "cut \ud83d", "n": 1.2345678901234568e22, "m": -5, "x": 1.5}]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (rb'["\ud83d"', "delimiter"),
        (rb'["\ud83d", NaN]', "NaN is not a number"),
        (rb'["\ud83d"]]', "Extra data"),
        (b"[" * 200_000 + rb'"\ud83d"', "nested too deeply"),
    ],
)
def test_beside_one_all_else_must_be_json(text: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parsed(text)


def test_a_packed_answer_is_unpacked_also_in_several_parts() -> None:
    body = json.dumps(ITEMS).encode()
    answer = unpacked(Answer(200, [*GZIP, ("X", "y")], gzip.compress(body[:5]) + gzip.compress(body[5:])), 1000)
    assert answer == Answer(200, [("X", "y")], body)
    assert unpacked(Answer(304, GZIP, b""), 1000).content == b""


@pytest.mark.parametrize(  # without the time of day: all processes of a run must give a test the same name
    ("body", "why", "passing"),
    [
        (b"plain", "not gzip, as it says", False),
        (gzip.compress(b"x" * 1001, mtime=0), "longer than 1000 bytes", False),
        (gzip.compress(b"x" * 700, mtime=0) * 2, "longer than 1000 bytes", False),
        (gzip.compress(b"abc", mtime=0)[:-3], "cut off", True),
    ],
)
def test_what_cannot_be_unpacked_is_an_error(body: bytes, why: str, passing: bool) -> None:
    with pytest.raises(RestError, match=why) as raised:
        unpacked(Answer(200, GZIP, body), 1000)
    assert raised.value.passing is passing


def test_an_answer_that_may_be_asked_for_again_stays_so() -> None:
    with pytest.raises(RestError) as raised:
        unpacked(Answer(502, GZIP, b"<html>"), 1000)
    assert raised.value.passing
