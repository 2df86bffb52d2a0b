"""Fields of JSON payloads are changed, and nothing else of them."""

import pytest

from connect.herder.edits import EditError, edited

PAYLOAD = (
    b'{"id":"5","price":1.50,"big":123456789012345678901234567890,"tags":["a",{"b":null}],"e":1E+400,"s":"\\u00e4"}'
)


def test_digits_of_other_fields_stay() -> None:
    assert edited(PAYLOAD, {}) == PAYLOAD.replace(b"\\u00e4", "ä".encode())
    assert edited(b'{"p":1.50}', {"q": 2}) == b'{"p":1.50,"q":2}'


@pytest.mark.parametrize(
    ("put", "drop", "result"),
    [
        ({"a": 5}, [], b'{"a":5,"b":{"c":[1,{"d":2}]}}'),
        ({"b.c.1.d": "x"}, [], b'{"a":1,"b":{"c":[1,{"d":"x"}]}}'),
        ({"b.c.0": None}, [], b'{"a":1,"b":{"c":[null,{"d":2}]}}'),
        ({"n.m": {"o": 1}}, [], b'{"a":1,"b":{"c":[1,{"d":2}]},"n":{"m":{"o":1}}}'),
        ({}, ["a", "b.c.0", "nothing", "a.b"], b'{"b":{"c":[{"d":2}]}}'),
        ({}, ["b"], b'{"a":1}'),
    ],
)
def test_paths_lead_into_objects_and_lists(put, drop, result) -> None:
    assert edited(b'{"a":1,"b":{"c":[1,{"d":2}]}}', put, drop) == result


@pytest.mark.parametrize(
    ("payload", "put", "said"),
    [
        (None, {"a": 1}, "the value is null"),
        (b"\xff", {"a": 1}, "the value is not JSON"),
        (b"{", {"a": 1}, "the value is not JSON"),
        (b"[" * 100_000, {"a": 1}, "the value is not JSON"),
        (b'"text"', {"a": 1}, 'no "a" in a text'),
        (b'{"a":[1]}', {"a.1": 1}, 'no "1" in a list of 1'),
        (b'{"a":[1]}', {"a." + "1" * 5000: 1}, "in a list of 1"),
        (b'{"a":[1]}', {"a." + "1" * 5000 + ".b": 1}, "in a list of 1"),
        (b'{"a":5}', {"a.b.c": 1}, 'no "b" in a number'),
        (b"{}", {"a..b": 1}, "is not a path"),
    ],
)
def test_what_does_not_fit_is_said(payload, put, said) -> None:
    with pytest.raises(EditError, match=said):
        edited(payload, put)
