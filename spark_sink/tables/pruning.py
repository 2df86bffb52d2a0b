"""Which files a merge reads: those of the partitions, and of the ranges of clustered columns, that its rows are in.

Delta looks for rows of a key in all files, unless the condition of the merge names values of the table's columns. Only
the columns of the key can be named: a row's other columns may have changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from spark_sink.merge_rules import MOST_VALUES
from spark_sink.tables.table import Layout
from spark_sink.tables.types import Type, literal, quoted, sql_name

#: Types whose values are the same after a way through text.
_TEXTUAL: Final = re.compile(r"string|byte|short|integer|long|boolean|date|timestamp|timestamp_ntz|decimal\(.*\)")


@contextmanager
def pruned(source: Any, keys: Sequence[str], types: Mapping[str, Type], layout: Layout) -> Iterator[str | None]:
    """A condition for the table's row t that is true for all rows a merge can match; None without one.

    The source is computed once for this and for the merge within the context.

    Args:
        source: the rows that are merged.
        keys: the table's columns of the key.
        types: of the table's columns.
        layout: of the table.
    """
    listed = [name for name in keys if name in layout.partitions and _is_textual(types[name])]
    ranged = [name for name in keys if name in layout.clusters and _is_textual(types[name])]
    if not listed and not ranged:
        yield None
        return
    source.persist()
    try:
        yield _condition(source, listed, ranged, types)
    finally:
        source.unpersist()


def _condition(source: Any, listed: Sequence[str], ranged: Sequence[str], types: Mapping[str, Type]) -> str | None:
    wanted = []
    for number, name in enumerate([*listed, *ranged]):
        column = quoted(name)
        wanted += [f"CAST({end}({column}) AS string) AS {end}_{number}" for end in ("min", "max")]
        if name in listed:
            wanted.append(f"slice(collect_set(CAST({column} AS string)), 1, {MOST_VALUES + 1}) AS set_{number}")
    found = source.selectExpr(*wanted).collect()[0].asDict()
    conditions = []
    for number, name in enumerate([*listed, *ranged]):
        if found[f"min_{number}"] is None:
            return None  # no rows
        kind, row = sql_name(types[name]), f"t.{quoted(name)}"
        values = found.get(f"set_{number}")
        if values and len(values) <= MOST_VALUES:
            conditions.append(f"{row} IN ({', '.join(_value(value, kind) for value in sorted(values))})")
        else:
            low, high = (_value(found[f"{end}_{number}"], kind) for end in ("min", "max"))
            conditions.append(f"{row} BETWEEN {low} AND {high}")
    return " AND ".join(conditions)


def _value(text: str, kind: str) -> str:
    return literal(text) if kind == "string" else f"CAST({literal(text)} AS {kind})"


def _is_textual(kind: Type) -> bool:
    return isinstance(kind, str) and _TEXTUAL.fullmatch(kind) is not None
