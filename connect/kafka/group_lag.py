"""How far the consumer group of a sink connector is behind the ends of its topics, asked of the brokers.

A consumer's own question for the ends may wait for ever while another thread polls it; these have timeouts. Only for
records that wait, and only where somebody wants to know since when, one is read.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping
from typing import NamedTuple

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin_answers import AdminError
from connect.kafka.client_log import log as client_log
from connect.kafka.client_settings import task_client_settings
from connect.kafka.override_rules import of_questions
from connect.kafka.topic_ends import TopicEnds, Topics

log = logging.getLogger("connect.kafka")


class Reach(NamedTuple):
    """How far a group is in one partition.

    Attributes:
        committed: the offset from which it goes on; None when it has committed none.
        begin: from where it reads: that, or where auto.offset.reset has it begin.
        end: the offset after the last record.
    """

    committed: int | None
    begin: int
    end: int


class GroupLag:
    """Asks about one sink connector. Called from one thread at a time; hold it, making it connects to the brokers.

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
        """The timestamps, in ms, of the first records from these offsets on, as far as they come in time.

        None for a partition in which there is no record any more: what lies behind are marks of transactions, or
        records of aborted ones.
        """
        from confluent_kafka import Consumer, KafkaError, KafkaException
        from confluent_kafka import TopicPartition as ClientPartition

        found: dict[TopicPartition, int | None] = {}
        own = {"group.id": f"lag-{uuid.uuid4()}", "enable.auto.commit": False, "enable.partition.eof": True}
        small = {"queued.max.messages.kbytes": 1024, "fetch.message.max.bytes": 65_536, "group.instance.id": None}
        settings = {key: value for key, value in {**self._consumer, **own, **small}.items() if value is not None}
        consumer = Consumer({**settings, "logger": client_log})
        deadline = time.monotonic() + timeout
        try:
            consumer.assign([ClientPartition(*partition, offset) for partition, offset in partitions.items()])
            while len(found) < len(partitions) and (left := deadline - time.monotonic()) > 0:
                message = consumer.poll(left)
                if message is None:
                    break
                partition = TopicPartition(str(message.topic()), int(message.partition() or 0))
                error = message.error()
                if error is None:
                    kind, at = message.timestamp()
                    if kind:
                        found.setdefault(partition, at)
                elif error.code() == KafkaError._PARTITION_EOF:
                    found.setdefault(partition, None)
                else:
                    continue
                consumer.pause([ClientPartition(*partition)])
        except KafkaException as error:
            log.debug("%s", error)
        finally:
            consumer.close()
        return found
