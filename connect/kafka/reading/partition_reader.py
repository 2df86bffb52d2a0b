"""Reads partitions of any cluster from given offsets on, without a group, as batches of bytes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.errors import ConnectError, RetriableError
from connect.kafka.reading.arrivals import arrivals
from connect.kafka.reading.group_offsets import names_of
from connect.kafka.reading.messages import assigned_consumer, batch_of, records_of, take
from connect.kafka.reading.standstill import Standstill

log = logging.getLogger("connect.kafka")

#: Where to begin in a partition: at its first record, or behind its last.
BEGINNING: Final = -2
END: Final = -1
#: How long a wait lasts at most before somebody is asked whether it is to go on.
_LOOK_S: Final = 0.2
#: How long a cluster that was away is given to answer.
_PROBE_S: Final = 1.0


class PartitionReader:
    """Reads the given partitions. For one thread.

    Args:
        settings: librdkafka's, of a consumer.
        starts: for each partition the offset to begin at, or `BEGINNING` or `END`.
        name: of the cluster in errors.
        rows: the maximum number of records of a batch.
        ends: whether `at_end` is needed.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        starts: Mapping[TopicPartition, int],
        name: str,
        rows: int = 2000,
        *,
        ends: bool = False,
    ) -> None:
        self._name = name
        self._rows = rows
        self._only = next(iter(starts)) if len(starts) == 1 else (None, None)
        self._topic = next(iter(starts)).topic if starts else None
        self._problem = ""
        self._away = ""
        self._ends: set[TopicPartition] = set()
        self._starts = dict(starts)
        self._settings = dict(settings)
        self._own = {"enable.partition.eof": ends, "group.protocol": None}
        self._open(starts)

    def _open(self, starts: Mapping[TopicPartition, int]) -> None:
        """Make the client."""
        from confluent_kafka import TopicPartition as ClientPartition

        self._consumer = assigned_consumer(self._settings, self._own, self._on_error)
        self._arrivals = arrivals(self._consumer, str(self._settings.get("client.id", "rdkafka")))
        self._standstill = Standstill(self._consumer, self._settings)
        self._consumer.assign([ClientPartition(*partition, offset) for partition, offset in starts.items()])

    @property
    def at_end(self) -> bool:
        """Whether each partition was read up to its end at that time."""
        return len(self._ends) >= len(self._starts)

    def poll(self, timeout: float, stopping: Callable[[], bool] = lambda: False) -> SinkBatch | None:
        """The next records, waiting at most this many seconds for the first; None when there are none.

        Raises:
            RetriableError: no broker of the cluster answers. The client keeps trying.
            ConnectError: the brokers refuse, or an offset is out of range and auto.offset.reset is none.
        """
        deadline = time.monotonic() + timeout
        while True:
            messages = take(
                self._consumer, self._rows, max(0.0, min(_LOOK_S, deadline - time.monotonic())), self._arrivals
            )
            try:
                messages = records_of(messages, self._say, self._ended)
            except ConnectError as error:
                raise ConnectError(f"{self._name}: {error}") from error
            if messages:
                self._away = ""
                return batch_of(messages, self._only)
            if self._away and not self._answers():
                raise RetriableError(f"{self._name} cannot be read: {self._problem or self._away}.")
            self._look_for_standstill()
            if stopping() or time.monotonic() >= deadline:
                return None

    def _answers(self) -> bool:
        """Whether brokers are back that sent nothing because there is nothing new."""
        from confluent_kafka import KafkaException

        try:
            self._consumer.list_topics(self._topic, timeout=_PROBE_S)
        except KafkaException:
            return False
        self._away = self._problem = ""
        return True

    def _look_for_standstill(self) -> None:
        stuck = self._standstill.look(frozenset(self._starts), self._positions)
        if not stuck:
            return
        log.warning(
            "%s: the client reads nothing more of %s, which has other records: it is replaced.",
            self._name,
            names_of(stuck),
        )
        starts = {each: self._begin(each) for each in self._starts} | self._positions()
        self.close()
        self._open(starts)

    def _begin(self, partition: TopicPartition) -> int:
        """Where another client begins in a partition that nothing was read of: at the end that this one has heard."""
        from confluent_kafka import TopicPartition as ClientPartition

        start = self._starts[partition]
        if start != END:
            return start
        known: tuple[int, int] | None = self._consumer.get_watermark_offsets(ClientPartition(*partition), cached=True)
        return END if known is None or known[1] < 0 else known[1]

    def _positions(self) -> dict[TopicPartition, int]:
        """The next offset of each partition that had records."""
        from confluent_kafka import TopicPartition as ClientPartition

        found = self._consumer.position([ClientPartition(*partition) for partition in self._starts])
        return {TopicPartition(str(p.topic), int(p.partition)): int(p.offset) for p in found if p.offset >= 0}

    def _ended(self, partition: TopicPartition, _: int) -> None:
        self._ends.add(partition)

    def _on_error(self, error: Any) -> None:
        """Called by the client while it is polled."""
        if error.name() == "_ALL_BROKERS_DOWN":
            self._away = error.str()
        else:
            self._say(error.str())

    def _say(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            log.warning("%s: %s", self._name, problem)

    def close(self) -> None:
        """Close the client."""
        if self._arrivals is not None:
            self._arrivals.close()
        self._consumer.close()
