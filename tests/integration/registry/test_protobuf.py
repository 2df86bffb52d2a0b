"""ProtobufConverter with a real registry, beside messages of protoc and serializers that others wrote."""

import datetime as dt
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc_tools
import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from grpc_tools import protoc
from hypothesis import strategies as st

from connect.api.converter import SchemaAndValue
from connect.converters.protobuf import ProtobufConverter
from connect.data import Schema, logical
from connect.data import schema as s
from connect.data.column import Constant, Plain
from connect.data.struct_columns import StructColumns
from connect.data.values import Values
from connect.errors import ConfigError, DataError
from connect.testing.conformance import ConverterConformance

from .front import Front, running

PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Other { int32 x = 1; }
message Order {
  int64 id = 1;
  optional string note = 2;
  repeated Line lines = 3;
  map<string, int32> stock = 4;
  google.protobuf.Timestamp at = 5;
  State state = 6;
  oneof paid { string card = 7; int32 cash = 8; }
  message Line { string what = 1; uint32 count = 2; }
  enum State { NEW = 0; SENT = 1; }
}
"""


def converter_of(url: str, **settings: str) -> ProtobufConverter:
    """Underscores in settings stand for dots."""
    converter = ProtobufConverter()
    given = {key.replace("_", "."): value for key, value in settings.items()}
    converter.configure({"schema.registry.url": url, "max.retries": "0", **given}, is_key=False)
    return converter


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The module that protoc makes of the file."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "shop_orders.proto").write_text(PROTO)
    known = Path(grpc_tools.__file__).parent / "_proto"
    assert protoc.main(["protoc", f"-I{folder}", f"-I{known}", f"--python_out={folder}", "shop_orders.proto"]) == 0
    described = importlib.util.spec_from_file_location("shop_orders_pb2", folder / "shop_orders_pb2.py")
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    sys.modules["shop_orders_pb2"] = module
    described.loader.exec_module(module)
    return module


@contextmanager
def opened(url: str) -> Iterator[SchemaRegistryClient]:
    """Confluent's own client."""
    made = SchemaRegistryClient({"url": url, "timeout": 30})
    yield made
    made.close()


@pytest.fixture
def client(registry: str) -> Iterator[SchemaRegistryClient]:
    with opened(registry) as made:
        yield made


def order(generated: ModuleType, number: int) -> Any:
    return generated.Order(
        id=number,
        note="x" if number % 2 else None,
        lines=[{"what": "a", "count": 4_000_000_000}],
        stock={"b": number},
        at={"seconds": 1_600_000_000 + number},
        state=1,
        cash=number,
    )


def as_value(number: int) -> dict[str, Any]:
    return {
        "paid_0": {"card": None, "cash": number},
        "id": number,
        "note": "x" if number % 2 else None,
        "lines": [{"what": "a", "count": 4_000_000_000}],
        "stock": {"b": number},
        "at": dt.datetime(2020, 9, 13, 12, 26, 40, tzinfo=dt.UTC) + dt.timedelta(seconds=number),
        "state": "SENT",
    }


class TestProtobufConverter(ConverterConformance):
    """What holds for every converter."""

    converter = ProtobufConverter
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
            "wrapper.for.nullables": "true",
            "key.subject.name.strategy": strategy,
            "value.subject.name.strategy": strategy,
        }

    def values(self) -> st.SearchStrategy[SchemaAndValue]:
        tags = {name: {"io.confluent.connect.protobuf.Tag": str(i)} for i, name in enumerate(("id", "name", "at"), 1)}
        struct = Schema.struct(
            {
                "id": s.INT64.replace(parameters=tags["id"]),
                "name": s.OPTIONAL_STRING.replace(parameters=tags["name"]),
                "at": logical.DATE.replace(parameters=tags["at"], optional=True),
            },
            name="Struct",
            version=1,
        )
        structs = st.fixed_dictionaries(
            {"id": st.integers(-(2**63), 2**63 - 1), "name": st.none() | st.text(max_size=5), "at": st.dates()}
        )
        return structs.map(lambda value: SchemaAndValue(struct, value)) | st.text(max_size=5).map(
            lambda value: SchemaAndValue(s.STRING.replace(version=1), value)
        )


def test_what_confluents_serializer_writes_is_read_by_fields(
    registry: str, topic: str, client: SchemaRegistryClient, generated: ModuleType
) -> None:
    serialize = ProtobufSerializer(generated.Order, client, {"use.deprecated.format": False})
    context = SerializationContext(topic, MessageField.VALUE)
    data = [serialize(order(generated, number), context) for number in range(6)]
    assert data[0][5:7] == b"\x02\x02"  # the second message of its file
    values = converter_of(registry).to_connect_batch(Constant(topic, len(data)), data)
    assert isinstance(values, StructColumns)
    assert values.to_list() == [as_value(number) for number in range(6)]
    assert values.schema is not None
    assert (values.schema.name, values.schema.version) == ("Order", 1)


def test_what_is_written_is_what_confluents_deserializer_reads(
    registry: str, topic: str, client: SchemaRegistryClient, generated: ModuleType
) -> None:
    client.register_schema(f"{topic}-value", TheirSchema(PROTO, "PROTOBUF"))
    context = SerializationContext(topic, MessageField.VALUE)
    converter = converter_of(
        registry,
        enhanced_protobuf_schema_support="true",
        auto_register_schemas="false",
        use_latest_version="true",
    )
    deserialize = ProtobufDeserializer(generated.Order, {"use.deprecated.format": False})
    message = order(generated, 3)
    number = client.get_latest_version(f"{topic}-value").schema_id
    read = converter.to_connect_data(
        topic, b"\0" + number.to_bytes(4, "big") + b"\x02\x02" + message.SerializeToString()
    )
    written = converter.from_connect_data(topic, read.schema, read.value)
    assert written is not None
    assert written[:7] == b"\0" + number.to_bytes(4, "big") + b"\x02\x02"
    assert deserialize(written, context) == message


def test_a_schema_is_registered_once_and_comes_back_with_its_version(registry: str, topic: str) -> None:
    of = Schema.struct(
        {
            "id": s.INT64,
            "small": s.INT8,
            "price": logical.decimal(2),
            "at": logical.TIMESTAMP,
            "lines": Schema.array(Schema.struct({"what": s.STRING}, name="Line")),
            "stock": Schema.map(s.STRING, s.INT32, name="stock"),
        },
        name="shop.Order",
    )
    values = [
        {
            "id": number,
            "small": number,
            "price": Decimal(number).scaleb(-2),
            "at": dt.datetime(2026, 1, 1, 12, 0, number, tzinfo=dt.UTC),
            "lines": [{"what": "a"}] * number,
            "stock": {"b": number},
        }
        for number in range(1, 5)
    ]
    with running(Front(registry)) as front:
        data = converter_of(front.url).from_connect_batch(Constant(topic, 4), Values(values, of))
        assert front.seen == [f"POST /subjects/{topic}-value/versions"]
        found = converter_of(front.url).to_connect_batch(Constant(topic, 4), data)
        assert found.to_list() == values
        assert found.schema is not None
        assert (found.schema.name, found.schema.version) == ("Order", 1)
        assert len(front.seen) == 3  # the schema, and its version


def test_ids_and_indexes_in_headers_are_written_and_read_as_confluents_serializer_does(
    registry: str, topic: str, generated: ModuleType
) -> None:
    with running(Front(registry, guids=True)) as front, opened(front.url) as client:
        serialize = ProtobufSerializer(
            generated.Order,
            client,
            {"use.deprecated.format": False, "schema.id.serializer": header_schema_id_serializer},
        )
        context = SerializationContext(topic, MessageField.VALUE, headers=[])
        data = serialize(order(generated, 1), context)
        converter = converter_of(
            front.url,
            value_schema_id_serializer="HeaderSchemaIdSerializer",
            auto_register_schemas="false",
            use_latest_version="true",
            enhanced_protobuf_schema_support="true",
        )
        found = converter.to_connect_batch_with_headers(Constant(topic, 1), [data], Plain([context.headers]))
        assert found.to_list() == [as_value(1)]
        of = Schema.struct({"id": s.INT64}, name="shop.Order")
        values = Values([{"id": 5}, None], of)
        own: list[tuple[str, bytes | None]] = [("mine", b"1")]
        written, headers = converter.from_connect_batch_with_headers(Constant(topic, 2), values, Plain([own, None]))
        assert written == [b"\x08\x05", None]
        assert headers.to_list() == [[("mine", b"1"), context.headers[0]], []]
        assert own == [("mine", b"1")]
        with pytest.raises(ConfigError, match="writes into headers"):
            converter.from_connect_data(topic, of, {"id": 5})


def test_imports_are_references_of_the_registry(registry: str, topic: str, client: SchemaRegistryClient) -> None:
    text = 'syntax = "proto3"; package common; message Money { int64 cents = 1; }'
    client.register_schema(f"{topic}-money", TheirSchema(text, "PROTOBUF"))
    user = 'syntax = "proto3"; import "common/money.proto"; message Price { common.Money money = 1; }'
    references = [SchemaReference("common/money.proto", f"{topic}-money", 1)]
    number = client.register_schema(f"{topic}-value", TheirSchema(user, "PROTOBUF", references))
    data = b"\0" + number.to_bytes(4, "big") + b"\0" + b"\n\x02\x08\x63"
    assert converter_of(registry).to_connect_data(topic, data).value == {"money": {"cents": 99}}


def test_an_id_that_the_registry_does_not_have_is_an_error_of_the_record(registry: str, topic: str) -> None:
    with pytest.raises(DataError, match="2000000000"):
        converter_of(registry).to_connect_data(topic, b"\0" + (2_000_000_000).to_bytes(4, "big") + b"\0")
