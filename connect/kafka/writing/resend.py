"""Writes single records exactly: with the given key, value, headers, timestamp and partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect.kafka.clients.log import log as client_log
from connect.kafka.clients.override_rules import of_questions
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.writing.write_once import Outcome, OutgoingRecord, write_once

#: Unlike a task, whoever waits here is told when a broker does not take a record.
_PATIENCE_MS: Final = 30_000
_PATIENCE_S: Final = _PATIENCE_MS / 1000 + 5


class Resender:
    """Writes records with the settings of a connector's own producer. For one thread; close it.

    Args:
        worker, connector: their configurations, with secrets filled in.

    Raises:
        ConnectError: a client setting is wrong.
    """

    def __init__(self, worker: Mapping[str, str], connector: Mapping[str, str]) -> None:
        from confluent_kafka import Producer

        given = task_client_settings("producer", worker, of_questions(connector)).librdkafka
        own: dict[str, Any] = {"message.timeout.ms": _PATIENCE_MS, "transactional.id": None, "logger": client_log}
        settings = {key: value for key, value in {**given, **own}.items() if value is not None}
        self._producer = Producer(settings)

    def write(self, records: Sequence[OutgoingRecord]) -> list[Outcome]:
        """Write records and return the outcome of each. One without a code was not answered in time."""
        return write_once(self._producer, records, _PATIENCE_S)

    def close(self) -> None:
        """Drop unacknowledged records."""
        self._producer.purge(in_queue=True, in_flight=True)
        self._producer.flush(1)
