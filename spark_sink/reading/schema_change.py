"""Told by an executor to its driver, through Spark's error: records came that the query's schema does not hold."""

from __future__ import annotations

import re
from typing import Final

from connect.data.record import TopicPartition
from connect.errors import ConnectError

_FOUND: Final = re.compile(r"new fields at ([a-zA-Z0-9._-]+)-(\d+)@(\d+)")


class SchemaChanged(ConnectError):
    """The query ends and begins anew with a schema that holds the record at this place."""

    def __init__(self, topic: str, partition: int, offset: int) -> None:
        super().__init__(f"new fields at {topic}-{partition}@{offset}")
        self._origin = (topic, partition, offset)

    def __reduce__(self) -> tuple[type[SchemaChanged], tuple[str, int, int]]:
        return SchemaChanged, self._origin


def changed_at(error: BaseException) -> tuple[TopicPartition, int] | None:
    """Where the schema changed, if that is what an error of Spark's is about."""
    text = str(error)
    found = _FOUND.search(text) if "SchemaChanged" in text else None
    return None if found is None else (TopicPartition(found[1], int(found[2])), int(found[3]))
