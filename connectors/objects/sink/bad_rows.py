"""Records of a batch that cannot be written, as opposed to a store that cannot be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect import DataError


class BadRows(Exception):
    """Some rows of a batch cannot be written, each for its own reason; the others can.

    Args:
        rows: row of the batch -> why.
    """

    def __init__(self, rows: Mapping[int, Exception]) -> None:
        super().__init__(f"{len(rows)} records cannot be written: {next(iter(rows.values()))}")
        self.rows = rows


def find(rows: Sequence[int], work: Callable[[Sequence[int]], Any]) -> dict[int, Exception]:
    """The rows for which `work` alone raises `DataError`, found by halving.

    Args:
        rows: those that were refused together.
        work: raises `DataError` if one of the rows is bad; changes nothing.
    """
    bad: dict[int, Exception] = {}
    waiting = [rows]
    while waiting:
        some = waiting.pop()
        try:
            work(some)
        except DataError as error:
            if len(some) == 1:
                bad[some[0]] = error
            else:
                half = len(some) // 2
                waiting += [some[half:], some[:half]]
    return bad
