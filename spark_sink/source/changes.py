"""Rows of a Delta table's change data feed as records: which rows form one event, and its form.

Rows are sorted by version, by key within a version, and by `RANKS` within a key, so that an event's rows are adjacent.
An update has a row before and a row after; where the update changed the key, they are two events: one key was deleted,
another created.

https://docs.delta.io/latest/delta-change-data-feed.html
https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-change-events-value
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from connect.data import logical
from connect.data.batch import SourceBatch
from connect.data.column import Deferred
from connect.data.schema import INT64, STRING, Schema
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.data.table_types import milliseconds
from connect.data.values import GroupedValues, Values
from spark_sink.source.records import Records, RowShape

TYPE: Final = "_change_type"
VERSION: Final = "_commit_version"
TIMESTAMP: Final = "_commit_timestamp"
#: The order of one key's rows within a version.
RANKS: Final[Mapping[str, int]] = {"delete": 0, "update_preimage": 1, "update_postimage": 2, "insert": 3}
_DELETE, _BEFORE, _AFTER, _INSERT = RANKS.values()

NONE, DEBEZIUM, FLAT = "none", "debezium", "flat"

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ChangeShape(RowShape):
    """How a change becomes a record.

    Attributes:
        envelope: NONE, the row itself; DEBEZIUM, before and after; FLAT, each row of the feed with its columns.
        tombstones: whether a null value follows (with NONE: is) the event of a deleted key.
        snapshot: rows up to this version existed when reading began.
    """

    envelope: str = NONE
    tombstones: bool = True
    snapshot: int = -1

    @property
    def columns(self) -> list[str]:
        return [*super().columns, TYPE, VERSION, TIMESTAMP]

    def records(self, columns: pa.Schema) -> Records:
        return ChangeRecords(self, columns)

    def whole(self, rows: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        return whole_groups(rows, self.key) if self.key else rows


class Events(NamedTuple):
    """Events as rows of a batch.

    Attributes:
        rows: the row that gives an event its key, ascending.
        before, after: the numbers of these rows; -1 for none.
    """

    rows: Rows
    before: Rows
    after: Rows


def events(ranks: Rows, groups: Rows) -> Events:
    """The events in sorted rows.

    Args:
        ranks: of each row, see `RANKS`.
        groups: a number for each row, ascending: equal for rows of one key in one version. Of several updates in a
            group the first row before belongs to the first one after.
    """
    before, after = np.flatnonzero(ranks == _BEFORE), np.flatnonzero(ranks == _AFTER)
    left, right = _numbered(groups, before), _numbered(groups, after)
    index = np.minimum(np.searchsorted(left, right), max(0, len(left) - 1))
    matched = left[index] == right if len(left) else np.zeros(len(right), bool)
    partners = np.full(len(ranks), -1, np.int64)
    partners[after[matched]] = before[index[matched]]
    kept = np.ones(len(ranks), bool)
    kept[partners[partners >= 0]] = False
    rows = np.flatnonzero(kept)
    gone = ranks[rows] <= _BEFORE
    return Events(rows, np.where(gone, rows, partners[rows]), np.where(gone, -1, rows))


def _numbered(groups: Rows, rows: Rows) -> Rows:
    """A number for each of these rows: its group, then its position among them in the group."""
    own = groups[rows]
    return own * np.int64(len(groups) + 1) + np.arange(len(rows)) - np.searchsorted(own, own)


def groups_of(rows: pa.RecordBatch, key: Iterable[str]) -> Rows:
    """The number of each row's group: adjacent rows of one version and one key."""
    if not rows.num_rows:
        return np.zeros(0, np.int64)
    starts = np.zeros(rows.num_rows, bool)
    for name in (VERSION, *key):
        column = rows.column(name)
        here, last = column.slice(1), column.slice(0, rows.num_rows - 1)
        differ = pc.or_kleene(pc.fill_null(pc.not_equal(here, last), False), pc.xor(here.is_null(), last.is_null()))
        starts[1:] |= differ.to_numpy(zero_copy_only=False)
    return np.cumsum(starts, dtype=np.int64)


def whole_groups(batches: Iterable[pa.RecordBatch], key: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The same rows in other batches: none ends within a group."""
    kept: pa.RecordBatch | None = None
    for batch in batches:
        whole = batch if kept is None else pa.concat_batches([kept, batch])
        if not whole.num_rows:
            continue
        groups = groups_of(whole, key)
        last = int(np.searchsorted(groups, groups[-1]))
        if last:
            yield whole.slice(0, last)
        kept = whole.slice(last)
    if kept is not None and kept.num_rows:
        yield kept


class ChangeRecords(Records):
    """Makes records of change rows. Arguments and errors as of `Records`."""

    def __init__(self, shape: ChangeShape, columns: pa.Schema) -> None:
        super().__init__(shape, columns)
        self.shape: ChangeShape = shape
        self._row = self.value_schema.as_optional()
        self._source = Schema.struct(
            {"connector": STRING, "table": STRING, "version": INT64, "ts_ms": INT64, "snapshot": STRING},
            name=self.name("Source"),
        )
        if shape.envelope == DEBEZIUM:
            self.value_schema = Schema.struct(
                {
                    "before": self._row,
                    "after": self._row,
                    "source": self._source,
                    "op": STRING,
                    "ts_ms": INT64.as_optional(),
                },
                name=self.name("Envelope"),
            )
        elif shape.envelope == FLAT:
            fields = {each.name: each.schema for each in self.value_schema.fields}
            added = {TYPE: STRING, VERSION: INT64, TIMESTAMP: logical.TIMESTAMP}
            self.value_schema = Schema.struct({**fields, **added}, name=self.name("Value"))

    def of(self, rows: pa.RecordBatch) -> SourceBatch:
        """The records of rows of whole groups."""
        ranks = _ranks(rows.column(TYPE))
        found = events(ranks, groups_of(rows, self.shape.key) if self.shape.key else np.arange(rows.num_rows))
        gone = np.zeros(rows.num_rows, bool)
        gone[found.rows[found.after < 0]] = True
        if self.shape.envelope == FLAT:
            said, values = np.arange(rows.num_rows), self._flat(rows)
        elif self.shape.envelope == DEBEZIUM:
            said, values = found.rows, self._debezium(rows, ranks, found)
        else:
            said = found.after[found.after >= 0]
            values = StructColumns(self.value_schema, self.fields(self.value_schema, _take(rows, said)))
        buried = np.flatnonzero(gone) if self.shape.tombstones else np.zeros(0, np.int64)
        return self._batch(rows, said, values, buried)

    def _batch(self, rows: pa.RecordBatch, said: Rows, values: Values, buried: Rows) -> SourceBatch:
        """Records of these rows, each deletion followed by its tombstone."""
        taken = said
        if len(buried):
            order = np.argsort(np.concatenate([said, buried]), kind="stable")
            taken = np.concatenate([said, buried])[order]
            indexes = np.empty(len(order), np.int64)
            indexes[order] = np.arange(len(order))
            parts = [
                (indexes[: len(said)].tolist(), values),
                (indexes[len(said) :].tolist(), Values.nulls(len(buried))),
            ]
            values = GroupedValues(len(order), [part for part in parts if len(part[0])])
        versions = rows.column(VERSION)
        return SourceBatch(
            self.shape.topic,
            values,
            keys=self.keys(_take(rows, taken)),
            source_partitions=self.shape.origin,
            source_offsets=Deferred(
                len(taken), lambda: [{"version": version} for version in versions.take(taken).to_pylist()]
            ),
        )

    def _flat(self, rows: pa.RecordBatch) -> StructColumns:
        known = self.value_schema.fields[:-3]
        fields = [*self.fields(Schema.struct({each.name: each.schema for each in known}), rows)] if known else []
        moments = FieldColumn(logical.TIMESTAMP, array=milliseconds(rows.column(TIMESTAMP)))
        return StructColumns(self.value_schema, [*fields, rows.column(TYPE), rows.column(VERSION), moments])

    def _debezium(self, rows: pa.RecordBatch, ranks: Rows, found: Events) -> StructColumns:
        versions, moments = rows.column(VERSION).take(pa.array(found.rows)), rows.column(TIMESTAMP)
        changed = pc.cast(milliseconds(moments), pa.int64()).take(pa.array(found.rows))
        kinds = ranks[found.rows]
        first = (kinds == _INSERT) & (versions.to_numpy(zero_copy_only=False) <= self.shape.snapshot)
        ops = np.select([found.after < 0, found.before >= 0, first], ["d", "u", "r"], "c")
        count = len(found.rows)
        table = _same(str(self.shape.origin.get("table", "")), count)
        told = [_same("delta", count), table, versions, changed, pa.array(np.where(first, "true", "false"))]
        return StructColumns(
            self.value_schema,
            [
                self._whole_rows(rows, found.before),
                self._whole_rows(rows, found.after),
                pa.StructArray.from_arrays(told, [each.name for each in self._source.fields]),
                pa.array(ops),
                _same(time.time_ns() // 1_000_000, count),
            ],
        )

    def _whole_rows(self, rows: pa.RecordBatch, which: Rows) -> FieldColumn:
        """Rows as structs; null for -1."""
        columns = StructColumns(self._row, self.fields(self._row, rows))
        if all(column.is_arrow for column in columns.fields):
            names = [each.name for each in self._row.fields]
            structs = pa.StructArray.from_arrays(columns.columns, names)
            return FieldColumn(self._row, array=structs.take(pa.array(which, mask=which < 0)))
        made: list[Any] = columns.to_list()
        return FieldColumn(self._row, [None if row < 0 else made[row] for row in which.tolist()])


def _take(rows: pa.RecordBatch, which: Rows) -> pa.RecordBatch:
    return rows.take(pa.array(which))


def _same(value: Any, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value), count)


def _ranks(types: pa.Array) -> Rows:
    found = pc.index_in(types, pa.array(list(RANKS)))
    if found.null_count:
        unknown = types.filter(found.is_null())[0].as_py()
        raise ValueError(f'A row of the change data feed is of the type "{unknown}", not {" or ".join(RANKS)}.')
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)
