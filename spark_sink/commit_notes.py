"""What a table's commit says of its rows: connector and offsets, in `userMetadata`, as JSON.

    {"connector": "orders", "offsets": {"orders": {"0": [0, 41], "1": [null, 12]}}}

For each partition of a topic the first and the last offset. `DESCRIBE HISTORY` shows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from connect.data.record import TopicPartition

#: For each partition the first and the last offset. The first is None where it is not known.
Ranges = Mapping[TopicPartition, tuple[int | None, int]]

#: So many partitions are named. Of others only the number is: a table's log is read by everybody.
MOST: Final = 100


def note(connector: str, ranges: Ranges) -> str:
    """The text for a commit."""
    offsets: dict[str, dict[str, tuple[int | None, int]]] = {}
    for partition in sorted(ranges)[:MOST]:
        offsets.setdefault(partition.topic, {})[str(partition.partition)] = ranges[partition]
    said: dict[str, object] = {"connector": connector, "offsets": offsets}
    if len(ranges) > MOST:
        said["partitions.not.listed"] = len(ranges) - MOST
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def covered(begin: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> Ranges:
    """The ranges between the offsets before and after a batch, without partitions that have no records in it."""
    found: dict[TopicPartition, tuple[int | None, int]] = {}
    for partition, offset in end.items():
        first = begin.get(partition)
        if first is not None and first > offset:  # the partition was made again
            first = None
        if offset > (first or 0):
            found[partition] = first, offset - 1
    return found
