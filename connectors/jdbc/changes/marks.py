"""Where each row of a snapshot stood: Debezium's words for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def marked(rows: Iterable[tuple[T, R] | None]) -> Iterator[tuple[T, R, str] | None]:
    """Rows with their tables, and a word for the place of each; the last shows only when the next one is missing.

    Args:
        rows: with their tables; None when none came for a while, which is passed on.
    """
    held: tuple[T, R] | None = None
    first = first_of_table = True
    for found in rows:
        if found is None:
            yield None
            continue
        if held is not None:
            same = held[0] is found[0]
            if first:
                mark = "first"
            elif not same:
                mark = "last_in_data_collection"
            else:
                mark = "first_in_data_collection" if first_of_table else "true"
            yield (*held, mark)
            first, first_of_table = False, not same
        held = found
    if held is not None:
        yield (*held, "last")
