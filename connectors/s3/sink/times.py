"""When records are: the clock of now, their own timestamp, or a field of theirs, in milliseconds since the epoch."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from typing import Any, Final

from connect import DataError, SinkBatch, Values
from connect.data.times import EPOCH_DAY
from connectors.s3.sink.bad_rows import BadRows
from connectors.s3.sink.partitioners import field_of

WALLCLOCK: Final = "wallclock"
RECORD: Final = "record"
RECORD_FIELD: Final = "recordfield"

#: Times of the rows of a batch. Raises `BadRows`.
Extractor = Callable[[SinkBatch], list[int]]


def extractor(kind: str, field: str) -> Extractor:
    """What tells the times of a batch's records.

    Args:
        kind: one of the words above.
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
        raise DataError(f'the field "{field}" of timestamp.field holds {said}, no time.')
    if isinstance(value, int):
        return value
    if isinstance(value, dt.datetime):
        return round((value if value.tzinfo else value.replace(tzinfo=dt.UTC)).timestamp() * 1000)
    if isinstance(value, dt.date):
        return (value.toordinal() - EPOCH_DAY) * 86_400_000
    if isinstance(value, str):
        try:
            moment = dt.datetime.fromisoformat(value)
        except ValueError:
            raise DataError(
                f'the field "{field}" of timestamp.field holds a text that is no time of ISO 8601.'
            ) from None
        return _milliseconds(moment, field)
    raise DataError(f'the field "{field}" of timestamp.field is a {type(value).__name__}, which is no time.')
