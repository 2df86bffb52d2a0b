"""Rows of a column that do not fit: collected, so that all of a batch are known at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from types import TracebackType

#: Rows (of whatever is being made or looked at) and why they do not fit.
Problems = dict[int, str]


class Misfits(Exception):
    """Some rows of a column do not fit it."""

    def __init__(self, problems: Problems) -> None:
        super().__init__(next(iter(problems.values())))
        self.problems = problems


class Within:
    """Maps misfits among elements to the rows that contain them.

    Args:
        ends: where each row's elements begin, and the end of the last.
    """

    def __init__(self, ends: list[int]) -> None:
        self._ends = ends

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Misfits):
            raise Misfits(self.rows(error.problems)) from None

    def rows(self, problems: Problems) -> Problems:
        """The same problems by row."""
        found: Problems = {}
        add(found, ((bisect_right(self._ends, at) - 1, why) for at, why in problems.items()))
        return found


def add(problems: Problems, more: Iterable[tuple[int, str]]) -> None:
    """Add problems; of several for one row the first counts."""
    for row, why in more:
        problems.setdefault(row, why)


def join(path: str, name: str) -> str:
    """The name of a field within the one that `path` names; "" is the record itself."""
    return f"{path}.{name}" if path else name
