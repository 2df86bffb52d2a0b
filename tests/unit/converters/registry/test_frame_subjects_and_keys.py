"""How records name their schemas, how subjects are named, and what is wrong with a configuration."""

import uuid

import pytest

from connect import Converter
from connect.converters.avro.converter import AvroConverter
from connect.converters.jsonschema.converter import JsonSchemaConverter
from connect.converters.protobuf.converter import ProtobufConverter
from connect.converters.registry import RegistryOptions, SchemaId, Subjects, Wire
from connect.errors import ConfigError, DataError

GUID = "89791762-2336-41b9-8a7b-8a2a5c4f7a4f"
BY_GUID = b"\x01" + uuid.UUID(GUID).bytes


def test_the_first_bytes_hold_the_number() -> None:
    wire = Wire(is_key=False)
    assert wire.prefix(SchemaId(258)) == b"\x00\x00\x00\x01\x02"
    assert wire.id_of(b"\x00\x00\x00\x01\x02value") == (258, 5, None)
    assert wire.id_of(b"\x00\xff\xff\xff\xff") == (2**32 - 1, 5, None)
    assert wire.id_of(BY_GUID + b"value") == (GUID, 17, None)


def test_a_header_of_its_own_side_comes_before_the_first_bytes() -> None:
    wire = Wire(is_key=False)
    headers = [
        ("other", b"x"),
        ("__key_schema_id", b"\x00\x00\x00\x00\x09"),
        ("__value_schema_id", BY_GUID + b"\x02\x04"),
    ]
    assert wire.id_of(b"value", headers) == (GUID, 0, b"\x02\x04")
    assert Wire(is_key=True).id_of(b"value", headers) == (9, 0, b"")
    assert Wire(reader="PrefixSchemaIdDeserializer", is_key=False).id_of(b"\x00\x00\x00\x00\x07", headers).id == 7
    with pytest.raises(DataError, match="the header __value_schema_id ends within the id"):
        wire.id_of(b"", [("__value_schema_id", b"\x01\x02")])
    with pytest.raises(DataError, match="the header __value_schema_id is empty"):
        wire.id_of(b"", [("__value_schema_id", None)])


def test_an_id_in_a_header_leaves_the_value_alone() -> None:
    wire = Wire("HeaderSchemaIdSerializer", is_key=True)
    assert wire.prefix(SchemaId(1, GUID)) == b""
    assert wire.header_for(SchemaId(1, GUID), b"\x00") == ("__key_schema_id", BY_GUID + b"\x00")
    with pytest.raises(ConfigError, match=r'key "key\.schema\.id\.serializer".*no GUIDs'):
        wire.header_for(SchemaId(1))


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"\x00\x00\x00\x01", b"\x01" + b"x" * 15, b"{}", b"\x02\x00\x00\x00\x01"]
)
def test_what_names_no_schema_is_refused(data: bytes) -> None:
    with pytest.raises(DataError):
        Wire(is_key=False).id_of(data)


def test_subjects() -> None:
    assert Subjects(is_key=True).of("t", None) == "t-key"
    assert Subjects("RecordNameStrategy", is_key=False).of("t", "a.B") == "a.B"
    assert (
        Subjects("io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", is_key=False).of("t", "B") == "t-B"
    )
    with pytest.raises(DataError, match="the value is none"):
        Subjects("RecordNameStrategy", is_key=False).of("t", None)
    with pytest.raises(ConfigError, match=r'key "value\.subject\.name\.strategy".*there are .*TopicNameStrategy'):
        Subjects("com.example.Mine", is_key=False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schema.registry.url": "localhost:8081"}, "is not a list of addresses"),
        ({"schema.registry.url": "http://u:hush@host:port"}, "is not a list of addresses"),
        ({"schema.registry.url": ""}, "is required"),
        ({"basic.auth.credentials.source": "USER_INFO"}, "is missing or has no colon"),
        ({"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "hush"}, "has no colon"),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "holds no username"),
        ({"basic.auth.credentials.source": "ELSEWHERE"}, "is not one of URL, USER_INFO, SASL_INHERIT"),
        ({"bearer.auth.credentials.source": "STATIC_TOKEN"}, "is missing"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER", "bearer.auth.token": "hush"}, "is not one of STATIC_TOKEN"),
        ({"value.subject.name.strategy": "Mine"}, "Mine is not known here; there are io.confluent"),
        ({"key.schema.id.serializer": "Mine"}, "Mine is not known here; there are io.confluent"),
        ({"value.schema.id.deserializer": "Mine"}, "Mine is not known here; there are io.confluent"),
        ({"proxy.host": "h"}, r"proxy\.port"),
        (
            {"schema.registry.url": "https://h", "schema.registry.ssl.truststore.location": "/none"},
            r"schema\.registry\.ssl\.truststore\.location",
        ),
    ],
)
def test_what_is_wrong_says_so_and_shows_no_secret(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        RegistryOptions.parse({"schema.registry.url": "http://localhost:8081", **settings}).client()
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize(
    ("converter", "config", "remarks"),
    [
        (AvroConverter, {"latest.compatibility.strict": "true", "id.compatibility.strict": "True"}, []),
        (AvroConverter, {"latest.compatibility.strict": "false"}, ["latest.compatibility.strict"]),
        (ProtobufConverter, {"id.compatibility.strict": "false"}, ["id.compatibility.strict"]),
        (JsonSchemaConverter, {"ignore.modern.dialects": "false"}, []),
        (
            JsonSchemaConverter,
            {"ignore.modern.dialects": "true", "id.compatibility.strict": "false"},
            ["ignore.modern.dialects", "id.compatibility.strict"],
        ),
    ],
)
def test_keys_of_the_original_that_do_nothing_are_named_where_they_ask_for_something(
    converter: type[Converter], config: dict[str, str], remarks: list[str]
) -> None:
    assert [key for key, _ in converter.settings.remarks(config)] == remarks
