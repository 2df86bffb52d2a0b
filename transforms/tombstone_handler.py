"""Drop or refuse tombstones, as Confluent's TombstoneHandler does.

https://docs.confluent.io/platform/current/connect/transforms/tombstonehandler.html
"""

from __future__ import annotations

import logging
from typing import Any, TypeVar

from connect import Batch, DataError, Transformation, Values, settings
from connect.data.values import Text
from connect.settings import Config

log = logging.getLogger(__name__)

B = TypeVar("B", bound=Batch[Any])


class TombstoneHandler(Transformation):
    """Drops records whose value is null, with or without a schema, or refuses them. Others pass unchanged.

    A batch is checked as a column, and logs one line for all of its tombstones.
    """

    pure = True
    settings = settings.define(
        settings.String(
            "behavior",
            default="warn",
            validator=settings.one_of("ignore", "warn", "fail", ignore_case=True),
            doc="What to do with a record whose value is null: ignore (drop it, with a line at DEBUG), warn (drop it, "
            "with a line at WARN), fail (the record goes to the error policy).",
        )
    )

    def configure(self, config: Config) -> None:
        behavior = config["behavior"].lower()
        self._fail = behavior == "fail"
        self._level = logging.WARNING if behavior == "warn" else logging.DEBUG

    def apply(self, record: Any) -> Any:
        if record.value is not None:
            return record
        self._handle(record.topic, 1)
        return None

    def apply_batch(self, batch: B) -> B:
        dead = _nulls(batch.values)
        if not dead:
            return batch
        self._handle(", ".join(dict.fromkeys(batch.topics[row] for row in sorted(dead))), len(dead))
        return batch.take([row for row in range(len(batch)) if row not in dead])

    def _handle(self, topics: str, count: int) -> None:
        if self._fail:
            raise DataError(
                f"A record of {topics} is a tombstone (its value is null), which behavior=fail refuses. "
                "Set behavior=warn or ignore to drop them."
            )
        log.log(self._level, "Dropped %d tombstone%s of %s.", count, "" if count == 1 else "s", topics)


def _nulls(values: Values) -> set[int]:
    """The rows that are null. Columns of structs and encoded strings are not decoded for that."""
    found: set[int] = set()
    for rows, group in values.groups():
        if group.struct_columns is None:  # no row of such columns is null
            items = group.encoded() if isinstance(group, Text) else group.to_list()
            found.update(row for row, item in zip(rows, items, strict=True) if item is None)
    return found
