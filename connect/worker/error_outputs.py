"""What a task has for records that fail, as its connector's errors.* keys ask for it, with clients of its own."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from connect.data.record import SinkRecord, TopicPartition
from connect.delivery.retry_topics import RetryTopics
from connect.delivery.retrying_consumer import RetryingConsumer, SinkConsumer
from connect.errors import ConnectError
from connect.kafka.client_settings import task_client_settings
from connect.kafka.consume import RebalanceListener
from connect.kafka.new_topics import NewTopic, TopicMaker
from connect.kafka.produce import BatchProducer, DeliveryError
from connect.kafka.purge import Purge
from connect.kafka.read_range import StoredRecord, read_records
from connect.pipeline import ErrorPolicy
from connect.pipeline.build import record_encoder
from connect.pipeline.dead_letter_queue import DeadLetterQueue, new_topic
from connect.pipeline.dead_letters import DeadLetterSettings, EncodedRecord
from connect.pipeline.errant import PolicyReporter
from connect.pipeline.error_checks import takes_reports
from connect.pipeline.error_topics import ErrorTopics
from connect.pipeline.parked import RetrySettings
from connect.pipeline.source_dead_letters import SourceDeadLetters
from connect.plugins import Plugins
from connect.worker.control import Control
from connect.worker.messages import TaskSpec

log = logging.getLogger("connect.worker.sink")

_LOOK_AGAIN_S = 0.05


class ErrorOutputs:
    """Where records of one task go that the error policy takes. The policy is given what writes there.

    Args:
        task: its specification.
        policy: see there.
        control: what the worker wants.
        plugins: for the converters of records that the task made itself.

    Attributes:
        topics: writes them; None where there is no such place.
        also: what the task's consumer reads besides its own topics.

    Raises:
        ConfigError: a key is wrong.
    """

    def __init__(self, task: TaskSpec, policy: ErrorPolicy, control: Control, plugins: Plugins) -> None:
        self._task = task
        self._policy = policy
        self._control = control
        self._plugins = plugins
        self._encode: Callable[[SinkRecord], EncodedRecord] | None = None
        self._counts: dict[str, int] = {}
        self._dead_letters = dead = DeadLetterSettings.of(task.connector_config)
        self._retry_settings = retry = RetrySettings.of(task.connector_config, task.connector)
        self.topics: ErrorTopics | None = None
        self._retries: RetryTopics | None = None
        self.also: tuple[str, ...] = retry.topics if retry is not None else ()
        if dead is not None or retry is not None:
            self.topics = ErrorTopics(self._make_producer, control.await_lease, self._count_refusal)
        if retry is not None and self.topics is not None:
            self._retries = RetryTopics(
                retry, task.connector, task.task, self.topics, self._counts.__getitem__, policy.counts
            )
            policy.park, policy.hold_back = self._retries.park, self._retries.hold_back
        if dead is not None and self.topics is not None:
            queue = DeadLetterQueue(
                dead, task.connector, task.task, self.topics, policy.counts, self._bytes_of, frozenset(self.also)
            )
            policy.dead_letter = queue.write

    def consumer_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Librdkafka's settings of the task's consumer, as they have to be."""
        if self._retry_settings is None or not self._retry_settings.keep_order:
            return dict(settings)
        return {**settings, "partition.assignment.strategy": "range"}

    def consumer(self, make: Callable[[RebalanceListener], SinkConsumer], listener: RebalanceListener) -> SinkConsumer:
        """The task's consumer: one that brings back what was parked, where there are retry topics."""
        if self._retries is None:
            return make(listener)
        admin = task_client_settings("admin", self._task.worker_config, self._task.connector_config)
        return RetryingConsumer(make, listener, self._retries, self._read, Purge(admin.librdkafka).before)

    def in_order(
        self,
        current: Mapping[TopicPartition, int],
        durable: Mapping[TopicPartition, int],
        committed: Mapping[TopicPartition, int],
    ) -> Mapping[TopicPartition, int]:
        """What may be committed of what is durable. See `RetryTopics.in_order`."""
        return durable if self._retries is None else self._retries.in_order(current, durable, committed)

    def reporter(self, operation: str) -> PolicyReporter | None:
        """The task's reporter, if it has one."""
        return PolicyReporter(self._policy, operation) if takes_reports(self._task.connector_config) else None

    def make_topics(self, subscription: Sequence[str] | re.Pattern[str]) -> None:
        """Make the topics that are missing, as Kafka Connect does when a task starts.

        Args:
            subscription: what the task consumes: retry topics get as many partitions.

        Raises:
            ConnectError: a topic cannot be made.
        """
        if (dead := self._dead_letters) is not None:
            self._maker(lambda _: new_topic(dead), "errors.deadletterqueue.topic.*")(dead.topic)
        if (retry := self._retry_settings) is not None:
            self._make_retry_topics(retry, subscription)

    def _make_retry_topics(self, retry: RetrySettings, subscription: Sequence[str] | re.Pattern[str]) -> None:
        partitions = -1

        def plan(name: str) -> NewTopic:
            # They hold what is acknowledged already, so nothing of it may go by its age alone.
            return NewTopic(name, partitions, retry.replication, {"cleanup.policy": "delete", "retention.ms": "-1"})

        maker = self._maker(plan, "errors.retry.topics.*")
        found = maker.partitions()
        if isinstance(subscription, re.Pattern):
            sources = [name for name in found if subscription.fullmatch(name) and name not in retry.topics]
        else:
            sources = list(subscription)
        partitions = retry.partitions or max((found.get(name, -1) for name in sources), default=-1)
        for name in retry.topics:
            maker(name)
        while missing := [name for name in retry.topics if not self._counts.get(name)]:
            self._counts.update(maker.partitions())
            if any(not self._counts.get(name) for name in missing):
                self._wait(_LOOK_AGAIN_S)
        if retry.keep_order:
            self._check_order(retry, sources)

    def _check_order(self, retry: RetrySettings, sources: Sequence[str]) -> None:
        counts = {name: self._counts.get(name, 0) for name in (*sources, *retry.topics)}
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{name} has {count}" for name, count in sorted(counts.items()))
            raise ConnectError(
                "errors.retry.topics.keep.order=true needs all topics of the sink, and its retry topics, to have one"
                f" number of partitions, and {said}. Add partitions, or split the connector."
            )

    def _read(self, begin: Mapping[TopicPartition, int]) -> Iterable[StoredRecord]:
        clients = task_client_settings("consumer", self._task.worker_config, self._task.connector_config)
        return read_records({**clients.librdkafka, "auto.offset.reset": "earliest"}, begin, self._control.check)

    def _maker(self, plan: Callable[[str], NewTopic], keys: str) -> TopicMaker:
        return _maker(self._task, self._control, plan, keys)

    def _wait(self, seconds: float) -> None:
        self._control.sleep(seconds)
        self._control.await_lease()

    def _make_producer(self, refused: Callable[[DeliveryError, object], None]) -> BatchProducer:
        clients = task_client_settings("producer", self._task.worker_config, self._task.connector_config)
        for warning in clients.warnings:
            log.warning("%s", warning)
        return BatchProducer(clients.librdkafka, self._control.await_lease, refused, keys=clients.keys)

    def _bytes_of(self, record: SinkRecord) -> EncodedRecord:
        if self._encode is None:
            self._encode = record_encoder(self._plugins, self._task.worker_config, self._task.connector_config)
        return self._encode(record)

    def _count_refusal(self) -> None:
        self._policy.counts.dead_letters_failed += 1


def source_queue(
    task: TaskSpec, policy: ErrorPolicy, control: Control
) -> tuple[SourceDeadLetters | None, Callable[[], None]]:
    """The dead letter queue of a source task, given to its policy, and what makes the topic. Raises ConfigError."""
    settings = DeadLetterSettings.of(task.connector_config)
    if settings is None:
        return None, lambda: None
    letters = SourceDeadLetters(settings, task.connector, task.task, policy.counts)
    policy.dead_letter = letters.write

    def make() -> None:
        _maker(task, control, lambda _: new_topic(settings), "errors.deadletterqueue.topic.*")(settings.topic)

    return letters, make


def _maker(task: TaskSpec, control: Control, plan: Callable[[str], NewTopic], keys: str) -> TopicMaker:
    def wait(seconds: float) -> None:
        control.sleep(seconds)
        control.await_lease()

    admin = task_client_settings("admin", task.worker_config, task.connector_config)
    return TopicMaker(admin.librdkafka, plan, wait, keys)
