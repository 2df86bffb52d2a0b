"""A task's outputs for failed records, by its connector's errors.* keys, with clients of its own."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from connect.data.record import SinkRecord, TopicPartition
from connect.delivery.retry_topics import RetryTopics
from connect.delivery.retrying_consumer import RetryingConsumer, SinkConsumer
from connect.errors import ConnectError
from connect.kafka.admin.new_topics import NewTopic, TopicMaker
from connect.kafka.admin.purge import Purge
from connect.kafka.clients.settings import Kind, task_client_settings
from connect.kafka.reading.consume import RebalanceListener
from connect.kafka.reading.read_range import StoredRecord, read_records
from connect.kafka.writing.produce import BatchProducer
from connect.kafka.writing.refusals import DeliveryError
from connect.pipeline import ErrorPolicy, Failure, Stage
from connect.pipeline.build import record_encoder
from connect.pipeline.dead_letters import DeadLetterSettings, EncodedRecord
from connect.pipeline.error_topics import DeadLetterQueue, ErrorTopics, new_topic
from connect.pipeline.parked import RetrySettings
from connect.plugins import Plugins

log = logging.getLogger("connect.delivery")

T = TypeVar("T")
_LOOK_AGAIN_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class TaskConfigs:
    """One task of a connector. The configurations hold secrets and are never shown.

    Attributes:
        connector, task: its name, and the task's number; for headers.
        worker, config: the worker's and the connector's configuration; for clients and converters.
    """

    connector: str
    task: int
    worker: Mapping[str, str] = field(repr=False)
    config: Mapping[str, str] = field(repr=False)

    def client(self, kind: Kind) -> dict[str, Any]:
        """Librdkafka's settings of a client: a consumer, a producer or an admin."""
        return dict(task_client_settings(kind, self.worker, self.config).librdkafka)


class NoErrorOutputs:
    """No outputs: what `SinkDelivery` uses for a task without any."""

    def settle(self) -> None:
        """Return when all failed records are durable where they went (P1). Raises ConnectError if refused."""

    def settled(self, seconds: float) -> bool:
        """Wait this long for that, and return whether it is so."""
        return True

    def close(self) -> None:
        """Wait a moment for unacknowledged records, and close the clients."""

    def in_order(
        self,
        current: Mapping[TopicPartition, int],
        durable: Mapping[TopicPartition, int],
        committed: Mapping[TopicPartition, int],
    ) -> Mapping[TopicPartition, int]:
        """What may be committed of what is durable. See `RetryTopics.in_order`."""
        return durable


class ErrorOutputs(NoErrorOutputs):
    """The dead letters of a sink task, and its retry topics. They are registered with the policy.

    For the task's thread. Without such keys in the connector no client is created.

    Args:
        task: whose records they are.
        policy: see there.
        plugins: for the converters of records that the task made itself.
        keep_going: called while waiting for brokers; raises to end the wait.
        retry: the retry topics, where they are supported.

    Attributes:
        at_once: whether a record that the task reports is durable when the report returns (P1). So it is where the
            target keeps offsets: these may be behind the record with the task's next write, before any commit.

    Raises:
        ConfigError: a key is wrong.
    """

    at_once = False

    def __init__(
        self,
        task: TaskConfigs,
        policy: ErrorPolicy,
        plugins: Plugins,
        keep_going: Callable[[], None],
        retry: RetrySettings | None = None,
    ) -> None:
        self._task = task
        self._policy = policy
        self._plugins = plugins
        self._keep_going = keep_going
        self._encode: Callable[[SinkRecord], EncodedRecord] | None = None
        self._topics = ErrorTopics(self._make_producer, keep_going, self._count_refusal)
        self._retries: RetryTopics | None = None
        self._partitions: dict[str, int] = {}
        self._retry = retry
        if retry is not None:
            self._retries = RetryTopics(
                retry, task.connector, task.task, self._topics, self._partitions.__getitem__, policy.counts
            )
            park = self._retries.park
            policy.park = lambda failure: self._durable(failure, park(failure))
            policy.hold_back = self._retries.hold_back
        if (dead := DeadLetterSettings.of(task.config)) is not None:
            write = DeadLetterQueue(
                dead, task.connector, task.task, self._topics, policy.counts, self._bytes_of, frozenset(self.also)
            ).write
            policy.dead_letter = lambda failure: self._durable(failure, write(failure))

    # While records are written, see `NoErrorOutputs`.

    def settle(self) -> None:
        self._topics.settle()

    def settled(self, seconds: float) -> bool:
        return self._topics.settled(seconds)

    def close(self) -> None:
        self._topics.close()

    def in_order(
        self,
        current: Mapping[TopicPartition, int],
        durable: Mapping[TopicPartition, int],
        committed: Mapping[TopicPartition, int],
    ) -> Mapping[TopicPartition, int]:
        return durable if self._retries is None else self._retries.in_order(current, durable, committed)

    def _durable(self, failure: Failure, written: T) -> T:
        if self.at_once and failure.stage is Stage.TASK_PUT:  # others are settled before the put
            self.settle()
        return written

    def _make_producer(self, refused: Callable[[DeliveryError, object], None]) -> BatchProducer:
        clients = task_client_settings("producer", self._task.worker, self._task.config)
        for warning in clients.warnings:
            log.warning("%s", warning)
        return BatchProducer(clients.librdkafka, self._keep_going, refused, keys=clients.keys)

    def _bytes_of(self, record: SinkRecord) -> EncodedRecord:
        if self._encode is None:
            self._encode = record_encoder(self._plugins, self._task.worker, self._task.config)
        return self._encode(record)

    def _count_refusal(self) -> None:
        self._policy.counts.dead_letters_failed += 1

    # Before that: topics, and the consumer that brings back what was parked.

    @property
    def also(self) -> tuple[str, ...]:
        """Further topics of the task's consumer."""
        return () if self._retry is None else self._retry.topics

    def consumer_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Librdkafka's settings of the task's consumer, with those that retry topics require."""
        if self._retry is None or not self._retry.keep_order:
            return dict(settings)
        return {**settings, "partition.assignment.strategy": "range"}

    def consumer(self, make: Callable[[RebalanceListener], SinkConsumer], listener: RebalanceListener) -> SinkConsumer:
        """The task's consumer: one that returns parked records when they are due, where there are retry topics."""
        listener = _Noting(listener, self)
        if self._retries is None:
            return make(listener)
        return RetryingConsumer(make, listener, self._retries, self._read, Purge(self._task.client("admin")).before)

    def _read(self, begin: Mapping[TopicPartition, int]) -> Iterable[StoredRecord]:
        settings = {**self._task.client("consumer"), "auto.offset.reset": "earliest"}
        return read_records(settings, begin, self._keep_going)

    def make_topics(self, subscription: Sequence[str] | re.Pattern[str], wait: Callable[[float], None]) -> None:
        """Create missing topics, as Kafka Connect does when a task starts.

        Args:
            subscription: of the task: retry topics get as many partitions.
            wait: see `TopicMaker`.

        Raises:
            ConnectError: a topic cannot be created.
        """
        make_dead_letter_topic(self._task, wait)
        if self._retry is not None:
            self._make_retry_topics(self._retry, subscription, wait)

    def _make_retry_topics(
        self, retry: RetrySettings, subscription: Sequence[str] | re.Pattern[str], wait: Callable[[float], None]
    ) -> None:
        partitions = -1

        def plan(name: str) -> NewTopic:
            # They hold what is acknowledged already, so nothing of it may go by its age alone.
            return NewTopic(name, partitions, retry.replication, {"cleanup.policy": "delete", "retention.ms": "-1"})

        maker = TopicMaker(self._task.client("admin"), plan, wait, "errors.retry.topics.*")
        found = maker.partitions()
        for name in retry.former(found) if self._task.task == 0 else ():
            log.warning(
                'errors.retry.topics does not name the wait of the topic "%s", so nobody reads it. Name that wait '
                "again until what is parked there was tried, then delete the topic.",
                name,
            )
        if isinstance(subscription, re.Pattern):
            sources = [name for name in found if subscription.fullmatch(name) and name not in retry.topics]
        else:
            sources = list(subscription)
        partitions = retry.partitions or max((found.get(name, -1) for name in sources), default=-1)
        for name in retry.topics:
            maker(name)
        while missing := [name for name in retry.topics if not self._partitions.get(name)]:
            self._partitions.update(maker.partitions())
            if any(not self._partitions.get(name) for name in missing):
                wait(_LOOK_AGAIN_S)
        if retry.keep_order:
            self._check_order(retry, sources)

    def _check_order(self, retry: RetrySettings, sources: Sequence[str]) -> None:
        counts = {name: self._partitions.get(name, 0) for name in (*sources, *retry.topics)}
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{name} has {count}" for name, count in sorted(counts.items()))
            raise ConnectError(
                "errors.retry.topics.keep.order=true needs all topics of the sink, and its retry topics, to have one"
                f" number of partitions, and {said}. Add partitions, or split the connector."
            )


class _Noting:
    """The listener of the consumer, which notes whether the target keeps offsets: whether it is asked for some."""

    def __init__(self, listener: RebalanceListener, outputs: ErrorOutputs) -> None:
        self._listener = listener
        self._outputs = outputs

    def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self._listener.revoked(partitions)

    def lost(self, partitions: Sequence[TopicPartition]) -> None:
        self._listener.lost(partitions)

    def assigned(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int] | None:
        known = self._listener.assigned(partitions)
        self._outputs.at_once = self._outputs.at_once or known is not None
        return known


def make_dead_letter_topic(task: TaskConfigs, wait: Callable[[float], None]) -> None:
    """Create the connector's dead letter topic, if it names one that is missing. `wait` as for `TopicMaker`.

    Raises:
        ConnectError: it cannot be created.
    """
    if (settings := DeadLetterSettings.of(task.config)) is None:
        return
    made = new_topic(settings)
    TopicMaker(task.client("admin"), lambda _: made, wait, "errors.deadletterqueue.topic.*")(made.name)
