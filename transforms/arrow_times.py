"""Times between their forms in Arrow columns: whole numbers of milliseconds since the epoch stand in the middle."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.data.times import DAY_MS

_FIRST_MS: Final = -62_135_596_800_000  # 0001-01-01
_LAST_MS: Final = 253_402_300_799_999  # 9999-12-31


def to_ms(array: pa.Array, source: str) -> pa.Array | None:
    """Milliseconds of a column of "unix" (milliseconds), "Timestamp", "Date" or "Time"; None for text."""
    match source:
        case "unix":
            return array
        case "Timestamp":
            return array.view(pa.int64())
        case "Date":
            return pc.multiply(array.view(pa.int32()).cast(pa.int64()), DAY_MS)
        case "Time":
            return array.view(pa.int32()).cast(pa.int64())
    return None


def from_ms(ms: pa.Array, target: str) -> pa.Array | None:
    """The column of a form, as `to_ms` names them; None for text, and for times that Python's types do not hold."""
    if target == "unix":
        return ms
    if target == "string":
        return None
    least, most = pc.min_max(ms).values()
    if least.is_valid and not (least.as_py() >= _FIRST_MS and most.as_py() <= _LAST_MS):
        return None
    if target == "Timestamp":
        return ms.view(pa.timestamp("ms", "UTC"))
    # Arrow divides towards zero, and days before 1970 count down.
    shifted = pc.subtract(ms, _FIRST_MS)
    days = pc.divide(shifted, DAY_MS)
    if target == "Date":
        return pc.add(days, _FIRST_MS // DAY_MS).cast(pa.int32()).view(pa.date32())
    return pc.subtract(shifted, pc.multiply(days, DAY_MS)).cast(pa.int32()).view(pa.time32("ms"))
