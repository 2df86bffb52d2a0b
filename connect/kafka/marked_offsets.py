"""Offsets of a group that are a report: each carries a mark, so that what somebody else has set is told from it.

A connector that keeps its position elsewhere commits it to its group all the same, for lag tools. The mark lies in the
field of the committed offset that Kafka keeps for such notes; consumers and kafka-consumer-groups write it empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin_answers import AdminError, Committed
from connect.kafka.client_settings import task_client_settings, task_java_settings

_TIMEOUT_S: Final = 20.0


class Marked(NamedTuple):
    """An offset, and the mark of who wrote it; empty for consumers and tools."""

    offset: int
    mark: str


class MarkedOffsets:
    """One group's offsets. The group must have no members. Connects at the first question.

    Args:
        worker, connector: configurations, with secrets filled in.

    Raises:
        ConnectError: a client setting is wrong.
    """

    def __init__(self, worker: Mapping[str, str], connector: Mapping[str, str]) -> None:
        from connect.kafka.admin import Admin

        self.group = str(task_client_settings("consumer", worker, connector).librdkafka["group.id"])
        self._admin = Admin(task_java_settings("admin", worker, connector), timeout=_TIMEOUT_S)

    def read(self) -> dict[TopicPartition, Marked]:
        """All that is committed; empty where there is no such group. Raises ConnectError."""
        try:
            found = self._admin.committed(self.group)
        except AdminError as error:
            raise ConnectError(f"The offsets of group {self.group} cannot be read: {error.words}.") from error
        return {partition: Marked(at.offset, at.metadata) for partition, at in found.items()}

    def report(self, offsets: Mapping[TopicPartition, int], mark: str) -> None:
        """Commit these under a mark.

        Raises:
            ConnectError: the group has members, or the broker refuses.
        """
        try:
            self._admin.commit(
                self.group, {partition: Committed(offset, mark) for partition, offset in offsets.items()}
            )
        except AdminError as error:
            raise ConnectError(f"The offsets of group {self.group} cannot be reported: {error.words}.") from error
