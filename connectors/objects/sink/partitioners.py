"""The folder and the time of records: Confluent's partitioners and timestamp extractors, over whole batches."""

from __future__ import annotations

import datetime as dt
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from connect import DataError, Schema, SinkBatch, Type, Values
from connect.data.column import Column, Constant, Plain
from connect.data.times import DAY_MS, EPOCH_DAY, timestamp_ms
from connectors.objects.sink.bad_rows import BadRows
from connectors.objects.sink.time_pattern import TimePattern

DAILY: Final = "'year'=YYYY/'month'=MM/'day'=dd"
HOURLY: Final = "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH"
HOUR_MS: Final = 3_600_000

WALLCLOCK: Final = "wallclock"
RECORD: Final = "record"
RECORD_FIELD: Final = "recordfield"

#: The times of a batch's rows, in milliseconds since 1970. Raises `BadRows`.
Extractor = Callable[[SinkBatch], list[int]]


class Partitioner(Protocol):
    """Names a folder for each record, below the topic's.

    Attributes:
        made_from: see `connectors.objects.sink.object_names.ObjectNames`.
    """

    made_from: str

    def folders(self, batch: SinkBatch, times: Sequence[int] | None) -> Column[str]:
        """The folder of each row.

        Args:
            batch: the records.
            times: of the records, for partitioners that go by time.

        Raises:
            BadRows: some records have no folder.
        """


class ByPartition:
    """A folder for each partition of the topic."""

    made_from = ""

    def folders(self, batch: SinkBatch, times: Sequence[int] | None) -> Column[str]:
        if batch.original_partitions.constant and len(batch):
            return Constant(f"partition={batch.original_partitions[0]}", len(batch))
        return Plain([f"partition={partition}" for partition in batch.original_partitions])


class ByField:
    """A folder for each value of some fields.

    Args:
        names: the fields; dots lead into structs.
        delimiter: between the folders of several fields.
        with_names: whether a folder is ``name=value``, or the value alone.
    """

    def __init__(self, names: Sequence[str], delimiter: str, *, with_names: bool) -> None:
        self._names = names
        said = " and ".join(f'"{name}"' for name in names)
        self.made_from = (
            f" and from {said} (partition.field.name). Change the value by a transformation, or choose another field"
        )
        self._delimiter = delimiter
        self._with_names = with_names

    def folders(self, batch: SinkBatch, times: Sequence[int] | None) -> Column[str]:
        parts = [self._of(name, batch) for name in self._names]
        return Plain(parts[0] if len(parts) == 1 else list(map(self._delimiter.join, zip(*parts, strict=True))))

    def _of(self, name: str, batch: SinkBatch) -> list[str]:
        start = f"{name}=" if self._with_names else ""
        known: dict[tuple[type, Any], str] = {}
        found: list[str] = []
        bad: dict[int, Exception] = {}
        schemas = batch.values.schemas
        for row, value in enumerate(field_of(batch.values, name)):
            if value is None and _is_text(schemas[row], name):
                value = "null"  # noqa: PLW2901 - as in Java, where only texts may be null
            kind = type(value)
            if kind is dict or kind is list:
                bad[row] = _no_folder(name, value)
                continue
            text = known.get((kind, value))
            if text is None:
                try:
                    text = known[kind, value] = start + _text(name, value)
                except DataError as error:
                    bad[row] = error
                    continue
            found.append(text)
        if bad:
            raise BadRows(bad)
        return found


class ByTime:
    """A folder for each period of time.

    Args:
        pattern: of the folders' names.
    """

    made_from = ""

    def __init__(self, pattern: TimePattern) -> None:
        self._pattern = pattern

    def folders(self, batch: SinkBatch, times: Sequence[int] | None) -> Column[str]:
        assert times is not None
        found = formatted(self._pattern, times)
        return Constant(found[0], len(found)) if found and found.count(found[0]) == len(found) else Plain(found)


def formatted(pattern: TimePattern, times: Sequence[int]) -> list[str]:
    """Each time by a pattern. Raises `BadRows` for times outside the range of dates."""
    try:
        return pattern.all_of(list(times))
    except ValueError:
        bad: dict[int, Exception] = {}
        for row, time in enumerate(times):
            try:
                pattern.all_of([time])
            except ValueError as error:
                bad[row] = DataError(f"the record has no folder: {error}")
        raise BadRows(bad) from None


def _is_text(schema: Schema | None, name: str) -> bool:
    """Whether a field of a struct is a text."""
    field = schema.field(name) if schema is not None and schema.type is Type.STRUCT else None
    return field is not None and field.schema.type is Type.STRING


def _text(name: str, value: Any) -> str:
    if value is None:
        raise DataError(f'the field "{name}" of partition.field.name is missing or null.')
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value.isoformat()
    raise _no_folder(name, value)


def _no_folder(name: str, value: Any) -> DataError:
    return DataError(
        f'the field "{name}" of partition.field.name is a {type(value).__name__}. Strings, integers, booleans and '
        "dates can name a folder."
    )


def field_of(values: Values, name: str) -> Sequence[Any]:
    """The field's value in each row; None if it is missing. A name with dots leads into structs and maps.

    A field whose own name contains the dots takes precedence.
    """
    columns = values.struct_columns
    if columns is not None:
        if columns.struct.field(name) is not None:
            return columns.field(name).items
        first, dot, rest = name.partition(".")
        if dot and columns.struct.field(first) is not None:
            return [_within(item, rest) for item in columns.field(first).items]
        return [None] * len(values)
    return [_within(item, name) for item in values]


def _within(item: Any, name: str) -> Any:
    if not isinstance(item, Mapping):
        return None
    if name in item:
        return item[name]
    first, dot, rest = name.partition(".")
    return _within(item.get(first), rest) if dot else None


def extractor(kind: str, field: str) -> Extractor:
    """The function that returns the times of a batch's records.

    Args:
        kind: one of the constants above.
        field: for RECORD_FIELD, its name; dots lead into structs.
    """
    if kind == WALLCLOCK:
        return lambda batch: [int(time.time() * 1000)] * len(batch)
    if kind == RECORD:
        return _of_records
    return lambda batch: _of_field(batch.values, field)


def _of_records(batch: SinkBatch) -> list[int]:
    times = batch.timestamps.to_list()
    missing = DataError("the record has no timestamp. Use timestamp.extractor=RecordField or Wallclock.")
    if None in times:
        raise BadRows({row: missing for row, each in enumerate(times) if each is None})
    return times  # type: ignore[return-value]


def _of_field(values: Values, field: str) -> list[int]:
    found: list[int] = []
    bad: dict[int, Exception] = {}
    for row, value in enumerate(field_of(values, field)):
        try:
            found.append(value if type(value) is int else _milliseconds(value, field))
        except DataError as error:
            bad[row] = error
    if bad:
        raise BadRows(bad)
    return found


def _milliseconds(value: Any, field: str) -> int:
    if isinstance(value, bool) or value is None:
        said = "nothing" if value is None else "a boolean"
        raise DataError(f'the field "{field}" of timestamp.field holds {said} instead of a time.')
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return int(value)
    if isinstance(value, dt.datetime):
        return timestamp_ms(value)
    if isinstance(value, dt.date):
        return (value.toordinal() - EPOCH_DAY) * DAY_MS
    if isinstance(value, str):
        try:
            moment = dt.datetime.fromisoformat(value)
        except ValueError:
            raise DataError(
                f'the field "{field}" of timestamp.field holds a string that is not an ISO 8601 timestamp.'
            ) from None
        return _milliseconds(moment, field)
    raise DataError(f'the field "{field}" of timestamp.field is a {type(value).__name__}, not a time.')
