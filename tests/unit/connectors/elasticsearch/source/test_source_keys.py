"""Keys of the source: what is wrong is said at its key, others' keys are understood, offsets are checked."""

from typing import Any

import pytest

from connect import ConnectError
from connect.kit import shared_out
from connectors.elasticsearch.source import (
    ElasticsearchSourceConnector,
    OpenSearchSourceConnector,
    offsets,
    shards,
)
from connectors.elasticsearch.source.keys import ElasticsearchSourceOptions
from connectors.elasticsearch.source.offsets import Position
from connectors.elasticsearch.source.shards import Shard


def _errors(**config: str) -> dict[str, list[str]]:
    told = {key.replace("_", "."): value for key, value in config.items()}
    given = {"connection.url": "http://localhost:9200", "index.names": "orders", **told}
    return {value.name: value.errors for value in ElasticsearchSourceConnector().validate(given) if value.errors}


def test_a_good_configuration() -> None:
    assert _errors() == {}
    opens = {"connection.url": "http://localhost:9200", "index.prefix": "o", "aws.region": "eu-central-1"}
    assert [value for value in OpenSearchSourceConnector().validate(opens) if value.errors] == []


@pytest.mark.parametrize(
    ("config", "key", "said"),
    [
        ({"index_names": ""}, "index.names", "is required, or index.prefix"),
        ({"index_names": "a b"}, "index.names", '"a b" is neither the name'),
        ({"query": "status:paid"}, "query", "is not JSON"),
        ({"query": '{"query": {}, "size": 1}'}, "query", "is not a query"),
        ({"value_format": "avro"}, "value.format", "is not one of schemaless, json, mapping"),
        ({"headers": "_id,id"}, "headers", '"id" is none'),
        ({"topic_name": "a/${index}"}, "topic.name", '"/" cannot be in the name'),
        ({"incrementing_initial": "5"}, "incrementing.initial", "is for incrementing.field.name"),
        ({"array_fields": "tags"}, "array.fields", "is for value.format=mapping"),
        ({"refresh": "false", "delay_ms": "0"}, "delay.ms", "longer than index.refresh_interval"),
        ({"connection_url": "ftp://a"}, "connection.url", "is not a list of URLs"),
        ({"connection_username": "me"}, "connection.password", "is missing"),
        ({"batch_max_rows": "20000"}, "batch.max.rows", "not between"),
    ],
)
def test_what_is_wrong_is_said_at_its_key(config: dict[str, str], key: str, said: str) -> None:
    found = _errors(**config)
    assert list(found) == [key]
    assert said in found[key][0]


def test_keys_of_the_other_connector_are_understood() -> None:
    theirs = {
        "es.host": "one; two",
        "es.port": "9201",
        "es.scheme": "https",
        "es.user": "me",
        "es.password": "secret",
        "index.prefix": "orders-",
        "incrementing.field.name": "@timestamp",
        "incrementing.secondary.field.name": "id",
        "filters.whitelist": "customer;order.qty",
        "connection.attempts": "4",
        "fieldname_converter": "nop",
    }
    assert [value for value in ElasticsearchSourceConnector().validate(theirs) if value.errors] == []
    options = ElasticsearchSourceOptions.parse(theirs)
    assert options.urls == ("https://one:9201", "https://two:9201")
    assert options.user == ("me", "secret")
    assert options.fields == ["customer", "order.qty"]
    assert options.retries == 4
    assert options.names == ["orders-*"]


def test_ours_win() -> None:
    both = {"es.host": "one", "connection.url": "http://two:9200", "es.user": "a", "connection.username": "b"}
    named = ElasticsearchSourceOptions.definition().named(both)
    assert (named["connection.url"], named["connection.username"]) == ("http://two:9200", "b")


def test_shards_in_a_configuration_of_a_task() -> None:
    some = [Shard("a,b", "u1", 0), Shard("a,b", "u1", 1), Shard("c", "u2", 0)]
    assert shared_out(some, 2) == [[some[0], some[2]], [some[1]]]
    assert shared_out(some, 9) == [[each] for each in some]
    assert shared_out([], 9) == []
    assert shards.read(shards.written(some)["task.shards"]) == some


def test_the_index_of_a_data_stream_is_called_by_the_stream() -> None:
    assert shards.stream_or_index(".ds-logs-app-2026.01.31-000012") == "logs-app"
    assert shards.stream_or_index(".ds-logs-app-000012") == "logs-app"
    assert shards.stream_or_index("orders-000001") == "orders-000001"


@pytest.mark.parametrize(
    ("stored", "field", "position", "why"),
    [
        (None, "", Position(), ""),
        ({"uuid": "u1", "seq_no": 7}, "", Position(7), ""),
        ({"seq_no": 7}, "", Position(7), ""),
        ({"uuid": "u0", "seq_no": 7}, "", Position(), "deleted"),
        ({"uuid": "u1", "seq_no": 7}, "at", Position(), "another one"),
        ({"uuid": "u1", "field": "at", "value": 5, "seq_no": 7}, "at", Position(7, 5), ""),
        ({"uuid": "u1", "field": "at", "value": 5, "seq_no": 7}, "", Position(), "another one"),
        ({"field": "at", "value": 5}, "at", Position(-1, 5), ""),
    ],
)
def test_offsets(stored: dict[str, Any] | None, field: str, position: Position, why: str) -> None:
    found, said = offsets.of(stored, "u1", field)
    assert found == position
    assert why in said
    assert bool(why) == bool(said)


def test_where_a_search_goes_on() -> None:
    assert Position().search_after == []
    assert Position(7).search_after == [7]
    assert Position(7, "x").search_after == ["x", 7]
    assert Position(-1, 0).search_after == [0, -1]


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"index": "a"}, {"seq_no": 3}),
        ({"index": "a", "shard": "0"}, {"seq_no": 3}),
        ({"index": "a", "shard": 0}, {"position": 1}),
        ({"index": "a", "shard": 0}, {"seq_no": "1"}),
        ({"index": "a", "shard": 0}, {"field": "at", "seq_no": 1}),
        ({"index": "a", "shard": 0}, {"field": "at", "value": [1]}),
    ],
)
def test_offsets_that_make_no_sense_are_refused(partition: dict[str, Any], offset: dict[str, Any]) -> None:
    with pytest.raises(ConnectError):
        ElasticsearchSourceConnector().alter_offsets({}, {frozenset(partition.items()): offset})


def test_offsets_that_make_sense_are_taken() -> None:
    place = frozenset({"index": "a", "shard": 0}.items())
    for offset in ({"seq_no": 3}, {"field": "at", "value": 1.5}, None):
        assert ElasticsearchSourceConnector().alter_offsets({}, {place: offset})
