"""How many of the waiting records a batch gets: by a limit of records, fairly, and by a rate."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from connect.data.record import TopicPartition


class Pace:
    """A limit of records a second; 0 for none."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._spent_until = -math.inf
        self._looked: float | None = None

    def allowed(self) -> float:
        """How many may be read now: the allowance since the last call, of a second at most."""
        if not self._per_second:
            return math.inf
        now = time.monotonic()
        looked = now if self._looked is None else self._looked
        self._spent_until = max(self._spent_until, min(looked, now - 1.0))
        self._looked = now
        return math.floor(max(0.0, now - self._spent_until) * self._per_second + 1e-6)  # a tenth of ten is one

    def spend(self, records: int) -> None:
        """This many of them are read."""
        if self._per_second:
            self._spent_until += records / self._per_second

    def wait(self) -> None:
        """Wait until one may be read; at most a second after the last allowance."""
        if self._per_second:
            time.sleep(max(0.0, self._spent_until + 1.0 / self._per_second - time.monotonic()))


def take(
    begin: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: float, turn: int = 0
) -> dict[TopicPartition, int]:
    """The end of each partition's share in a batch, such that no partition starves.

    Args:
        begin, ends: the offsets of the next record, and after the last.
        most: the maximum number of records. Each partition gets at least one, and of the rest a share in proportion to
            what waits; with more partitions than that, some get one record each, in rotation.
        turn: the rotation: increase it by the number of partitions that were returned last.
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
