"""What of the waiting rows a table does not have yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from connect.data.record import TopicPartition
from spark_sink.rows.waiting import Part, Waiting


class Pending(NamedTuple):
    """What to commit.

    Attributes:
        offsets: for each partition the new offset.
        parts: the rows.
    """

    offsets: dict[TopicPartition, int]
    parts: list[Part]


def new_offsets(
    waiting: Waiting, positions: Mapping[TopicPartition, int], *, all_of_them: bool
) -> dict[TopicPartition, int]:
    """For each partition the offset behind its last record.

    Args:
        waiting: rows.
        positions: of partitions, dropped records included.
        all_of_them: whether partitions without rows count.
    """
    offsets = {p: max(last + 1, positions.get(p, 0)) for p, (_, last) in waiting.spans().items()}
    return {**positions, **offsets} if all_of_them else offsets


def pending(
    waiting: Waiting, offsets: Mapping[TopicPartition, int], known: Callable[[TopicPartition], int | None]
) -> Pending:
    """The part that is new to a table.

    Args:
        waiting: rows.
        offsets: see `new_offsets`.
        known: the offset that the table has of a partition, if any.
    """
    done = {partition: at for partition in offsets if (at := known(partition)) is not None}
    new = {partition: offset for partition, offset in offsets.items() if offset > done.get(partition, -1)}
    firsts = {partition: first for partition, (first, _) in waiting.spans().items()}
    behind = {p: done[p] for p, first in firsts.items() if first < done.get(p, 0)}
    return Pending(new, waiting.from_offsets(behind) if new else [])
