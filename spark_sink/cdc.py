"""Change events of Debezium as rows: each event becomes the row after it, or a deletion, with its position in the log.

Written once for both engines: a step behind the transformations, over whole columns. A changed record has as its value
the row's fields, the position and time of the change, and a mark (`CHANGE`) that is "d" for a deletion, whose fields
are null, names the fields that the event has no value of (`unsent`), which are null, too, and is empty otherwise.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-events
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from connect.data.batch import SinkBatch
from connect.data.logical import TIMESTAMP
from connect.data.schema import OPTIONAL_STRING, STRING, Schema, Type
from connect.data.struct_columns import FieldColumn, StructColumns
from connect.data.times import EPOCH
from connect.data.unavailable import Placeholder
from connect.data.values import GroupedValues, Values
from spark_sink.merge_keys import NONE
from spark_sink.table_settings import TableOptions

#: The field that marks what a change is.
CHANGE: Final = "_connect_change"
DELETED: Final = "d"

_TIMESTAMP: Final = TIMESTAMP.as_optional()
_MOST_MS: Final = 62_000_000_000_000  # what Python's datetime holds, before 1970 and behind it
_LIVE: Final = frozenset("cru")
_ROW_EVENTS: Final = _LIVE | {DELETED}
#: Events about no row: a truncated table, a message in the log.
_OTHER_EVENTS: Final = frozenset("tm")
_TRUNCATED: Final = (
    "it says that the source's table was emptied (TRUNCATE), and the sink does not empty tables. Write "
    "cdc.truncate=ignore to keep the rows, and empty the table yourself if you want that."
)
_NO_EVENT: Final = "its value is not a change event of Debezium, with op, before and after."


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed records.

    Attributes:
        batch: of those that are about a row.
        problems: the rows of the batch before that cannot be changed, with the reason.
    """

    batch: SinkBatch
    problems: Mapping[int, str]


class ChangeEvents:
    """Changes batches of events. For one thread.

    Args:
        position: the column for an event's position in the source's log.
        timestamp: the column for when the source made the change.
        key_fields: the fields of the row that make the key, in place of the record's; empty for the record's own.
        fails_on_truncate: whether a TRUNCATE is a problem; else it is left out.
        placeholder: what stands for values that the event does not have; empty for values as they are.
    """

    def __init__(
        self,
        position: str,
        timestamp: str,
        key_fields: Sequence[str] = (),
        *,
        fails_on_truncate: bool = True,
        placeholder: str = "",
    ) -> None:
        self._position = position
        self._timestamp = timestamp
        self._key_fields = tuple(key_fields)
        self._fails_on_truncate = fails_on_truncate
        self._placeholder = Placeholder(placeholder) if placeholder else None
        self._row_schema = lru_cache(maxsize=1000)(self._make_row_schema)

    def changed(self, batch: SinkBatch) -> Changes:
        """The rows and deletions of these events. Tombstones are left out: the event before them said it."""
        problems: dict[int, str] = {}
        values: list[tuple[Sequence[int], Values]] = []
        keys: list[tuple[Sequence[int], Values]] = []
        for rows, group in batch.values.groups():
            held = _envelope(group)
            found = self._columns(rows, held, problems) if held else self._structs(rows, group.to_list(), problems)
            if found is not None:
                values.append((found[0], found[1]))
                keys.append((found[0], found[2]))
        kept = sorted(row for rows, _ in values for row in rows)
        if not kept:
            return Changes(batch.slice(0, 0), problems)
        place = {row: at for at, row in enumerate(kept)}
        made = batch if len(kept) == len(batch) else batch.take(kept)
        columns = {"values": _joined(values, place)}
        if self._key_fields:
            columns["keys"] = _joined(keys, place)
        return Changes(made.with_columns(**columns), problems)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> ChangeEvents | None:
        """As a connector's configuration says; None where its records are not change events."""
        options = TableOptions.parse(config)
        if options.cdc_format == NONE:
            return None
        fields = () if options.pk_from_key else options.pk_fields
        return cls(
            options.cdc_position,
            options.cdc_timestamp,
            fields,
            fails_on_truncate=options.cdc_truncate == "fail",
            placeholder=options.cdc_unavailable,
        )

    # Events of a schema.

    def _columns(
        self, rows: Sequence[int], events: StructColumns, problems: dict[int, str]
    ) -> tuple[Sequence[int], Values, Values] | None:
        """The row numbers that stay, their values, and their keys if those are made of fields."""
        kept = self._kept(rows, events.field("op").items, problems)
        if not kept:
            return None
        if len(kept) < len(rows):
            rows = [rows[at] for at in kept]
            some = events.take(kept).struct_columns
            assert some is not None
            events = some
        ops = events.field("op").items
        after, before = events.field("after"), events.field("before") if events.struct.field("before") else None
        fields = after.schema.fields
        columns = _flat(after)
        marks = [DELETED if op == DELETED else "" for op in ops]
        if self._placeholder is not None:
            columns, unsent = self._placeholder.taken_out(columns)
            for row, numbers in unsent.items():
                marks[row] = _mark(fields[number].name for number in numbers)
        source = events.field("source").items if events.struct.field("source") else [None] * len(rows)
        columns.append(FieldColumn(OPTIONAL_STRING, [position(each) for each in source]))
        columns.append(FieldColumn(_TIMESTAMP, [_moment(each) for each in source]))
        columns.append(FieldColumn(STRING, marks))
        values = StructColumns(self._row_schema(after.schema), columns)
        if not self._key_fields:
            return rows, values, values
        chosen, names = [], [field.name for field in fields]
        for name in self._key_fields:
            if name not in names:
                problems.update(dict.fromkeys(rows, f'its row has no field "{name}", which pk.fields makes its key.'))
                return None
            cells = columns[names.index(name)].items
            if DELETED in ops and before is not None:
                old = before.items
                cells = [(o or {}).get(name) if op == DELETED else c for op, o, c in zip(ops, old, cells, strict=True)]
            chosen.append(FieldColumn(columns[names.index(name)].schema, cells))
        struct = Schema.struct(dict(zip(self._key_fields, (column.schema for column in chosen), strict=True)))
        return rows, values, StructColumns(struct, chosen)

    def _make_row_schema(self, after: Schema) -> Schema:
        fields = {field.name: field.schema.as_optional() for field in after.fields}
        return Schema.struct({**fields, self._position: OPTIONAL_STRING, self._timestamp: _TIMESTAMP, CHANGE: STRING})

    # Events without a schema, or of one that is not an envelope's.

    def _structs(
        self, rows: Sequence[int], items: list[Any], problems: dict[int, str]
    ) -> tuple[Sequence[int], Values, Values] | None:
        ops = [item.get("op") or _NO_EVENT if isinstance(item, dict) else item for item in items]
        kept = self._kept(rows, ops, problems)
        values, keys = [], []
        for at in kept:
            event = items[at]
            gone = ops[at] == DELETED
            row = (event.get("before") if gone else event.get("after")) or {}
            keys.append({name: row.get(name) for name in self._key_fields})
            source = event.get("source")
            marks = {self._position: position(source), self._timestamp: _moment(source)}
            unsent = self._placeholder.fields_of(row) if self._placeholder is not None and not gone else []
            marks[CHANGE] = DELETED if gone else _mark(unsent)
            values.append(marks if gone else {**row, **dict.fromkeys(unsent), **marks})
        return ([rows[at] for at in kept], Values(values), Values(keys)) if kept else None

    def _kept(self, rows: Sequence[int], ops: Sequence[Any], problems: dict[int, str]) -> list[int]:
        """The places of events about a row."""
        if _ROW_EVENTS.issuperset(op if isinstance(op, str) else "?" for op in ops):
            return list(range(len(rows)))
        kept = []
        for at, op in enumerate(ops):
            if isinstance(op, str) and op in _ROW_EVENTS:
                kept.append(at)
            elif op == "t" and self._fails_on_truncate:
                problems[rows[at]] = _TRUNCATED
            elif op is not None and not (isinstance(op, str) and op in _OTHER_EVENTS):
                problems[rows[at]] = _NO_EVENT
        return kept


def position(source: Any) -> str | None:
    """The position of an event in its source's log, as a text that sorts as the log does. None when there is none.

    Args:
        source: the struct of this name in the event.
    """
    if not isinstance(source, Mapping):
        return None
    get = source.get
    if "lsn" in source:  # PostgreSQL
        return _padded(get("lsn"))
    if "file" in source:  # MySQL, MariaDB
        return f"{get('file')}:{_padded(get('pos') or 0)}:{_padded(get('row') or 0)}" if get("file") else None
    if "commit_lsn" in source:  # SQL Server, Db2
        commit, serial = get("commit_lsn"), _padded(get("event_serial_no") or 0)
        return f"{commit}:{get('change_lsn') or ''}:{serial}" if commit else None
    if "scn" in source:  # Oracle
        return _padded(get("scn"))
    moment = _padded(get("ts_ms"))
    return f"{moment}:{_padded(get('ord') or 0)}" if moment else None  # MongoDB counts within a second


def _moment(source: Any) -> dt.datetime | None:
    """When the source made a change."""
    moment = source.get("ts_ms") if isinstance(source, Mapping) else None
    if not isinstance(moment, int) or abs(moment) > _MOST_MS:
        return None
    return EPOCH + dt.timedelta(milliseconds=moment)


def marks_of(changed: Values) -> list[str]:
    """The marks of changed records of one schema."""
    held = changed.struct_columns
    if held is not None:
        return held.field(CHANGE).items
    return ["" if item is None else item[CHANGE] for item in changed.to_list()]


def unsent(mark: str) -> list[str]:
    """The fields that an event has no value of, of a change's mark."""
    return mark.split("\0")[1:]


def _mark(unsent: Iterable[str]) -> str:
    """The mark of a change without values of some fields: a column's name has no NUL."""
    return "".join(f"\0{name}" for name in unsent)


def taken_apart(batch: SinkBatch) -> tuple[SinkBatch, set[int], dict[int, frozenset[str]]]:
    """A changed batch without the mark, the rows that are deletions, and the fields that others have no value of."""
    gone: set[int] = set()
    lacking: dict[int, frozenset[str]] = {}
    groups: list[tuple[Sequence[int], Values]] = []
    for rows, group in batch.values.groups():
        held, marks = group.struct_columns, marks_of(group)
        if held is not None:
            fields = [field for field in held.struct.fields if field.name != CHANGE]
            struct = _without_mark(held.struct)
            values: Values = StructColumns(struct, [held.fields[field.index] for field in fields])
        else:
            items = group.to_list()
            values = Values([{name: cell for name, cell in item.items() if name != CHANGE} for item in items])
        for row, mark in zip(rows, marks, strict=True):
            if mark == DELETED:
                gone.add(row)
            elif mark:
                lacking[row] = frozenset(unsent(mark))
        groups.append((rows, values))
    made = groups[0][1] if len(groups) == 1 else GroupedValues(len(batch), groups)
    return batch.with_columns(values=made), gone, lacking


@lru_cache(maxsize=1000)
def _without_mark(struct: Schema) -> Schema:
    return Schema.struct({field.name: field.schema for field in struct.fields if field.name != CHANGE})


def _padded(number: Any) -> str | None:
    """A whole number as a text: those of the same length sort as the numbers do."""
    return None if number is None else str(number).zfill(20)


def _envelope(group: Values) -> StructColumns | None:
    """Events of one schema as columns."""
    schema = group.schemas[0] if len(group) else None
    if schema is None or schema.type is not Type.STRUCT:
        return None
    after, op = schema.field("after"), schema.field("op")
    if op is None or after is None or after.schema.type is not Type.STRUCT:
        return None
    if (held := group.struct_columns) is not None:
        return held
    items = group.to_list()
    if any(item is None for item in items):
        return None
    return StructColumns(schema, [[item.get(field.name) for item in items] for field in schema.fields])


def _flat(structs: FieldColumn) -> list[FieldColumn]:
    """A column for each field; null where the struct is."""
    fields = structs.schema.fields
    if structs.is_arrow:
        arrays = structs.array.flatten()
        return [FieldColumn(field.schema.as_optional(), array=a) for field, a in zip(fields, arrays, strict=True)]
    items = [item or {} for item in structs.items]
    return [FieldColumn(field.schema.as_optional(), [item.get(field.name) for item in items]) for field in fields]


def _joined(groups: list[tuple[Sequence[int], Values]], place: Mapping[int, int]) -> Values:
    moved: list[tuple[Sequence[int], Values]] = [([place[row] for row in rows], values) for rows, values in groups]
    return moved[0][1] if len(moved) == 1 else GroupedValues(len(place), moved)
