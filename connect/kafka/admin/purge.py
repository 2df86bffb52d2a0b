"""Deletes processed records of topics without a retention time: those before an offset (KIP-107)."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, Final

from connect.data.record import TopicPartition
from connect.kafka.clients.log import log as client_log

log = logging.getLogger("connect.kafka")

_EVERY_S: Final = 60.0
#: Errors that do not pass by themselves.
_REFUSALS: Final = ("AUTHORIZATION_FAILED", "POLICY_VIOLATION", "UNSUPPORTED_VERSION", "UNSUPPORTED_FEATURE")


class Purge:
    """Requests the deletion of records, once a minute at most, without waiting. For one thread.

    Args:
        settings: librdkafka's, for an admin client.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._admin: Any = None
        self._wanted: dict[TopicPartition, int] = {}
        self._asked: dict[TopicPartition, tuple[int, Any]] = {}  # with the answer
        self._due = 0.0

    def before(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Records before these offsets are no longer needed. A refusal is logged, and not retried; what passes is."""
        self._wanted.update({partition: offset for partition, offset in offsets.items() if offset > 0})
        if not self._wanted or time.monotonic() < self._due:
            return
        from confluent_kafka import TopicPartition as ClientPartition
        from confluent_kafka.admin import AdminClient

        for partition, (offset, answer) in self._asked.items():
            if not answer.done() or (error := answer.exception()) is None:
                continue
            if error.args[0].name().endswith(_REFUSALS):
                log.warning(
                    "Records that were tried again cannot be deleted from their retry topic, which grows: %s. Grant"
                    " DELETE on it to the connector's admin client, or set its retention.ms.",
                    error,
                )
                self._due = float("inf")
                return
            log.debug("%s: nothing was deleted: %s", partition, error)
            self._wanted.setdefault(partition, offset)
        if self._admin is None:
            settings: dict[str, Any] = {**self._settings, "logger": client_log}
            self._admin = AdminClient(settings)
        before = [ClientPartition(*partition, offset) for partition, offset in self._wanted.items()]
        answers = self._admin.delete_records(before)
        self._asked = {TopicPartition(p.topic, p.partition): (p.offset, answer) for p, answer in answers.items()}
        self._wanted.clear()
        self._due = time.monotonic() + _EVERY_S
