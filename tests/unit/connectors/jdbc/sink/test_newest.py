"""Which row of a key counts, and the order in which keys are written."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
