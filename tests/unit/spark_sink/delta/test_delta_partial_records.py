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
    return SinkRecord("test", value, schema, None, None, 0, offset)


@pytest.fixture
def orders(run: Run) -> SinkRun:
    made = run(mode="upsert", pk__mode="record_value", pk__fields="id")
    made.put(record(0, id=1, a="a1", b="b1"), record(1, id=2, a="a2", b="b2"))
    made.commit()
    return made


def test_names_that_differ_in_case(orders: SinkRun, rows: Rows) -> None:
    orders.put(record(2, ID=1, A="A1"))
    orders.commit()
    assert rows() == [{"id": 1, "a": "A1", "b": "b1"}, {"id": 2, "a": "a2", "b": "b2"}]
