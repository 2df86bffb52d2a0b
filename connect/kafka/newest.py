"""Finds the newest records of some keys in a compacted topic, for who reads it seldom and keeps nothing of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from connect.errors import ConnectError
from connect.kafka.client_log import log as client_log
from connect.kafka.client_settings import client_settings

_ROWS: Final = 2000
_WAIT_S: Final = 0.01
_NEVER: Final = 1 << 62


class Newest(NamedTuple):
    """What was found.

    Attributes:
        values: the newest value of each key that was found; None for one that was removed.
        ends: by partition, the offset after the last record that was looked at.
    """

    values: dict[bytes, bytes | None]
    ends: dict[int, int]


class _Found(NamedTuple):
    """What one reading brought; `last` has the offset of the last record that is wanted, by partition."""

    values: dict[bytes, bytes | None]
    ends: dict[int, int]
    last: dict[int, int]


class NewestRecords:
    """Looks into one topic. Called from one thread; clients are made when they are needed, and kept.

    What counts is committed. Transactions that are open are waited for only where a record that is looked for stands
    behind their beginning; those of others mostly cost nothing.

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
        """The newest values of the keys that are wanted, among all records that are there at the time of the call.

        Args:
            wanted: tells whether a key is.
            timeout: seconds; as long as transactions may last whose records are looked for.
            since: by partition, the offset at which to begin; without it, with the first record.
            partitions: where to look; all, without.

        Raises:
            ConnectError: the topic cannot be read, or not in time.
        """
        deadline = time.monotonic() + timeout
        chosen = self.partitions(timeout) if partitions is None else sorted(partitions)
        begin = {partition: (since or {}).get(partition, 0) for partition in chosen}
        found = self._read("read_uncommitted", wanted, begin, {}, deadline)
        if not found.last:
            return Newest({}, found.ends)
        until = {partition: offset + 1 for partition, offset in found.last.items()}
        committed = self._read("read_committed", wanted, {each: begin[each] for each in until}, until, deadline)
        return Newest(committed.values, found.ends)

    def partitions(self, timeout: float) -> list[int]:
        """The numbers of the topic's partitions. Raises as above."""
        from confluent_kafka import KafkaException

        if not self._partitions:
            try:
                found = self._consumer("read_uncommitted").list_topics(self._topic, timeout=timeout).topics[self._topic]
            except KafkaException as error:
                raise self._unread(error.args[0]) from error
            if found.error is not None:
                raise self._unread(found.error)
            self._partitions = sorted(found.partitions)
        return self._partitions

    def place_of(self, key: bytes, timeout: float) -> int:
        """The partition in which records of a key lie: where Java's partitioner puts them. Raises as above."""
        from kafka.partitioner.default import murmur2

        partitions = self.partitions(timeout)
        return partitions[int(murmur2(key) & 0x7FFFFFFF) % len(partitions)]

    def close(self) -> None:
        """Release the clients."""
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
    ) -> _Found:
        """Read each partition up to the offset in `until`, or to its end if that is later."""
        from confluent_kafka import KafkaException, TopicPartition

        consumer = self._consumer(isolation)
        found = _Found({}, {}, {})
        try:
            consumer.assign([TopicPartition(self._topic, partition, offset) for partition, offset in begin.items()])
            while len(found.ends) < len(begin):
                self._keep_going()
                message: Any
                for message in consumer.consume(_ROWS, _WAIT_S):
                    number, offset = message.partition(), message.offset()
                    if (error := message.error()) is None:
                        if number not in found.ends and (key := message.key()) is not None and wanted(key):
                            found.values[key] = message.value()
                            found.last[number] = offset
                        if offset + 1 >= until.get(number, _NEVER):
                            found.ends[number] = offset + 1
                    elif error.name() == "_PARTITION_EOF":
                        if offset >= until.get(number, 0):
                            found.ends[number] = offset
                    elif not error.retriable():
                        raise self._unread(error)
                if time.monotonic() >= deadline and len(found.ends) < len(begin):
                    why = "a transaction on it does not end" if until else "its brokers do not answer"
                    raise ConnectError(f"Topic {self._topic} cannot be read to its end in time: {why}.")
            consumer.unassign()
        except KafkaException as error:
            raise self._unread(error.args[0]) from error
        return found

    def _consumer(self, isolation: str) -> Any:
        if isolation not in self._consumers:
            from confluent_kafka import Consumer

            settings = client_settings("consumer", {"group.id": f"connect-look-{self._topic}", **self._java}).librdkafka
            own = {
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "allow.auto.create.topics": False,
                # The end is what is waited for mostly, and the broker tells of it after this time.
                "fetch.wait.max.ms": 5,
            }
            self._consumers[isolation] = Consumer({**settings, **own, "logger": client_log})
        return self._consumers[isolation]

    def _unread(self, error: Any) -> ConnectError:
        return ConnectError(f"Topic {self._topic} cannot be read: {error.str()} ({error.name()}).")
