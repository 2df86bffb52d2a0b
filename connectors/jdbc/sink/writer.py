"""Writes batches: a call is one transaction, over all tables and, with exactly.once, the offsets."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import sqlalchemy
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql

from connect import ConnectError, SinkBatch, SinkRecord, TopicPartition, Type
from connect.data.evolution_policy import FAIL, PASS
from connect.data.struct_columns import FieldColumn
from connectors.jdbc.database import Database, TableName
from connectors.jdbc.database.connection import reason
from connectors.jdbc.database.types_to_sql import Meaning, meaning_of
from connectors.jdbc.sink.cells import Zones, cells
from connectors.jdbc.sink.errors import Misfit, RowError, is_about_rows, is_passing, may_be_outdated
from connectors.jdbc.sink.keys import INSERT, UPDATE, UPSERT, JdbcSinkOptions
from connectors.jdbc.sink.ledger import Ledger, begin
from connectors.jdbc.sink.postgresql import PostgresStatements
from connectors.jdbc.sink.routing import Routing
from connectors.jdbc.sink.rows_by_core import CoreStatements
from connectors.jdbc.sink.rows_by_driver import MySqlStatements, SqliteStatements
from connectors.jdbc.sink.statements import Layout, Statements
from connectors.jdbc.sink.steps import DELETE, TRUNCATE, Laid, Step, steps
from connectors.jdbc.sink.target import Target, TargetColumn, Wanted
from connectors.jdbc.sink.units import Fields, Reader, Unit

Report = Callable[[SinkRecord, Exception], None]

#: How many kinds of units of one table are remembered: records whose fields come and go are of ever new ones.
_MOST_PLANS: Final = 1000


@dataclass
class Written:
    """The result of a transaction.

    Attributes:
        rows, deleted: the number of rows by table.
        seconds: its duration.
    """

    rows: Counter[str] = field(default_factory=Counter)
    deleted: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Plan:
    """How the fields of a kind of unit become columns."""

    layout: Layout
    fields: tuple[Wanted, ...]
    columns: tuple[TargetColumn, ...]


@dataclass(frozen=True, slots=True)
class _Prepared:
    target: Target
    batch: SinkBatch
    steps: list[Step]


class Writer:
    """For one thread at a time.

    Args:
        options: see there.
        database: where.
        ledger: with exactly.once.
    """

    def __init__(self, options: JdbcSinkOptions, database: Database, ledger: Ledger | None = None) -> None:
        self._options = options
        self._database = database
        self._ledger = ledger
        self._routing = Routing(options)
        postgresql = database.kind == "postgresql"
        self._zones = Zones(options.zone, dates=options.dates_in_zone, postgresql=postgresql)
        self._targets: dict[TableName, Target] = {}
        self._readers: dict[TableName, Reader] = {}
        self._statements: Statements = _statements(database.kind, options)
        #: The table that is being worked on, or was when something failed.
        self.at: TableName | None = None

    def write(self, batches: Sequence[SinkBatch]) -> Written:
        """Write all of it, or nothing.

        Raises:
            RowError, or the driver's error: a record cannot be written; `write_what_fits` finds it.
            RetriableError, or the driver's error: it may succeed later. `is_passing` tells.
        """
        return self._once(batches, self._write)

    def write_what_fits(self, batches: Sequence[SinkBatch], report: Report | None) -> Written:
        """The same, without the records that cannot be written: these are found by halving, and reported.

        Raises:
            ConnectError: there is such a record and no error reporter; nothing was written then.
            Other errors: as `write`, and what `report` raises.
        """
        try:
            return self._once(batches, lambda fresh: self._write_what_fits(fresh, report))
        except Exception as error:
            if isinstance(error, ConnectError) or is_passing(error) or not is_about_rows(error):
                raise
        # A constraint that is checked at the end of the transaction refuses some row: checked at once it tells which.
        return self._once(batches, lambda fresh: self._write_what_fits(fresh, report, at_once=True))

    def _once(
        self, batches: Sequence[SinkBatch], write: Callable[[Sequence[SinkBatch]], Sequence[_Prepared]]
    ) -> Written:
        began = time.monotonic()
        self.at = None
        known = any(target.known for target in self._targets.values())
        try:
            try:
                prepared = write(batches)
            except _Behind as found:
                # A transaction that seemed to fail, or was another owner's, has written some of it.
                batches = [each for each in (_from(batch, found.offsets) for batch in batches) if len(each)]
                prepared = write(batches) if batches else []
        except BaseException as error:
            self._failed(error)
            if known and may_be_outdated(error):
                # Columns are read once: somebody may have dropped or changed some since, or the whole table.
                return self._once(batches, write)
            raise
        return self._done(batches, prepared, began)

    def _write(self, batches: Sequence[SinkBatch]) -> Sequence[_Prepared]:
        prepared = [self._prepared(name, batch) for name, batch in self._parts(batches)]
        with self._transaction(batches) as connection:
            for each in prepared:
                self._execute(connection, each)
        return prepared

    def _write_what_fits(
        self, batches: Sequence[SinkBatch], report: Report | None, *, at_once: bool = False
    ) -> Sequence[_Prepared]:
        bad: list[tuple[SinkRecord, Exception]] = []
        prepared: list[_Prepared] = []
        written: list[_Prepared] = []
        for name, batch in self._parts(batches, bad):
            self._prepare_in_parts(name, batch, prepared, bad)
        with self._transaction(batches) as connection:
            if at_once:
                self._statements.check(connection)
            for each in prepared:
                self._execute_in_parts(connection, each, written, bad)
            self._statements.check(connection)
            bad.sort(key=lambda found: _origin(found[0]))
            for record, error in bad:
                # Before the commit: what is reported twice is better than what is never reported.
                if report is None:
                    raise error
                report(record, error)
        return written

    # Transactions.

    @contextmanager
    def _transaction(self, batches: Sequence[SinkBatch]) -> Iterator[Connection]:
        """One transaction, with the offsets. Raises `_Behind` if the database already has rows of the batches."""
        with self._database.transaction() as connection:
            begin(self._database, connection)
            self._statements.begin(connection)
            if self._ledger is not None:
                after, first = _next(batches), _first(batches)
                known = self._ledger.known(connection, after)
                behind = {
                    partition: offset for partition in after if (offset := known.get(partition) or 0) > first[partition]
                }
                if behind:
                    raise _Behind(behind)
                self._ledger.move(connection, after)
            yield connection

    def _failed(self, error: BaseException) -> None:
        self._statements.forget()
        if self._ledger is not None:
            self._ledger.doubt()
        if not is_about_rows(error) or isinstance(error, Misfit):
            # Somebody may have changed a table.
            for target in self._targets.values():
                target.forget()

    def _done(self, batches: Sequence[SinkBatch], prepared: Sequence[_Prepared], began: float) -> Written:
        if self._ledger is not None:
            self._ledger.moved(_next(batches))
        written = Written(seconds=time.monotonic() - began)
        for each in prepared:
            for step in each.steps:
                if step.rows is not None:
                    counter = written.deleted if step.kind == DELETE else written.rows
                    counter[str(each.target.name)] += len(step.rows)
        return written

    # Preparing: records as rows, and tables that have a column for each field.

    def _parts(
        self, batches: Sequence[SinkBatch], bad: list[tuple[SinkRecord, Exception]] | None = None
    ) -> list[tuple[TableName, SinkBatch]]:
        """The records of each table, tables in order of their names."""
        found: list[tuple[TableName, SinkBatch]] = []
        for batch in batches:
            tables, problems = self._routing.tables(batch)
            if problems and bad is None:
                raise RowError(next(iter(problems.values())))
            for row, why in problems.items():
                assert bad is not None
                bad.append((batch.records()[row], self._located(batch.records()[row], None, RowError(why))))
            found += [(name, batch if len(rows) == len(batch) else batch.take(rows)) for name, rows in tables]
        found.sort(key=lambda part: str(part[0]))
        return found

    def _prepared(self, name: TableName, batch: SinkBatch) -> _Prepared:
        self.at = name
        target = self._targets.get(name)
        if target is None:
            target = self._targets[name] = Target(name, self._database, self._options)
            self._readers[name] = Reader(self._options)
        records = self._readers[name].records(batch)
        plans = self._plans(target, records.units)
        laid = [self._laid(target, unit, plan) for unit, plan in zip(records.units, plans, strict=True) if plan]
        keyed = self._options.mode in (UPSERT, UPDATE)
        # Of PostgreSQL only one type has such texts.
        collated = self._database.kind != "postgresql" or any(map(_ignores_case, plans))
        done = steps(laid, keyed=keyed, emptied=records.emptied is not None, collated=collated)
        return _Prepared(target, batch, done)

    def _plans(self, target: Target, units: Sequence[Unit]) -> list[_Plan | None]:
        """The plan of each unit; None for deletions from a missing table."""
        signatures = [_signature(unit) for unit in units]
        found = [target.plans.get(signature) for signature in signatures]
        if None not in found:
            return found
        wanted: dict[str, Wanted] = {}
        for unit in units:
            for field_ in self._wanted(unit):
                wanted.setdefault(field_.name, field_)
        if all(unit.values is None for unit in units) and self._options.create and not target.exists():
            return [None] * len(units)
        for unit in units:
            self._judge(target, unit)
        target.provide(list(wanted.values()))
        if len(target.plans) > _MOST_PLANS:
            target.plans.clear()
            self._statements.forget()
        for signature, unit in zip(signatures, units, strict=True):
            target.plans[signature] = self._plan(target, unit)
        return [target.plans[signature] for signature in signatures]

    def _wanted(self, unit: Unit) -> list[Wanted]:
        options = self._options
        return [
            Wanted(name, column.schema, _meaning(name, column.schema, options), is_key)
            for is_key, fields in ((True, unit.keys), (False, unit.values or {}))
            for name, column in fields.items()
        ]

    def _plan(self, target: Target, unit: Unit) -> _Plan:
        fields, columns = [], []
        for wanted in self._wanted(unit):
            column = target.column(wanted.name)
            if column is not None:
                fields.append(wanted)
                columns.append(column)
            elif wanted.key:
                raise RowError(f'Table "{target.name}" has no column "{wanted.name}", which is part of its key.')
        names = [column.name for column in columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise RowError(f'Two fields are written to the column "{twice}". Rename one with ReplaceField.')
        kept = frozenset(c.name for c, wanted in zip(columns, fields, strict=True) if wanted.name in unit.kept)
        layout = Layout(target, tuple(columns), len(unit.keys), tuple(each.meaning.kind for each in fields), kept)
        return _Plan(layout, tuple(fields), tuple(columns))

    def _laid(self, target: Target, unit: Unit, plan: _Plan) -> Laid:
        fields = _filled(unit, plan.fields, plan.columns)
        arrays = self._arrays(plan.fields, plan.columns, fields)
        if unit.values is not None:
            target.judge(plan.columns, plan.fields, arrays)
            if target.adapt(plan.columns, plan.fields, arrays):
                target.plans.clear()
                plan = self._plan(target, unit)
                target.plans[_signature(unit)] = plan
                arrays = self._arrays(plan.fields, plan.columns, fields)
        for wanted, array in zip(plan.fields[: plan.layout.keys], arrays, strict=False):
            if array.null_count:
                raise RowError(f'its "{wanted.name}" is null, and that is part of its key.')
        names = [column.name for column in plan.columns]
        return Laid(plan.layout, pa.RecordBatch.from_arrays(arrays, names), unit.rows, unit.values is None)

    def _judge(self, target: Target, unit: Unit) -> None:
        """Check whether records fit a table before it gets columns for their other fields. Raises `Misfit`."""
        if unit.values is None or self._options.policy.mismatch == PASS or not target.exists():
            return
        found = [(wanted, column) for wanted in self._wanted(unit) if (column := target.column(wanted.name))]
        wanted, columns = [each for each, _ in found], [column for _, column in found]
        target.judge(columns, wanted, self._arrays(wanted, columns, _filled(unit, wanted, columns)))

    def _arrays(self, all_wanted: Sequence[Wanted], columns: Sequence[TargetColumn], fields: Fields) -> list[pa.Array]:
        arrays = []
        for wanted, column in zip(all_wanted, columns, strict=True):
            try:
                array = cells(
                    wanted.meaning, fields[wanted.name], column.base, self._zones, filled=self._options.defaults
                )
            except RowError as error:
                if self._options.trimmed:  # the error quotes the value
                    raise RowError(f'its field "{wanted.name}" is not of the type {wanted.meaning.kind}.') from None
                raise RowError(f'its field "{wanted.name}" {error}') from error
            arrays.append(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array)
        return arrays

    def _prepare_in_parts(
        self,
        name: TableName,
        batch: SinkBatch,
        prepared: list[_Prepared],
        bad: list[tuple[SinkRecord, Exception]],
    ) -> None:
        try:
            prepared.append(self._prepared(name, batch))
        except Exception as error:  # sorted out below
            if is_passing(error) or not is_about_rows(error):
                raise
            if len(batch) == 1 and isinstance(error, Misfit) and self._options.policy.mismatch == FAIL:
                raise self._located(batch.records()[0], name, error) from error
            if len(batch) == 1 or (isinstance(error, RowError) and error.all_alike):
                bad.extend((record, self._located(record, name, error)) for record in batch.records())
                return
            for half in _halves(batch):
                self._prepare_in_parts(name, half, prepared, bad)

    # Executing.

    def _execute(self, connection: Connection, prepared: _Prepared) -> None:
        statements = self._statements
        self.at = prepared.target.name
        for kind, layout, rows in prepared.steps:
            if kind == TRUNCATE:
                statements.truncate(connection, prepared.target)
                continue
            assert layout is not None
            assert rows is not None
            if not len(rows):
                continue
            if kind == DELETE:
                statements.delete(connection, layout, rows)
            elif self._options.mode == INSERT:
                statements.insert(connection, layout, rows)
            elif self._options.mode == UPSERT:
                statements.upsert(connection, layout, rows)
            else:
                statements.update(connection, layout, rows)

    def _execute_in_parts(
        self,
        connection: Connection,
        prepared: _Prepared,
        written: list[_Prepared],
        bad: list[tuple[SinkRecord, Exception]],
    ) -> None:
        try:
            with connection.begin_nested():
                self._execute(connection, prepared)
            written.append(prepared)
        except Exception as error:  # sorted out below
            self._statements.forget()
            if is_passing(error) or not is_about_rows(error):
                raise
            name, batch = prepared.target.name, prepared.batch
            if len(batch) == 1:
                bad.append((batch.records()[0], self._located(batch.records()[0], name, error)))
                return
            for half in _halves(batch):
                self._execute_in_parts(connection, self._prepared(name, half), written, bad)

    # Errors.

    def _located(self, record: SinkRecord, name: TableName | None, error: Exception) -> Exception:
        """The error as users read it: which record, which table, the database's message."""
        where = f"Topic {record.original_topic}, partition {record.original_partition}, offset {record.original_offset}"
        what = f'Table "{name}" of {self._database} does not take the record' if name else "The record has no table"
        if isinstance(error, RowError):
            return RowError(f"{where}: {what}: {error}")
        located = RowError(f"{where}: {what}: {reason(error, trimmed=self._options.trimmed)}")
        located.__cause__ = None if self._options.trimmed else getattr(error, "orig", None) or error
        return located


class _Behind(Exception):
    """The database already has some rows: up to these offsets."""

    def __init__(self, offsets: Mapping[TopicPartition, int]) -> None:
        super().__init__()
        self.offsets = offsets


def _statements(kind: str, options: JdbcSinkOptions) -> Statements:
    if kind == "postgresql":
        return PostgresStatements()
    if kind == "mysql":
        return MySqlStatements(options.batch_size)
    if kind == "sqlite":
        return SqliteStatements(options.batch_size)
    return CoreStatements(options.batch_size, quotes=options.quotes)


def _meaning(name: str, schema: Any, options: JdbcSinkOptions) -> Meaning:
    if name in options.timestamp_fields and schema.type.value == "int64" and schema.name is None:
        return Meaning("timestamp", options.unit)
    return meaning_of(schema, options.debezium)


def _filled(unit: Unit, all_wanted: Sequence[Wanted], columns: Sequence[TargetColumn]) -> Fields:
    """The fields of a unit, such that each column takes what stands for a missing value."""
    fields = {**(unit.values or {}), **unit.keys}
    for wanted, column in zip(all_wanted, columns, strict=True):
        is_json = wanted.meaning.kind == "json" or isinstance(column.base, sqlalchemy.JSON)
        if wanted.name in unit.kept and is_json and wanted.schema.type is Type.STRING:
            texts = [json.dumps(item) for item in fields[wanted.name].items]
            fields[wanted.name] = FieldColumn(wanted.schema, texts)
    return fields


def _ignores_case(plan: _Plan | None) -> bool:
    keys = plan.columns[: plan.layout.keys] if plan else ()
    return any(isinstance(column.base, postgresql.CITEXT) for column in keys)


def _signature(unit: Unit) -> Any:
    return (
        tuple((name, column.schema) for name, column in unit.keys.items()),
        None if unit.values is None else tuple((name, column.schema) for name, column in unit.values.items()),
        unit.kept,
    )


def _origin(record: SinkRecord) -> tuple[str, int, int]:
    return record.original_topic, record.original_partition, record.original_offset


def _halves(batch: SinkBatch) -> list[SinkBatch]:
    middle = len(batch) // 2
    return [batch.slice(0, middle), batch.slice(middle, len(batch))]


def _from(batch: SinkBatch, behind: Mapping[TopicPartition, int]) -> SinkBatch:
    """Without the records that the database already has."""
    if not behind:
        return batch
    partitions = zip(batch.original_topics, batch.original_partitions, batch.offsets, strict=True)
    kept = [
        row
        for row, (topic, partition, offset) in enumerate(partitions)
        if offset >= behind.get(TopicPartition(topic, partition), 0)
    ]
    return batch if len(kept) == len(batch) else batch.take(kept)


def _next(batches: Sequence[SinkBatch]) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for batch in batches:
        for partition, offset in batch.next_offsets().items():
            found[partition] = max(offset, found.get(partition, 0))
    return found


def _first(batches: Sequence[SinkBatch]) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for batch in batches:
        for partition, offset in batch.first_offsets().items():
            found.setdefault(partition, offset)
    return found
