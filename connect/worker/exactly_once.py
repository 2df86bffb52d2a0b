"""How a source task stores where it got to: by its worker, by a producer of its own, or in transactions (KIP-618)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from connect.api.source import SourceTask
from connect.errors import ConnectError
from connect.kafka.client_settings import Translated, task_client_settings, task_java_settings
from connect.kafka.offset_producer import OffsetProducer
from connect.kafka.transactional import TransactionalProducer
from connect.worker.boundaries import Boundary, IntervalBoundary, boundary_of
from connect.worker.control import Control, Stopping
from connect.worker.messages import TaskSpec
from connect.worker.offset_records import Entries, OffsetRecords
from connect.worker.positions import Positions
from connect.worker.transactions import Transactions

log = logging.getLogger("connect.worker.source")

_OVERRIDE: Final = "producer.override."
_LEAST_TIMEOUT_MS: Final = 60_000
#: Brokers allow no more, unless they are told to (transaction.max.timeout.ms).
_LONGEST_TIMEOUT_MS: Final = 900_000


def store_of(task: TaskSpec, control: Control, timeout: float) -> Callable[[Entries], None]:
    """What makes offsets durable where there are no transactions. It raises ConnectError after `timeout` seconds."""
    if task.offsets_topic is None:
        return lambda entries: control.store_offsets(entries, timeout)
    java = (
        task_java_settings("producer", task.worker_config, task.connector_config)
        if task.own_offsets
        else task.worker_config
    )
    records = OffsetRecords(control.ask_offset_keys)
    producer = OffsetProducer(task.offsets_topic, java)

    def store(entries: Entries) -> None:
        producer.write(records.of(entries), timeout)
        if task.own_offsets:
            control.tell_offsets(entries)

    return store


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


def boundary_for(task: TaskSpec, flush_interval: float) -> Boundary | None:
    """Where the task's transactions end; None when it has none. Raises ConfigError."""
    if task.transactional_id is None:
        return None
    return boundary_of(task.connector_config, flush_interval, time.monotonic())


def claim(producer: TransactionalProducer, control: Control) -> TransactionalProducer:
    """Take the transactional id, and see that the task is still the one that is to run.

    Others may have come after it meanwhile: it has to leave without having read or written anything.

    Raises:
        Stopping: it is not, any more.
        ConnectError: the brokers refuse.
    """
    producer.claim()
    try:
        control.ask_to_begin()
    except ConnectError as error:
        log.warning("not started: %s", error)
        raise Stopping from error
    return producer


def transactions_of(
    task: TaskSpec,
    plugin: SourceTask,
    producer: Any,
    boundary: Boundary,
    control: Control,
    interval: float,
    committed: Callable[[int], None],
) -> Transactions:
    """What sends and stores in the place of the loop.

    Args:
        task, plugin: see there.
        producer: with its id claimed.
        boundary: where transactions end.
        control: what the worker wants.
        interval: seconds between two times that the worker is told of offsets in a connector's own topic.
        committed: told how many records each transaction had.
    """
    assert isinstance(producer, TransactionalProducer)
    assert task.offsets_topic is not None
    untold: Positions = {}
    due = time.monotonic() + interval

    def tell(rows: int, positions: Positions) -> None:
        nonlocal due
        committed(rows)
        if not task.own_offsets:
            return
        untold.update(positions)
        if time.monotonic() >= due or control.stopping:
            due = time.monotonic() + interval
            control.tell_offsets(list(untold.values()))
            untold.clear()

    records = OffsetRecords(control.ask_offset_keys)
    return Transactions(plugin, producer, boundary, records, task.offsets_topic, control, tell)
