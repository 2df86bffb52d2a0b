"""A row for each version of a key, without Spark."""

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import pytest

from connect import SchemaError, SinkRecord
from connect.testing import SinkRun

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]


def record(id_: int, value: Any = None, at_ms: int = 0) -> SinkRecord:
    return SinkRecord("test", value, None, {"id": id_}, None, 0, timestamp=at_ms)


def versions(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    found = [(row["id"], row["x"], _ms(row["valid_from"]), _ms(row["valid_to"]), row["is_current"]) for row in rows]
    return sorted(found, key=lambda row: (row[0], row[2]))


def _ms(moment: dt.datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


@pytest.mark.parametrize("at_once", [True, False], ids=["one batch", "batches"])
def test_each_version_is_valid_until_the_next_whenever_it_comes(run: Run, rows: Rows, at_once: bool) -> None:
    orders = run(mode="upsert", scd__type="2")
    for each in (
        record(1, {"x": "a"}, 10),
        record(1, {"x": "c"}, 30),
        record(1, {"x": "late"}, 20),
        record(2, {"x": "a"}, 10),
        record(2, None, 20),
        record(2, {"x": "back"}, 30),
        record(3, {"x": "a"}, 10),
        record(3, None, 40),
        record(3, {"x": "late"}, 20),
        record(3, {"x": "first"}, 5),
        record(4, None, 50),
    ):
        orders.put(each)
        if not at_once:
            orders.commit()
    orders.commit()
    assert versions(rows()) == [
        (1, "a", 10, 20, False),
        (1, "late", 20, 30, False),
        (1, "c", 30, None, True),
        (2, "a", 10, 20, False),
        (2, "back", 30, None, True),
        (3, "first", 5, 10, False),
        (3, "a", 10, 20, False),
        (3, "late", 20, 40, False),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_batches_versions_are_those_of_a_sorted_list(run: Run, rows: Rows, seed: int) -> None:
    """A deletion before the first version that is known, by then, leaves nothing, so keys begin with a version."""
    chosen = random.Random(seed)
    orders = run(mode="upsert", scd__type="2")
    events: dict[int, dict[int, Any]] = {id_: {0: "first"} for id_ in range(4)}
    orders.put(*(record(id_, {"x": "first"}, 0) for id_ in events))
    for n in range(100):
        id_, at = chosen.randrange(4), chosen.randrange(1, 200)
        if at in events[id_]:
            continue
        value = None if chosen.random() < 0.3 else {"x": str(n)}
        ends = sorted(events[id_])
        before = events[id_][max(each for each in ends if each < at)]
        if value is None and before is None:
            continue  # a second end of one version: only the first is kept
        after = [each for each in ends if each > at]
        if value is None and after and events[id_][after[0]] is None:
            continue
        events[id_][at] = None if value is None else value["x"]
        orders.put(record(id_, value, at))
        if chosen.random() < 0.15:
            orders.commit()
    orders.commit()
    wanted = []
    for id_, each in events.items():
        moments = sorted(each)
        for at, following in zip(moments, [*moments[1:], None], strict=True):
            if each[at] is not None:
                wanted.append((id_, each[at], at, following, following is None))
    assert versions(rows()) == sorted(wanted, key=lambda row: (row[0], row[2]))


def test_columns_are_named_and_a_version_without_a_moment_is_an_error(run: Run, rows: Rows) -> None:
    named = {"scd.valid.from.column": "a", "scd.valid.to.column": "b", "scd.current.column": "now"}
    orders = run(mode="upsert", scd__type="2", merge__sequence__by="at", delete__enabled="false", **named)
    orders.put(record(1, {"at": 1, "x": "p"}), record(1, {"at": 2, "x": "q"}), record(1, {"at": 2, "x": "r"}))
    orders.commit()
    assert rows() == [
        {"id": 1, "at": 1, "x": "p", "a": 1, "b": 2, "now": False},
        {"id": 1, "at": 2, "x": "r", "a": 2, "b": None, "now": True},
    ]
    with pytest.raises(SchemaError, match='its "at" is null, and that says when its version began'):
        orders.put(record(1, {"at": None, "x": "s"}))
