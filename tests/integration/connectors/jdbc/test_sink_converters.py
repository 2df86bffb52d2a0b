"""What converters make of records, as rows: columns of declared schemas, keys, and the events of Debezium."""

import json
from typing import Any

import pytest

from connect import ConnectError
from connect.testing import Message, SinkRun
from connectors.jdbc.sink import JdbcSinkConnector
from tests.integration.connectors.jdbc.sink_fixtures import target
from tests.integration.connectors.jdbc.sink_targets import Target

__all__ = ["target"]

JSON = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
ROW = {
    "type": "struct",
    "optional": True,
    "fields": [
        {"field": "id", "type": "int32"},
        {"field": "name", "type": "string", "optional": True},
        {"field": "at", "type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp"},
        {"field": "more", "type": "string", "optional": True, "name": "io.debezium.data.Json"},
    ],
}
KEY = {"type": "struct", "fields": [{"field": "id", "type": "int32"}]}
ENVELOPE = {
    "type": "struct",
    "name": "shop.public.people.Envelope",
    "fields": [
        {**ROW, "field": "before"},
        {**ROW, "field": "after"},
        {"field": "op", "type": "string"},
        {"field": "source", "type": "struct", "fields": [{"field": "table", "type": "string"}]},
    ],
}
MICROS = 1_700_000_000_123_456


def written(schema: Any, payload: Any) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}).encode()


def row(number: int, name: str | None = "Ada") -> dict[str, Any]:
    return {"id": number, "name": name, "at": MICROS, "more": '{"a":[1]}'}


def event(op: str, number: int, name: str | None = "Ada", topic: str = "shop.public.people") -> Message:
    before = row(number) if op in "ud" else None
    after = row(number, name) if op in "cur" else None
    payload = {"before": before, "after": after, "op": op, "source": {"table": "folks"}}
    return Message(topic, written(ENVELOPE, payload), written(KEY, {"id": number}))


def gone(number: int, topic: str) -> Message:
    return Message(topic, None, written(KEY, {"id": number}))


def run(target: Target, **more: str) -> SinkRun:
    return SinkRun(JdbcSinkConnector, {**target.config, **JSON, "auto.create": "true", **more}, timeout=60)


@pytest.mark.parametrize("mode", ["insert", "upsert"])
@pytest.mark.parametrize("count", [5, 1500])
def test_columns_of_a_declared_schema_become_rows(target: Target, mode: str, count: int) -> None:
    keys = {"insert.mode": mode, "pk.mode": "record_key", "delete.enabled": "true", "topics": "people"}
    with run(target, **keys) as sink:
        rows = [
            Message("people", written(ROW, row(n, None if n % 3 else "")), written(KEY, {"id": n}))
            for n in range(count)
        ]
        sink.put(*rows)
        sink.put(gone(1, "people"))
        sink.commit()
    found = target.execute("SELECT id, name, at, more FROM people ORDER BY id")
    assert found == [(n, None if n % 3 else "", MICROS, '{"a":[1]}') for n in range(count) if n != 1]


def test_debezium_s_events_are_rows_that_come_change_and_go(target: Target) -> None:
    config = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "topics": "shop.public.people",
        "insert.mode": "upsert",
        "primary.key.mode": "record_key",
        "delete.enabled": "true",
        "schema.evolution": "basic",
    }
    with run(target, **config) as sink:
        sink.put(event("r", 1), event("c", 2), event("c", 3), event("u", 1, "Eve"))
        sink.put(
            event("d", 2),
            gone(2, "shop.public.people"),
            event("c", 4),
            event("d", 4),
            event("u", 3, None),
            event("m", 9),
        )
    # Dots of a topic become underscores, as Debezium names tables.
    rows = target.execute("SELECT id, name, at, more FROM shop_public_people ORDER BY id")
    assert [found[:2] for found in rows] == [(1, "Eve"), (3, None)]
    assert str(rows[0][2]).startswith("2023-11-14 22:13:20.123456")
    assert (json.loads(rows[0][3]) if isinstance(rows[0][3], str) else rows[0][3]) == {"a": [1]}


def test_a_table_is_emptied_when_that_is_allowed(target: Target) -> None:
    config = {"topics": "people", "debezium.records": "true", "insert.mode": "upsert", "pk.mode": "record_key"}
    for truncates, left in (("false", [1, 2]), ("true", [2])):
        with run(target, **config, **{"truncate.enabled": truncates}) as sink:
            # Debezium's event of an emptied table has no key.
            emptied = event("t", 0, topic="people")._replace(key=None)
            sink.put(event("c", 1, topic="people"), emptied, event("c", 2, topic="people"))
        assert [number for (number,) in target.execute("SELECT id FROM people ORDER BY id")] == left


def test_a_source_block_names_tables(target: Target) -> None:
    with run(
        target, **{"topics": "people", "debezium.records": "true", "table.name.format": "copy_of_${source.table}"}
    ) as sink:
        sink.put(event("c", 1, topic="people"))
    assert target.execute("SELECT id FROM copy_of_folks") == [(1,)]


def test_tombstones_of_debezium_say_no_table_and_need_none(target: Target) -> None:
    config = {
        "topics": "people",
        "debezium.records": "true",
        "table.name.format": "${source.table}",
        "pk.mode": "record_key",
        "delete.enabled": "true",
    }
    with run(target, **config) as sink:
        sink.put(event("c", 1, topic="people"), event("c", 2, topic="people"))
        sink.put(event("d", 1, topic="people"), gone(1, "people"))
    assert target.execute("SELECT id FROM folks") == [(2,)]


@pytest.mark.parametrize("quoted", [False, True])
def test_debezium_s_class_makes_names_lower_case_unless_they_are_quoted(target: Target, quoted: bool) -> None:
    schema = {"type": "struct", "fields": [{"field": "CamelCase", "type": "int32"}]}
    config = {"connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector", "topics": "People"}
    if quoted:
        config["quote.identifiers"] = "true"
    with run(target, **config) as sink:
        sink.put(Message("People", written(schema, {"CamelCase": 1})))
    folded = not quoted and target.kind in ("postgresql", "mysql")
    table = "people" if folded and target.kind == "postgresql" else "People"
    column = "camelcase" if folded else "CamelCase"
    (made,) = target.execute(
        f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'"
        if target.kind in ("postgresql", "mysql")
        else f"SELECT name FROM pragma_table_info('{table}')"
    )
    assert made == (column,)


def test_for_others_debezium_s_events_are_structs(target: Target) -> None:
    with run(target, topics="people") as sink:
        sink.put(event("c", 1, topic="people"))
    (found,) = target.execute("SELECT op, after FROM people")
    assert found[0] == "c"
    assert (json.loads(found[1]) if isinstance(found[1], str) else found[1]) == row(1)


def test_tombstones_need_delete_enabled(target: Target) -> None:
    with (
        pytest.raises(ConnectError, match="delete.enabled=false"),
        run(target, **{"topics": "people", "pk.mode": "record_key"}) as sink,
    ):
        sink.put(gone(1, "people"))
