"""Which row of a key counts, and the order in which keys are written; those that a collation takes for one, too."""

import datetime as dt
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import Schema, SinkRecord, Type
from connect.testing import SinkRun
from connectors.jdbc.sink import JdbcSinkConnector
from connectors.jdbc.sink.steps import newest

UTC = dt.UTC


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["", "a", "B", "ä"])), max_size=30), st.sampled_from([1, 2])
)
def test_the_last_row_of_each_key_sorted_by_key(found: list[tuple[int, str]], keys: int) -> None:
    columns: list[Any] = [pa.array([n for n, _ in found], pa.int32()), pa.array([s for _, s in found], pa.string())]
    rows = pa.RecordBatch.from_arrays([*columns, pa.array(range(len(found)), pa.int64())], ["n", "s", "row"])
    last = {pair[:keys]: row for row, pair in enumerate(found)}
    assert newest(rows, keys).column("row").to_pylist() == [
        last[key] for key in sorted(last, key=lambda key: tuple(p.encode() if isinstance(p, str) else p for p in key))
    ]


@pytest.mark.parametrize(
    "values",
    [
        [True, False, True],
        [b"b", b"a", b"b"],
        [Decimal("2.0"), Decimal("1.0"), Decimal("2.0")],
        [dt.date(2000, 1, 2), dt.date(2000, 1, 1), dt.date(2000, 1, 2)],
        [dt.time(2), dt.time(1), dt.time(2)],
        [dt.datetime(2000, 1, 2, tzinfo=UTC), dt.datetime(2000, 1, 1, tzinfo=UTC), dt.datetime(2000, 1, 2, tzinfo=UTC)],
        [2.5, 1.5, 2.5],
    ],
)
def test_every_type_can_be_a_key(values: list[Any]) -> None:
    rows = pa.RecordBatch.from_arrays([pa.array(values), pa.array([0, 1, 2])], ["k", "row"])
    assert newest(rows, 1).column("row").to_pylist() == [1, 2]


TEXT = Schema.struct({"v": Schema(Type.INT32)})


def put(path: Path, column: str, *written: tuple[str, int | None], mode: str = "upsert") -> list[Any]:
    """What a table has after these records in one batch; without a value: deletions."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t (k {column} PRIMARY KEY, v integer)")
    config = {
        "topics": "t",
        "connection.url": f"jdbc:sqlite:{path}",
        "insert.mode": mode,
        "pk.mode": "record_key",
        "pk.fields": "k",
        "delete.enabled": "true",
    }
    with SinkRun(JdbcSinkConnector, config) as run:
        run.put(
            *(
                SinkRecord("t", value and {"v": value}, value and TEXT, key, Schema(Type.STRING))
                for key, value in written
            )
        )
        run.commit()
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT k, v FROM t ORDER BY k").fetchall()


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ([("b", 1), ("a", 2), ("A", 3)], [("a", 3), ("b", 1)]),
        ([("A", 1), ("a", 2), ("A", 3), ("b", 4)], [("A", 3), ("b", 4)]),
        ([("a", 1), ("A", None)], []),
        ([("a", 1), ("A", None), ("a", 2)], [("a", 2)]),
    ],
)
def test_the_last_record_counts_of_keys_that_the_database_takes_for_one(
    tmp_path: Path, written: list[tuple[str, int | None]], left: list[Any]
) -> None:
    assert put(tmp_path / "db", "varchar(9) COLLATE NOCASE", *written) == left


def test_keys_that_differ_are_all_written(tmp_path: Path) -> None:
    written = [("a", 1), ("A", 2), ("é", 3), ("e", 4), ("É", 5), ("a ", 6)]
    assert sorted(put(tmp_path / "db", "varchar(9)", *written)) == sorted(written)
    assert put(tmp_path / "other", "varchar(9)", ("a", 1), ("A", None)) == [("a", 1)]
