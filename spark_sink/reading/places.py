"""Where reading begins and ends in each partition, as options and keys say it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from connect.data.record import TopicPartition
from connect.kafka.reading.topic_ends import TopicEnds
from spark_sink.reading.plan import OffsetMap, as_offsets

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
#: What stands for these two in the place of one partition's offset, as in Spark's own Kafka source.
_LATEST, _EARLIEST = -1, -2


def places(
    ends: TopicEnds,
    written: str,
    timestamp: int | None,
    otherwise: Callable[[list[TopicPartition]], dict[TopicPartition, int]],
) -> dict[TopicPartition, int]:
    """An offset for each partition.

    Args:
        ends: of the topics.
        written: as `spark_sink.running_keys.check_places` has it.
        timestamp: in milliseconds since 1970, instead of that: the first record of this time or later, else the end.
        otherwise: of partitions that `written` does not name.

    Raises:
        ConnectError: the brokers do not answer.
    """
    partitions = ends.partitions()
    if timestamp is not None:
        found = ends.at(dict.fromkeys(partitions, timestamp))
        return {**ends.ends(partitions), **{partition: offset for partition, offset in found.items() if offset >= 0}}
    if written == EARLIEST:
        return ends.begins(partitions)
    if written == LATEST:
        return ends.ends(partitions)
    named: OffsetMap = json.loads(written)
    told = {partition: offset for partition, offset in as_offsets(named).items() if partition in set(partitions)}
    return {
        **otherwise([partition for partition in partitions if partition not in told]),
        **{partition: offset for partition, offset in told.items() if offset >= 0},
        **ends.begins([partition for partition, offset in told.items() if offset == _EARLIEST]),
        **ends.ends([partition for partition, offset in told.items() if offset == _LATEST]),
    }
