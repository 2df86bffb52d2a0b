"""AvroConverter with a real registry, beside serializers that others wrote."""

import datetime as dt
import io
import json
import random
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from fastavro.utils import generate_many
from hypothesis import strategies as st

from connect.api.converter import Converter, SchemaAndValue
from connect.converters.avro import AvroConverter
from connect.data import Schema, logical
from connect.data import schema as s
from connect.data.column import Constant, Plain
from connect.data.headers import Header, Headers
from connect.data.struct_columns import StructColumns
from connect.data.values import Values
from connect.errors import ConfigError, DataError, RetriableError
from connect.ports import free_port
from connect.testing.conformance import ConverterConformance

from .front import Front, running

ORDER = Schema.struct(
    {
        "id": s.INT64,
        "customer": s.STRING,
        "note": s.OPTIONAL_STRING,
        "price": logical.decimal(2),
        "created": logical.TIMESTAMP,
        "tags": Schema.array(s.STRING),
    },
    name="shop.Order",
)
VALUES = [
    {
        "id": number,
        "customer": f"customer {number}",
        "note": None if number % 2 else "ring twice",
        "price": Decimal(number).scaleb(-2),
        "created": dt.datetime(2026, 1, 1, 12, 0, number, tzinfo=dt.UTC),
        "tags": ["a"] * number,
    }
    for number in range(6)
]


def converter_of(url: str, *, is_key: bool = False, **settings: str) -> AvroConverter:
    """Underscores in settings stand for dots."""
    converter = AvroConverter()
    given = {key.replace("_", "."): value for key, value in settings.items()}
    converter.configure(
        {"schema.registry.url": url, "max.retries": "0", "retries.wait.ms": "10", **given}, is_key=is_key
    )
    return converter


def written(converter: Converter, topic: str, values: list[Any], schema: Schema | None) -> list[bytes | None]:
    return list(converter.from_connect_batch(Constant(topic, len(values)), Values(values, schema)))


def read(converter: Converter, topic: str, data: list[bytes | None]) -> Values:
    return converter.to_connect_batch(Constant(topic, len(data)), data)


_opened: list[SchemaRegistryClient] = []


def theirs(registry: str) -> SchemaRegistryClient:
    """Confluent's own client."""
    _opened.append(SchemaRegistryClient({"url": registry, "timeout": 30}))
    return _opened[-1]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _opened:
        _opened.pop().close()


class TestAvroConverter(ConverterConformance):
    """What holds for every converter."""

    converter = AvroConverter
    examples = 25
    registry: str

    @pytest.fixture(autouse=True)
    def _of_this_run(self, registry: str) -> None:
        type(self).registry = registry

    def config(self) -> dict[str, str]:
        return {"schema.registry.url": self.registry}

    def values(self) -> st.SearchStrategy[SchemaAndValue]:
        numbers = st.integers(-(2**63), 2**63 - 1)
        structs = st.fixed_dictionaries({"id": numbers, "name": st.none() | st.text(max_size=5)})
        struct = Schema.struct({"id": s.INT64, "name": s.OPTIONAL_STRING}, name="a.Struct", version=1)
        return st.one_of(
            numbers.map(lambda value: SchemaAndValue(s.INT64.replace(version=1), value)),
            st.binary(max_size=6).map(lambda value: SchemaAndValue(s.BYTES.replace(version=1), value)),
            structs.map(lambda value: SchemaAndValue(struct, value)),
            st.dictionaries(st.text(max_size=3), st.booleans(), max_size=3).map(
                lambda value: SchemaAndValue(Schema.map(s.STRING, s.BOOLEAN, version=1), value)
            ),
        )


def test_a_schema_is_registered_once_and_a_column_read_by_fields(registry: str, topic: str) -> None:
    with running(Front(registry)) as front:
        data = written(converter_of(front.url), topic, VALUES, ORDER)
        assert front.seen == [f"POST /subjects/{topic}-value/versions"]
        values = read(converter_of(front.url), topic, data)
        assert isinstance(values, StructColumns)
        assert values.to_list() == VALUES
        assert values.schema == ORDER.replace(version=1)
        assert len(front.seen) == 3  # the schema, and its version


def test_tombstones_and_several_schemas_keep_their_places(registry: str, topic: str) -> None:
    converter = converter_of(registry, value_subject_name_strategy="RecordNameStrategy")
    orders = written(converter, topic, VALUES[:2], ORDER)
    others = written(converter, topic, [{"x": 1}], Schema.struct({"x": s.INT32}, name="shop.Other"))
    data = [None, orders[0], others[0], None, orders[1]]
    values = read(converter, topic, data)
    assert values.to_list() == [None, VALUES[0], {"x": 1}, None, VALUES[1]]
    assert [schema and schema.name for schema in values.schemas] == [
        None,
        "shop.Order",
        "shop.Other",
        None,
        "shop.Order",
    ]
    assert read(converter, topic, [None, None]).to_list() == [None, None]
    again = converter.from_connect_batch(Constant(topic, 5), values)
    assert [item and item[5:] for item in again] == [item and item[5:] for item in data]


def test_what_was_read_by_fields_is_written_by_fields(registry: str, topic: str) -> None:
    converter = converter_of(registry)
    data = written(converter, topic, VALUES, ORDER)
    values = read(converter, topic, data)
    again = converter.from_connect_batch(Constant(topic, len(VALUES)), values)
    assert [item[5:] for item in again if item] == [item[5:] for item in data if item]


def test_confluents_serializer_is_read(registry: str, topic: str) -> None:
    avro = {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
            {"name": "either", "type": ["string", "int"]},
            {"name": "parts", "type": {"type": "map", "values": {"type": "array", "items": "double"}}},
        ],
    }
    value = {
        "id": 2**40,
        "state": "PAID",
        "price": Decimal("-12.34"),
        "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        "day": dt.date(2026, 2, 3),
        "either": 7,
        "parts": {"a": [1.5, -2.0], "b": []},
    }
    serializer = AvroSerializer(theirs(registry), json.dumps(avro))
    data = serializer(value, SerializationContext(topic, MessageField.VALUE))
    found = converter_of(registry).to_connect_data(topic, data)
    assert found.value == {**value, "either": {"string": None, "int": 7}}
    assert found.schema is not None
    assert (found.schema.name, found.schema.version) == ("shop.Order", 1)
    back = AvroDeserializer(theirs(registry))
    again = converter_of(registry, enhanced_avro_schema_support="true")
    copied = again.from_connect_data(topic, *again.to_connect_data(topic, data))
    assert back(copied, SerializationContext(topic, MessageField.VALUE)) == value


def test_confluents_deserializer_reads_what_is_written(registry: str, topic: str) -> None:
    deserializer = AvroDeserializer(theirs(registry))
    for data, value in zip(written(converter_of(registry), topic, VALUES, ORDER), VALUES, strict=True):
        assert deserializer(data, SerializationContext(topic, MessageField.VALUE)) == value


def test_keys_have_a_subject_of_their_own(registry: str, topic: str) -> None:
    converter = converter_of(registry, is_key=True)
    data = written(converter, topic, ["k"], s.STRING)
    assert theirs(registry).get_latest_version(f"{topic}-key").schema.schema_str == '"string"'
    assert read(converter, topic, data).to_list() == ["k"]


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("io.confluent.kafka.serializers.subject.TopicNameStrategy", "{topic}-value"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", "shop.Order{topic}"),
        ("io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", "{topic}-shop.Order{topic}"),
    ],
)
def test_the_subject_is_named_as_the_strategy_says(registry: str, topic: str, strategy: str, subject: str) -> None:
    converter = converter_of(registry, value_subject_name_strategy=strategy)
    name = topic.replace("-", "")
    order = ORDER.replace(name=f"shop.Order{name}")
    data = written(converter, topic, VALUES, order)
    expected = subject.replace("Order{topic}", f"Order{name}").replace("{topic}", topic)
    assert theirs(registry).get_latest_version(expected).version == 1
    assert read(converter, topic, data).schema == order.replace(version=1)


def test_a_strategy_by_record_refuses_what_is_none(registry: str, topic: str) -> None:
    converter = converter_of(registry, value_subject_name_strategy="RecordNameStrategy")
    with pytest.raises(DataError, match="RecordNameStrategy names subjects by records"):
        written(converter, topic, ["x"], s.STRING)


def test_a_schema_that_is_not_registered_is_refused_where_it_may_not_be(registry: str, topic: str) -> None:
    converter = converter_of(registry, auto_register_schemas="false")
    with pytest.raises(DataError, match=r"auto\.register\.schemas=true"):
        written(converter, topic, VALUES, ORDER)
    written(converter_of(registry), topic, VALUES, ORDER)
    assert len(written(converter_of(registry, auto_register_schemas="false"), topic, VALUES, ORDER)) == len(VALUES)


JSON_SCHEMA = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}

LATEST = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "customer", "type": ["null", "string"], "default": None},
        {"name": "id", "type": "double"},
        {"name": "added", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
    ],
}


@pytest.mark.parametrize("by", ["use.latest.version", "use.schema.id"])
def test_records_are_written_with_the_schema_that_is_there(registry: str, topic: str, by: str) -> None:
    number = theirs(registry).register_schema(f"{topic}-value", TheirSchema(json.dumps(LATEST), "AVRO"))
    settings = {"auto.register.schemas": "false", by: "true" if by == "use.latest.version" else str(number)}
    converter = converter_of(registry, **settings)
    small = Schema.struct({"id": s.INT32, "customer": s.STRING, "more": s.STRING}, name="other.Name")
    data = written(converter, topic, [{"id": 5, "customer": "c", "more": "m"}], small)
    deserializer = AvroDeserializer(theirs(registry))
    found = deserializer(data[0], SerializationContext(topic, MessageField.VALUE))
    assert found == {"customer": "c", "id": 5.0, "added": [1, 2]}
    assert [each.version for each in [theirs(registry).get_latest_version(f"{topic}-value")]] == [1]
    with pytest.raises(DataError, match='the field "id", which the value has not'):
        written(converter, topic, [{"customer": "c"}], Schema.struct({"customer": s.STRING}, name="shop.Order"))
    with pytest.raises(DataError, match="STRING cannot be written as Avro's double"):
        written(converter, topic, [{"id": "5"}], Schema.struct({"id": s.STRING}))


def test_schemas_with_references_are_read(registry: str, topic: str) -> None:
    client = theirs(registry)
    inner = '{"type":"record","name":"Inner","namespace":"x","fields":[{"name":"i","type":"int"}]}'
    client.register_schema(f"{topic}-inner", TheirSchema(inner, "AVRO"))
    array = '{"type":"array","items":"x.Inner"}'
    outer = f'{{"type":"record","name":"Outer","namespace":"x","fields":[{{"name":"a","type":{array}}}]}}'
    from confluent_kafka.schema_registry import SchemaReference

    schema = TheirSchema(outer, "AVRO", [SchemaReference("x.Inner", f"{topic}-inner", 1)])
    number = client.register_schema(f"{topic}-value", schema)
    data = b"\x00" + number.to_bytes(4, "big") + b"\x02\x08\x00"
    found = converter_of(registry).to_connect_data(topic, data)
    assert found.value == {"a": [{"i": 4}]}


def test_ids_in_headers_are_written_and_read_as_confluents_serializer_does(registry: str, topic: str) -> None:
    from confluent_kafka.schema_registry import header_schema_id_serializer

    with running(Front(registry, guids=True)) as front:
        converter = converter_of(
            front.url,
            value_schema_id_serializer="io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer",
            value_schema_id_deserializer="io.confluent.kafka.serializers.schema.id.DualSchemaIdDeserializer",
        )
        topics = Constant(topic, 3)
        values = Values([VALUES[0], None, VALUES[1]], ORDER)
        own: list[tuple[str, bytes | None]] = [("mine", b"1")]
        data, headers = converter.from_connect_batch_with_headers(topics, values, Plain([own, None, None]))
        assert own == [("mine", b"1")]
        assert [len(each or ()) for each in headers] == [2, 0, 1]
        assert data[1] is None
        found = converter.to_connect_batch_with_headers(topics, data, headers)
        assert found.to_list() == [VALUES[0], None, VALUES[1]]

        serializer = AvroSerializer(
            theirs(front.url), fields(ORDER), conf={"schema.id.serializer": header_schema_id_serializer}
        )
        context = SerializationContext(topic, MessageField.VALUE, headers=[])
        their_data = serializer(VALUES[2], context)
        assert their_data == converter.from_connect_batch(Constant(topic, 1), Values([VALUES[2]], ORDER))[0]
        single = converter.to_connect_batch_with_headers(Constant(topic, 1), [their_data], Plain([context.headers]))
        assert single.to_list() == [VALUES[2]]
        (name, content) = (headers[2] or [("", b"")])[0]
        assert (name, content) == context.headers[0]
        both = converter.to_connect_data(topic, their_data, Headers([Header(*context.headers[0])]))
        assert both.value == VALUES[2]
        with pytest.raises(ConfigError, match="writes into headers"):
            converter.from_connect_data(topic, ORDER, VALUES[0])


def test_records_may_begin_with_guids_that_begin_alike(registry: str, topic: str) -> None:
    def guid(number: int) -> str:
        return f"00000000-0000-0000-0000-{number:012d}"

    with running(Front(registry, guids=True, guid=guid)) as front:
        number = written(converter_of(front.url), topic, [1], s.INT32)[0] or b""
        text = written(converter_of(front.url), f"{topic}-2", ["x"], s.STRING)[0] or b""
        data: list[bytes | None] = [
            b"\x01" + uuid.UUID(guid(int.from_bytes(item[1:5], "big"))).bytes + item[5:] for item in (number, text)
        ]
        assert read(converter_of(front.url), topic, data).to_list() == [1, "x"]


def fields(schema: Schema) -> str:
    """The text under which our converter registers a schema."""
    from connect.converters.avro.from_connect import FromConnect
    from connect.converters.avro.keys import AvroOptions
    from connect.converters.avro.text import schema_text

    return schema_text(FromConnect(AvroOptions.parse({})).schema(schema))


def test_a_registry_without_guids_says_so_when_they_are_asked_for(registry: str, topic: str) -> None:
    converter = converter_of(registry, value_schema_id_serializer="HeaderSchemaIdSerializer")
    with pytest.raises(ConfigError, match="knows no GUIDs"):
        converter.from_connect_batch_with_headers(Constant(topic, 1), Values([1], s.INT32), Constant(None, 1))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty where the magic byte 0"),
        (b'{"id":1}', "begins with the byte 123 where the magic byte 0"),
        (b"\x00\x00\x00", "ends within the id of its schema, after 3 bytes"),
        (b"\x00\x7f\xff\xff\xff\x02", "names the schema 2147483647, and .*40403.*ids of another registry"),
    ],
)
def test_bytes_that_are_no_record_of_a_registry_say_what_they_are(
    registry: str, topic: str, data: bytes, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        converter_of(registry).to_connect_data(topic, data)


def test_one_malformed_record_leaves_the_others_readable(registry: str, topic: str) -> None:
    converter = converter_of(registry)
    data = written(converter, topic, VALUES, ORDER)
    data[3] = (data[3] or b"")[:-4]
    with pytest.raises(DataError):
        read(converter, topic, data)
    assert read(converter, topic, data[:3]).to_list() + read(converter, topic, data[4:]).to_list() == [
        *VALUES[:3],
        *VALUES[4:],
    ]


def test_a_registry_that_is_down_may_be_tried_again(topic: str) -> None:
    converter = converter_of(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(RetriableError):
        converter.to_connect_data(topic, b"\x00\x00\x00\x00\x01\x02")


def test_a_schema_of_another_format_is_refused(registry: str, topic: str) -> None:
    number = theirs(registry).register_schema(f"{topic}-value", TheirSchema(json.dumps(JSON_SCHEMA), "JSON"))
    with pytest.raises(DataError, match=rf"id {number} is not of Avro but of JSON"):
        converter_of(registry).to_connect_data(topic, b"\x00" + number.to_bytes(4, "big"))


def test_values_without_a_schema_come_back(registry: str, topic: str) -> None:
    converter = converter_of(registry)
    values = [{"a": [1, 2.5, None, True, b"x"], "b": {}}, "text", 5, None, []]
    data = written(converter, topic, values, None)
    assert data[3] is None
    found = read(converter, topic, data)
    assert found.to_list() == values
    assert set(found.schemas) == {None}


def test_a_schema_under_another_subject_is_read_without_a_version(registry: str, topic: str) -> None:
    data = written(converter_of(registry), topic, [1], s.INT32)
    assert read(converter_of(registry), f"{topic}-other", data).schema == s.INT32


def test_what_fastavro_writes_is_read_and_written_again_as_it_was(registry: str, seed: int) -> None:
    """Generated schemas: what is read becomes the same bytes again, whatever the types within."""
    from connect.converters.avro.keys import AvroOptions
    from connect.converters.avro.reading import make_reader
    from connect.converters.avro.to_connect import ToConnect
    from connect.converters.avro.types import parse
    from connect.converters.avro.writing import MadeWriter

    chance = random.Random(seed)
    for _ in range(150):
        avro = {"type": "record", "name": "R", "fields": [field(chance, at) for at in range(chance.randrange(1, 6))]}
        parsed = fastavro.parse_schema(json.loads(json.dumps(avro)))
        records = list(generate_many(parsed, 5))
        data = []
        for record in records:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, parsed, record)
            data.append(out.getvalue())
        node, options = parse(json.dumps(avro)), AvroOptions.parse({"enhanced.avro.schema.support": "true"})
        schema = ToConnect(options).schema(node)
        columns = make_reader(node, schema, options)(data, 0)
        values = StructColumns(schema, columns).to_list()
        assert MadeWriter(node, schema, options).values(values, b"") == data, avro
        for row, item in enumerate(data):
            single = fastavro.schemaless_reader(io.BytesIO(item), parsed)
            simple = [each["name"] for each in avro["fields"] if isinstance(each["type"], str)]
            assert {name: values[row][name] for name in simple} == {name: single[name] for name in simple}


def field(chance: random.Random, at: int) -> dict[str, Any]:
    return {"name": f"f{at}", "type": a_type(chance, f"f{at}")}


def a_type(chance: random.Random, path: str, depth: int = 0) -> Any:
    simple = ["int", "long", "double", "boolean", "string", "bytes"]
    kinds: list[Callable[[], Any]] = [
        lambda: chance.choice(simple),
        lambda: chance.choice(simple),
        lambda: ["null", chance.choice(simple)],
        lambda: [chance.choice(simple), "null"],
        lambda: {"type": "enum", "name": f"E{path}", "symbols": ["A", "B", "C"]},
        lambda: {"type": "fixed", "name": f"F{path}", "size": chance.randrange(5)},
    ]
    if depth < 3:
        kinds += [
            lambda: {"type": "array", "items": a_type(chance, f"{path}a", depth + 1)},
            lambda: {"type": "map", "values": a_type(chance, f"{path}m", depth + 1)},
            lambda: [
                "null",
                "string",
                {"type": "record", "name": f"U{path}", "fields": [field_of(chance, path, depth)]},
            ],
            lambda: {"type": "record", "name": f"R{path}", "fields": [field_of(chance, path, depth)]},
        ]
    return chance.choice(kinds)()


def field_of(chance: random.Random, path: str, depth: int) -> dict[str, Any]:
    return {"name": "inner", "type": a_type(chance, f"{path}r", depth + 1)}
