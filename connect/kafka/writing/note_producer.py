"""Writes small notes beside the records of a task, to any cluster: the newest of each key counts, none is awaited."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from connect.kafka.clients.log import log as client_log

log = logging.getLogger("connect.kafka")

#: So many may be under way; of what waits behind them only the newest of each key is kept.
_UNDER_WAY: Final = 100
_FLUSH_S: Final = 2.0


class NoteProducer:
    """For one thread. While a cluster is unavailable it keeps one note of each key, no more.

    Args:
        settings: librdkafka's, of a producer.
        topic: for the notes, in partition 0.
        name: of the cluster in the log.
    """

    def __init__(self, settings: Mapping[str, Any], topic: str, name: str) -> None:
        from confluent_kafka import Producer

        self._topic = topic
        self._name = name
        self._waiting: dict[bytes, bytes] = {}
        self._under_way = 0
        self._problem = ""
        self._producer: Any = Producer({**settings, "error_cb": self._on_error, "logger": client_log})

    def write(self, key: bytes, value: bytes) -> None:
        """Write a note, now or when others are acknowledged."""
        self._waiting.pop(key, None)  # to the end of the line
        self._waiting[key] = value
        self._send()

    def serve(self) -> None:
        """Send waiting notes, up to the limit of unacknowledged ones."""
        if self._waiting or self._under_way:
            self._producer.poll(0)
            self._send()

    def _send(self) -> None:
        while self._waiting and self._under_way < _UNDER_WAY:
            key = next(iter(self._waiting))
            self._producer.produce(self._topic, self._waiting.pop(key), key, 0, self._report)
            self._under_way += 1

    def close(self) -> None:
        """Send waiting notes, within two seconds, and drop the rest."""
        self.serve()
        self._producer.flush(_FLUSH_S)
        self.serve()
        if self._producer.flush(_FLUSH_S) if self._under_way else 0:
            log.warning("%s: notes for topic %s were not written", self._name, self._topic)
            self._producer.purge()

    def _report(self, error: Any, _: Any) -> None:
        self._under_way -= 1
        if error is not None and error.name() not in ("_PURGE_QUEUE", "_PURGE_INFLIGHT"):
            self._on_error(error)

    def _on_error(self, error: Any) -> None:
        if error.str() != self._problem:
            self._problem = error.str()
            log.warning("%s: topic %s refuses notes: %s", self._name, self._topic, error.str())
