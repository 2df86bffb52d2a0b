"""Objects of JSON that stay bytes: only what is strictly JSON, and decoded it is what it always was."""

import pytest

from connect import DataError
from connect.converters.json_converter import JsonConverter
from connect.data.column import Constant


def read(*data: bytes | None) -> tuple[list[bytes | None] | None, list[object]]:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    values = converter.to_connect_batch(Constant("t", len(data)), list(data))
    return values.json, values.to_list()


def test_objects_are_handed_on_as_they_are_and_decoded_when_asked() -> None:
    raw = [b'{"a": 1, "b": [1e400, -0.0, "\xc3\xbc"]}', b'{"\\u00fc":1}']
    json, values = read(*raw)
    assert json == raw
    assert values == [{"a": 1, "b": [float("inf"), 0.0, "ü"]}, {"ü": 1}]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":1} and more', {"a": 1}),  # Java reads the first value, and so do we
        (b' {"a":1}', {"a": 1}),
        (b"\xef\xbb\xbf{}", {}),
        (b'{"a":01}', {"a": 1}),
        (b'{"a":"\\ud800"}', {"a": "\ud800"}),
        (b"17", 17),
        (b"null", None),
    ],
)
def test_what_is_read_but_is_no_object_of_strict_json_has_no_bytes_to_hand_on(data: bytes, value: object) -> None:
    json, values = read(b"{}", data)
    assert json is None
    assert values == [{}, value]


def test_tombstones_among_them_stay() -> None:
    assert read(b'{"a":1}', None) == ([b'{"a":1}', None], [{"a": 1}, None])


@pytest.mark.parametrize("data", [b'{"a":}', b'{"a":1,}', b'{"a":"\x01"}', b'{"a":0e9999999999}', b'{"\\ud800":1}'])
def test_what_is_no_json_is_refused_at_once(data: bytes) -> None:
    with pytest.raises(DataError):
        read(b"{}", data)
