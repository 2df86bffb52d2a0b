"""Writes keys and values to one topic, without transactions: a task's source offsets, the history of configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connect.errors import ConnectError
from connect.kafka.clients.log import log as client_log
from connect.kafka.clients.settings import client_settings
from connect.kafka.writing.write_once import OutgoingRecord, refusal, write_once

#: Whatever a connector says of its own records: these are written once, in order, and everywhere.
_MUST = {"acks": "all", "enable.idempotence": "true", "max.in.flight.requests.per.connection": "5"}
_NEVER = ("transactional.id", "retries", "delivery.timeout.ms", "linger.ms", "batch.size", "compression.type")


class TopicProducer:
    """For one thread. The client is created on first use.

    Args:
        topic: to write to.
        java: the client's settings, under Java's keys: brokers, security.
    """

    def __init__(self, topic: str, java: Mapping[str, str]) -> None:
        self._topic = topic
        self._java = {key: value for key, value in java.items() if key not in _NEVER} | _MUST
        self._producer: Any = None

    def write(self, records: Sequence[tuple[bytes, bytes | None]], timeout: float) -> None:
        """Write keys and values in order; returns when all in-sync replicas have them.

        Raises:
            ConnectError: not within the timeout, in seconds; then some may be written. None is written later.
        """
        if self._producer is None:
            from confluent_kafka import Producer

            settings = client_settings("producer", self._java).librdkafka
            self._producer = Producer({**settings, "linger.ms": 0, "logger": client_log})
        outgoing = [OutgoingRecord(self._topic, key, value) for key, value in records]
        error = refusal(write_once(self._producer, outgoing, timeout))
        if error:
            self.close()  # with all that is under way: the next ones are written by another client
            raise ConnectError(f"Topic {self._topic} refuses a record: {error}")

    def close(self) -> None:
        """Drop unacknowledged writes."""
        if self._producer is not None:
            self._producer.purge()
            self._producer = None
