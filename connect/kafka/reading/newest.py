"""Finds the newest records of some keys in a compacted topic, for a reader that does so seldom and stores nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.clients.settings import client_settings
from connect.kafka.reading.messages import assigned_consumer, cannot_read
from connect.kafka.reading.read_range import read_range


class Newest(NamedTuple):
    """The result of a search.

    Attributes:
        values: the newest value of each key that was found; None for a removed one.
        ends: by partition, the offset after the last record that was read.
    """

    values: dict[bytes, bytes | None]
    ends: dict[int, int]


class NewestRecords:
    """Searches one topic. For one thread; clients are created on first use, and kept.

    Only committed records count. Open transactions are waited for only where a wanted record is behind their beginning;
    those of others mostly cost nothing.

    Args:
        topic: its name.
        java: the client's settings, under Java's keys: brokers, security.
        keep_going: called while waiting; raises to end the wait.
    """

    def __init__(self, topic: str, java: Mapping[str, str], keep_going: Callable[[], None] = lambda: None) -> None:
        self._topic = topic
        self._java = dict(java)
        self._keep_going = keep_going
        self._consumers: dict[str, Any] = {}
        self._partitions: list[int] = []

    def look(
        self,
        wanted: Callable[[bytes], bool],
        timeout: float,
        since: Mapping[int, int] | None = None,
        partitions: Collection[int] | None = None,
    ) -> Newest:
        """The newest values of the wanted keys, among all records that exist at the time of the call.

        Args:
            wanted: whether a key is wanted.
            timeout: seconds; at least the transaction timeout of the writers of wanted records.
            since: by partition, the offset at which to begin; without it, the first record.
            partitions: which to read; by default all.

        Raises:
            ConnectError: the topic cannot be read, or not in time.
        """
        deadline = time.monotonic() + timeout
        chosen = self.partitions(timeout) if partitions is None else sorted(partitions)
        begin = {partition: (since or {}).get(partition, 0) for partition in chosen}
        found, last = self._read("read_uncommitted", wanted, begin, {}, deadline)
        if not last:
            return found
        until = {partition: offset + 1 for partition, offset in last.items()}
        committed, _ = self._read("read_committed", wanted, {each: begin[each] for each in until}, until, deadline)
        return found._replace(values=committed.values)

    def partitions(self, timeout: float) -> list[int]:
        """The numbers of the topic's partitions. Raises as above."""
        from confluent_kafka import KafkaException

        if not self._partitions:
            try:
                found = self._consumer("read_uncommitted").list_topics(self._topic, timeout=timeout).topics[self._topic]
            except KafkaException as error:
                raise cannot_read(self._topic, error.args[0]) from error
            if found.error is not None:
                raise cannot_read(self._topic, found.error)
            self._partitions = sorted(found.partitions)
        return self._partitions

    def place_of(self, key: bytes, timeout: float) -> int:
        """The partition of a key: by Java's partitioner. Raises as above."""
        from kafka.partitioner.default import murmur2

        partitions = self.partitions(timeout)
        return partitions[int(murmur2(key) & 0x7FFFFFFF) % len(partitions)]

    def close(self) -> None:
        """Close the clients."""
        consumers, self._consumers = self._consumers, {}
        for consumer in consumers.values():
            consumer.close()

    def _read(
        self,
        isolation: str,
        wanted: Callable[[bytes], bool],
        begin: Mapping[int, int],
        until: Mapping[int, int],
        deadline: float,
    ) -> tuple[Newest, dict[int, int]]:
        """Read each partition up to the offset in `until`, or to its end if that is later.

        Returns:
            what was found, and by partition the offset of the last wanted record.
        """

        def in_time() -> None:
            self._keep_going()
            if time.monotonic() >= deadline:
                why = "a transaction on it does not end" if until else "its brokers do not answer"
                raise ConnectError(f"Topic {self._topic} cannot be read to its end in time: {why}.")

        values: dict[bytes, bytes | None] = {}
        last: dict[int, int] = {}
        ends: dict[TopicPartition, int] = {}
        for messages in read_range(
            self._consumer(isolation), self._named(begin), in_time, until=self._named(until), ends=ends, open_too=True
        ):
            for message in messages:
                if (key := message.key()) is not None and wanted(key):
                    values[key] = message.value()
                    last[message.partition()] = message.offset()
        return Newest(values, {partition.partition: offset for partition, offset in ends.items()}), last

    def _named(self, offsets: Mapping[int, int]) -> dict[TopicPartition, int]:
        return {TopicPartition(self._topic, number): offset for number, offset in offsets.items()}

    def _consumer(self, isolation: str) -> Any:
        if isolation not in self._consumers:
            java = {"group.id": f"connect-look-{self._topic}", **self._java}
            # The end is what is waited for mostly, and the broker tells of it after this time.
            own = {"isolation.level": isolation, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 5}
            self._consumers[isolation] = assigned_consumer(client_settings("consumer", java).librdkafka, own)
        return self._consumers[isolation]
