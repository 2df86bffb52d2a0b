"""Reads one partition from where a group stands, and notes that position: the group needs no members."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final

from connect.errors import RetriableError
from connect.kafka.clients.settings import client_settings

log = logging.getLogger("connect.kafka")

_MOST: Final = 1000


class KeptPosition:
    """A partition and a position in it. For one thread.

    Args:
        java: Java's settings of the consumer, with bootstrap.servers and group.id.
        topic, partition: which. The topic need not exist.

    Raises:
        ClientSettingError: a setting is wrong.
    """

    def __init__(self, java: Mapping[str, str], topic: str, partition: int = 0) -> None:
        from confluent_kafka import Consumer, TopicPartition

        settings = client_settings("consumer", java).librdkafka
        own = {"enable.auto.commit": False, "auto.offset.reset": "earliest", "allow.auto.create.topics": False}
        self._consumer = Consumer({**settings, **own, "logger": log, "error_cb": self._note})
        self._consumer.assign([TopicPartition(topic, partition)])  # where the group stands
        self._topic = topic
        self._partition = partition
        self._trouble = ""

    def read(self) -> Iterator[tuple[int, bytes | None, bytes | None]]:
        """Offset, key and value of each record that has come; waits for none.

        Raises:
            RetriableError: nothing has come, and the partition cannot be read.
        """
        self._trouble = ""
        found = False
        for message in self._consumer.consume(_MOST, 0):
            if error := message.error():
                self._trouble = error.str()
            elif (offset := message.offset()) is not None:
                found = True
                yield offset, message.key(), message.value()
        if self._trouble and not found:
            raise RetriableError(f"the topic {self._topic} cannot be read: {self._trouble}.")

    def note(self, offset: int) -> None:
        """The next reader begins here. Returns at once; a position that is not stored is said in the log."""
        from confluent_kafka import KafkaException, TopicPartition

        try:
            position = TopicPartition(self._topic, self._partition, offset)
            self._consumer.commit(offsets=[position], asynchronous=True)
        except KafkaException as error:
            log.warning("The position in %s is not stored: %s", self._topic, error)

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()

    def _note(self, error: Any) -> None:
        """Called by the client while it is polled."""
        if error.name() == "_ALL_BROKERS_DOWN":
            self._trouble = error.str()
