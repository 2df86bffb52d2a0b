import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.converters.jsonschema import JsonSchemaConverter
from connect.data import Constant, Schema, Type, Values, logical, schema
from connect.errors import ConfigError, DataError

from .memory_registry import MemoryRegistry
from .schemas import structs, values

ONE_OF = "io.confluent.connect.json.OneOf"
ENUM = "io.confluent.connect.json.Enum"


def converter(registry: MemoryRegistry, **settings: str) -> JsonSchemaConverter:
    made = JsonSchemaConverter()
    config = {name.replace("_", "."): value for name, value in settings.items()}
    made.configure({"schema.registry.url": registry.url, **config}, is_key=False)
    return made


def read(registry: MemoryRegistry, described: Any, *texts: str, **settings: str) -> tuple[Schema | None, list[Any]]:
    number = registry.register("t-value", json.dumps(described), "JSON")
    data: list[bytes | None] = [framed(number, text) for text in texts]
    found = converter(registry, **settings).to_connect_batch(Constant("t", len(data)), data)
    return found.schemas[0], found.to_list()


def framed(number: int, text: str) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + text.encode()


def test_an_object_is_a_struct_in_the_order_of_its_indexes(registry: MemoryRegistry) -> None:
    described = {
        "type": "object",
        "title": "Order",
        "description": "what was bought",
        "properties": {
            "note": {"connect.index": 2, "oneOf": [{"type": "null"}, {"type": "string"}]},
            "id": {"type": "integer", "connect.index": 0, "connect.type": "int32"},
            "price": {
                "type": "number",
                "title": "org.apache.kafka.connect.data.Decimal",
                "connect.index": 1,
                "connect.version": 1,
                "connect.type": "bytes",
                "connect.parameters": {"scale": "2"},
            },
            "lines": {"type": "array", "items": {"type": "string"}, "connect.index": 3},
            "stock": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
        },
    }
    found, rows = read(
        registry,
        described,
        '{"id": 1, "price": 1.10, "note": null, "lines": ["a"], "stock": {"x": 2}}',
        '{"price": "fQ==", "extra": true, "id": 2}',
    )
    price = logical.decimal(2)
    assert found == Schema.struct(
        {
            "id": schema.INT32,
            "price": price,
            "note": schema.OPTIONAL_STRING,
            "lines": Schema.array(schema.STRING),
            "stock": Schema.map(schema.STRING, schema.INT64),
        },
        name="Order",
        doc="what was bought",
        version=1,
    )
    assert rows == [
        {"id": 1, "price": Decimal("1.10"), "note": None, "lines": ["a"], "stock": {"x": 2}},
        # What is missing is null, whether it is required or not: JSON Schema requires nothing by itself.
        {"id": 2, "price": Decimal("1.25"), "note": None, "lines": None, "stock": None},
    ]
    assert str(rows[0]["price"]) == "1.10"


def test_properties_that_are_not_required_are_optional_if_asked_for(registry: MemoryRegistry) -> None:
    described = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "boolean", "default": True}},
        "required": ["a"],
    }
    found, rows = read(registry, described, '{"a": 1}', use_optional_for_nonrequired="true")
    assert found is not None
    assert [(field.name, field.schema.optional) for field in found] == [("a", False), ("b", True), ("c", True)]
    assert rows == [{"a": 1, "b": None, "c": True}]


@pytest.mark.parametrize(
    ("described", "text", "expected", "value"),
    [
        ({"type": "integer"}, "5", schema.INT64, 5),
        ({"type": "integer", "connect.type": "int8"}, "300", schema.INT8, 44),
        ({"type": "number"}, "1", schema.FLOAT64, 1.0),
        ({"type": "string", "connect.type": "bytes"}, '"YWI="', schema.BYTES, b"ab"),
        ({"type": ["string", "null"]}, "null", schema.OPTIONAL_STRING, None),
        ({"oneOf": [{"type": "string"}]}, '"x"', schema.STRING, "x"),
        ({"type": "string", "format": "date-time"}, '"2020"', schema.STRING, "2020"),
        ({"type": "integer", "enum": [1, 2]}, "1", schema.INT64, 1),
        (
            {"type": "string", "enum": ["a", None]},
            '"a"',
            schema.STRING.replace(parameters={ENUM: "", f"{ENUM}.a": "a", f"{ENUM}.<NULL>": "<NULL>"}),
            "a",
        ),
        ({"const": "k"}, '"k"', schema.STRING.replace(parameters={ENUM: "", f"{ENUM}.k": "k"}), "k"),
        (
            {"allOf": [{"$ref": "#/definitions/A"}, {"properties": {"b": {"type": "string"}}}],
             "definitions": {"A": {"type": "object", "properties": {"a": {"type": "integer"}}}}},
            '{"a": 1, "b": "x"}',
            Schema.struct({"a": schema.INT64, "b": schema.STRING}),
            {"a": 1, "b": "x"},
        ),
        (
            {"type": "array", "connect.type": "map", "items": {"type": "object", "properties": {
                "key": {"type": "integer"}, "value": {"type": "boolean"}}}},
            '[{"key": 1, "value": true}]',
            Schema.map(schema.INT64, schema.BOOLEAN),
            {1: True},
        ),
        (
            {"type": "integer", "title": "org.apache.kafka.connect.data.Date", "connect.type": "int32"},
            "18262",
            logical.DATE,
            dt.date(2020, 1, 1),
        ),
    ],
)  # fmt: skip
def test_each_kind_of_schema_has_its_type(
    registry: MemoryRegistry, described: Any, text: str, expected: Schema, value: Any
) -> None:
    found, rows = read(registry, described, text)
    assert found is not None
    assert found.replace(version=None) == expected.replace(version=None)
    assert rows == [value]


def test_what_has_no_subject_is_read_without_a_version(registry: MemoryRegistry) -> None:
    for name in ("RecordNameStrategy", "TopicRecordNameStrategy"):
        found, rows = read(registry, {"type": "integer"}, "5", value_subject_name_strategy=name)
        assert (found, rows) == (schema.INT64, [5])


def test_a_union_is_a_struct_of_which_the_fitting_field_is_set(registry: MemoryRegistry) -> None:
    described = {
        "oneOf": [
            {"type": "null"},
            {"type": "string"},
            {"type": "object", "title": "A", "properties": {"a": {"type": "integer"}}},
            {"type": "object", "title": "B", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
        ]
    }
    found, rows = read(registry, described, '"x"', '{"a": 1}', '{"a": 1, "b": 2}', "null")
    assert found is not None
    assert (found.name, found.optional) == (ONE_OF, True)
    empty = dict.fromkeys((f"{ONE_OF}.field.0", f"{ONE_OF}.field.1", f"{ONE_OF}.field.2"))
    assert rows == [
        {**empty, f"{ONE_OF}.field.0": "x"},
        {**empty, f"{ONE_OF}.field.1": {"a": 1}},
        {**empty, f"{ONE_OF}.field.2": {"a": 1, "b": 2}},
        None,
    ]
    each = converter(registry)
    written = [each.from_connect_data("u", found, row) for row in rows]
    assert [data and data[5:] for data in written] == [b'"x"', b'{"a":1}', b'{"a":1,"b":2}', b"null"]
    with pytest.raises(DataError, match="nothing in the union"):
        read(registry, described, "true")
    generalized, _ = read(registry, described, '"x"', generalized_sum_type_support="true")
    assert generalized is not None
    assert generalized.parameters == {"org.apache.kafka.connect.data.Union": "connect_union_0"}
    assert generalized.fields[0].name == "connect_union_field_0"


def test_references_lead_to_other_schemas_of_the_registry(registry: MemoryRegistry) -> None:
    common = {"$id": "http://shop/common.json", "definitions": {"money": {"type": "number", "title": "Money"}}}
    registry.register("common", json.dumps(common), "JSON")
    described = {
        "$id": "http://shop/order.json",
        "type": "object",
        "properties": {
            "price": {"$ref": "common.json#/definitions/money"},
            "paid": {"$ref": "http://shop/common.json#/definitions/money"},
            "who": {"$ref": "#who"},
        },
        "definitions": {"who": {"$id": "#who", "type": "string"}},
    }
    references = [{"name": "http://shop/common.json", "subject": "common", "version": 1}]
    number = registry.register("t-value", json.dumps(described), "JSON", references)
    for validates in ("false", "true"):
        each = converter(registry, json_fail_invalid_schema=validates)
        found = each.to_connect_data("t", framed(number, '{"price": 1.5, "paid": 2, "who": "x"}'))
        assert found.value == {"price": 1.5, "paid": 2.0, "who": "x"}
        assert found.schema is not None
        price = found.schema.field("price")
        assert price is not None
        assert price.schema.name == "Money"


@pytest.mark.parametrize(
    ("described", "said"),
    [
        ({}, "says no type"),
        ({"type": "array"}, "without the type of its items"),
        ({"type": "null"}, "only null"),
        ({"$ref": "#/definitions/x"}, "neither in it nor in its references"),
        ({"$ref": "elsewhere.json"}, "neither in it nor in its references"),
        ({"$ref": "#"}, "refers to itself"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "refers to itself"),
        ({"type": "integer", "connect.type": "int9"}, '"int9"'),
    ],
)
def test_a_schema_that_cannot_be_converted_says_why(registry: MemoryRegistry, described: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(registry, described, "1")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b'{"a": 1}', "begins with the byte 123 where the magic byte 0"),
        (framed(1, '{"a": '), "not JSON"),
        (framed(1, "[]"), "must be a JSON object"),
        (framed(1, "null"), "null where"),
        (framed(1, '{"a": null}'), "a: null where"),
        (framed(1, '{"a": 1, "x": "') + b'\xff"}', "not JSON"),
        (framed(9, "1"), "Schema 9 not found"),
    ],
)
def test_what_is_no_record_of_the_schema_says_so(registry: MemoryRegistry, data: bytes, said: str) -> None:
    registry.register("t-value", '{"type": "object", "properties": {"a": {"type": "integer"}}}', "JSON")
    with pytest.raises(DataError, match=said):
        converter(registry).to_connect_data("t", data)


def test_a_struct_is_registered_to_the_letter_as_java_does(registry: MemoryRegistry) -> None:
    of = Schema.struct(
        {
            "id": schema.INT64.replace(doc="the id"),
            "note": schema.OPTIONAL_STRING,
            "d": schema.STRING.replace(default="hey"),
            "ok": schema.BOOLEAN,
            "price": logical.decimal(2),
            "lines": Schema.array(schema.STRING),
            "stock": Schema.map(schema.STRING, schema.INT32),
            "by": Schema.map(schema.INT32, schema.STRING, name="my_map"),
            "color": Schema(Type.STRING, parameters={ENUM: "", f"{ENUM}.RED": "RED"}),
        },
        name="shop.Order",
        version=2,
    )
    value = {
        "id": 1, "note": None, "d": None, "ok": True, "price": Decimal("1.50"), "lines": ["a"], "stock": {"b": 1},
        "by": {2: "c"}, "color": "RED",
    }  # fmt: skip
    data = converter(registry).from_connect_data("t", of, value)
    assert data == framed(
        1,
        '{"id":1,"note":null,"d":"hey","ok":true,"price":"AJY=","lines":["a"],"stock":{"b":1},'
        '"by":[{"key":2,"value":"c"}],"color":"RED"}',
    )
    assert registry.text(1) == (
        '{"type":"object","title":"shop.Order","connect.version":2,"properties":{"note":{"connect.index":1,"oneOf":[{'
        '"type":"null"},{"type":"string"}]},"d":{"type":"string","default":"hey","connect.index":2},"color":{"enum":['
        '"RED"],"connect.index":8},"price":{"type":"string","title":"org.apache.kafka.connect.data.Decimal","connect.'
        'index":4,"connect.version":1,"connect.type":"bytes","connect.parameters":{"scale":"2"}},"by":{"type":"array"'
        ',"title":"my_map","connect.index":7,"connect.type":"map","items":{"type":"object","properties":{"value":{"ty'
        'pe":"string","connect.index":1},"key":{"type":"integer","connect.index":0,"connect.type":"int32"}}}},"id":{"'
        'type":"integer","description":"the id","connect.index":0,"connect.type":"int64"},"ok":{"connect.index":3,"ty'
        'pe":"boolean"},"lines":{"type":"array","connect.index":5,"items":{"type":"string"}},"stock":{"type":"object"'
        ',"connect.index":6,"connect.type":"map","additionalProperties":{"type":"integer","connect.type":"int32"}}}}'
    )
    assert registry.subjects == {"t-value": [1]}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
def test_values_and_schemas_come_back(registry: MemoryRegistry, decimals: str, data: st.DataObject) -> None:
    keys = [schema.STRING, schema.INT32, schema.BOOLEAN]
    of = data.draw(structs(keys, lambda n: f"com.acme.S{n}"))
    items = data.draw(st.lists(values(of), min_size=1, max_size=4))
    each = converter(registry, decimal_format=decimals, json_fail_invalid_schema="true")
    written = each.from_connect_batch(Constant("t", len(items)), Values(items, of))
    found = each.to_connect_batch(Constant("t", len(written)), written)
    assert found.to_list() == items
    back = found.schemas[0]
    assert back is not None
    assert back.replace(version=None) == of


def test_null_is_a_tombstone_only_where_the_schema_is_not_optional(registry: MemoryRegistry) -> None:
    each = converter(registry)
    assert each.from_connect_data("t", None, None) is None
    assert each.from_connect_data("t", schema.STRING, None) is None
    assert each.from_connect_data("t", schema.OPTIONAL_STRING, None) == framed(1, "null")
    assert each.from_connect_data("t", schema.INT64.replace(default=4), None) == framed(2, "4")
    assert each.to_connect_data("t", None) == (None, None)
    assert each.to_connect_data("t", framed(1, "null")).value is None
    with pytest.raises(DataError, match="needs a schema"):
        each.from_connect_data("t", None, "x")


def test_what_does_not_fit_its_schema_is_refused_if_asked_for(registry: MemoryRegistry) -> None:
    described = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 5}}, "required": ["a"]}
    assert read(registry, described, '{"a": 9}')[1] == [{"a": 9}]
    with pytest.raises(DataError, match="does not fit its schema at /a: 9 is greater than the maximum of 5"):
        read(registry, described, '{"a": 9}', json_fail_invalid_schema="true")
    with pytest.raises(DataError, match='"a" is a required property'):
        read(registry, described, "{}", json_fail_invalid_schema="true")
    of = Schema.struct({"a": schema.INT64})
    each = converter(
        registry, auto_register_schemas="false", use_latest_version="true", json_fail_invalid_schema="true"
    )
    assert each.from_connect_data("t", of, {"a": 5}) == framed(1, '{"a":5}')
    with pytest.raises(DataError, match="maximum of 5"):
        each.from_connect_data("t", of, {"a": 6})


def test_a_bad_record_of_a_batch_is_told_and_tombstones_are_kept(registry: MemoryRegistry) -> None:
    number = registry.register("t-value", '{"type": "object", "properties": {"a": {"type": "integer"}}}', "JSON")
    data: list[bytes | None] = [framed(number, '{"a": 1}'), None, framed(number, '{"a": 2}')]
    each = converter(registry)
    found = each.to_connect_batch(Constant("t", 3), data)
    assert found.to_list() == [{"a": 1}, None, {"a": 2}]
    assert found.schemas[1] is None
    with pytest.raises(DataError):
        each.to_connect_batch(Constant("t", 4), [*data, b"\0\0\0\0"])


def test_what_is_not_known_here_is_refused_when_it_is_configured(registry: MemoryRegistry) -> None:
    with pytest.raises(ConfigError, match=r"preserve.additional.properties.*dropped"):
        converter(registry, preserve_additional_properties="true")
    with pytest.raises(ConfigError, match="decimal.format"):
        converter(registry, decimal_format="HEX")
