"""The texts of moments in Arrow: those of single values, in every year and around the beginning of 1970."""

import datetime as dt
import random

import pyarrow as pa
import pytest

from connect.data import logical
from connect.data.arrow_times import TEXTS
from connect.data.time_texts import moment_text
from connect.data.times import DAY_MS, EPOCH, EPOCH_DAY

_FIRST_MS = (1 - EPOCH_DAY) * DAY_MS
_LAST_MS = (dt.date.max.toordinal() - EPOCH_DAY + 1) * DAY_MS - 1

#: Of all years; around 1970; of thirty years, as real data has them; of one day, before and after those.
_RANGES = [
    (_FIRST_MS, _LAST_MS),
    (-(10**10), 10**10),
    (946_684_800_000, 1_893_456_000_000),
    (-DAY_MS, -1),
    (4 * 10**12, 4 * 10**12 + 1),
]


def _drawn(chance: random.Random, low: int, high: int) -> list[int | None]:
    return [None if chance.random() < 0.2 else chance.randint(low, high) for _ in range(500)] + [low, high]


@pytest.mark.parametrize("order", range(4))
def test_timestamps_and_dates_as_single_values_are_written(order: int) -> None:
    chance = random.Random(order)
    for low, high in chance.sample(_RANGES, len(_RANGES)):
        drawn = _drawn(chance, low, high)
        moments = [None if ms is None else EPOCH + dt.timedelta(milliseconds=ms) for ms in drawn]
        expected = [None if moment is None else moment_text(moment) for moment in moments]
        assert TEXTS[logical.TIMESTAMP_NAME](pa.array(drawn, pa.timestamp("ms"))).to_pylist() == expected
        dates = [None if moment is None else moment.date() for moment in moments]
        expected = [None if date is None else moment_text(date) for date in dates]
        assert TEXTS[logical.DATE_NAME](pa.array(dates, pa.date32())).to_pylist() == expected


def test_times_of_day_as_single_values_are_written() -> None:
    drawn = _drawn(random.Random(1), 0, DAY_MS - 1)
    expected = [None if ms is None else moment_text((EPOCH + dt.timedelta(milliseconds=ms)).time()) for ms in drawn]
    assert TEXTS[logical.TIME_NAME](pa.array(drawn, pa.time32("ms"))).to_pylist() == expected


@pytest.mark.parametrize("name", [logical.TIMESTAMP_NAME, logical.DATE_NAME, logical.TIME_NAME])
def test_a_column_without_a_value(name: str) -> None:
    arrow = {
        logical.TIMESTAMP_NAME: pa.timestamp("ms"),
        logical.DATE_NAME: pa.date32(),
        logical.TIME_NAME: pa.time32("ms"),
    }[name]
    assert TEXTS[name](pa.nulls(2, arrow)).to_pylist() == [None, None]
    assert TEXTS[name](pa.array([], arrow)).to_pylist() == []
