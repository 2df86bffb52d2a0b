"""Writes source offsets where they need no transaction: a producer of the task's own, beside that of its records."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from connect.errors import ConnectError
from connect.kafka.client_log import log as client_log
from connect.kafka.client_settings import client_settings

_SLICE_S = 0.2
#: Whatever a connector says of its records: an offset is written once, in order, and everywhere.
_MUST = {"acks": "all", "enable.idempotence": "true", "max.in.flight.requests.per.connection": "5"}
_NEVER = ("transactional.id", "retries", "delivery.timeout.ms", "linger.ms", "batch.size", "compression.type")


class OffsetProducer:
    """Called from one thread. The client is made when it is needed first.

    Args:
        topic: the offsets topic.
        java: the client's settings, under Java's keys: brokers, security.
    """

    def __init__(self, topic: str, java: Mapping[str, str]) -> None:
        self._topic = topic
        self._java = {key: value for key, value in java.items() if key not in _NEVER} | _MUST
        self._producer: Any = None

    def write(self, records: Sequence[tuple[bytes, bytes | None]], timeout: float) -> None:
        """Write keys and values in order; returns when all in-sync replicas have them.

        Raises:
            ConnectError: not within the timeout, in seconds; then some may be there. None is written later.
        """
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + timeout
        written = 0
        errors: list[str] = []

        def report(error: Any, _: Any) -> None:
            nonlocal written
            written += error is None
            if error is not None:
                errors.append(error.str())

        producer = self._made()
        try:
            for key, value in records:
                producer.produce(self._topic, value, key, on_delivery=report)
            while written + len(errors) < len(records) and time.monotonic() < deadline:
                producer.flush(_SLICE_S)
        except (KafkaException, BufferError) as error:
            cause = error.args[0] if error.args else error
            errors.append(str(cause.str()) if hasattr(cause, "str") else str(cause))
        if written < len(records):
            self.close()  # with all that is under way: the next ones are written by another client
            said = errors[0] if errors else f"no answer within {timeout:g} s"
            raise ConnectError(f"Topic {self._topic} does not take an offset: {said}")

    def close(self) -> None:
        """Forget what is under way."""
        if self._producer is not None:
            self._producer.purge()
            self._producer = None

    def _made(self) -> Any:
        if self._producer is None:
            from confluent_kafka import Producer

            settings = client_settings("producer", self._java).librdkafka
            self._producer = Producer({**settings, "linger.ms": 0, "logger": client_log})
        return self._producer
