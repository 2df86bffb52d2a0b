"""Flatten. Expected values are what Kafka Connect's own class gives."""

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any

import pytest

from connect import DataError, Schema, SinkBatch, SinkRecord, Type, Values, logical
from connect.data.schema import BYTES, INT8, INT32, OPTIONAL_INT32, OPTIONAL_STRING, STRING
from transforms.flatten import FlattenKey, FlattenValue

from .forms import with_config
from .shaping import changed, refused, shaped

_WITH_DEFAULT = Schema(Type.STRING, optional=True, default="d")
_INNER = Schema.struct({"x": INT32, "y": _WITH_DEFAULT}, name="inner", doc="of something")


def _array(of: Schema) -> Schema:
    return Schema(Type.ARRAY, value_schema=of)


@pytest.mark.parametrize(
    ("delimiter", "value", "flat"),
    [
        (".", {"a": {"b": 1, "c": {"d": "e"}, "n": None}}, {"a.b": 1, "a.c.d": "e", "a.n": None}),
        ("_", {"a": {"b": 1}, "z": True}, {"a_b": 1, "z": True}),
        ("", {"a": {"b": 1}}, {"ab": 1}),
        (".", {"l": [1, {"x": {"y": 2}}], "f": 1.5, "raw": b"\0"}, {"l": [1, {"x": {"y": 2}}], "f": 1.5, "raw": b"\0"}),
        (".", {"empty": {}, "a": {"empty": {}}}, {}),
        (".", {}, {}),
        (".", {"": {"a": 1}}, {"a": 1}),
        (".", {"a": {"": {"b": 1}}}, {"a..b": 1}),
        (".", {"a": {5: 1, None: 2}}, {"a.5": 1, "a.null": 2}),
        (".", {"a.b": 1, "a": {"b": 2}}, {"a.b": 2}),
        (".", {"a": {"b": 2}, "a.b": 1}, {"a.b": 1}),
    ],
)
def test_maps_without_a_schema(delimiter: str, value: Any, flat: Any) -> None:
    assert shaped(FlattenValue, {"delimiter": delimiter}, None, value) == (None, flat)


def test_maps_of_a_batch_may_differ() -> None:
    items: list[Any] = [
        {"a": {"b": 1}, "c": 1},
        {"a": {"b": 2, "z": {"y": 3}}},
        {"a": None, "c": {"d": 4}},
        {"a": 5},
        None,
        {},
        {"c": 6, "a": {"b": {"b": 7}}},
        {"a": {}},
    ]
    flat = with_config(FlattenValue, {})
    expected = [flat.apply(SinkRecord("t", item)).value for item in items]
    assert expected[1:4] == [{"a.b": 2, "a.z.y": 3}, {"a": None, "c.d": 4}, {"a": 5}]
    # The first ones are alike, then each in turn comes in between.
    for item in items:
        many = [*([{"a": {"b": 1}, "c": 1}] * 30), item, {"a": {"b": 2}, "c": 3}]
        batch = SinkBatch("t", Values(many), offsets=range(len(many)))
        found = list(flat.apply_batch(batch).values)
        assert found == [flat.apply(SinkRecord("t", each)).value for each in many]
    assert list(flat.apply_batch(SinkBatch("t", Values(items), offsets=range(len(items)))).values) == expected


def test_the_order_of_fields_does_not_depend_on_other_records() -> None:
    maps = [
        {"z": {"b": 1, "a": {"y": 2, "x": 3}}, "p": 1, "c": {"d": 4}, "o": 5},
        {"c": {"d": 4}, "p": 1, "z": {"a": {"x": 3, "y": 2}, "b": 1}, "o": 5},
        {"o": 5, "c": None, "p": 1, "z": {"a": 1}},
        {"z": {"b": {}, "a": 1, "A": 2}, "c": 3},
        {"c": {"f": 1, "e": 2}, "z": {"b-": 1, "b": {"c": 2}}},
        {"only": 1},
    ]
    flat = with_config(FlattenKey, {})
    alone = [list(flat.apply(SinkRecord("t", None, key=each)).key) for each in maps]
    assert alone[:4] == [
        ["p", "o", "c.d", "z.a.x", "z.a.y", "z.b"],
        ["p", "o", "c.d", "z.a.x", "z.a.y", "z.b"],
        ["o", "c", "p", "z.a"],
        ["c", "z.A", "z.a"],
    ]
    for many in itertools.permutations(maps, 3):
        batch = SinkBatch("t", Values([None] * 3), keys=Values(list(many)), offsets=range(3))
        found = [list(each) for each in flat.apply_batch(batch).keys]
        assert found == [alone[maps.index(each)] for each in many]


def test_what_has_no_type_without_a_schema_is_refused() -> None:
    for value in (Decimal(1), dt.date(2024, 1, 1)):
        assert isinstance(refused(FlattenValue, {}, None, {"a": {"b": value}}), DataError)
        assert isinstance(refused(FlattenValue, {}, None, {"b": value}), DataError)
    assert "only with a schema" in str(refused(FlattenValue, {}, None, {"a": {"b": Decimal(1)}}))


_TOP = Schema.struct(
    {"a": _INNER.as_optional(), "r": _INNER, "c": Schema(Type.STRING, doc="of c"), "l": _array(_INNER)},
    name="top",
    version=3,
    doc="of top",
    parameters={"p": "q"},
)


@pytest.mark.parametrize(
    ("given", "flat"),
    [
        ({"x": 1, "y": "z"}, {"a.x": 1, "a.y": "z"}),
        ({"x": 1, "y": None}, {"a.x": 1, "a.y": "d"}),
        ({"x": 1}, {"a.x": 1, "a.y": "d"}),
        (None, {"a.x": None, "a.y": None}),
    ],
)
def test_structs(given: Any, flat: dict[str, Any]) -> None:
    elements = [{"x": 3, "y": None}]
    schema, value = shaped(FlattenValue, {}, _TOP, {"a": given, "r": {"x": 2, "y": None}, "c": "text", "l": elements})
    assert schema == Schema.struct(
        {
            "a.x": OPTIONAL_INT32,
            "a.y": _WITH_DEFAULT,
            "r.x": INT32,
            "r.y": _WITH_DEFAULT,
            "c": Schema(Type.STRING, doc="of c"),
            "l": _array(_INNER),
        },
        name="top",
        version=3,
        doc="of top",
        parameters={"p": "q"},
    )
    assert value == {**flat, "r.x": 2, "r.y": "d", "c": "text", "l": elements}


def test_everything_in_an_optional_struct_becomes_optional() -> None:
    schema, _ = shaped(
        FlattenValue, {}, Schema.struct({"a": INT32, "l": _array(INT8)}).as_optional(), {"a": 1, "l": []}
    )
    assert schema == Schema.struct({"a": OPTIONAL_INT32, "l": _array(INT8).as_optional()})


def test_every_type_passes() -> None:
    schemas = {
        "t": logical.TIMESTAMP,
        "d": logical.DATE,
        "ti": logical.TIME,
        "de": logical.decimal(2),
        "by": BYTES,
        "b": Schema(Type.BOOLEAN),
        "f": Schema(Type.FLOAT32),
        "i": INT8,
    }
    values = {
        "t": dt.datetime(2024, 1, 2, tzinfo=dt.UTC),
        "d": dt.date(2024, 1, 2),
        "ti": dt.time(3),
        "de": Decimal("1.25"),
        "by": b"\0",
        "b": True,
        "f": 1.5,
        "i": -1,
    }
    schema, value = shaped(FlattenValue, {}, Schema.struct({"a": Schema.struct(schemas)}), {"a": values})
    assert schema == Schema.struct({f"a.{name}": each for name, each in schemas.items()})
    assert value == {f"a.{name}": each for name, each in values.items()}


def test_structs_deep_down_and_structs_of_nothing() -> None:
    deep = Schema.struct(
        {"b": Schema.struct({"c": Schema.struct({"d": STRING}).as_optional()}), "e": Schema.struct({})}
    )
    schema, value = shaped(
        FlattenValue, {"delimiter": "_"}, Schema.struct({"a": deep}), {"a": {"b": {"c": None}, "e": {}}}
    )
    assert schema == Schema.struct({"a_b_c_d": OPTIONAL_STRING})
    assert value == {"a_b_c_d": None}
    assert shaped(FlattenValue, {}, Schema.struct({}), {}) == (Schema.struct({}), {})


def test_a_map_in_a_struct_and_names_that_meet_are_refused() -> None:
    a_map = Schema(Type.MAP, key_schema=STRING, value_schema=INT32)
    error = refused(FlattenValue, {}, Schema.struct({"a": Schema.struct({"m": a_map})}), {"a": {"m": {}}})
    assert isinstance(error, DataError)
    assert '"a.m"' in str(error)
    schema = Schema.struct({"a": Schema.struct({"b": INT32}), "a.b": INT32})
    error = refused(FlattenValue, {}, schema, {"a": {"b": 1}, "a.b": 2})
    assert isinstance(error, DataError)
    assert "a.b" in str(error)


@pytest.mark.parametrize(
    "schema", [None, _TOP, OPTIONAL_STRING, Schema(Type.MAP, key_schema=STRING, value_schema=INT32)]
)
def test_null_stays_null(schema: Schema | None) -> None:
    assert shaped(FlattenValue, {}, schema, None) == (schema, None)


@pytest.mark.parametrize(("schema", "value"), [(None, "text"), (None, [1]), (STRING, "text"), (_array(INT8), [1])])
def test_what_has_no_fields_is_refused(schema: Schema | None, value: Any) -> None:
    assert isinstance(refused(FlattenValue, {}, schema, value), DataError)


def test_keys() -> None:
    one = changed(FlattenKey, {}, None, {"a": {"b": 1}})
    assert (one.key, one.value) == ({"a.b": 1}, {"a": {"b": 1}})
