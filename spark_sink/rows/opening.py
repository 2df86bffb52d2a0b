"""The beginning of a task whose only table knows up to where it is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from connect.api.sink import Offsets, SinkTaskContext
from connect.data.record import TopicPartition


class TableWithOffsets(Protocol):
    """A table that takes rows and their offsets in the same commit."""

    def look(self) -> bool:
        """Read what is new in it. Returns whether it exists."""

    def offset(self, partition: TopicPartition) -> int | None:
        """The offset after the last record of a partition that is in the table; None when it has none."""

    def claim(self, partitions: Iterable[TopicPartition]) -> None:
        """Take over partitions: from now on, commits of their earlier owners are refused."""

    def expect_nobody(self, partitions: Iterable[TopicPartition]) -> None:
        """Note partitions to take over in a table that does not exist yet."""


def taken_over(
    table: TableWithOffsets, partitions: Sequence[TopicPartition], context: SinkTaskContext
) -> Offsets | None:
    """Take over partitions in the table: what `SinkTask.open` returns. Errors as the table's."""
    if not table.look():
        table.expect_nobody(partitions)
        return None
    table.claim(partitions)
    found = {partition: table.offset(partition) for partition in partitions}
    known = {partition: offset for partition, offset in found.items() if offset is not None}
    # The group is ahead where a user moved it, where another engine has written in the meantime, or where the last
    # records were all left out.
    group = context.committed(*known)
    return {partition: max(offset, group.get(partition, 0)) for partition, offset in known.items()}
