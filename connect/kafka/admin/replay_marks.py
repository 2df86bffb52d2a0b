"""Which records of a topic were replayed: stored as the offsets of a consumer group without members.

The committed offset of a partition says that everything before it was replayed; its metadata lists the ranges behind it
that were: "812,815-820". Brokers delete an unused group after offsets.retention.minutes, seven days.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.answers import Committed
from connect.kafka.admin.group_notes import GroupNotes

#: offset.metadata.max.bytes of a broker, unless set.
_MOST_BYTES: Final = 4096
_RANGES: Final = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")


class Marks:
    """The marks of one topic. For one thread; close it.

    Args:
        worker, connector: their configurations, with secrets filled in.
        topic: whose records were replayed.
        group: that stores the marks.
    """

    def __init__(self, worker: Mapping[str, str], connector: Mapping[str, str], topic: str, group: str) -> None:
        self._notes = GroupNotes(worker, connector, group)
        self._topic = topic
        self._ranges: dict[int, list[tuple[int, int]]] = {}

    def close(self) -> None:
        """Close the client."""
        self._notes.close()

    def read(self) -> None:
        """Read the stored marks. Raises ConnectError."""
        self._ranges = {
            partition.partition: ([(0, at.offset)] if at.offset > 0 else []) + _parsed(at.metadata)
            for partition, at in self._notes.read().items()
            if partition.topic == self._topic
        }

    def has(self, partition: int, offset: int) -> bool:
        """Whether a record was replayed."""
        return any(begin <= offset < end for begin, end in self._ranges.get(partition, ()))

    def add(self, records: Iterable[tuple[int, int]]) -> None:
        """Mark records, by partition and offset, as replayed. Takes effect with `store`."""
        for partition, offset in records:
            self._ranges.setdefault(partition, []).append((offset, offset + 1))
        self._ranges = {partition: _joined(ranges) for partition, ranges in self._ranges.items()}

    def store(self, begins: Mapping[int, int]) -> None:
        """Store the marks.

        Args:
            begins: the first offset that each partition still has.

        Raises:
            ConnectError: the broker refuses, or too many scattered records are marked.
        """
        commits = {}
        for partition, ranges in self._ranges.items():
            first = begins.get(partition, 0)
            # What the topic has no more needs no mark.
            there = _joined([(0, first), *ranges]) if first else ranges
            low = there[0][1] if there and there[0][0] == 0 else 0
            text = ",".join(
                f"{begin}" if end == begin + 1 else f"{begin}-{end - 1}" for begin, end in there if begin >= low
            )
            if len(text) > _MOST_BYTES:
                raise ConnectError(
                    f"What was replayed of {self._topic}-{partition} is too scattered to be remembered: it may be"
                    " replayed again. Replay whole stretches, by --since and --until."
                )
            commits[TopicPartition(self._topic, partition)] = Committed(low, text)
        self._notes.write(commits)


def _parsed(text: str) -> list[tuple[int, int]]:
    if not text or not _RANGES.fullmatch(text):
        return []
    found = []
    for one in text.split(","):
        begin, _, last = one.partition("-")
        found.append((int(begin), int(last or begin) + 1))
    return found


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined
