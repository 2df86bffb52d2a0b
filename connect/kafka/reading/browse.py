"""Browses topics: reads only, joins no group, commits nothing.

It uses the client settings of the connector's own consumer, so that a user who may run the connector may browse.
"""

from __future__ import annotations

import heapq
import time
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Final, NamedTuple

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.answers import EARLIEST, LATEST, AdminError
from connect.kafka.clients.override_rules import of_questions
from connect.kafka.clients.settings import task_client_settings, task_java_settings
from connect.kafka.reading.read_range import StoredRecord, read_records

#: How much is fetched ahead: nobody looks at much.
_AHEAD: Final = {"queued.max.messages.kbytes": 4096, "fetch.message.max.bytes": 1_048_576}


class NoTopicError(ConnectError):
    """There is no such topic."""


class Span(NamedTuple):
    """A part of a partition: from an offset up to, not including, another."""

    begin: int
    end: int


class Browser:
    """Reads topics. Called from one thread; close it.

    Args:
        worker, connector: their configurations, with secrets filled in.

    Raises:
        ConnectError: a client setting is wrong.
    """

    def __init__(self, worker: Mapping[str, str], connector: Mapping[str, str]) -> None:
        from connect.kafka.admin.client import Admin

        connector = of_questions(connector)
        self._consumer_settings: dict[str, Any] = dict(task_client_settings("consumer", worker, connector).librdkafka)
        self._admin = Admin(task_java_settings("admin", worker, connector))

    def close(self) -> None:
        """Close the clients."""
        self._admin.close()

    def spans(self, topic: str) -> dict[int, Span]:
        """The first and last offsets of each partition. Raises NoTopicError, ConnectError."""
        partitions = self.partitions(topic)
        begins = self._offsets(topic, partitions, EARLIEST)
        ends = self._offsets(topic, partitions, LATEST)
        return {number: Span(begins[number], ends[number]) for number in partitions}

    def partitions(self, topic: str) -> list[int]:
        """The numbers of a topic's partitions. Does not create the topic. Raises NoTopicError, ConnectError."""
        try:
            found = self._admin.partitions([topic])
        except AdminError as error:
            raise _refused(topic, error) from error
        if topic not in found:
            raise NoTopicError(f"There is no topic {topic}, or this user may not see it.")
        return found[topic]

    def offsets_at(self, topic: str, spans: Mapping[int, Span], timestamp: int) -> dict[int, int]:
        """For each partition the first offset whose record is of this time (ms) or later; its end if none is."""
        found = self._offsets(topic, list(spans), timestamp)
        return {number: offset if offset >= 0 else spans[number].end for number, offset in found.items()}

    def read(self, topic: str, spans: Mapping[int, Span], timeout: float) -> Generator[StoredRecord, None, None]:
        """The records of these spans, those of one partition in order. Ends with the last, or after `timeout` seconds.

        Raises:
            TimeoutError: time ran out before the last one; what was yielded is good.
            ConnectError: a broker refuses.
        """
        begin = {TopicPartition(topic, number): span.begin for number, span in spans.items() if span.begin < span.end}
        until = {TopicPartition(topic, number): span.end for number, span in spans.items()}
        if not begin:
            return
        deadline = time.monotonic() + timeout

        def in_time() -> None:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"Topic {topic} could not be read to its end within {timeout:g} s.")

        settings = {**self._consumer_settings, "group.id": f"browse-{uuid.uuid4()}", **_AHEAD}
        yield from read_records(settings, begin, in_time, until)

    def some(
        self, topic: str, spans: Mapping[int, Span], limit: int, timeout: float, *, from_end: bool = False
    ) -> Iterator[StoredRecord]:
        """At most so many records of these spans: the first that come, or the latest in the order of their times.

        No more than these are in memory. Raises as `read` does.
        """
        if not from_end:
            with closing(self.read(topic, spans, timeout)) as records:
                yield from islice(records, limit)
            return
        ends = {number: Span(max(end - limit, begin), end) for number, (begin, end) in spans.items()}
        latest = heapq.nlargest(limit, self.read(topic, ends, timeout), key=_moment)
        yield from reversed(latest)

    def _offsets(self, topic: str, partitions: Sequence[int], which: int) -> dict[int, int]:
        committed_only = self._consumer_settings.get("isolation.level", "read_committed") == "read_committed"
        asked = {TopicPartition(topic, number): which for number in partitions}
        try:
            found = self._admin.offsets(asked, committed_only=committed_only)
        except AdminError as error:
            raise _refused(topic, error) from error
        return {partition.partition: offset for partition, offset in found.items()}


def _moment(one: StoredRecord) -> tuple[int, int, int]:
    return one.timestamp or 0, one.partition, one.offset


def _refused(topic: str, error: AdminError) -> ConnectError:
    return ConnectError(f"Topic {topic} cannot be read: {error.words} ({error.code}).")
