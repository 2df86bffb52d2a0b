"""MySQL's binary JSON, against documents that this module packs as the manual describes it."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import DataError
from connectors.jdbc.mysql_capture import json_binary

_DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
    max_leaves=20,
)


def packed(value: Any, large: bool) -> tuple[int, bytes]:
    """The kind of a value, and its bytes."""
    if value is None or isinstance(value, bool):
        return 4, bytes([{None: 0, True: 1, False: 2}[value]])
    if isinstance(value, int):
        for kind, form, low, high in _NUMBERS:
            if low <= value <= high:
                return kind, struct.pack(form, value)
    if isinstance(value, float):
        return 11, struct.pack("<d", value)
    if isinstance(value, str):
        raw, length = value.encode(), len(value.encode())
        head = b""
        while length > 127:
            head += bytes([length & 127 | 128])
            length >>= 7
        return 12, head + bytes([length]) + raw
    return container(value, large)


_NUMBERS = [
    (5, "<h", -(2**15), 2**15 - 1),
    (7, "<i", -(2**31), 2**31 - 1),
    (9, "<q", -(2**63), 2**63 - 1),
    (10, "<Q", 0, 2**64 - 1),
]


def container(value: list[Any] | dict[str, Any], large: bool) -> tuple[int, bytes]:
    form, width = ("<I", 4) if large else ("<H", 2)
    pairs = list(value.items()) if isinstance(value, dict) else None
    items = [item for _, item in pairs] if pairs is not None else list(value)
    keys = [key.encode() for key, _ in pairs] if pairs is not None else []
    at = 2 * width + len(keys) * (width + 2) + len(items) * (1 + width)
    heads, tail = b"", b""
    for key in keys:
        heads += struct.pack(form, at + len(tail)) + struct.pack("<H", len(key))
        tail += key
    for item in items:
        kind, raw = packed(item, large)
        if kind in (4, 5) or (large and kind in (7, 8)):
            heads += bytes([kind]) + raw.ljust(width, b"\0")
        else:
            heads += bytes([kind]) + struct.pack(form, at + len(tail))
            tail += raw
    body = heads + tail
    kind = (1 if large else 0) if pairs is not None else (3 if large else 2)
    return kind, struct.pack(form, len(items)) + struct.pack(form, 2 * width + len(body)) + body


@given(_DOCUMENTS, st.booleans())
def test_documents(document: Any, large: bool) -> None:
    kind, raw = packed(document, large)
    assert json.loads(json_binary.text(bytes([kind]) + raw)) == document


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (bytes([15, 246, 4, 3, 1, 0x8C, 0x05]), "12.5"),
        (b"", "null"),
        (bytes([15, 253, 2]) + b"ab", '"base64:type253:YWI="'),
        (b"\x0b" + struct.pack("<d", 1e100), "1e100"),
    ],
)
def test_other_values(raw: bytes, text: str) -> None:
    assert json_binary.text(raw) == text


def test_dates_and_times() -> None:
    day = (2024 * 13 + 2) << 5 | 29
    at = (day << 17 | 13 << 12 | 45 << 6 | 1) << 24 | 123456
    assert json_binary.text(bytes([15, 12, 8]) + struct.pack("<q", at)) == '"2024-02-29 13:45:01.123456"'
    assert json_binary.text(bytes([15, 10, 8]) + struct.pack("<q", day << 41)) == '"2024-02-29"'
    clock = (101 << 12 | 2 << 6 | 3) << 24
    assert json_binary.text(bytes([15, 11, 8]) + struct.pack("<q", -clock)) == '"-101:02:03.000000"'


@pytest.mark.parametrize("raw", [b"\x00", b"\x02\x05\x00\x05\x00\x05", b"\x0c\xff", b"\x20a", b"\x05\x01"])
def test_damaged_documents_are_an_error(raw: bytes) -> None:
    with pytest.raises(DataError):
        json_binary.text(raw)
