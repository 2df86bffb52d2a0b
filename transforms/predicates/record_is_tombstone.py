"""Records without a value: RecordIsTombstone."""

from __future__ import annotations

from typing import Any

from connect import Batch, Predicate


class RecordIsTombstone(Predicate):
    """True for records whose value is null."""

    def test(self, record: Any) -> bool:
        return record.value is None

    def test_batch(self, batch: Batch[Any]) -> list[bool]:
        if batch.values.struct_columns is not None:  # no row of such columns is null
            return [False] * len(batch)
        return [value is None for value in batch.values]
