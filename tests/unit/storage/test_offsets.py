from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.errors import DataError
from connect.storage import FileOffsetStore, MemoryOffsetStore, OffsetStore
from connect.storage.offsets import identity, key

FLAT = st.dictionaries(
    st.text(max_size=5), st.text() | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False), max_size=4
)


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OffsetStore]:
    opened = MemoryOffsetStore() if request.param == "memory" else FileOffsetStore(tmp_path / "connect.offsets")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("connector", "partition", "expected"),
    [
        ("X", {"filename": "a.txt"}, b'["X",{"filename":"a.txt"}]'),
        ("X", {"b": 1, "a": True, "c": None, "d": 2.0}, b'["X",{"b":1,"a":true,"c":null,"d":2.0}]'),
        ('a"b', {"p": "ä/\\\n"}, b'["a\\"b",{"p":"\xc3\xa4/\\\\\\n"}]'),
        ("X", {"p": "\x1f"}, b'["X",{"p":"\\u001F"}]'),
        ("X", {"p": "\\u001f"}, b'["X",{"p":"\\\\u001f"}]'),
        ("X", {"p": b"\x00\xff", "q": 1e10}, b'["X",{"p":"AP8=","q":1.0E10}]'),
        ("X", {"p": "\U0001f600"}, b'["X",{"p":"\\uD83D\\uDE00"}]'),
        ("X", {}, b'["X",{}]'),
    ],
)
def test_a_key_is_the_bytes_that_java_writes(connector: str, partition: dict[str, Any], expected: bytes) -> None:
    assert key(connector, partition) == expected


@given(FLAT)
def test_the_order_of_entries_does_not_make_another_partition(partition: dict[str, Any]) -> None:
    assert identity(partition) == identity(dict(reversed(partition.items())))


@given(FLAT, FLAT)
def test_what_was_set_is_got_by_its_own_partition_only(one: dict[str, Any], other: dict[str, Any]) -> None:
    store = MemoryOffsetStore()
    store.set("c", [(one, {"position": 1})])
    assert store.get("c", [one]) == [{"position": 1}]
    if repr(sorted(one.items(), key=repr)) != repr(sorted(other.items(), key=repr)):
        assert store.get("c", [other]) == [None]


def test_offsets_are_got_set_and_forgotten_by_connector_and_partition(store: OffsetStore) -> None:
    store.set("a", [({"f": "1", "g": 2}, {"position": 1}), ({"f": "2"}, {"position": 2})])
    store.set("b", [({"f": "2"}, {"position": 20})])
    assert store.get("a", [{"g": 2, "f": "1"}, {"f": "2"}, {"f": "3"}]) == [{"position": 1}, {"position": 2}, None]
    store.set("a", [({"f": "2"}, None), ({"f": "none"}, None), ({"f": "1", "g": 2}, {"position": 3})])
    assert store.all("a") == [({"f": "1", "g": 2}, {"position": 3})]
    assert store.all("b") == [({"f": "2"}, {"position": 20})]
    assert store.all("c") == []


@pytest.mark.parametrize("name", ["\x00\x1f\x7f\\", "\U0001f600", "\udcff.txt", "\u2028 \"'"])
def test_any_text_comes_back_as_it_was_also_a_file_name_that_is_no_text(tmp_path: Path, name: str) -> None:
    for offset in ({"name": name}, None):
        store = FileOffsetStore(tmp_path / "offsets")
        assert store.get("a", [{"f": name}]) == ([None] if offset else [{"name": name}])
        store.set("a", [({"f": name}, {"name": name})])
        store.close()


def test_what_json_cannot_say_is_refused_and_nothing_of_it_is_stored(store: OffsetStore) -> None:
    store.set("a", [({"f": "1"}, {"position": 1})])
    with pytest.raises(DataError, match="holds a set"):
        store.set("a", [({"f": "1"}, {"position": 2}), ({"f": "2"}, {"position": {1}})])
    with pytest.raises(DataError, match="the int 5 as a name"):
        store.set("a", [({5: "1"}, {"position": 2})])  # type: ignore[dict-item]
    assert store.all("a") == [({"f": "1"}, {"position": 1})]


def test_what_was_handed_in_or_out_can_be_changed_without_harm(store: OffsetStore) -> None:
    offset = {"position": 1}
    store.set("a", [({"f": "1"}, offset)])
    offset["position"] = 2
    got = store.get("a", [{"f": "1"}])[0]
    assert isinstance(got, dict)
    got["position"] = 3
    assert store.get("a", [{"f": "1"}]) == [{"position": 1}]
