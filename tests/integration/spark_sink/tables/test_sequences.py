"""Merges with a sequence in Spark: what comes late changes nothing; and which files a merge reads."""

import datetime
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connect.errors import ConfigError
from spark_sink.tables import pruning

from .merging import KEY, VALUE, at, drawn, order, record, write


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_the_batches_rows_are_those_of_a_dictionary(tables: Any, seed: int) -> None:
    """A deletion without a sequence forgets; a record is taken unless its sequence is smaller than the row's."""
    chosen = random.Random(seed)
    model: dict[int, dict[str, Any]] = {}
    records = []
    for n in range(150):
        id_ = chosen.randrange(6)
        value = drawn(chosen, n)
        if chosen.random() < 0.2:
            value = None
            model.pop(id_, None)
        elif id_ not in model or order(value) >= order(model[id_]):
            model[id_] = value
        records.append(record(id_, value, offset=n, time=at(chosen.randrange(60))))
    writer = tables.writer(mode="upsert", merge__sequence__by="A,b")
    write(tables, writer, records, chosen)
    assert sorted(tables.read(), key=lambda row: row["id"]) == [{"id": id_, **model[id_]} for id_ in sorted(model)]


@pytest.mark.slow
def test_between_partitions_the_larger_sequence_wins_and_a_deletion_takes_part(tables: Any) -> None:
    writer = tables.writer(mode="upsert", metadata__columns="timestamp", merge__sequence__by="_timestamp")
    plain = {"x": pa.string()}
    first = [
        record(1, {"x": "new"}, partition=1, offset=0, time=at(20)),
        record(1, {"x": "late"}, partition=0, offset=9, time=at(10)),
        record(2, {"x": "b"}, offset=1, time=at(20)),
    ]
    writer(tables.batch(plain, first, KEY), 0)
    writer(tables.batch(plain, [record(1, time=at(19)), record(2, time=at(21))], KEY), 1)
    assert tables.read() == [{"id": 1, "x": "new", "_timestamp": at(20)}]


@pytest.mark.slow
def test_a_column_that_no_record_has_is_an_error(tables: Any) -> None:
    with pytest.raises(ConfigError, match='no column "lsn", which says whether a record is newer'):
        tables.writer(mode="upsert", merge__sequence__by="lsn")(tables.batch(VALUE, [record(1, {"n": 1})], KEY), 0)


@pytest.mark.parametrize("values", [2, 0], ids=["listed", "ranged"])
def test_only_files_of_the_rows_partitions_are_read(tables: Any, values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of other partitions may even be missing."""
    monkeypatch.setattr(pruning, "MOST_VALUES", values)
    keys = {"pk.mode": "record_value", "pk.fields": "day,id"}
    value = {"day": pa.date32(), "id": pa.int64(), "x": pa.string()}
    days = [datetime.date(2026, 1, day + 1) for day in range(5)]
    writer = tables.writer(mode="upsert", partition__by="day", **keys)
    records = [{"value": {"day": days[n % 5], "id": n, "x": "a"}} for n in range(50)]
    writer(tables.batch(value, records), 0)
    for day in days[:3]:
        shutil.rmtree(Path(tables.path()) / f"day={day}")
    changed = [{"value": {"day": days[3], "id": 3, "x": "b"}}, {"value": {"day": days[4], "id": 99, "x": "b"}}]
    writer(tables.batch(value, changed), 1)
    commit = tables.commits()[-1]
    assert ("IN (" in commit["operationParameters"]["predicate"]) is (values == 2)
    assert commit["operationMetrics"]["numTargetRowsCopied"] == "9"
    with pytest.raises(Exception, match="FAILED_READ_FILE|does not exist"):
        tables.writer("unpruned", mode="upsert", pk__mode="record_value", pk__fields="id")(
            tables.batch(value, changed), 0
        )
