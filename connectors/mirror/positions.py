"""Source partitions and offsets of copied partitions, in MirrorMaker 2's form: one continues where the other was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from connect import ConnectError
from connect.data.record import TopicPartition


def source_partition(alias: str, partition: TopicPartition) -> dict[str, Any]:
    """The source partition of one partition of the cluster of this alias."""
    return {"cluster": alias, "partition": partition.partition, "topic": partition.topic}


def next_offset(stored: Mapping[str, Any] | None) -> int | None:
    """Where to continue after a stored offset, which is that of the last record; None where there is none."""
    last = None if stored is None else stored.get("offset")
    return None if last is None or int(last) < 0 else int(last) + 1


def written(partitions: Iterable[TopicPartition]) -> str:
    """In the form of a task's configuration."""
    return ",".join(f"{partition.topic}-{partition.partition}" for partition in partitions)


def partitions(listed: Iterable[str]) -> list[TopicPartition]:
    """From a task's configuration."""
    found = []
    for text in listed:
        topic, _, partition = text.rpartition("-")
        found.append(TopicPartition(topic, int(partition)))
    return found


def check(partition: Mapping[str, Any], offset: Mapping[str, Any] | None, alias: str) -> None:
    """Refuse offsets that no task would read or write, but to remove one. Raises ConnectError."""
    if offset is None:
        return
    number = partition.get("partition")
    right = (
        set(partition) == {"cluster", "partition", "topic"}
        and isinstance(partition["topic"], str)
        and isinstance(number, int)
        and not isinstance(number, bool)
        and number >= 0
    )
    if not right or partition["cluster"] != alias:
        raise ConnectError(
            f'A source partition reads {{"cluster": "{alias}", "partition": 0, "topic": "name"}}; this is'
            f" {dict(partition)}."
        )
    last = offset.get("offset")
    if set(offset) != {"offset"} or not isinstance(last, int) or isinstance(last, bool) or last < 0:
        raise ConnectError(
            f'An offset reads {{"offset": 12}}, the number of the last record that was copied; this is {dict(offset)}.'
        )
