"""The position of reading in each shard.

The source partition is `{"index": "orders", "shard": 0}`. Offsets are `{"uuid": "...", "seq_no": 12}`; with
`incrementing.field.name` `{"uuid": "...", "field": "updated_at", "value": 1700000000000, "seq_no": 12}`: the value of
the last document as the cluster sorts by it (dates are milliseconds, date_nanos nanoseconds since 1970), and its
sequence number, which distinguishes it from others with the same value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

UUID: Final = "uuid"
FIELD: Final = "field"
VALUE: Final = "value"
SEQ_NO: Final = "seq_no"
#: Higher than any sequence number: behind all documents of a value.
BEHIND_ALL: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Position:
    """The last document that was read in a shard.

    Attributes:
        seq_no: of the document; -1 for none.
        value: of the cursor's field; None for none, and where there is no such field.
    """

    seq_no: int = -1
    value: Any = None

    @property
    def search_after(self) -> list[Any]:
        """Its position in the order of a shard's documents; empty for the beginning."""
        if self.value is not None:
            return [self.value, self.seq_no]
        return [self.seq_no] if self.seq_no >= 0 else []


def stored(uuid: str, field: str, sort: list[Any]) -> dict[str, Any]:
    """The offset of a document of this index, by its position in the order of the shard's documents."""
    if field:
        return {UUID: uuid, FIELD: field, VALUE: sort[0], SEQ_NO: sort[1]}
    return {UUID: uuid, SEQ_NO: sort[0]}


def of(offset: Mapping[str, Any] | None, uuid: str, field: str) -> tuple[Position, str]:
    """The position in a stored offset, and why it is unusable, if so."""
    if not offset:
        return Position(), ""
    if offset.get(UUID) not in (uuid, None):
        return Position(), "the index was deleted and made again since"
    if (offset.get(FIELD) or "") != field:
        return Position(), "incrementing.field.name is another one than before"
    return Position(int(offset.get(SEQ_NO, -1)), offset.get(VALUE)), ""


def problem(offset: Mapping[str, Any]) -> str | None:
    """The error of an offset that a user sets; None for none."""
    if unknown := sorted(set(offset) - {UUID, FIELD, VALUE, SEQ_NO}):
        return f'an offset has no "{unknown[0]}". Write {{"seq_no": 12}}'
    number = offset.get(SEQ_NO, -1)
    if not isinstance(number, int) or isinstance(number, bool):
        return f'"{SEQ_NO}" is a whole number'
    if (offset.get(FIELD) is None) != (offset.get(VALUE) is None):
        return f'"{FIELD}" and "{VALUE}" belong together'
    if not isinstance(offset.get(VALUE), str | int | float | None):
        return f'"{VALUE}" is a number or a text'
    return None
