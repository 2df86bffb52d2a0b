"""What a task measures by the batch."""

import pytest

from connect.delivery.meter import size_of


def test_bytes_of_a_small_batch_are_counted_and_nulls_have_none() -> None:
    assert size_of([]) == 0
    assert size_of([b"abc", None, b""]) == 3
    assert size_of([b"ab"] * 499) == 998


@pytest.mark.parametrize("rows", [500, 1999, 2000, 10_000])
def test_bytes_of_a_large_batch_are_about_right(rows: int, seed: int) -> None:
    import random

    chance = random.Random(seed)
    assert size_of([b"x" * 100] * rows) == 100 * rows  # of one size: exactly
    values = [b"x" * chance.randrange(50, 150) for _ in range(rows)]
    assert size_of(values) == pytest.approx(sum(map(len, values)), rel=0.15)
