"""Offsets of a group that are a report: each carries a mark, so that what somebody else has set is told from it.

A connector that keeps its position elsewhere commits it to its group all the same, for lag tools. The mark lies in the
field of the committed offset that Kafka keeps for such notes; consumers and kafka-consumer-groups write it empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.client_log import log as client_log
from connect.kafka.client_settings import task_client_settings

_TIMEOUT_S: Final = 20.0


class Marked(NamedTuple):
    """An offset, and the mark of who wrote it; empty for consumers and tools."""

    offset: int
    mark: str


class MarkedOffsets:
    """One group's offsets. The group must have no members. Hold it: making it connects to the brokers.

    Args:
        worker, connector: configurations, with secrets filled in.

    Raises:
        ConnectError: a client setting is wrong.
    """

    def __init__(self, worker: Mapping[str, str], connector: Mapping[str, str]) -> None:
        from confluent_kafka.admin import AdminClient

        settings = task_client_settings("admin", worker, connector).librdkafka
        self.group = str(task_client_settings("consumer", worker, connector).librdkafka["group.id"])
        own: dict[str, Any] = {**settings, "logger": client_log}
        self._admin: Any = AdminClient(own)

    def read(self) -> dict[TopicPartition, Marked]:
        """All that is committed; empty where there is no such group. Raises ConnectError."""
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

        try:
            asked = self._admin.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(self.group)], request_timeout=_TIMEOUT_S
            )
            found = asked[self.group].result().topic_partitions
        except KafkaException as error:
            raise ConnectError(f"The offsets of group {self.group} cannot be read: {error.args[0].str()}") from error
        return {
            TopicPartition(place.topic, place.partition): Marked(place.offset, place.metadata or "")
            for place in found
            if place.offset >= 0
        }

    def report(self, offsets: Mapping[TopicPartition, int], mark: str) -> None:
        """Commit these under a mark.

        Raises:
            ConnectError: the group has members, or the broker refuses.
        """
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
        from confluent_kafka import TopicPartition as Place

        if not offsets:
            return
        # The client's stubs leave out that a place may carry a note.
        noted: Any = Place
        places = [noted(place.topic, place.partition, offset, metadata=mark) for place, offset in offsets.items()]
        try:
            asked = self._admin.alter_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(self.group, places)], request_timeout=_TIMEOUT_S
            )
            errors = [place.error for place in asked[self.group].result().topic_partitions if place.error is not None]
        except KafkaException as error:
            errors = [error.args[0]]
        if errors:
            raise ConnectError(f"The offsets of group {self.group} cannot be reported: {errors[0].str()}")
