"""Structs from documents, field by field, as the cluster understands what is written in them."""

import datetime as dt
from typing import Any

import pytest

from connect import ConnectError
from connectors.elasticsearch.source.mapping import Mapped, Unfitting


def _value(kind: str, written: Any, **said: Any) -> Any:
    mapped = Mapped("index", {"f": {"type": kind, **said}}, frozenset())
    return mapped.values([{"f": written}]).to_list()[0]["f"]


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        ("long", "17", 17),
        ("long", 17.9, 17),
        ("integer", [5], 5),
        ("integer", [], None),
        ("keyword", 5, "5"),
        ("keyword", True, "true"),
        ("boolean", "", False),
        ("boolean", "true", True),
        ("date", "2026", dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        ("date", "2026-05", dt.datetime(2026, 5, 1, tzinfo=dt.UTC)),
        ("date", "2026-05-06", dt.datetime(2026, 5, 6, tzinfo=dt.UTC)),
        ("date", "2026-05-06T07:08:09.123456789Z", dt.datetime(2026, 5, 6, 7, 8, 9, 123_000, dt.UTC)),
        ("date", "1700000000000", dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)),
        ("date", "-12345", dt.datetime(1969, 12, 31, 23, 59, 47, 655_000, dt.UTC)),
        ("date", -1, dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, dt.UTC)),
        ("date_nanos", "2026-05-06T07:08:09.123456789Z", "2026-05-06T07:08:09.123456789Z"),
        ("flattened", {"a": [1]}, '{"a":[1]}'),
        ("geo_point", "41.12,-71.34", '"41.12,-71.34"'),
        ("geo_point", [-71.34, 41.12], "[-71.34,41.12]"),
        ("dense_vector", [1.5, 2.5, 3], "[1.5,2.5,3]"),
        ("geo_point", [{"lat": 1, "lon": 2}], '{"lat":1,"lon":2}'),
        ("double", 3, 3.0),
        ("long", True, 1),
    ],
)
def test_values(kind: str, written: Any, value: Any) -> None:
    assert _value(kind, written) == value


def test_dates_of_another_format_stay_texts() -> None:
    assert _value("date", "31/01/2026", format="dd/MM/yyyy") == "31/01/2026"


@pytest.mark.parametrize(
    ("kind", "written", "said"),
    [
        ("long", "x", "field \"f\" holds 'x'"),
        ("boolean", "maybe", "is not a boolean"),
        ("date", "yesterday", "field \"f\" holds 'yesterday'"),
        ("object", 5, "field \"f\" holds '5'|should hold an object"),
        ("keyword", ["a", "b"], "array.fields"),
    ],
)
def test_what_does_not_fit_says_where(kind: str, written: Any, said: str) -> None:
    more = {"properties": {"n": {"type": "long"}}} if kind == "object" else {}
    with pytest.raises(Unfitting, match=said):
        _value(kind, written, **more)


def test_names_with_points_are_fields_within() -> None:
    inner = {"properties": {"b": {"properties": {"c": {"type": "long"}, "d": {"type": "long"}}}}}
    mapped = Mapped("index", {"a": inner}, frozenset())
    documents = [{"a.b.c": 1, "a": {"b.d": 2}}, {"a": {"b": {"d": 2}}, "a.b.c": 1}, {"a.b": {"c": 1, "d": 2}}]
    assert mapped.values(documents).to_list() == [{"a": {"b": {"c": 1, "d": 2}}}] * 3


def test_an_index_without_fields_has_no_schema() -> None:
    with pytest.raises(ConnectError, match="has no fields"):
        Mapped("index", {}, frozenset())
