"""A row for each version of a key, from when to when it was valid (scd.type=2). See `spark_sink.delta.versions`."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from spark_sink.merge_keys import Ends
from spark_sink.tables import partial
from spark_sink.tables.fitting import Fitted
from spark_sink.tables.partial import DELETED, LACKS, WHOLE
from spark_sink.tables.pruning import pruned
from spark_sink.tables.table import Layout, Table
from spark_sink.tables.types import Type, literal, quoted, sql_name
from spark_sink.tables.upsert import Merge, prepared, ranked

_AT: Final = "_connect_at"
_OLD: Final = "_connect_old_to"
_NEXT: Final = "_connect_next"
_KIND: Final = "_connect_kind"
_ROW: Final = "_connect_row"
_NEW: Final = "_connect_new"
_FIRST: Final = "_connect_first"
_LIFE: Final = "_connect_life"


class Versions(NamedTuple):
    """What is merged, the name of its view, and the statement that merges it."""

    rows: Any
    view: str
    statement: str


@contextmanager
def source(
    rows: Any,
    fitted: Fitted,
    how: Merge,
    deleted: str,
    ends: Ends,
    known: tuple[Table, Mapping[str, Type], Layout],
) -> Iterator[Versions]:
    """The versions of a batch, within the context: new ones, and those of the table of which the end changes.

    Kinds of events: 0 a version of the table, 1 a deletion in it, 2 a new version, 3 a new deletion. At the same place
    in a key's history the largest counts.

    Args:
        rows, fitted, how, deleted: as of `spark_sink.tables.upsert.source`.
        ends: the columns for when a version was valid.
        known: the table, the types of its columns, and its layout.
    """
    table, types, layout = known
    (sequence,) = how.sequence
    base, columns = prepared(rows, fitted, how, deleted)
    every = Merge([*how.keys, sequence])
    if how.partial:  # of records with the same sequence the last replaces those before it
        base = partial.completed(base, columns, every.keys, ())
    newest = ranked(base, [*map(quoted, columns), WHOLE, LACKS, DELETED], every)
    cells = [*map(quoted, columns), *(f"CAST(NULL AS {sql_name(types[name])})" for name in fitted.others)]
    columns += fitted.others
    keys = ", ".join(map(quoted, how.keys))
    lacking = {*columns} - {*every.keys, *ends} if how.partial else fitted.others
    filling = _Filling(keys, columns, frozenset(lacking), frozenset(fitted.others))
    batch = newest.selectExpr(
        *map(quoted, how.keys),
        f"{quoted(sequence)} AS {_AT}",
        f"IF({DELETED}, 3, 2) AS {_KIND}",
        f"named_struct({_struct(cells)}) AS {_ROW}",
        f"{WHOLE} AS {WHOLE}",
        f"{LACKS} AS {LACKS}",
    )
    batch.persist()
    view, merged = f"connect_batch_{uuid.uuid4().hex}", f"connect_versions_{uuid.uuid4().hex}"
    batch.createOrReplaceTempView(view)
    try:
        with pruned(batch, how.keys, types, layout) as where:
            on = " AND ".join(f"t.{quoted(name)} = b.{quoted(name)}" for name in how.keys)
            started, ended = f"t.{quoted(ends.valid_from)}", f"t.{quoted(ends.valid_to)}"
            wanted = f"({ended} IS NULL OR {ended} >= b.{_FIRST})" + (f" AND ({where})" if where else "")
            mine = ", ".join(f"t.{quoted(name)}" for name in how.keys)
            following = f"lead({_AT}) OVER (PARTITION BY {keys} ORDER BY {_AT})"
            found = rows.sparkSession.sql(
                f"WITH first AS (SELECT {keys}, min({_AT}) AS {_FIRST} FROM {view} GROUP BY {keys}), "
                f"history AS (SELECT {mine}, {started} AS {_AT}, {ended} AS {_OLD}, {filling.of_table} "
                f"AS {_ROW} FROM {table.sql} AS t JOIN first AS b ON {on} WHERE {wanted}), "
                f"followed AS (SELECT *, {following} AS {_NEXT} FROM history), "
                f"events AS (SELECT {keys}, {_AT}, {_OLD}, 0 AS {_KIND}, {_ROW}, true AS {WHOLE}, NULL AS {LACKS} "
                "FROM followed "
                f"UNION ALL SELECT {keys}, {_OLD}, NULL, 1, NULL, true, NULL FROM followed "
                f"WHERE {_OLD} IS NOT NULL AND NOT {_NEXT} <=> {_OLD} "
                f"UNION ALL SELECT {keys}, {_AT}, NULL, {_KIND}, {_ROW}, {WHOLE}, {LACKS} FROM {view}), "
                f"{filling.queries()}"
                f"counted AS (SELECT *, row_number() OVER (PARTITION BY {keys}, {_AT} ORDER BY {_KIND} DESC) AS {_NEW} "
                f"FROM {filling.events}), "
                f"places AS (SELECT *, {following} AS {_NEXT} FROM counted WHERE {_NEW} = 1) "
                f"SELECT {', '.join(_cells(columns, how, ends))}, {_KIND} = 2 AS {_NEW} FROM places "
                f"WHERE {_KIND} >= 2 OR ({_KIND} = 0 AND NOT {_NEXT} <=> {_OLD})"
            )
            yield Versions(found, merged, _statement(table, merged, columns, how, ends, where))
    finally:
        rows.sparkSession.catalog.dropTempView(view)
        batch.unpersist()


class _Filling(NamedTuple):
    """Columns that records do not have: their versions have them from the one before, unless that was deleted.

    Attributes:
        keys: in SQL.
        columns: in the order of the struct of a row.
        filled: those of them that records may lack.
        others: those of them that no record has.
    """

    keys: str
    columns: Sequence[str]
    filled: frozenset[str]
    others: frozenset[str]

    @property
    def events(self) -> str:
        """The name of the events to go on with."""
        return "filled" if self.filled else "events"

    @property
    def of_table(self) -> str:
        """The struct of a version t of the table: what may be filled from it, and nulls."""
        cells = [f"IF({'true' if name in self.filled else 'false'}, t.{quoted(name)}, NULL)" for name in self.columns]
        return f"named_struct({_struct(cells)})" if self.filled else "NULL"

    def queries(self) -> str:
        """What makes the events of `events`, each query with a comma behind it."""
        if not self.filled:
            return ""
        so_far = f"ORDER BY {_AT}, {_KIND} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        over = f"OVER (PARTITION BY {self.keys}, {_LIFE} {so_far})"
        cells = []
        for number, name in enumerate(self.columns):
            cell = f"{_ROW}.c{number}"
            if name in self.filled:
                has = f"NOT coalesce(array_contains({LACKS}, {literal(name.lower())}), false)"
                has += f" AND {WHOLE}" if name in self.others else ""
                said = f"IF({_KIND} = 0 OR ({_KIND} = 2 AND {has}), named_struct('value', {cell}), NULL)"
                cell = f"(last({said}, true) {over}).value"
            cells.append(cell)
        return (
            f"lived AS (SELECT *, count_if({_KIND} IN (1, 3)) OVER (PARTITION BY {self.keys} {so_far}) AS {_LIFE} "
            "FROM events), "
            f"filled AS (SELECT {self.keys}, {_AT}, {_OLD}, {_KIND}, named_struct({_struct(cells)}) AS {_ROW} "
            "FROM lived), "
        )


def _struct(cells: Iterable[str]) -> str:
    return ", ".join(f"'c{number}', {cell}" for number, cell in enumerate(cells))


def _cells(columns: list[str], how: Merge, ends: Ends) -> list[str]:
    cells = []
    for number, name in enumerate(columns):
        if name in how.keys:
            cells.append(quoted(name))
        elif name not in ends:
            cells.append(f"{_ROW}.c{number} AS {quoted(name)}")
    # A deletion at the moment when a version began leaves one of no length, if it is there.
    until = f"IF({_KIND} = 3, {_AT}, {_NEXT})"
    cells += [f"{_AT} AS {quoted(ends.valid_from)}", f"{until} AS {quoted(ends.valid_to)}"]
    return [*cells, f"{until} IS NULL AS {quoted(ends.is_current)}"]


def _statement(table: Table, view: str, columns: list[str], how: Merge, ends: Ends, where: str | None) -> str:
    def changes(names: list[str]) -> str:
        return ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in names)

    on = f"{how.on(where)} AND t.{quoted(ends.valid_from)} = s.{quoted(ends.valid_from)}"
    whole = [name for name in columns if name not in how.keys]
    names = ", ".join(map(quoted, columns))
    return (
        f"MERGE INTO {table.sql} AS t USING {quoted(view)} AS s ON {on} "
        f"WHEN MATCHED AND s.{_NEW} THEN UPDATE SET {changes(whole)} "
        f"WHEN MATCHED THEN UPDATE SET {changes([ends.valid_to, ends.is_current])} "
        f"WHEN NOT MATCHED AND s.{_NEW} THEN INSERT ({names}) "
        f"VALUES ({', '.join(f's.{quoted(name)}' for name in columns)})"
    )
