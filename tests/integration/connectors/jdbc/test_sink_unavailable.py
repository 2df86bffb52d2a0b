"""Values that PostgreSQL did not send, because an update did not change them: rows keep theirs."""

import json
from typing import Any

import pytest

from connect import Schema, SinkRecord, Type
from connect.data.schema import INT32, INT64, OPTIONAL_STRING, STRING
from connect.testing import SinkRun
from connectors.jdbc.sink import JdbcSinkConnector
from tests.integration.connectors.jdbc.sink_fixtures import target
from tests.integration.connectors.jdbc.sink_targets import Target
from tests.support.change_events import UNAVAILABLE

__all__ = ["target"]

KEY = Schema.struct({"id": INT32})
ROW = Schema.struct(
    {
        "id": INT32,
        "n": INT64,
        "body": STRING,
        "note": OPTIONAL_STRING,
        "doc": Schema(Type.STRING, name="io.debezium.data.Json"),
    }
)
ENVELOPE = Schema.struct(
    {"before": ROW.as_optional(), "after": ROW.as_optional(), "op": STRING}, name="shop.docs.Envelope"
)


def row(id_: int, n: int, body: str, note: str | None, doc: str) -> dict[str, Any]:
    return {"id": id_, "n": n, "body": body, "note": note, "doc": doc}


def event(op: str, after: dict[str, Any]) -> SinkRecord:
    return SinkRecord("docs", {"before": None, "after": after, "op": op}, ENVELOPE, {"id": after["id"]}, KEY)


def rows(target: Target) -> list[tuple[Any, ...]]:
    found = target.execute("SELECT id, n, body, note, doc FROM docs ORDER BY id")
    return [(*cells, doc if target.kind == "postgresql" else json.loads(doc)) for *cells, doc in found]


def run(target: Target, **more: str) -> SinkRun:
    keys = {name.replace("__", "."): value for name, value in more.items()}
    config = {"topics": "docs", **target.config, "auto.create": "true", "pk.mode": "record_key"}
    return SinkRun(
        JdbcSinkConnector, {**config, "insert.mode": "upsert", "debezium.records": "true", **keys}, timeout=60
    )


@pytest.mark.parametrize("at_once", [True, False], ids=["one commit", "commits"])
def test_rows_keep_what_was_not_sent(target: Target, at_once: bool) -> None:
    records = [
        event("c", row(1, 1, "large", "x", '{"a": 1}')),
        event("u", row(1, 2, UNAVAILABLE, "y", UNAVAILABLE)),
        event("c", row(2, 1, "old", UNAVAILABLE, "{}")),
        event("u", row(2, 2, "new", None, "{}")),
        event("u", row(2, 3, UNAVAILABLE, UNAVAILABLE, UNAVAILABLE)),
        event("u", row(2, 4, UNAVAILABLE, UNAVAILABLE, '{"b": 2}')),
        event("u", row(3, 5, UNAVAILABLE, "only here", UNAVAILABLE)),
    ]
    with run(target) as sink:
        if at_once:
            sink.put(*records)
        else:
            for record in records:
                sink.put(record)
                sink.commit()
    assert rows(target) == [
        (1, 2, "large", "y", {"a": 1}),
        (2, 4, "new", None, {"b": 2}),
        (3, 5, UNAVAILABLE, "only here", UNAVAILABLE),  # nothing else is known, and a column may need a value
    ]


def test_updates_alone_leave_them_too(target: Target) -> None:
    with run(target) as sink:
        sink.put(event("c", row(1, 1, "large", "x", "{}")))
    with run(target, insert__mode="update") as sink:
        sink.put(event("u", row(1, 2, UNAVAILABLE, "y", UNAVAILABLE)), event("u", row(2, 2, "no row", "y", "{}")))
    assert rows(target) == [(1, 2, "large", "y", {})]


@pytest.mark.parametrize(("placeholder", "body"), [("-", "large"), ("", "-")])
def test_rows_without_an_envelope_have_the_placeholder_that_is_named(
    target: Target, placeholder: str, body: str
) -> None:
    named = {"debezium__records": "false", "unavailable__value__placeholder": placeholder}
    with run(target, **named) as sink:
        for values in (row(1, 1, "large", "x", "{}"), row(1, 2, "-", "y", "{}")):
            sink.put(SinkRecord("docs", values, ROW, {"id": 1}, KEY))
    assert [cells[:3] for cells in rows(target)] == [(1, 2, body)]
