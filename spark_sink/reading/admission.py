"""How much of what waits is admitted to a batch: by a limit of records, fairly, and by a pace."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from connect.data.record import TopicPartition


class Pace:
    """How many records may be read when, if only so many may be read in a second; 0 for any number."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._spent_until = -math.inf
        self._looked: float | None = None

    def allowed(self) -> float:
        """How many may be read now: what was saved up since somebody asked last, or within the last second."""
        if not self._per_second:
            return math.inf
        now = time.monotonic()
        looked = now if self._looked is None else self._looked
        self._spent_until = max(self._spent_until, min(looked, now - 1.0))
        self._looked = now
        return math.floor(max(0.0, now - self._spent_until) * self._per_second + 1e-6)  # a tenth of ten is one

    def spend(self, records: int) -> None:
        """So many of them are read."""
        if self._per_second:
            self._spent_until += records / self._per_second

    def wait(self) -> None:
        """Return when one may be read; that is within a second of what was allowed last."""
        if self._per_second:
            time.sleep(max(0.0, self._spent_until + 1.0 / self._per_second - time.monotonic()))


def take(
    begin: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: float, turn: int = 0
) -> dict[TopicPartition, int]:
    """Up to where partitions are read of which records wait, so that none is left behind.

    Args:
        begin, ends: the offsets of the next record, and after the last.
        most: how many records at most. Of each partition at least one, and of what is left the same share of what
            waits; where there are more partitions than that, one record of each whose turn it is.
        turn: goes on by the number of partitions that were returned last.
    """
    waiting = {partition: end - begin[partition] for partition, end in sorted(ends.items()) if end > begin[partition]}
    whole = sum(waiting.values())
    if whole <= most:
        return {partition: ends[partition] for partition in waiting}
    partitions, most = list(waiting), int(most)
    if most < len(partitions):
        at = turn % len(partitions)
        return {partition: begin[partition] + 1 for partition in (partitions[at:] + partitions[:at])[:most]}
    spare, others = most - len(partitions), whole - len(partitions)
    return {partition: begin[partition] + 1 + (count - 1) * spare // others for partition, count in waiting.items()}
