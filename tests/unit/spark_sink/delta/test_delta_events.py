"""Debezium's events merged into Delta tables without Spark."""

from collections.abc import Callable
from typing import Any

import pytest

from connect import SchemaError, SinkRecord
from connect.testing import SinkRun
from tests.support.change_events import KEY, POSTGRESQL, UNAVAILABLE, of_postgresql

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]


def event(op: str, id_: int, text: str | None, lsn: int, schema: Any = POSTGRESQL) -> SinkRecord:
    row = {"id": id_, "text": text, "n": None}
    value = of_postgresql(op, row if op == "d" else None, None if op == "d" else row, lsn)
    return SinkRecord("test", value, schema, {"id": id_}, KEY)


@pytest.mark.parametrize("schema", [POSTGRESQL, None], ids=["schema", "schemaless"])
@pytest.mark.parametrize("keys", [{}, {"pk.mode": "record_value", "pk.fields": "id"}], ids=["key", "value"])
@pytest.mark.parametrize("at_once", [True, False], ids=["one batch", "batches"])
def test_rows_are_those_of_the_source(run: Run, rows: Rows, schema: Any, keys: dict[str, str], at_once: bool) -> None:
    orders = run(mode="upsert", cdc__format="debezium", **keys)
    for each in (
        event("r", 1, "snapshot", 10, schema),
        event("r", 2, "snapshot", 10, schema),
        event("c", 3, "created", 11, schema),
        event("u", 2, "changed", 12, schema),
        event("d", 1, None, 13, schema),
        SinkRecord("test", None, None, {"id": 1}, KEY),
        event("u", 3, "late", 9, schema),
        event("d", 3, None, 10, schema),
    ):
        orders.put(each)
        if not at_once:
            orders.commit()
    orders.commit()
    found = [(row["id"], row["text"], row["_source_position"][-2:]) for row in rows()]
    assert found == [(2, "changed", "12"), (3, "created", "11")]
    assert all("_connect_change" not in row for row in rows())


@pytest.mark.parametrize("schema", [POSTGRESQL, None], ids=["schema", "schemaless"])
@pytest.mark.parametrize("at_once", [True, False], ids=["one batch", "batches"])
@pytest.mark.parametrize("soft", [{}, {"delete__mode": "soft"}], ids=["hard", "soft"])
def test_what_the_database_did_not_send_keeps_its_content(
    run: Run, rows: Rows, schema: Any, at_once: bool, soft: dict[str, str]
) -> None:
    orders = run(mode="upsert", cdc__format="debezium", **soft)
    for each in (
        event("c", 1, "large", 10, schema),
        event("u", 1, UNAVAILABLE, 11, schema),
        event("c", 2, "old", 12, schema),
        event("u", 2, "new", 13, schema),
        event("u", 2, UNAVAILABLE, 14, schema),
        event("u", 3, UNAVAILABLE, 15, schema),
        event("c", 4, "x", 16, schema),
        event("u", 4, None, 17, schema),
    ):
        orders.put(each)
        if not at_once:
            orders.commit()
    orders.commit()
    found = [(row["id"], row["text"], row["_source_position"][-2:]) for row in rows()]
    assert found == [(1, "large", "11"), (2, "new", "14"), (3, None, "15"), (4, None, "17")]


@pytest.mark.parametrize(("placeholder", "text"), [("-", "large"), ("", "-")])
def test_the_placeholder_may_be_another_or_a_value(run: Run, rows: Rows, placeholder: str, text: str) -> None:
    orders = run(mode="upsert", cdc__format="debezium", cdc__unavailable__value__placeholder=placeholder)
    orders.put(event("c", 1, "large", 10), event("u", 1, "-", 11))
    orders.commit()
    assert [row["text"] for row in rows()] == [text]


@pytest.mark.parametrize("schema", [POSTGRESQL, None], ids=["schema", "schemaless"])
@pytest.mark.parametrize("at_once", [True, False], ids=["one batch", "batches"])
def test_a_version_has_what_the_one_before_it_has(run: Run, rows: Rows, schema: Any, at_once: bool) -> None:
    orders = run(mode="upsert", cdc__format="debezium", scd__type="2", merge__sequence__by="_source_position")
    for each in (
        event("c", 1, "large", 10, schema),
        event("u", 1, UNAVAILABLE, 11, schema),
        event("u", 1, UNAVAILABLE, 13, schema),
        event("c", 2, "old", 12, schema),
        event("d", 2, None, 14, schema),
        event("u", 2, UNAVAILABLE, 15, schema),
        event("u", 1, "new", 16, schema),
        event("u", 1, UNAVAILABLE, 17, schema),
    ):
        orders.put(each)
        if not at_once:
            orders.commit()
    orders.commit()
    found = sorted((row["id"], row["_source_position"][-2:], row["text"]) for row in rows())
    assert found[:5] == [(1, "10", "large"), (1, "11", "large"), (1, "13", "large"), (1, "16", "new"), (1, "17", "new")]
    assert found[5:] == [(2, "12", "old"), (2, "15", None)]


def test_deletions_are_left_out_if_they_may_not_delete(run: Run, rows: Rows) -> None:
    orders = run(mode="upsert", cdc__format="debezium", delete__enabled="false")
    orders.put(event("c", 1, "a", 1), event("d", 1, None, 2), event("d", 2, None, 3))
    orders.commit()
    assert [row["id"] for row in rows()] == [1]


def test_what_is_no_event_is_found_exactly(run: Run, rows: Rows) -> None:
    orders = run(mode="upsert", cdc__format="debezium")
    with pytest.raises(SchemaError, match="offset 1: .*not a change event of Debezium"):
        orders.put(event("c", 1, "a", 1), SinkRecord("test", {"id": 5}, None, {"id": 5}, KEY))
    orders.crash()
    tolerant = {"schema.evolution.on.mismatch": "quarantine", "errors.tolerance": "all", "errors.log.enable": "true"}
    orders.restart(tolerant)
    orders.put(SinkRecord("test", {"id": 5}, None, {"id": 5}, KEY), event("c", 1, "a", 1))
    orders.commit()
    assert [row["id"] for row in rows()] == [1]
    assert len(orders.errant) == 2, "the first batch comes again"


def test_a_sequence_of_the_users_counts_before_the_position(run: Run, rows: Rows) -> None:
    orders = run(mode="upsert", cdc__format="debezium", merge__sequence__by="text")
    orders.put(event("c", 1, "b", 1), event("u", 1, "a", 2))
    orders.commit()
    assert [row["text"] for row in rows()] == ["b"]
