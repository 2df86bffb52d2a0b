"""What documents become: maps, texts as they were indexed, and structs by the mapping of their index."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

from connect import ConnectError, Type, logical
from connect.data.validation import validate
from tests.integration.connectors.elasticsearch.source.conftest import Index, NewIndex

pytestmark = pytest.mark.slow


def test_texts_are_those_that_were_indexed(new_index: NewIndex) -> None:
    index = new_index()
    written = '{ "a" : 1.50, "big": 123456789012345678901234567890, "ä": "\\u00e4",\n "a2":[ ] }'
    single = " ".join(written.split("\n"))
    index.server.request("PUT", f"/{index.name}/_mapping", {"dynamic": False})
    index.server.request("PUT", f"/{index.name}/_doc/x", single.encode())
    with index.run(value_format="json") as run:
        (record,) = run.poll_until(1)
    assert record.value == single
    assert record.value_schema is not None
    assert record.value_schema.type is Type.STRING


def _typed(new_index: NewIndex) -> Index:
    kinds = {
        "whole": "long",
        "small": "short",
        "tiny": "byte",
        "usual": "integer",
        "exact": "double",
        "single": "float",
        "yes": "boolean",
        "word": "keyword",
        "words": "text",
        "at": "date",
        "address": "ip",
        "raw": "binary",
        "place": "geo_point",
    }
    return new_index(**kinds)


def test_structs_by_the_mapping(new_index: NewIndex) -> None:
    index = _typed(new_index)
    document = {
        "whole": 1 << 40,
        "small": "12",
        "tiny": 3.0,
        "usual": -5,
        "exact": 1.25,
        "single": 0.5,
        "yes": "true",
        "word": "a",
        "words": ["only one"],
        "at": "2026-01-31T12:00:00.5+01:00",
        "address": "127.0.0.1",
        "raw": "AAE=",
        "place": {"lat": 1, "lon": 2},
        "inner": {"n": 1, "deep": {"t": "x"}},
    }
    index.put([("a", document), ("b", {"at": 1_700_000_000_000, "inner.n": 2, "whole": None}), ("c", {})])
    with index.run(value_format="mapping") as run:
        first, second, third = run.poll_until(3)
    schema = first.value_schema
    assert schema is not None
    assert schema.name == index.name
    for record in (first, second, third):
        assert record.value_schema == schema
        validate(schema, record.value)
    moment = dt.datetime(2026, 1, 31, 11, 0, 0, 500_000, dt.UTC)
    assert first.value == {
        **document,
        "small": 12,
        "tiny": 3,
        "yes": True,
        "words": "only one",
        "at": moment,
        "raw": b"\x00\x01",
        "place": '{"lat":1,"lon":2}',
    }
    assert second.value["at"] == dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)
    assert second.value["inner"] == {"n": 2, "deep": None}
    assert set(third.value.values()) == {None}
    kinds = {field.name: (field.schema.type, field.schema.name) for field in schema.fields}
    assert kinds["small"] == (Type.INT16, None)
    assert kinds["at"] == (Type.INT64, logical.TIMESTAMP_NAME)
    assert kinds["inner"][0] is Type.STRUCT


def test_arrays_are_named_or_nested(new_index: NewIndex) -> None:
    index = new_index(tags="keyword", items="nested")
    index.put([("a", {"tags": ["x", "y"], "items": [{"n": 1}, {"n": 2}]}), ("b", {"tags": "z", "items": {"n": 3}})])
    with index.run(value_format="mapping", array_fields="tags") as run:
        values = [record.value for record in run.poll_until(2)]
    assert values == [
        {"items": [{"n": 1}, {"n": 2}], "tags": ["x", "y"]},
        {"items": [{"n": 3}], "tags": ["z"]},
    ]
    with (
        index.run(value_format="mapping") as run,
        pytest.raises(ConnectError, match='field "tags" holds several values: name it in array.fields'),
    ):
        run.poll_until(1)


def test_a_mapping_that_grows(new_index: NewIndex) -> None:
    index = new_index(n="long")
    index.put([("a", {"n": 1})])
    with index.run(value_format="mapping") as run:
        run.poll_until(1)
        index.put([("b", {"n": 2, "more": "x"})])
        second = run.poll_until(2)[1]
        assert second.value == {"n": 2, "more": "x"}
        index.put([("c", {"n": 3})])
        assert run.poll_until(3)[2].value == {"n": 3, "more": None}


def test_fields_that_are_not_indexed_have_no_schema(new_index: NewIndex) -> None:
    index = new_index(n="long")
    index.server.request("PUT", f"/{index.name}/_mapping", {"dynamic": False})
    index.put([("a", {"n": 1, "hidden": 2})])
    with (
        index.run(value_format="mapping") as run,
        pytest.raises(ConnectError, match='field "hidden" is in no mapping. Or use value.format=schemaless'),
    ):
        run.poll_until(1)
    with index.run(value_format="mapping", fields_exclude="hidden") as run:
        assert run.poll_until(1)[0].value == {"n": 1}


def test_whole_numbers_beyond_63_bits(new_opensearch_index: NewIndex) -> None:
    index = new_opensearch_index(n="unsigned_long")
    index.put([("a", {"n": (1 << 64) - 1})])
    with index.run(value_format="mapping") as run:
        assert run.poll_until(1)[0].value == {"n": Decimal((1 << 64) - 1)}


def test_records_of_structs_are_written_as_json(new_elasticsearch_index: NewIndex) -> None:
    index = new_elasticsearch_index(n="long", at="date")
    index.put([("a", {"n": 1, "at": 5, "inner": {"x": "y"}})])
    converters: dict[str, Any] = {
        "key_converter": "org.apache.kafka.connect.storage.StringConverter",
        "value_converter": "org.apache.kafka.connect.json.JsonConverter",
    }
    with index.run(value_format="mapping", **converters) as run:
        run.poll_until(1)
        (message,) = run.messages
    assert message.key == b"a"
    assert json.loads(message.value)["payload"] == {"n": 1, "at": 5, "inner": {"x": "y"}}
