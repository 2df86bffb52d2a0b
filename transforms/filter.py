"""Drop records: Filter. Which ones, its predicate says (`transforms.<alias>.predicate`); without one, all.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.Filter (KIP-585)
"""

from __future__ import annotations

from typing import Any, TypeVar

from connect import Batch, Transformation

B = TypeVar("B", bound=Batch[Any])


class Filter(Transformation):
    """Drops every record that it is given."""

    pure = True

    def apply(self, record: Any) -> Any:
        return None

    def apply_batch(self, batch: B) -> B:
        return batch.slice(0, 0)
