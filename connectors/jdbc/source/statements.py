"""The statements that read: what is new since a position, in the order in which positions move on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_NAME: Final = "connect_query"


def bracketed(query: str) -> str:
    """A query as what a statement may select from.

    Conditions are put around it and not at its end: they speak of the columns that records have, and the query may
    have clauses of its own.
    """
    return f"({query}\n) {_NAME}"


def statement(source: str, conditions: Sequence[str], order: Sequence[str], suffix: str, query: str = "") -> str:
    """One SELECT.

    Args:
        source: a table as it stands in a statement; for a query, the query in brackets.
        conditions: all of them must hold.
        order: columns, ascending.
        suffix: put at the end.
        query: the query, which is taken as it is where nothing is asked of it.
    """
    text = query if query and not conditions and not order else f"SELECT * FROM {source}"
    if conditions:
        text += f"\nWHERE {' AND '.join(conditions)}"
    if order:
        text += f"\nORDER BY {', '.join(f'{column} ASC' for column in order)}"
    return f"{text} {suffix}" if suffix else text
