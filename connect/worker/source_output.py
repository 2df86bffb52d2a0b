"""Opens the output of a source task by its specification: acknowledged, or in transactions (KIP-618).

Offsets are stored by the task's worker, by a producer of the task's own, or in the transactions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from connect.api.source import SourceTask, TransactionContext
from connect.delivery.acknowledged import AcknowledgedOutput
from connect.delivery.boundaries import Boundary, IntervalBoundary, TaskBoundary, boundary_of
from connect.delivery.meter import SourceMeter
from connect.delivery.source import Output, Source
from connect.delivery.source_errors import source_errors
from connect.delivery.source_offsets import Entries, OffsetRecords, Positions
from connect.delivery.transactional import TransactionalOutput
from connect.errors import ConnectError
from connect.kafka.admin.new_topics import NewTopic, TopicMaker
from connect.kafka.admin.topic_creation import rules_of
from connect.kafka.clients.settings import Translated, task_client_settings, task_java_settings
from connect.kafka.writing.produce import BatchProducer
from connect.kafka.writing.topic_producer import TopicProducer
from connect.kafka.writing.transactional import TransactionalProducer
from connect.pipeline import Chain
from connect.settings.worker_keys import RunOptions
from connect.worker.control import Control, Stopping
from connect.worker.messages import TaskSpec

log = logging.getLogger("connect.worker.source")

_OVERRIDE: Final = "producer.override."
_LEAST_TIMEOUT_MS: Final = 60_000
#: Brokers allow no more, unless they are told to (transaction.max.timeout.ms).
_LONGEST_TIMEOUT_MS: Final = 900_000


class OpenOutput:
    """Opens the output of a source task's loop.

    Args:
        task: its specification.
        control: commands of the worker.
        worker: the worker's configuration.

    Attributes:
        transaction: how the task defines transaction boundaries, if it does.

    Raises:
        ConfigError: a key of the connector is wrong.
        ClientSettingError: a setting of the producer is wrong, or rules transactions out.
    """

    def __init__(self, task: TaskSpec, control: Control, worker: RunOptions) -> None:
        self._task = task
        self._control = control
        self._interval = worker.flush_interval
        self._store_timeout = worker.flush_timeout
        self._makes_topics = worker.makes_topics
        self._boundary: Boundary | None = None
        if task.transactional_id is not None:
            self._boundary = boundary_of(task.connector_config, self._interval, time.monotonic())
        self.transaction: TransactionContext | None = (
            self._boundary if isinstance(self._boundary, TaskBoundary) else None
        )
        self._clients = producer_settings(task, self._boundary)
        for warning in self._clients.warnings:
            log.warning("%s", warning)

    def __call__(self, plugin: SourceTask, chain: Chain, meter: SourceMeter) -> Output:
        """Open the output, with the task's transactional id claimed where it has one.

        Raises:
            Stopping: a newer task exists.
            ConnectError: the brokers refuse.
        """
        task, control, boundary = self._task, self._control, self._boundary
        transactions = boundary is not None
        errors = source_errors(
            chain.policy, task.connector_config, task.connector, task.task, transactions=transactions
        )
        errors.make_topic(lambda topic, keys: self._topic_maker(lambda _: topic, keys)(topic.name))
        rules = rules_of(task.connector_config, enabled=self._makes_topics)
        kind = BatchProducer if boundary is None else TransactionalProducer
        producer = kind(
            self._clients.librdkafka,
            control.await_lease,
            errors.refuse,
            None if rules is None else self._topic_maker(rules.new_topic, "topic.creation.*"),
            meter.settled,
            self._clients.keys,
        )
        source = Source(plugin, chain, errors, control, meter)
        if boundary is None:
            return AcknowledgedOutput(source, producer, self._store(), self._interval)
        assert isinstance(producer, TransactionalProducer)
        assert task.offsets_topic is not None
        self._claim(producer)
        records = OffsetRecords(control.ask_offset_keys)
        return TransactionalOutput(
            source,
            producer,
            boundary,
            records.of,
            task.offsets_topic,
            self._tell_offsets(),
            claim=partial(self._claim, producer),
        )

    def _topic_maker(self, plan: Callable[[str], NewTopic], keys: str) -> TopicMaker:
        admin = task_client_settings("admin", self._task.worker_config, self._task.connector_config)
        return TopicMaker(admin.librdkafka, plan, self._control.pause_for, keys)

    def _claim(self, producer: TransactionalProducer) -> None:
        """Claim the transactional id, then check that the task is still the current one.

        If a newer one exists, this one has to leave before it reads or writes anything.
        """
        producer.claim()
        try:
            self._control.ask_to_begin()
        except ConnectError as error:
            log.warning("not current: %s", error)
            raise Stopping from error

    def _store(self) -> Callable[[Entries], None]:
        """What makes offsets durable without transactions. It raises ConnectError after a while."""
        task, control, timeout = self._task, self._control, self._store_timeout
        if task.offsets_topic is None:
            return lambda entries: control.store_offsets(entries, timeout)
        java = (
            task_java_settings("producer", task.worker_config, task.connector_config)
            if task.own_offsets
            else task.worker_config
        )
        records = OffsetRecords(control.ask_offset_keys)
        producer = TopicProducer(task.offsets_topic, java)

        def store(entries: Entries) -> None:
            encoded = records.of(entries)
            if not control.holds_lease():  # the worker was asked for keys; a frozen one may answer when others write
                raise ConnectError("The lease of the task has ended.")
            producer.write(encoded, timeout)
            if task.own_offsets:
                control.tell_offsets(entries)

        return store

    def _tell_offsets(self) -> Callable[[Positions], None]:
        """A function that regularly reports offsets in a connector's own topic to the worker."""
        if not self._task.own_offsets:
            return lambda _: None
        control, interval = self._control, self._interval
        untold: Positions = {}
        due = time.monotonic() + interval

        def tell(positions: Positions) -> None:
            nonlocal due
            untold.update(positions)
            if time.monotonic() >= due or control.stopping:
                due = time.monotonic() + interval
                control.tell_offsets(list(untold.values()))
                untold.clear()

        return tell


def producer_settings(task: TaskSpec, boundary: Boundary | None) -> Translated:
    """The settings of the producer of a task's records, with its transactional id if it has one.

    Raises:
        ClientSettingError: a setting is wrong, or rules transactions out.
    """
    if task.transactional_id is None:
        return task_client_settings("producer", task.worker_config, task.connector_config)
    forced = {"transactional.id": task.transactional_id, "enable.idempotence": "true"}
    given = task_java_settings("producer", task.worker_config, task.connector_config)
    for key, value in forced.items():
        if given.get(key, value) != value:
            log.warning("%s%s=%s has no effect: with exactly-once it is %s.", _OVERRIDE, key, given[key], value)
    if isinstance(boundary, IntervalBoundary) and "transaction.timeout.ms" not in given:
        # A transaction lasts as long as the interval, and then has to be ended.
        wanted = max(_LEAST_TIMEOUT_MS, int(2000 * boundary.seconds))
        forced["transaction.timeout.ms"] = str(min(wanted, _LONGEST_TIMEOUT_MS))
    overrides = {_OVERRIDE + key: value for key, value in forced.items()}
    return task_client_settings("producer", task.worker_config, {**task.connector_config, **overrides})
