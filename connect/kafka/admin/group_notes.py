"""Offsets of a group without members, each with a note in its metadata.

A connector that keeps its position elsewhere commits it to its group all the same, for lag tools, and notes that it
did: consumers and kafka-consumer-groups leave the metadata empty. A replay notes which records behind an offset are
done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.answers import AdminError, Committed
from connect.kafka.clients.settings import task_client_settings, task_java_settings

_TIMEOUT_S: Final = 20.0


class GroupNotes:
    """One group's offsets and notes. The group must have no members. Connects at the first request; close it.

    Args:
        worker, connector: configurations, with secrets filled in.
        group: its name; by default the connector's own.

    Raises:
        ConnectError: a client setting is wrong.
    """

    def __init__(self, worker: Mapping[str, str], connector: Mapping[str, str], group: str | None = None) -> None:
        from connect.kafka.admin.client import Admin

        self.group = group or str(task_client_settings("consumer", worker, connector).librdkafka["group.id"])
        self._admin = Admin(task_java_settings("admin", worker, connector), timeout=_TIMEOUT_S)

    def close(self) -> None:
        """Close the client."""
        self._admin.close()

    def read(self) -> dict[TopicPartition, Committed]:
        """All that is committed; empty where there is no such group. Raises ConnectError."""
        try:
            return self._admin.committed(self.group)
        except AdminError as error:
            raise ConnectError(f"The offsets of group {self.group} cannot be read: {error.words}.") from error

    def write(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Commit these.

        Raises:
            ConnectError: the group has members, or the broker refuses.
        """
        try:
            self._admin.commit(self.group, offsets)
        except AdminError as error:
            raise ConnectError(f"The offsets of group {self.group} cannot be reported: {error.words}.") from error
