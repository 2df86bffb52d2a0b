"""Confluent's Filter."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, DataError, Schema, SinkRecord
from connect.data import schema as schemas
from connect.testing.conformance import TransformationConformance
from transforms.filter_by_path import FilterByPathKey, FilterByPathValue

from .forms import forms, told, with_config

_ORDER = Schema.struct({"price": schemas.OPTIONAL_INT32, "shop": schemas.OPTIONAL_STRING}, optional=True)
_ROW = Schema.struct({"order": _ORDER, "id": schemas.INT32}, optional=True)
_US, _ALL = "$.order[?(@.shop == 'us')]", ("fail", "include", "exclude")

_orders = st.none() | st.fixed_dictionaries(
    {"price": st.none() | st.integers(0, 3), "shop": st.none() | st.sampled_from(["us", "uk"])}
)
_values = st.one_of(
    st.tuples(st.just(_ROW), st.none() | st.fixed_dictionaries({"order": _orders, "id": st.integers(0, 3)})),
    st.tuples(st.none(), st.none() | st.fixed_dictionaries({}, optional={"order": _orders, "id": st.integers(0, 3)})),
)


class TestValues(TransformationConformance):
    transformation = FilterByPathValue

    def config(self) -> dict[str, str]:
        return {"filter.condition": _US, "filter.type": "include", "missing.or.null.behavior": "exclude"}

    def values(self) -> Any:
        return _values


@given(st.lists(_values, max_size=8), st.sampled_from([_US, "$[?(@.order.price > 1)]", "$.order.price", "$..price"]))
def test_records_and_columns_give_the_same(values: list[Any], condition: str) -> None:
    made = with_config(
        FilterByPathValue,
        {"filter.condition": condition, "filter.type": "exclude", "missing.or.null.behavior": "include"},
    )
    records = [SinkRecord("t", value, schema, offset=offset) for offset, (schema, value) in enumerate(values)]
    expected = [told(record) for record in map(made.apply, records) if record is not None]
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


def _fate(config: dict[str, str], schema: Schema | None, value: Any) -> str:
    made = with_config(FilterByPathValue, config)
    record = SinkRecord("t", value, schema)
    try:
        one = made.apply(record)
    except DataError as error:
        for batch in forms([record]):
            with pytest.raises(DataError):
                made.apply_batch(batch)
        return str(error)
    assert all(len(made.apply_batch(batch)) == (one is record) for batch in forms([record]))
    return "stays" if one is record else "goes"


@pytest.mark.parametrize("schema", [_ROW, None])
@pytest.mark.parametrize(
    ("condition", "value", "matches"),
    [
        (_US, {"order": {"shop": "us", "price": 1}, "id": 1}, True),
        (_US, {"order": {"shop": "uk", "price": 1}, "id": 1}, False),
        (_US, {"order": {"shop": None, "price": 1}, "id": 1}, False),
        ("$[?(@.id == 1 || @.id == 2)]", {"order": None, "id": 2}, True),
        ("$[?(@.id == 1 || @.id == 2)]", {"order": None, "id": 3}, False),
        ("$.[?(@.order)]", {"order": None, "id": 3}, False),
        ("$[?(@.order.shop == 'us')]", {"order": None, "id": 3}, False),
        ("$.order.shop", {"order": {"shop": "x", "price": 1}, "id": 1}, True),
    ],
)
def test_a_match_is_included_or_excluded(condition: str, value: Any, schema: Schema | None, matches: bool) -> None:
    for kind, fate in (("include", matches), ("exclude", not matches)):
        config = {"filter.condition": condition, "filter.type": kind}
        assert _fate(config, schema, value) == ("stays" if fate else "goes")


@pytest.mark.parametrize("kind", ["include", "exclude"])
@pytest.mark.parametrize(
    ("condition", "schema", "value"),
    [
        (_US, _ROW, {"order": None, "id": 1}),
        (_US, None, {"id": 1}),
        (_US, None, None),
        (_US, _ROW, None),
        ("$.order.shop", _ROW, {"order": {"shop": None, "price": 1}, "id": 1}),
        ("$.no", None, {}),
        ("$[?(@.id == 1)]", _ROW, None),
    ],
)
def test_what_is_missing_or_null_on_the_way_is_refused_or_as_set(
    condition: str, schema: Schema | None, value: Any, kind: str
) -> None:
    config = {"filter.condition": condition, "filter.type": kind}
    assert "missing.or.null.behavior=include or exclude" in _fate(config, schema, value)
    assert _fate({**config, "missing.or.null.behavior": "include"}, schema, value) == "stays"
    assert _fate({**config, "missing.or.null.behavior": "EXCLUDE"}, schema, value) == "goes"


def test_a_text_has_no_fields() -> None:
    assert "the value is str" in _fate({"filter.condition": "$.a", "filter.type": "include"}, schemas.STRING, "text")


def test_keys() -> None:
    made = with_config(FilterByPathKey, {"filter.condition": "$[?(@.id > 1)]", "filter.type": "include"})
    records = [SinkRecord("t", None, key={"id": n}, offset=n) for n in range(4)]
    assert [record.offset for record in made.apply_batch(forms(records)[0])] == [2, 3]


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"filter.type": "include"}, "filter.condition"),
        ({"filter.condition": "", "filter.type": "include"}, "filter.condition"),
        ({"filter.condition": "$[?(@.a == )]", "filter.type": "include"}, "filter.condition"),
        ({"filter.condition": "$.a"}, "filter.type"),
        ({"filter.condition": "$.a", "filter.type": "drop"}, "filter.type"),
        ({"filter.condition": "$.a", "filter.type": "include", "missing.or.null.behavior": "x"}, None),
    ],
)
def test_wrong_settings(config: dict[str, str], key: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        with_config(FilterByPathValue, config)
    assert caught.value.key == (key or "missing.or.null.behavior")
