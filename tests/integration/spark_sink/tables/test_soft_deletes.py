"""Deleted rows that stay, in Spark."""

import random
from typing import Any

import pyarrow as pa
import pytest

from connect.errors import ConfigError

from .merging import KEY, PLAIN, at, drawn, order, record, write


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_the_batches_rows_are_those_of_a_dictionary(tables: Any, seed: int) -> None:
    chosen = random.Random(seed)
    model: dict[int, dict[str, Any]] = {}
    records = []
    for n in range(150):
        id_ = chosen.randrange(6)
        value = drawn(chosen, n)
        if chosen.random() < 0.25:
            value = None
            if id_ in model:
                model[id_]["_deleted"] = True
        elif id_ not in model or order(value) >= order(model[id_]):
            model[id_] = {**value, "_deleted": False}
        records.append(record(id_, value, offset=n, time=at(chosen.randrange(60))))
    writer = tables.writer(mode="upsert", delete__mode="soft", merge__sequence__by="a,b")
    write(tables, writer, records, chosen)
    assert sorted(tables.read(), key=lambda row: row["id"]) == [{"id": id_, **model[id_]} for id_ in sorted(model)]


@pytest.mark.slow
def test_a_time_says_when_it_was_deleted_and_a_late_record_does_not_revive_it(tables: Any) -> None:
    keys = {"delete.column": "gone", "delete.column.type": "timestamp", "merge.sequence.by": "_timestamp"}
    writer = tables.writer(mode="upsert", delete__mode="soft", metadata__columns="timestamp", **keys)
    first = [record(1, {"x": "a"}, time=at(1)), record(2, {"x": "b"}, time=at(2)), record(1, time=at(9))]
    writer(tables.batch(PLAIN, first, KEY), 0)
    writer(tables.batch(PLAIN, [record(1, {"x": "late"}, time=at(8)), record(3, time=at(5))], KEY), 1)
    rows = [(row["id"], row["x"], row["gone"], row["_timestamp"]) for row in tables.read()]
    assert rows == [(1, "a", at(9), at(9)), (2, "b", None, at(2)), (3, None, at(5), at(5))]


@pytest.mark.slow
def test_a_field_may_not_have_the_columns_name(tables: Any) -> None:
    writer = tables.writer(mode="upsert", delete__mode="soft")
    with pytest.raises(ConfigError, match=r'delete.column.*"_deleted" is a field of the records'):
        writer(tables.batch({"_Deleted": pa.bool_()}, [record(1, {"_Deleted": True})], KEY), 0)
