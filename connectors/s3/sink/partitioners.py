"""Into which folder a record goes: Confluent's partitioners, over whole batches."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from connect import DataError, SinkBatch, Values
from connect.data.column import Column, Constant, Plain
from connectors.s3.sink.bad_rows import BadRows
from connectors.s3.sink.time_pattern import TimePattern

DAILY: Final = "'year'=YYYY/'month'=MM/'day'=dd"
HOURLY: Final = "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH"
DAY_MS: Final = 86_400_000
HOUR_MS: Final = 3_600_000


class Partitioner(Protocol):
    """Names a folder for each record, below the topic's."""

    def folders(self, batch: SinkBatch, times: Sequence[int] | None) -> Column[str]:
        """The folder of each row.

        Args:
            batch: the records.
            times: when they are, for those that go by time.

        Raises:
            BadRows: some records have no folder.
        """


class ByPartition:
    """A folder for each partition of the topic."""

    def folders(self, batch: SinkBatch, times: Sequence[int] | None) -> Column[str]:
        if batch.original_partitions.constant and len(batch):
            return Constant(f"partition={batch.original_partitions[0]}", len(batch))
        return Plain([f"partition={partition}" for partition in batch.original_partitions])


class ByField:
    """A folder for each value of some fields.

    Args:
        names: of the fields; dots lead into structs.
        delimiter: between the folders of several fields.
        with_names: whether a folder is ``name=value``, or the value alone.
    """

    def __init__(self, names: Sequence[str], delimiter: str, *, with_names: bool) -> None:
        self._names = names
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
        for row, value in enumerate(field_of(batch.values, name)):
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
    """A folder for each stretch of time.

    Args:
        pattern: of the folders' names.
    """

    def __init__(self, pattern: TimePattern) -> None:
        self._pattern = pattern

    def folders(self, batch: SinkBatch, times: Sequence[int] | None) -> Column[str]:
        assert times is not None
        try:
            found = self._pattern.all_of(list(times))
        except ValueError:
            bad: dict[int, Exception] = {}
            for row, time in enumerate(times):
                try:
                    self._pattern.all_of([time])
                except ValueError as error:
                    bad[row] = DataError(f"the record has no folder: {error}")
            raise BadRows(bad) from None
        return Constant(found[0], len(found)) if found and found.count(found[0]) == len(found) else Plain(found)


def _text(name: str, value: Any) -> str:
    if value is None:
        raise DataError(f'the field "{name}" of partition.field.name is missing, or null.')
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value.isoformat()
    raise _no_folder(name, value)


def _no_folder(name: str, value: Any) -> DataError:
    return DataError(
        f'the field "{name}" of partition.field.name is a {type(value).__name__}. Texts, whole numbers, booleans and '
        "dates can name a folder."
    )


def field_of(values: Values, name: str) -> Sequence[Any]:
    """The field's value in each row; None where there is none. A name with dots leads into structs and maps.

    A field whose own name has the dots is found first.
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
