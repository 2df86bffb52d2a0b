"""The Kafka clients of a source: created from the worker's and the connector's keys, on the driver and in executors."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from connect.errors import ConnectError
from connect.kafka.admin.answers import AdminError
from connect.kafka.admin.client import shared_admin
from connect.kafka.admin.new_topics import NewTopic, TopicMaker
from connect.kafka.admin.topic_creation import rules_of
from connect.kafka.clients.settings import Translated, task_client_settings, task_java_settings
from connect.kafka.reading.newest import NewestRecords
from connect.kafka.writing.produce import BatchProducer
from connect.kafka.writing.refusals import DeliveryError
from connect.kafka.writing.transactional import TransactionalProducer

log = logging.getLogger(__name__)

_OVERRIDE: Final = "producer.override."
_TIMEOUT: Final = "transaction.timeout.ms"
#: A transaction lasts as long as a writer's part of a batch. Brokers allow no more, unless they are told to.
_LONGEST_MS: Final = "900000"

Refused = Callable[[DeliveryError, Any], None]


def refuse(error: DeliveryError, _: Any) -> None:
    """A record that Kafka refuses fails its writer."""
    raise error


@dataclass(frozen=True)
class SourceClients:
    """Creates clients. Travels to the executors.

    Attributes:
        connector: its name.
        worker, config: the worker's and the connector's configuration, secrets filled in.
    """

    connector: str
    worker: Mapping[str, str] = field(repr=False)
    config: Mapping[str, str] = field(repr=False)

    def java(self) -> dict[str, str]:
        """The settings of producers, under Java's keys."""
        return task_java_settings("producer", self.worker, self.config)

    def producer(self, refused: Refused) -> BatchProducer:
        """A producer without transactions. Raises ClientSettingError."""
        settings = _told(task_client_settings("producer", self.worker, self.config))
        return BatchProducer(settings, _go_on, refused, self._topic_maker())

    def transactional(
        self, transactional_id: str, keep_going: Callable[[], None] = lambda: None, refused: Refused = refuse
    ) -> TransactionalProducer:
        """A producer of this transactional id, which is not claimed yet. Raises ClientSettingError."""
        forced = {"transactional.id": transactional_id, "enable.idempotence": "true"}
        if _TIMEOUT not in self.java():
            forced[_TIMEOUT] = _LONGEST_MS
        overrides = {_OVERRIDE + key: value for key, value in forced.items()}
        settings = _told(task_client_settings("producer", self.worker, {**self.config, **overrides}))
        return TransactionalProducer(settings, keep_going, refused, self._topic_maker())

    def check(self) -> None:
        """Raise ConnectError unless a broker answers a client with the login of producers."""
        try:
            shared_admin(self._login(), "connect-spark").cluster_id()
        except AdminError as error:
            raise ConnectError(f"Nothing can be written: {error.words}.") from error

    def newest(self, topic: str) -> NewestRecords:
        """Reads committed batches, with the login of their writers."""
        return NewestRecords(topic, self._login())

    def _login(self) -> dict[str, str]:
        own = ("bootstrap.servers", "security.", "ssl.", "sasl.", "client.dns.lookup")
        return {key: value for key, value in self.java().items() if key.startswith(own)}

    def make_topic(self, topic: NewTopic, keys: str) -> None:
        """Create a topic if it does not exist. Raises ConnectError, naming these keys."""
        TopicMaker(self._admin(), lambda _: topic, time.sleep, keys)(topic.name)

    def _topic_maker(self) -> TopicMaker | None:
        enabled = self.worker.get("topic.creation.enable", "true").strip().lower() != "false"
        rules = rules_of(self.config, enabled=enabled)
        return None if rules is None else TopicMaker(self._admin(), rules.new_topic, time.sleep)

    def _admin(self) -> dict[str, Any]:
        return dict(task_client_settings("admin", self.worker, self.config).librdkafka)


def _go_on() -> None:
    """Only Spark ends a task of an executor."""


def _told(settings: Translated) -> dict[str, Any]:
    for warning in settings.warnings:
        log.warning("%s", warning)
    return dict(settings.librdkafka)
