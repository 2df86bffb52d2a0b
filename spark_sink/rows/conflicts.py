"""Commits of a table that several writers have: whoever comes second looks again, and tries again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from connect.errors import RetriableError

T = TypeVar("T")
#: How often a commit is tried that another writer came before.
TRIES: Final = 20


class Conflict(Exception):
    """Another writer committed first, and our commit depends on what it changed: look again."""


class OthersFirst(RetriableError):
    """Other writers committed first, each time."""


def until_committed(table: str, commit: Callable[[], T], again: Callable[[int], object] = lambda _: None) -> T:
    """What a commit returns, as soon as no other writer came before it.

    Args:
        table: its name in messages.
        commit: raises Conflict; looks at the table itself, or lets `again` do so.
        again: called after each conflict, with the number of conflicts before it.

    Raises:
        OthersFirst: see there.
    """
    last: Conflict | None = None
    for tried in range(TRIES):
        try:
            return commit()
        except Conflict as error:
            last = error
            again(tried)
    raise OthersFirst(
        f"Table {table}: other writers committed first, {TRIES} times in a row. The last conflict: {last}"
    )
