"""Errors about a row that Spark raises for us while it computes rows: the condition that raises, and its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from connect.errors import ConnectError, SchemaError
from spark_sink.tables.rows import Refusal, Rows
from spark_sink.tables.types import literal

#: Encloses what we have Spark raise about a row, so that it is found in all that Spark says.
_OPEN, _CLOSE = "<<connect: ", ">>"


def good(rows: Rows, mine: str, buried: Sequence[Refusal], fatal: Sequence[Refusal]) -> str:
    """A condition for the rows to be written. It raises where a row is an error."""
    if not buried and not fatal:
        return mine
    cases = [f"WHEN {condition} THEN false" for condition, _ in [(f"NOT ({mine})", ""), *buried]]
    for condition, why in fatal:
        words = f"concat({literal(_OPEN)}, {rows.place()}, {literal(': ' + why + _CLOSE)})"
        cases.append(f"WHEN {condition} THEN CAST(raise_error({words}) AS boolean)")
    return f"CASE {' '.join(cases)} ELSE true END"


@contextmanager
def our_words() -> Iterator[None]:
    """An error about a row that this project made Spark raise, as its own error."""
    try:
        yield
    except ConnectError:
        raise
    except Exception as error:
        if said := _raised(str(error)):
            raise SchemaError(said) from error
        raise


def _raised(text: str) -> str:
    """The message that this project made Spark raise about a row, out of Spark's error; empty where there is none."""
    _, _, rest = text.partition(f"[USER_RAISED_EXCEPTION] {_OPEN}")
    said, close, _ = rest.partition(_CLOSE)
    return said if close else ""
