"""What a sink task has for records that fail, as its connector's errors.* keys ask for it, with clients of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable

from connect.data.record import SinkRecord
from connect.kafka.client_settings import task_client_settings
from connect.kafka.new_topics import NewTopic, TopicMaker
from connect.kafka.produce import BatchProducer, DeliveryError
from connect.pipeline import ErrorPolicy
from connect.pipeline.build import record_encoder
from connect.pipeline.dead_letters import DeadLetterSettings, Letter
from connect.plugins import Plugins
from connect.worker.control import Control
from connect.worker.dead_letter_queue import DeadLetterQueue, new_topic
from connect.worker.errant import PolicyReporter
from connect.worker.messages import TaskSpec
from connect.worker.side_topics import SideTopics

log = logging.getLogger("connect.worker.sink")


class Aside:
    """Where records of one task go that the error policy takes.

    Attributes:
        topics: writes them; None where there is no such place.
    """

    topics: SideTopics | None = None

    def __init__(self, task: TaskSpec, policy: ErrorPolicy, control: Control) -> None:
        self._task = task
        self._policy = policy
        self._control = control
        self._dead_letters: DeadLetterSettings | None = None
        self._encode: Callable[[SinkRecord], Letter] | None = None

    @classmethod
    def of(cls, task: TaskSpec, policy: ErrorPolicy, control: Control, plugins: Plugins) -> Aside:
        """What a task's configuration asks for; the policy is given what writes there. Raises ConfigError."""
        aside = cls(task, policy, control)
        aside._dead_letters = settings = DeadLetterSettings.of(task.connector_config)

        def encode(record: SinkRecord) -> Letter:
            if aside._encode is None:
                aside._encode = record_encoder(plugins, task.worker_config, task.connector_config)
            return aside._encode(record)

        if settings is not None:
            aside.topics = SideTopics(aside._make_producer, control.proceed, aside._count_refusal)
            queue = DeadLetterQueue(settings, task.connector, task.task, aside.topics, policy.counts, encode)
            policy.dead_letter = queue.write
        return aside

    def reporter(self, operation: str) -> PolicyReporter | None:
        """The task's reporter. As in Kafka Connect there is one where somebody takes what it reports, or logs it."""
        return PolicyReporter(self._policy, operation) if self.topics is not None or self._policy.log_errors else None

    def make_topics(self) -> None:
        """Make the topics that are missing, as Kafka Connect does when a task starts. Raises ConnectError."""
        if (dead := self._dead_letters) is not None:
            self._maker(lambda _: new_topic(dead), "errors.deadletterqueue.topic.*")(dead.topic)

    def _maker(self, plan: Callable[[str], NewTopic], keys: str) -> TopicMaker:
        admin = task_client_settings("admin", self._task.worker_config, self._task.connector_config)
        return TopicMaker(admin.librdkafka, plan, self._wait, keys)

    def _wait(self, seconds: float) -> None:
        self._control.sleep(seconds)
        self._control.proceed()

    def _make_producer(self, refused: Callable[[DeliveryError, object], None]) -> BatchProducer:
        clients = task_client_settings("producer", self._task.worker_config, self._task.connector_config)
        for warning in clients.warnings:
            log.warning("%s", warning)
        return BatchProducer(clients.librdkafka, self._control.proceed, refused)

    def _count_refusal(self) -> None:
        self._policy.counts.dead_letters_failed += 1
