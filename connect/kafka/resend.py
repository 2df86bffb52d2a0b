"""Writing single records to topics to the letter: key, value, headers, timestamp and partition as they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from connect.errors import ConnectError
from connect.kafka.client_log import log as client_log
from connect.kafka.client_settings import task_client_settings
from connect.kafka.override_rules import of_questions

#: Unlike a task, whoever waits here is told when a broker does not take a record.
_PATIENCE_MS: Final = 30_000

#: Told the partition and the offset of a record, or why it was refused.
Report = Callable[[int, int, str | None], None]


class Resender:
    """Writes records with the settings that a connector's own producer has. Called from one thread; close it.

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

    def send(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
        timestamp: int | None,
        report: Report,
    ) -> None:
        """Hand a record to the client.

        Args:
            partition: None leaves it to the partitioner, which goes by the key as Java's does.
            timestamp: milliseconds; None is now. 0, which the client takes for now, becomes 1.
            report: called from `flush` or `send`.
        """
        from confluent_kafka import KafkaException

        def told(error: Any, message: Any) -> None:
            report(message.partition(), message.offset(), None if error is None else f"{error.str()} ({error.name()})")

        at = 0 if timestamp is None else timestamp or 1
        where = -1 if partition is None else partition
        while True:
            try:
                self._producer.produce(topic, value, key, where, told, None, at, list(headers) or None)
                break
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                report(where, -1, f"{error.args[0].str()} ({error.args[0].name()})")
                break
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until each record is acknowledged or refused. Raises ConnectError when that takes too long."""
        if self._producer.flush(_PATIENCE_MS / 1000 + 5):
            raise ConnectError("The brokers do not answer; some records may or may not have been written.")

    def close(self) -> None:
        """Throw away what is under way."""
        self._producer.purge(in_queue=True, in_flight=True)
        self._producer.flush(1)
