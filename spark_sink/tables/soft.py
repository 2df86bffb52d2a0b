"""Merges into a table that keeps deleted rows: a column says that they are deleted (delete.mode=soft)."""

from __future__ import annotations

from typing import Any, Final

from spark_sink.merge_rules import SoftMarks, SoftMerge, is_not_older
from spark_sink.tables import partial
from spark_sink.tables.fitting import Fitted
from spark_sink.tables.partial import DELETED, LACKS, OFFSET, PLACE, WHOLE
from spark_sink.tables.table import Table
from spark_sink.tables.types import quoted
from spark_sink.tables.upsert import TIME, Merge, changed, gone, prepared, ranked

_KIND: Final = "_connect_kind"
#: Kinds of rows: records, deletions, and deletions that have no place in the sequence.
_LIVE, _DEAD, _UNORDERED = "_connect_live", "_connect_dead", "_connect_unordered"
_MARKS: Final = ("has_row", "has_order", "is_dead", "dies", "died_at", "dies_at")
_EPOCH: Final = "timestamp_millis(0)"


def source(rows: Any, fitted: Fitted, how: Merge, deleted: str, column: str) -> Any:
    """A row for each key: the columns of its newest record, the sequence of its newest change, and the marks.

    Args:
        rows, fitted, how, deleted: as in `spark_sink.tables.upsert.source`.
        column: that says that a row is deleted.
    """
    from pyspark.sql.functions import col, expr

    base, columns = prepared(rows, fitted, how, deleted)
    no_place = f"{quoted(how.sequence[0])} IS NULL" if how.sequence else "false"
    kind = f"CASE WHEN NOT {DELETED} THEN 0 WHEN {no_place} THEN 2 ELSE 1 END AS {_KIND}"
    base = base.selectExpr("*", kind)
    more = partial.marks(columns, how.keys, how.sequence) if how.partial else []
    if how.partial:
        base = partial.completed(base, columns, how.keys, how.sequence, others=(_KIND,))
    base = ranked(base, [*map(quoted, columns), WHOLE, LACKS, *more, _KIND], how, (_KIND,))
    sequence = [f"'s{number}', {quoted(name)}" for number, name in enumerate(how.sequence)]
    place = [f"'offset', {OFFSET}", f"'place', {PLACE}", f"'time', {TIME}"]
    values = [f"'c{number}', {quoted(name)}" for number, name in enumerate(columns)]
    marks = [f"'whole', {WHOLE}", f"'lacks', {LACKS}", *(f"'{name}', {name}" for name in more)]
    kinds = ((_LIVE, 0, [*values, *marks, *sequence, *place]), (_DEAD, 1, [*sequence, *place]), (_UNORDERED, 2, place))
    firsts = [
        expr(f"first(IF({_KIND} = {number}, named_struct({', '.join(parts)}), NULL), true) AS {name}")
        for name, number, parts in kinds
    ]
    grouped = base.groupBy(*(col(quoted(name)) for name in how.keys)).agg(*firsts)
    return _marked(grouped, [name for name in columns if name != column], columns, how, more)


def _marked(grouped: Any, wanted: list[str], columns: list[str], how: Merge, more: list[str]) -> Any:
    behind = f"IF({_DEAD}.place = {_LIVE}.place, {_DEAD}.offset > {_LIVE}.offset, {_later(_DEAD, _LIVE)})"
    order = is_not_older([(f"{_LIVE}.s{n}", f"{_DEAD}.s{n}") for n in range(len(how.sequence))], behind)
    grouped = grouped.selectExpr("*", f"{_DEAD} IS NOT NULL AND coalesce({_LIVE} IS NULL OR {order}, false) AS _dies")
    parts = ["offset", "place", "time"]
    newest = ", ".join(f"'{part}', IF(_dies, {_DEAD}.{part}, {_LIVE}.{part})" for part in parts)
    grouped = grouped.selectExpr("*", f"named_struct({newest}) AS _newest")
    behind = (
        f"IF({_UNORDERED}.place = _newest.place, {_UNORDERED}.offset > _newest.offset, {_later(_UNORDERED, '_newest')})"
    )
    behind = f"{_UNORDERED} IS NOT NULL AND coalesce(_newest.place IS NULL OR {behind}, false)"
    grouped = grouped.selectExpr("*", f"{behind} AS _ends")
    cells = []
    for name in wanted:
        number = columns.index(name)
        if name in how.keys:
            cells.append(quoted(name))
        elif name in how.sequence:
            at = how.sequence.index(name)
            cells.append(f"IF(_dies, {_DEAD}.s{at}, {_LIVE}.s{at}) AS {quoted(name)}")
        else:
            cells.append(f"{_LIVE}.c{number} AS {quoted(name)}")
    marks = {
        "has_row": f"{_LIVE} IS NOT NULL",
        "has_order": f"({_LIVE} IS NOT NULL OR {_DEAD} IS NOT NULL)",
        "is_dead": "(_ends OR _dies)",
        "dies": f"{_UNORDERED} IS NOT NULL",
        "died_at": f"CASE WHEN _ends THEN coalesce({_UNORDERED}.time, {_EPOCH}) "
        f"WHEN _dies THEN coalesce({_DEAD}.time, {_EPOCH}) END",
        "dies_at": f"IF({_UNORDERED} IS NULL, NULL, coalesce({_UNORDERED}.time, {_EPOCH}))",
    }
    return grouped.selectExpr(
        *cells,
        *(f"{sql} AS {_mark(what)}" for what, sql in marks.items()),
        *(f"{_LIVE}.s{number} AS {_mark(f's{number}')}" for number in range(len(how.sequence))),
        f"coalesce({_LIVE}.whole, false) AS {WHOLE}",
        f"{_LIVE}.lacks AS {LACKS}",
        *(f"{_LIVE}.{name} AS {name}" for name in more),
    )


def statement(
    table: Table, view: str, fitted: Fitted, how: Merge, where: str | None, column: str, *, is_timestamp: bool
) -> str:
    """MERGE INTO the table FROM a view of `source`. Arguments as in `spark_sink.tables.upsert.statement`.

    Args:
        column: that says that a row is deleted.
        is_timestamp: whether it holds the time of the deletion.
    """
    marks = SoftMarks(
        **{what: _mark(what) for what in _MARKS},
        row_sequence=[_mark(f"s{number}") for number in range(len(how.sequence))],
    )
    soft = SoftMerge([quoted(name) for name in how.sequence], quoted(column), is_timestamp, marks)
    changes = []
    for number, name in enumerate(fitted.columns):
        if name not in how.keys and name != column:
            new = f"s.{quoted(name)}" if name in how.sequence else changed(name, number, how)
            changes.append(f"t.{quoted(name)} = {soft.value(quoted(name), new)}")
    others = [name for name in fitted.others if name not in how.sequence]
    changes += [f"t.{quoted(name)} = {soft.value(quoted(name), gone(name))}" for name in others]
    changes.append(f"t.{soft.column} = {soft.deleted}")
    names = [quoted(name) for name in fitted.columns if name != column]
    return " ".join(
        [
            f"MERGE INTO {table.sql} AS t USING {quoted(view)} AS s ON {how.on(where)}",
            f"WHEN MATCHED AND {soft.changes} THEN UPDATE SET {', '.join(changes)}",
            f"WHEN NOT MATCHED AND {soft.is_new_row} THEN INSERT ({', '.join([*names, soft.column])})",
            f"VALUES ({', '.join([*(f's.{name}' for name in names), soft.new_deleted])})",
        ]
    )


def _mark(what: str) -> str:
    return f"_connect_soft_{what}"


def _later(one: str, other: str) -> str:
    return f"({one}.time > {other}.time OR ({other}.time IS NULL AND {one}.time IS NOT NULL))"
