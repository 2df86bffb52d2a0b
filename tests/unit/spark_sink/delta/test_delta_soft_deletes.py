"""Deleted rows that stay, without Spark."""

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import pytest

from connect import SinkRecord
from connect.testing import SinkRun

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]


def record(id_: int, value: Any = None, at_ms: int = 0) -> SinkRecord:
    return SinkRecord("test", value, None, {"id": id_}, None, 0, timestamp=at_ms)


def test_a_deleted_row_stays_as_it_was(run: Run, rows: Rows) -> None:
    orders = run(mode="upsert", delete__mode="soft")
    orders.put(record(1, {"x": "a"}), record(2, {"x": "b"}), record(3, {"x": "c"}))
    orders.commit()
    orders.put(record(1), record(2), record(2, {"x": "again"}), record(4, {"x": "d"}), record(4), record(5))
    orders.commit()
    assert rows() == [
        {"id": 1, "x": "a", "_deleted": True},
        {"id": 2, "x": "again", "_deleted": False},
        {"id": 3, "x": "c", "_deleted": False},
        {"id": 4, "x": "d", "_deleted": True},
    ]


def test_a_time_says_when_it_was_deleted(run: Run, rows: Rows) -> None:
    orders = run(mode="upsert", delete__mode="soft", delete__column="gone", delete__column__type="timestamp")
    orders.put(record(1, {"x": "a"}), record(2, {"x": "b"}), record(2, at_ms=2000), record(3, {"x": "c"}))
    orders.put(record(1, at_ms=1000), record(3, at_ms=9), record(3, {"x": "d"}))
    orders.commit()
    second = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
    assert [(row["x"], row["gone"]) for row in rows()] == [
        ("a", second),
        ("b", second + dt.timedelta(seconds=1)),
        ("d", None),
    ]


def test_a_late_record_does_not_revive_a_row(run: Run, rows: Rows) -> None:
    orders = run(mode="upsert", delete__mode="soft", metadata__columns="timestamp", merge__sequence__by="_timestamp")
    for each in (
        record(1, {"x": "a"}, 10),
        record(1, None, 30),
        record(1, {"x": "late"}, 20),
        record(2, None, 30),
        record(2, {"x": "late"}, 20),
        record(3, None, 30),
        record(3, {"x": "newer"}, 40),
    ):
        orders.put(each)
        orders.commit()
    assert [(row["id"], row["x"], row["_deleted"]) for row in rows()] == [
        (1, "a", True),
        (2, None, True),
        (3, "newer", False),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_batches_rows_are_those_of_a_dictionary(run: Run, rows: Rows, seed: int) -> None:
    chosen = random.Random(seed)
    orders = run(mode="upsert", delete__mode="soft", merge__sequence__by="a,b")
    model: dict[int, dict[str, Any]] = {0: {"a": 0, "b": 0, "n": -1, "_deleted": False}}
    orders.put(record(0, {"a": 0, "b": 0, "n": -1}))
    for n in range(120):
        id_ = chosen.randrange(6)
        value = {"a": chosen.choice([None, 1, 2, 3]), "b": chosen.choice([None, 1, 2]), "n": n}
        if chosen.random() < 0.25:
            orders.put(record(id_))
            if id_ in model:
                model[id_]["_deleted"] = True
        else:
            orders.put(record(id_, value))
            if id_ not in model or _order(value) >= _order(model[id_]):
                model[id_] = {**value, "_deleted": False}
        if chosen.random() < 0.15:
            orders.commit()
    orders.commit()
    assert rows() == [{"id": id_, **model[id_]} for id_ in sorted(model)]


def _order(value: dict[str, Any]) -> list[tuple[bool, int]]:
    return [(value[name] is not None, value[name] or 0) for name in ("a", "b")]


@pytest.mark.parametrize("seed", range(6))
def test_deletions_with_a_sequence_take_their_place(run: Run, rows: Rows, seed: int) -> None:
    chosen = random.Random(seed)
    orders = run(mode="upsert", delete__mode="soft", metadata__columns="timestamp", merge__sequence__by="_timestamp")
    model: dict[int, dict[str, Any]] = {}
    for n in range(120):
        id_, at = chosen.randrange(5), chosen.randrange(60)
        row = model.setdefault(id_, {"of": -1, "died": -1})
        if chosen.random() < 0.3:
            orders.put(record(id_, None, at))
            if at >= max(row["of"], row["died"]):
                row["died"] = at
                row["deleted"] = True
        else:
            orders.put(record(id_, {"n": n}, at))
            if at >= max(row["of"], row["died"]):
                row |= {"of": at, "deleted": False}
        if chosen.random() < 0.15:
            orders.commit()
    orders.commit()
    found = {row["id"]: (row["_deleted"], row["_timestamp"].microsecond // 1000) for row in rows()}
    assert found == {id_: (row["deleted"], max(row["of"], row["died"])) for id_, row in model.items()}
