"""TableWriter: a streaming query passes it each batch, and its rows are in their tables exactly once."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from connect.errors import ConfigError, ConnectError, RetriableError, SchemaError
from spark_sink.commit_notes import Ranges, note
from spark_sink.layout_keys import CONSOLE, DELTA
from spark_sink.row_keys import UPSERT
from spark_sink.table_rules import table_for
from spark_sink.tables import dead_letters
from spark_sink.tables.batch_offsets import BatchOffsets
from spark_sink.tables.conflicts import until_nobody_is_in_the_way
from spark_sink.tables.existing import set_clustering, set_properties
from spark_sink.tables.files import write_files
from spark_sink.tables.fitting import Fitted, fit, new_columns
from spark_sink.tables.hints import types_of_hints
from spark_sink.tables.maintenance import Maintenance
from spark_sink.tables.modes import Known, TableBatch
from spark_sink.tables.row_errors import good, our_words
from spark_sink.tables.rows import NO_COLUMNS, Refusal, Rows
from spark_sink.tables.settings import TableSettings
from spark_sink.tables.table import Layout, Table
from spark_sink.tables.transaction import NOTE, Transaction
from spark_sink.tables.types import Field, Type, literal, quoted

log = logging.getLogger(__name__)

_MOST_TABLES: Final = 1000  # of one batch


@dataclass
class TableWriter:
    """Writes batches of rows (see `spark_sink.tables.rows`) to tables; for `DataStreamWriter.foreachBatch`.

    Called with one batch after the other, in one thread. A repeated batch, as after a crash, changes nothing where it
    was written before: its number is the version of the transactions of `app_id`. Raising fails the query; what the
    batch wrote to some of its tables by then is skipped when it is repeated.

    It travels pickled to where Spark runs it, and keeps there what it learned about tables.

    Attributes:
        settings: how tables are written.
        connector: its name.
        app_id: names this query's transactions: another one for each checkpoint, or batches would be skipped.
        topic: the value of `_topic` in all rows, if known; then the tables of a batch need not be looked for.
        offsets: of the query's batches, for the notes of commits; None if the caller of a batch knows them.
        maintenance: of the tables, see there.
    """

    settings: TableSettings
    connector: str
    app_id: str
    topic: str | None = None
    offsets: BatchOffsets | None = None
    _known: dict[str, Known] = field(default_factory=dict, init=False, repr=False)
    _told: set[str] = field(default_factory=set, init=False, repr=False)
    _hints: Mapping[str, Type] | None = field(default=None, init=False, repr=False)
    #: Tables that have the properties and the clustering of the settings, or had them.
    _changed: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        self.maintenance = Maintenance(self.settings)
        self._ranges: Ranges = {}
        self._changes_tables = bool(self.settings.properties or self.settings.cluster_by)

    def __call__(self, df: Any, batch_id: int, ranges: Ranges | None = None) -> None:
        """Write a batch.

        Args:
            df: its rows.
            batch_id: its number.
            ranges: which offsets it covers, for the notes of commits; None if the caller does not know.

        Raises:
            ConfigError: the configuration is impossible with these rows or this table.
            SchemaError: a row does not fit its table.
            RetriableError: other writers committed first each time.
            Exception: whatever Spark raises.
        """
        if ranges is None and self.offsets is not None:
            ranges = self.offsets.of(df.sparkSession, batch_id)
        self._ranges = ranges or {}
        rows = self.rows(df)
        with our_words():
            if not rows.knows("_value") and not self.settings.deletes:
                self._write_nothing(df, rows, batch_id)
                return
            if self.settings.format == CONSOLE:
                self._print(df, rows, batch_id)
                return
            once = self.settings.dead_letters is None and self._only_table() is not None
            with _kept(df, not once):
                self._write(df, rows, batch_id)

    def rows(self, df: Any) -> Rows:
        """The layout of a batch's rows.

        Raises:
            SchemaError: values are not structs.
            ConfigError: `schema.hints` has a type that Spark does not know.
        """
        if self._hints is None:
            self._hints = types_of_hints(df.sparkSession, self.settings.hints)
        return Rows.of(df.schema.jsonValue()["fields"], self.settings, self._hints)

    def _write(self, df: Any, rows: Rows, batch_id: int) -> None:
        places = self._places(df, rows)
        for name, condition in places:
            mine = f"({condition}) AND {rows.wanted()}"
            if name is None:
                self._refuse(df, rows, mine, rows.no_table()[1], batch_id)
            elif self.settings.format != DELTA:
                write_files(df.where(mine), rows, name, self.settings, self.app_id, batch_id)
            else:
                self._write_table(df, rows, name, mine, batch_id)
        if not places and self.settings.dead_letters is not None:
            self._bury(df, rows, [], batch_id)

    def _write_nothing(self, df: Any, rows: Rows, batch_id: int) -> None:
        """A batch of tombstones and failed records: no table is created, and none is changed."""
        if df.where(f"{rows.wanted()} AND _value IS NOT NULL").limit(1).collect():
            raise SchemaError(NO_COLUMNS)
        if self.settings.dead_letters is not None:
            self._bury(df, rows, [], batch_id)

    def _write_table(self, df: Any, rows: Rows, name: str, mine: str, batch_id: int) -> None:
        if (why := rows.no_key()) is not None:
            self._refuse(df, rows, mine, why, batch_id)
            return
        table = Table(df.sparkSession, name)
        if not rows.knows("_value") and table.columns() is None:  # nothing is there that could be deleted
            self._write_nothing(df, rows, batch_id)
            return

        def attempt(afresh: bool) -> None:
            known = self._fitted(table, rows, afresh)
            buried, fatal = self._unwanted(rows, known.fitted)
            if self.settings.dead_letters is not None:
                self._bury(df, rows, [(f"({mine}) AND {condition}", why) for condition, why in buried], batch_id)
            frame = df.where(good(rows, mine, buried, fatal))
            TableBatch(frame, rows, known, self.settings).write(table, self._transaction(df.sparkSession, batch_id))

        until_nobody_is_in_the_way(table.name, attempt)
        self.maintenance.after_batch(df.sparkSession, table.name)

    def _transaction(self, spark: Any, batch_id: int) -> Transaction:
        said = note(self.connector, self._ranges) if self._ranges and not spark.conf.get(NOTE, None) else ""
        return Transaction(self.app_id, batch_id, said)

    # Which tables there are rows of, and how they are written there.

    def _only_table(self) -> str | None:
        """The table of all rows, where it is known without reading them."""
        if self.settings.is_one_table or (self.topic is not None and not self.settings.table_field):
            return table_for(self.settings.table, self.topic, None)
        return None

    def _places(self, df: Any, rows: Rows) -> list[tuple[str | None, str]]:
        """The tables of the rows, each with the condition for its rows; None for rows that have no table."""
        if (only := self._only_table()) is not None:
            return [(only, "true")]
        topic, name = rows.parts()
        wanted = df.where(rows.wanted()).selectExpr(f"{topic} AS topic", f"{name} AS field").distinct()
        found = wanted.limit(_MOST_TABLES + 1).collect()
        if len(found) > _MOST_TABLES:
            raise ConnectError(
                f"A batch has records of more than {_MOST_TABLES} tables, as table and table.field say. Write to one "
                "table, and partition or cluster it."
            )
        places: dict[str | None, list[str]] = {}
        for each in found:
            if each.topic is None or each.field is None:
                places[None] = [rows.no_table()[0]]
            else:
                condition = f"({topic} <=> {literal(each.topic)} AND {name} <=> {literal(each.field)})"
                places.setdefault(table_for(self.settings.table, each.topic, each.field), []).append(condition)
        return [(table, " OR ".join(conditions)) for table, conditions in places.items()]

    def _fitted(self, table: Table, rows: Rows, afresh: bool) -> Known:
        """How rows are written to a table, which is created or changed as they need it."""
        known = self._known.get(table.name)
        if known and known.rows == rows.columns and not afresh:
            return known
        incoming = rows.incoming()
        columns = table.columns()
        if columns is None:
            table.create(new_columns(incoming, self.settings.rescued), self.settings)
            columns = _there(table)
        changes = self._changes_tables and table.name not in self._changed
        state = table.state() if changes or self.settings.mode == UPSERT else None
        if changes and state is not None:
            state = set_properties(table, state, self.settings)
        fitted = fit(columns, incoming, self.settings.policy, self.settings.rescued)
        if fitted.changes:
            table.alter(fitted.changes)
            columns = _there(table)
            fitted = fit(columns, incoming, self.settings.policy, self.settings.rescued)
        generated = {name.lower() for name, _ in self.settings.generated}
        fitted = replace(fitted, others=tuple(name for name in fitted.others if name.lower() not in generated))
        if not fitted.columns:
            raise ConfigError("schema.evolution.unknown.fields", f'"{table.name}" has none of the records\' fields.')
        if changes and state is not None:
            state = set_clustering(table, state, columns, self.settings)
            self._changed.add(table.name)
        self._tell(table, fitted)
        if len(self._known) >= _MOST_TABLES:
            self._known.clear()
        layout = Layout() if state is None else state.layout
        types = {column["name"]: column["type"] for column in columns}
        self._known[table.name] = known = Known(rows.columns, fitted, types, layout)
        return known

    def _tell(self, table: Table, fitted: Fitted) -> None:
        for paths, why in ((fitted.ignored, "the table has no such column"), (fitted.untyped, "it was always null")):
            fresh = [name for name in (".".join(path) for path in paths) if f"{table.name} {name}" not in self._told]
            if fresh:
                log.warning("Not written to %s: %s (%s).", table.name, ", ".join(fresh), why)
                self._told.update(f"{table.name} {name}" for name in fresh)

    # What cannot be written.

    def _unwanted(self, rows: Rows, fitted: Fitted) -> tuple[list[Refusal], list[Refusal]]:
        """The conditions for dead letters, and those for errors."""
        refused, misfits = rows.refusals(), list(fitted.misfits)
        buried: list[Refusal] = []
        if self.settings.dead_letters is not None:
            buried, refused = refused, []
            if self.settings.policy.mismatch == "quarantine":
                buried, misfits = buried + misfits, []
        advice = " Such records can go to errors.deadletter.table."
        fatal = [(condition, why + advice) for condition, why in refused]
        advice = " Allow more with schema.evolution, or write schema.evolution.on.mismatch=quarantine."
        return buried, fatal + [(condition, f"It does not fit the table. {why}{advice}") for condition, why in misfits]

    def _refuse(self, df: Any, rows: Rows, mine: str, why: str, batch_id: int) -> None:
        """Refuse rows that have no table, or no key for a merge."""
        if self.settings.dead_letters is not None:
            self._bury(df, rows, [(mine, why)], batch_id)
        else:
            df.where(good(rows, mine, [], [("true", why)])).limit(1).collect()

    def _bury(self, df: Any, rows: Rows, refused: Sequence[Refusal], batch_id: int) -> None:
        """Write dead letters for what is refused, and for what the error policy gave up."""
        assert self.settings.dead_letters is not None
        found = dead_letters.letters(df, rows, refused, self.connector, self.app_id, batch_id)
        if found.limit(1).collect():
            table = Table(df.sparkSession, self.settings.dead_letters)
            add = dead_letters.add
            until_nobody_is_in_the_way(table.name, lambda _: add(found, table, self.app_id, batch_id))

    def _print(self, df: Any, rows: Rows, batch_id: int) -> None:
        columns = [f"{column.sql} AS {quoted(column.name)}" for column in rows.incoming()]
        sys.stdout.write(f"Batch {batch_id} of {self.connector}:\n")
        df.where(rows.wanted()).selectExpr(*columns).show(self.settings.console_rows, truncate=False)
        sys.stdout.flush()


def _there(table: Table) -> list[Field]:
    """The columns of a table that must exist."""
    columns = table.columns()
    if columns is None:
        raise RetriableError(f'The table "{table.name}" was dropped at this moment.')
    return columns


@contextmanager
def _kept(df: Any, wanted: bool) -> Iterator[None]:
    """Rows that are used several times are computed once."""
    if not wanted:
        yield
        return
    df.persist()
    try:
        yield
    finally:
        df.unpersist()
