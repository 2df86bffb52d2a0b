"""JsonSchemaConverter with a real registry, beside serializers that others wrote."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import strategies as st

from connect.api.converter import SchemaAndValue
from connect.converters.jsonschema import JsonSchemaConverter
from connect.data import Schema, logical
from connect.data import schema as s
from connect.data.column import Constant
from connect.data.struct_columns import StructColumns
from connect.data.values import Values
from connect.errors import DataError
from connect.testing.conformance import ConverterConformance

from .front import Front, running

ORDER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {
        "id": {"type": "integer", "connect.index": 0},
        "note": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1},
        "lines": {"type": "array", "items": {"$ref": "#/definitions/line"}, "connect.index": 2},
        "paid": {"type": "boolean", "connect.index": 3},
    },
    "required": ["id"],
    "definitions": {"line": {"type": "object", "title": "Line", "properties": {"what": {"type": "string"}}}},
}


def converter_of(url: str, **settings: str) -> JsonSchemaConverter:
    """Underscores in settings stand for dots."""
    converter = JsonSchemaConverter()
    given = {key.replace("_", "."): value for key, value in settings.items()}
    converter.configure({"schema.registry.url": url, "max.retries": "0", **given}, is_key=False)
    return converter


@pytest.fixture
def client(registry: str) -> Iterator[SchemaRegistryClient]:
    """Confluent's own client."""
    opened = SchemaRegistryClient({"url": registry, "timeout": 30})
    yield opened
    opened.close()


def order(number: int) -> dict[str, Any]:
    return {"id": number, "note": None if number % 2 else "x", "lines": [{"what": "a"}] * number, "paid": True}


class TestJsonSchemaConverter(ConverterConformance):
    """What holds for every converter."""

    converter = JsonSchemaConverter
    examples = 25
    registry: str

    @pytest.fixture(autouse=True)
    def _of_this_run(self, registry: str) -> None:
        type(self).registry = registry

    def config(self) -> dict[str, str]:
        # By the names of records: this registry wants one kind of schema under a subject.
        strategy = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
        return {
            "schema.registry.url": self.registry,
            "json.fail.invalid.schema": "true",
            "key.subject.name.strategy": strategy,
            "value.subject.name.strategy": strategy,
        }

    def values(self) -> st.SearchStrategy[SchemaAndValue]:
        # This registry takes no JSON Schema without properties.
        struct = Schema.struct(
            {
                "id": s.INT64,
                "name": s.OPTIONAL_STRING,
                "on": logical.DATE,
                "data": s.BYTES,
                "by": Schema.map(s.INT32, s.BOOLEAN),
            },
            name="a.JsonStruct",
            version=1,
        )
        structs = st.fixed_dictionaries(
            {
                "id": st.integers(-(2**63), 2**63 - 1),
                "name": st.none() | st.text(max_size=5),
                "on": st.dates(),
                "data": st.binary(max_size=6),
                "by": st.dictionaries(st.integers(0, 9), st.booleans(), max_size=3),
            }
        )
        return structs.map(lambda value: SchemaAndValue(struct, value))


def test_what_confluents_serializer_writes_is_read_by_fields(
    registry: str, topic: str, client: SchemaRegistryClient
) -> None:
    serialize = JSONSerializer(json.dumps(ORDER), client)
    context = SerializationContext(topic, MessageField.VALUE)
    data = [serialize(order(number), context) for number in range(6)]
    for validates in ("false", "true"):
        converter = converter_of(registry, json_fail_invalid_schema=validates)
        values = converter.to_connect_batch(Constant(topic, len(data)), data)
        assert isinstance(values, StructColumns)
        assert values.to_list() == [order(number) for number in range(6)]
        line = Schema.struct({"what": s.STRING}, name="Line")
        assert values.schema == Schema.struct(
            {"id": s.INT64, "note": s.OPTIONAL_STRING, "lines": Schema.array(line), "paid": s.BOOLEAN},
            name="Order",
            version=1,
        )


def test_what_is_written_is_what_confluents_deserializer_reads(
    registry: str, topic: str, client: SchemaRegistryClient
) -> None:
    of = Schema.struct(
        {
            "id": s.INT64,
            "note": s.OPTIONAL_STRING,
            "price": logical.decimal(2),
            "at": logical.TIMESTAMP,
            "stock": Schema.map(s.STRING, s.INT32),
        },
        name="shop.Order",
    )
    value = {
        "id": 1,
        "note": None,
        "price": Decimal("1.25"),
        "at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        "stock": {"a": 2},
    }
    with running(Front(registry)) as front:
        converter = converter_of(front.url, decimal_format="NUMERIC")
        written = converter.from_connect_batch(Constant(topic, 2), Values([value, value], of))
        assert front.seen == [f"POST /subjects/{topic}-value/versions"]
        found = converter.to_connect_batch(Constant(topic, 2), written)
        assert found.to_list() == [value, value]
        assert found.schema == of.replace(version=1)
    # It validates what it reads against the schema that was registered.
    deserialize = JSONDeserializer(None, schema_registry_client=client)
    context = SerializationContext(topic, MessageField.VALUE)
    theirs = {"id": 1, "note": None, "price": 1.25, "at": 1_577_836_800_000, "stock": {"a": 2}}
    assert deserialize(written[0], context) == theirs


def test_references_are_asked_from_the_registry(registry: str, topic: str, client: SchemaRegistryClient) -> None:
    money = {"$id": "money.json", "type": "object", "properties": {"cents": {"type": "integer"}}}
    client.register_schema(f"{topic}-money", TheirSchema(json.dumps(money), "JSON"))
    user = {"type": "object", "properties": {"price": {"$ref": "money.json"}}}
    references = [SchemaReference("money.json", f"{topic}-money", 1)]
    number = client.register_schema(f"{topic}-value", TheirSchema(json.dumps(user), "JSON", references))
    data = b"\0" + number.to_bytes(4, "big") + b'{"price": {"cents": 5}}'
    assert converter_of(registry).to_connect_data(topic, data).value == {"price": {"cents": 5}}


def test_an_id_that_the_registry_does_not_have_is_an_error_of_the_record(registry: str, topic: str) -> None:
    with pytest.raises(DataError, match="2000000000"):
        converter_of(registry).to_connect_data(topic, b"\0" + (2_000_000_000).to_bytes(4, "big") + b"1")
