"""Upserts of records that do not have all columns: what they do not have keeps its content."""

from collections.abc import Callable
from typing import Any

import pytest

from connect import Schema, SinkRecord
from connect.data.schema import INT64, OPTIONAL_STRING
from connect.testing import SinkRun

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]


def record(offset: int, schema: Schema | None = None, **value: Any) -> SinkRecord:
    if schema is None:
        schema = Schema.struct({name: INT64 if name.lower() == "id" else OPTIONAL_STRING for name in value})
    key = {"id": value["id"]}
    return SinkRecord("test", value, schema, key, Schema.struct({"id": INT64}), 0, offset)


def contents(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    assert not any(row.pop("gone", False) for row in rows)
    return rows


@pytest.fixture(params=["hard", "soft"])
def orders(run: Run, request: pytest.FixtureRequest) -> SinkRun:
    soft = {"pk__mode": "record_key", "delete__mode": "soft", "delete__column": "gone"}
    made = run(mode="upsert", **({"pk__mode": "record_value", "pk__fields": "id"} if request.param == "hard" else soft))
    made.put(record(0, id=1, a="a1", b="b1"), record(1, id=2, a="a2", b="b2"))
    made.commit()
    return made


@pytest.mark.parametrize("together", [True, False])
def test_records_of_two_schemas_in_one_commit(orders: SinkRun, rows: Rows, together: bool) -> None:
    first, second = record(2, id=1, a="A1"), record(3, id=2, b="B2")
    if together:
        orders.put(first, second)
    else:
        orders.put(first)
        orders.put(second)
    orders.commit()
    assert contents(rows()) == [{"id": 1, "a": "A1", "b": "b1"}, {"id": 2, "a": "a2", "b": "B2"}]


def test_a_record_without_a_schema_has_all_columns(orders: SinkRun, rows: Rows) -> None:
    orders.put(record(2, id=1, a="A1"), SinkRecord("test", {"id": 2, "a": "A2"}, None, {"id": 2}, None, 0, 3))
    orders.commit()
    assert contents(rows()) == [{"id": 1, "a": "A1", "b": "b1"}, {"id": 2, "a": "A2", "b": None}]


def test_names_that_differ_in_case(orders: SinkRun, rows: Rows) -> None:
    orders.put(record(2, id=1, A="A1"))
    orders.commit()
    assert contents(rows()) == [{"id": 1, "a": "A1", "b": "b1"}, {"id": 2, "a": "a2", "b": "b2"}]


@pytest.mark.parametrize("at_once", [True, False], ids=["one commit", "commits"])
def test_older_records_of_the_key_say_the_rest(orders: SinkRun, rows: Rows, at_once: bool) -> None:
    for each in (
        record(2, id=1, a="A1", b="B1"),
        record(3, id=1, a="A2"),
        record(4, id=2, b="B2"),
        record(5, id=2, a="A3"),
        record(6, id=3, a="new", b="B3"),
        record(7, id=3, b="B4"),
    ):
        orders.put(each)
        if not at_once:
            orders.commit()
    orders.commit()
    assert contents(rows()) == [
        {"id": 1, "a": "A2", "b": "B1"},
        {"id": 2, "a": "A3", "b": "B2"},
        {"id": 3, "a": "new", "b": "B4"},
    ]
