"""Writes the rows of a batch to one table, in one commit: appended, merged, or in place of others."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spark_sink.merge_keys import Ends
from spark_sink.row_keys import OVERWRITE, UPSERT
from spark_sink.tables import soft, upsert, versions
from spark_sink.tables.fitting import Fitted
from spark_sink.tables.pruning import pruned
from spark_sink.tables.rows import Rows
from spark_sink.tables.settings import TableSettings
from spark_sink.tables.table import Layout, Table
from spark_sink.tables.transaction import Transaction
from spark_sink.tables.types import Type


@dataclass(frozen=True)
class Known:
    """How rows are written to a table.

    Attributes:
        rows: the columns of the rows, with their types.
        fitted: how they become the table's.
        types: of the table's columns.
        layout: of the table.
    """

    rows: Mapping[str, Type]
    fitted: Fitted
    types: Mapping[str, Type]
    layout: Layout


@dataclass(frozen=True)
class TableBatch:
    """The rows of a batch for one table.

    Attributes:
        frame: the rows.
        rows: their columns.
        known: how they are written.
        settings: how tables are written.
    """

    frame: Any
    rows: Rows
    known: Known
    settings: TableSettings

    def write(self, table: Table, transaction: Transaction) -> None:
        """Write them, in one commit. Raises what Spark raises."""
        settings, frame = self.settings, self.frame.selectExpr(*self.known.fitted.select)
        if settings.mode == UPSERT:
            self._merge(table, transaction)
        elif settings.mode != OVERWRITE:
            table.append(frame, transaction.options)
        elif settings.replace_where is None or frame.limit(1).collect():  # what has no rows replaces none
            table.overwrite(frame, transaction.options, settings.replace_where)

    def _merge(self, table: Table, transaction: Transaction) -> None:
        known, fitted = self.known, self.known.fitted
        partial = "_lacks" in self.rows.columns
        how = upsert.Merge.of(table, fitted, self.rows.key_columns(), self.settings, partial=partial)
        if (ends := self.settings.ends) is not None:
            spelled = {name.lower(): name for name in fitted.columns}
            named = Ends(*(spelled[name.lower()] for name in ends))
            there = table, known.types, known.layout
            with versions.source(self.frame, fitted, how, self.rows.deleted(), named, there) as found:
                upsert.merge(found.rows, found.view, found.statement, transaction)
            return
        newest, merging = self._merging(table, how)
        view = f"connect_upsert_{uuid.uuid4().hex}"  # over Spark Connect, threads share a session
        with pruned(newest, how.keys, known.types, known.layout) as where:
            upsert.merge(newest, view, merging(view, where), transaction)

    def _merging(self, table: Table, how: upsert.Merge) -> tuple[Any, Callable[[str, str | None], str]]:
        """What is merged, and what makes the statement that merges it, given a view of it and a condition."""
        fitted, settings, deleted = self.known.fitted, self.settings, self.rows.deleted()
        if (named := settings.delete_column) is None:
            found = upsert.source(self.frame, fitted, how, deleted)
            return found, lambda view, where: upsert.statement(table, view, fitted, how, where)
        column = next(name for name in fitted.columns if name.lower() == named.lower())
        found = soft.source(self.frame, fitted, how, deleted, column)
        return found, lambda view, where: soft.statement(
            table, view, fitted, how, where, column, is_timestamp=settings.delete_time
        )
