"""Drop the records that match a predicate (`transforms.<alias>.predicate`), without one all records: Filter.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.Filter (KIP-585)
"""

from __future__ import annotations

from typing import Any, TypeVar

from connect import Batch, Transformation

B = TypeVar("B", bound=Batch[Any])


class Filter(Transformation):
    """Drops every record."""

    pure = True

    def apply(self, record: Any) -> Any:
        return None

    def apply_batch(self, batch: B) -> B:
        return batch.slice(0, 0)
