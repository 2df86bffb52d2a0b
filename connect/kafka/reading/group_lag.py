"""How far the consumer group of a sink connector is behind the ends of its topics, asked of the brokers.

A consumer's own request for the ends may wait forever while another thread polls it; these have timeouts. A record is
read only where records wait, and only to find out since when.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping
from typing import NamedTuple

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.answers import AdminError
from connect.kafka.clients.override_rules import of_questions
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.reading.messages import assigned_consumer, timestamp_of
from connect.kafka.reading.read_range import read_range
from connect.kafka.reading.topic_ends import TopicEnds, Topics

log = logging.getLogger("connect.kafka")


class Reach(NamedTuple):
    """A group's position in one partition.

    Attributes:
        committed: the offset at which it continues; None when it has committed none.
        begin: where it reads next: that, or where auto.offset.reset makes it begin.
        end: the offset after the last record.
    """

    committed: int | None
    begin: int
    end: int


class GroupLag:
    """The lag of one sink connector. For one thread at a time; keep it, creating it connects to the brokers.

    Args:
        worker, connector: their configurations, with secrets filled in.
        topics: what it consumes: see `TopicEnds`.

    Raises:
        ConnectError: a client setting is wrong.
    """

    def __init__(self, worker: Mapping[str, str], connector: Mapping[str, str], topics: Topics) -> None:
        connector = of_questions(connector)
        self._consumer = task_client_settings("consumer", worker, connector).librdkafka
        self._ends = TopicEnds(worker, connector, topics)
        self.group = str(self._consumer["group.id"])

    def read(self) -> dict[TopicPartition, Reach]:
        """Every partition of the topics that exist. Raises ConnectError when a broker refuses, or none answers."""
        partitions = self._ends.partitions()
        if not partitions:
            return {}
        ends = self._ends.ends(partitions)
        try:
            committed = {partition: at.offset for partition, at in self._ends.admin.committed(self.group).items()}
        except AdminError as error:
            raise ConnectError(f"The lag of group {self.group} is not known: {error.words}.") from error
        fresh = [partition for partition in ends if partition not in committed]
        from_end = str(self._consumer.get("auto.offset.reset", "latest")) in {"latest", "end", "largest"}
        begins = ends if from_end else self._ends.begins(fresh)
        return {
            partition: Reach(committed.get(partition), committed.get(partition, begins.get(partition, end)), end)
            for partition, end in ends.items()
        }

    def waiting_since(
        self, partitions: Mapping[TopicPartition, int], timeout: float
    ) -> dict[TopicPartition, int | None]:
        """The timestamps, in ms, of the first records from these offsets on, as far as they arrive in time.

        None for a partition without records there: only markers of transactions, or records of aborted ones.
        """
        from confluent_kafka import TopicPartition as ClientPartition

        own = {"group.id": f"lag-{uuid.uuid4()}", "queued.max.messages.kbytes": 1024, "fetch.message.max.bytes": 65_536}
        consumer = assigned_consumer(self._consumer, own)
        deadline = time.monotonic() + timeout
        found: dict[TopicPartition, int | None] = {}
        ends: dict[TopicPartition, int] = {}

        def in_time() -> None:
            if time.monotonic() >= deadline:
                raise TimeoutError

        try:
            for messages in read_range(consumer, partitions, in_time, ends=ends):
                for message in messages:
                    partition = TopicPartition(message.topic(), message.partition())
                    at = timestamp_of(*message.timestamp())
                    if at is not None and partition not in found:
                        found[partition] = at
                        ends[partition] = message.offset()
                        consumer.pause([ClientPartition(*partition)])
        except (TimeoutError, ConnectError) as error:
            log.debug("%s", error)
        finally:
            consumer.close()
        return dict.fromkeys(ends) | found
