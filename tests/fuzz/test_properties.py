"""Property files and connector files: any bytes are read, or refused with a ConfigFileError, in linear time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connect.settings.connector_files import load_connector
from connect.settings.properties import ConfigFileError, PropertiesError, loads
from tests.fuzz.damage import damaged
from tests.fuzz.running import Fuzz

pytestmark = pytest.mark.quick

PIECES = [
    *rb"\ # ! = : \\ \u \u00e4 \ud83d \ude00 \ud83d\ude00 \t name name=".split(),
    *(b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf"),
    *(b"\n", b"\r", b"\r\n", b" ", b"\t", b"\f", b"\\\n", b"\\\r\n  ", b"name=a\n", b"\xe2\x80\xa8", b"\x85", b"\x1c"),
]
JSON_PIECES = [
    *b'{ } [ ] : , " \\ // null true 1e999 NaN -0 1.50 "" "a" "name" "name":"a" "config": "\\ud800" \xff \x00'.split(),
    *b'"initial_state":"PAUSED" "initial_state":1 "tasks":[] "config":{"name":"a"} "config":[] \xef\xbb\xbf'.split(),
    b"\n",
    b"9" * 5000,
    b"[" * 3000,
    b'{"a":' * 3000,
]
FILES = [
    b"# a comment\nname=orders\ntopics = a,\\\n  b\nconnector.class:FileStreamSink\npassword=\\u00e4\\t\n",
    b"name=a\r\nname=b\r\nx\\ y=1\r\n",
]
CONNECTORS = [
    b'{"name": "orders", "topics": "a", "n": 1.50}',
    b'{\n "name": "orders",\n "config": {"topics": "a"},\n "initial_state": "PAUSED"}',
    b'{"name": "orders", "config": {"topics": "a", "x": null}, "tasks": [], "type": "sink"}',
    '{"name": "ä"}'.encode("utf-16"),
]
TEXTS = st.one_of(damaged(st.sampled_from(FILES), PIECES), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))


def test_property_files_are_read_or_refused(fuzz: Fuzz) -> None:
    @given(TEXTS)
    @example(b"\\")
    def holds(data: bytes) -> None:
        try:
            read = loads(data, "file")
        except PropertiesError as error:
            refused(fuzz, error, "file")
            return
        fuzz.met["read"] += 1
        lines = data.count(b"\n") + data.count(b"\r") + 1
        assert all(1 <= read.where(key).line <= lines for key in read)
        assert dict(loads("".join(f"{escaped(key)}={escaped(read[key])}\n" for key in read))) == dict(read)

    fuzz.check(holds)


def test_connector_files_are_read_or_refused(fuzz: Fuzz, tmp_path: Path) -> None:
    paths = [tmp_path / "orders.json", tmp_path / "orders.properties"]

    @given(st.one_of(TEXTS, damaged(st.sampled_from(CONNECTORS), JSON_PIECES)))
    @example(b'{"name": "a", "x": ' + b"[" * 5000)
    def holds(data: bytes) -> None:
        for path in paths:
            path.write_bytes(data)
            try:
                read = load_connector(path)
            except ConfigFileError as error:
                refused(fuzz, error, str(path))
                continue
            fuzz.met["read"] += 1
            assert read.name == read.config["name"]
            assert all(isinstance(value, str) for value in read.config.values())
            "".join(read.config.values()).encode()
            assert all(read.where(key).line >= 1 for key in read.config)

    fuzz.check(holds)


def test_property_files_are_read_in_linear_time(fuzz: Fuzz) -> None:
    shapes = [(b"", b""), (b"k=", b""), (b"a\\\n", b"\nname=a\n")]
    fuzz.growth(loads, PropertiesError, shapes, [*PIECES, b"a", b"a=b\n"])


def test_connector_files_are_read_in_linear_time(fuzz: Fuzz, tmp_path: Path) -> None:
    path = tmp_path / "orders.json"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        load_connector(path)

    shapes = [(b'{"name":"a",', b""), (b"{", b'"name":"a"}'), (b'{"name":"a","config":{', b'"b":""}}')]
    pieces = [*JSON_PIECES[:-3], b'"a":1,', b'"a":"b",\n', b'"a":{},', b" "]
    fuzz.growth(read, ConfigFileError, shapes, pieces, found=[(b"{", b'"a":1,', b'"name":"a"}')])


def refused(fuzz: Fuzz, error: ConfigFileError, name: str) -> None:
    """An error says in which file."""
    fuzz.met["refused"] += 1
    assert str(error).startswith(f"{name}:")


def escaped(text: str) -> str:
    """A key or a value as Java's Properties store it."""
    return "".join(f"\\{char}" if char in "\\ =:#!" else _SHORT.get(char, char) for char in text)


_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
