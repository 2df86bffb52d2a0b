"""What `arg.properties` ask for is made, and what they should not ask for is refused."""

import json
from decimal import Decimal
from typing import Any

import pytest

from connect import Schema, Type, logical
from connect.data.validation import validate
from connectors.datagen.chance import seeded
from connectors.datagen.schemas import Problem, read


def _made(avro: Any, count: int = 300, null_share: float = 0.5, **properties: Any) -> tuple[Schema, list[Any]]:
    written = {"type": avro} if isinstance(avro, str) else dict(avro)
    if properties:
        written["arg.properties"] = properties
    schema, generator = read(json.dumps(written), null_share)
    values = generator.column(seeded("test", avro, properties), range(count))
    for value in values:
        validate(schema, value)
    return schema, values


def _values(avro: Any, count: int = 300, **properties: Any) -> list[Any]:
    return _made(avro, count, **properties)[1]


@pytest.mark.parametrize("avro", ["int", "long", "float", "double", "boolean", "string", "bytes"])
def test_every_plain_type_has_many_values(avro: str) -> None:
    values = _values(avro)
    assert len(set(values)) == 2 if avro == "boolean" else len(set(values)) > 290


def test_ranges_hold_their_least_and_not_their_greatest() -> None:
    assert set(_values("int", range={"min": 3, "max": 6})) == {3, 4, 5}
    assert set(_values("long", range={"min": -1, "max": 1})) == {-1, 0}
    assert all(2.5 <= value < 3 for value in _values("double", range={"min": 2.5, "max": 3}))
    assert min(_values("int", 2000)) < -(1 << 29)


def test_iterations_count_and_begin_anew() -> None:
    assert _values("int", 5, iteration={"start": 7}) == [7, 8, 9, 10, 11]
    assert _values("long", 5, iteration={"start": 0, "restart": 3}) == [0, 1, 2, 0, 1]
    assert _values("int", 5, iteration={"start": 0, "restart": 10, "step": 4, "initial": 5}) == [5, 9, 3, 7, 1]
    assert _values("int", 4, iteration={"start": 3, "restart": 0}) == [3, 2, 1, 3]
    assert _values("double", 3, iteration={"start": 0.5, "step": 0.25}) == [0.5, 0.75, 1.0]
    assert _values("boolean", 3, iteration={"start": True}) == [True, False, True]
    assert _values("string", 3, iteration={"start": 9}, prefix="user-") == ["user-9", "user-10", "user-11"]


def test_a_restarted_int_stays_one() -> None:
    made = read('{"type": "int", "arg.properties": {"iteration": {"start": 0}}}', 0)[1]
    assert made.column(seeded(0), [(1 << 31) - 2, (1 << 31) - 1]) == [(1 << 31) - 2, 0]


def test_options_of_any_type() -> None:
    assert set(_values("string", options=["a", "b"])) == {"a", "b"}
    enum = {"type": "enum", "name": "e", "symbols": ["X", "Y", "Z"]}
    assert set(_values(enum)) == {"X", "Y", "Z"}
    assert set(_values(enum, options=["X"])) == {"X"}
    record = {"type": "record", "name": "code", "fields": [{"name": "code", "type": "int"}]}
    assert {each["code"] for each in _values(record, options=[{"code": 200}, {"code": 404}])} == {200, 404}


def test_texts_of_a_length_an_expression_or_with_something_around() -> None:
    assert set(map(len, _values("string"))) == set(range(8, 16))
    assert set(map(len, _values("string", length=4))) == {4}
    assert set(map(len, _values("bytes", length={"min": 1, "max": 3}))) == {1, 2}
    assert set(_values("string", regex="v[12]", prefix="<", suffix=">")) == {"<v1>", "<v2>"}
    assert set(map(len, _values({"type": "fixed", "name": "f", "size": 6}))) == {6}


def test_odds() -> None:
    assert set(_values("boolean", odds=1.0)) == {True}
    assert 20 < _values("boolean", odds=0.2).count(True) < 120


def test_arrays_maps_and_records_within() -> None:
    inner = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "int"}]}
    lists = _values({"type": "array", "items": inner}, length={"min": 0, "max": 4})
    assert set(map(len, lists)) == {0, 1, 2, 3}
    assert set(lists[0][0]) == {"n"} if lists[0] else True
    maps = _values({"type": "map", "values": "long"}, length=2, keys={"regex": "k[0-9]{9}"})
    assert all(len(each) == 2 and all(key.startswith("k") for key in each) for each in maps)


def test_numbers_within_a_list_go_on() -> None:
    element = {"type": "int", "arg.properties": {"iteration": {"start": 0}}}
    assert _values({"type": "array", "items": element}, 3, length=2) == [[0, 1], [2, 3], [4, 5]]


def test_nulls_by_their_share() -> None:
    record = {"type": "record", "name": "r", "fields": [{"name": "f", "type": ["null", "int"], "default": None}]}
    schema, values = _made(record)
    assert schema.fields[0].schema.optional
    assert 90 < sum(value["f"] is None for value in values) < 210
    assert not any(value["f"] is None for value in _made(record, null_share=0.0)[1])
    assert all(value["f"] is None for value in _made(record, null_share=1.0)[1])


def test_unions_of_several_set_one_of_them() -> None:
    record = {"type": "record", "name": "r", "fields": [{"name": "f", "type": ["string", "int", "null"]}]}
    values = [value["f"] for value in _made(record, null_share=0.2)[1]]
    assert {None if value is None else tuple(k for k, v in value.items() if v is not None) for value in values} == {
        None,
        ("string",),
        ("int",),
    }


def test_logical_types() -> None:
    day, values = _made({"type": "int", "logicalType": "date"})
    assert (day.name, len(set(values))) == (logical.DATE_NAME, len(set(values)))
    assert len(set(_values({"type": "long", "logicalType": "timestamp-millis"}))) > 290
    assert len(set(_values({"type": "int", "logicalType": "time-millis"}))) > 290
    decimals = _values({"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2})
    assert all(abs(value) < 10_000 for value in decimals)
    prices = _values(
        {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}, range={"min": 1, "max": 2}
    )
    assert all(Decimal(1) <= value < Decimal(2) for value in prices)


def _decimals(precision: int, scale: int, **properties: Any) -> list[Decimal]:
    avro = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    schema, values = _made(avro, **properties)
    for value in values:
        assert logical.decode(schema, logical.encode(schema, value)) == value
    return values


def test_decimals_of_any_precision_have_the_scale_of_their_schema() -> None:
    assert len(set(_decimals(38, 10))) == 300
    assert max(map(abs, _decimals(64, 0))) > 10**62
    assert all(0 <= value < 1 for value in _decimals(40, 40, range={"min": 0}))


def test_ranges_of_decimals_are_exact() -> None:
    assert set(_decimals(10, 2, range={"min": 0.29, "max": 0.31})) == {Decimal("0.29"), Decimal("0.30")}
    assert set(_decimals(10, 0, range={"min": -1.5, "max": 1.5})) == {Decimal(-1), Decimal(0), Decimal(1)}
    assert set(_decimals(20, 0, range={"min": 9007199254740993, "max": 9007199254740994})) == {
        Decimal(9007199254740993)
    }
    with pytest.raises(Problem, match=r"no decimal of scale 2 is in the range"):
        _decimals(10, 2, range={"min": 0.001, "max": 0.002})


def test_the_schema_is_that_of_the_avro_converter() -> None:
    schema, _ = _made({"type": "record", "namespace": "a.b", "name": "r", "fields": [{"name": "n", "type": "long"}]})
    assert (schema.type, schema.name, schema.fields[0].schema.type) == (Type.STRUCT, "a.b.r", Type.INT64)


@pytest.mark.parametrize(
    ("avro", "properties", "said"),
    [
        ("int", {"range": {"min": 3, "max": 3}}, "int: the range begins with 3 and ends before 3"),
        ("int", {"range": {"max": 1 << 40}}, "is beyond int"),
        ("int", {"range": {"min": "3"}}, "'3' is not a whole number"),
        ("int", {"iteration": {"start": 0, "restart": 5, "step": -1}}, "leads nowhere"),
        ("int", {"iteration": {"step": 0}}, "leads nowhere"),
        ("int", {"regex": "a"}, '"regex" is not for int'),
        ("string", {"odds": 0.5}, '"odds" is not for string'),
        ("string", {"colour": "red"}, '"colour" is not a property of data'),
        ("string", {"regex": "("}, "the regex"),
        ("string", {"options": []}, "at least one"),
        ("string", {"options": [1]}, "an option does not fit string"),
        ("string", {"options": "a"}, "\"options\": 'a' is not understood"),
        ("string", {"length": {"min": 5, "max": 5}}, "the length"),
        ("boolean", {"odds": 2}, "odds are from 0 to 1"),
        ("int", {"prefix": "a"}, "prefix and suffix are for strings"),
    ],
)
def test_what_makes_no_sense_is_refused(avro: str, properties: dict[str, Any], said: str) -> None:
    with pytest.raises(Problem, match=said):
        _values(avro, **properties)


def test_more_values_than_a_record_can_have_are_refused() -> None:
    """Arrays of arrays of default lengths: fifty of them have more elements than there is memory, or time."""
    avro: Any = "int"
    for _ in range(50):
        avro = {"type": "array", "items": avro}
    with pytest.raises(Problem, match=r"array\[\]\[\]\[\]\[\]: a record would have about 201,136 of its elements"):
        read(json.dumps(avro), 0.5)
    pairs = {"type": "map", "values": {"type": "map", "values": "int", "arg.properties": {"length": 500}}}
    with pytest.raises(Problem, match=r"map\{\}: a record would have about 250,000"):
        read(json.dumps(pairs | {"arg.properties": {"length": 500}}), 0.5)
    field = {"type": "array", "items": "int", "arg.properties": {"length": 1000}}
    fields = [{"name": f"f{number}", "type": field} for number in range(200)]
    read(json.dumps({"type": "record", "name": "wide", "fields": fields}), 0.5)


def test_the_log_tells_of_properties_that_no_type_has(caplog: pytest.LogCaptureFixture) -> None:
    properties = {"arg.properties": {"options": ["a"]}}
    inner = {"type": "record", "name": "inner", "fields": [{"name": "deep", "type": ["null", "string"], **properties}]}
    fields = [
        {"name": "beside", "type": "string", **properties},
        {"name": "right", "type": {"type": "string", **properties}},
        {"name": "more", "type": {"type": "array", "items": inner}},
    ]
    read(json.dumps({"type": "record", "name": "outer", "fields": fields}), 0.5)
    assert [message.split('"')[1] for message in caplog.messages] == ["beside", "deep"]
    assert 'Field "beside": the arg.properties beside its type have no effect' in caplog.text


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '"int"x', '{"type": "colour"}', '"null"', '{"type": "enum", "name": "e", "symbols": []}']
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(Problem):
        read(text, 0.5)
