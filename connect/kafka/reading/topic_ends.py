"""The partitions of topics and their first and last offsets, asked of the brokers without a consumer.

A consumer's own request for the ends may wait forever while another thread polls it; these have timeouts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.answers import EARLIEST, LATEST, TIMEOUT_S, AdminError
from connect.kafka.clients.override_rules import of_questions
from connect.kafka.clients.settings import task_client_settings, task_java_settings

#: Which topics a sink consumes: see `TopicEnds`.
Topics = list[str] | re.Pattern[str] | Callable[[Collection[str]], Collection[str]]


class TopicEnds:
    """The topics of one sink connector. Thread-safe. Connects at the first request.

    All methods raise ConnectError when a broker refuses, or none answers.

    Args:
        worker, connector: their configurations, with secrets filled in.
        topics: names, or a pattern that whole names match, or a function that chooses among the names of all topics: a
            user's pattern may take any time on a name, and blocks this process meanwhile.

    Raises:
        ConnectError: a client setting is wrong.
    """

    def __init__(self, worker: Mapping[str, str], connector: Mapping[str, str], topics: Topics) -> None:
        from connect.kafka.admin.client import shared_admin

        connector = of_questions(connector)
        consumer = task_client_settings("consumer", worker, connector).librdkafka
        self._committed_only = consumer.get("isolation.level", "read_committed") == "read_committed"
        self._topics = topics
        self.admin = shared_admin(task_java_settings("admin", worker, connector), "connect-lag")

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """For each partition the offset after the last record that a consumer would get."""
        return self._offsets(partitions, LATEST)

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """For each partition the offset of its first record."""
        return self._offsets(partitions, EARLIEST)

    def at(self, moments: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """For each partition the first offset of a time (ms since 1970) or later; -1 where there is none."""
        with _told():
            return self.admin.offsets(moments, committed_only=self._committed_only, timeout=TIMEOUT_S)

    def partitions(self) -> list[TopicPartition]:
        """Every partition of the topics that exist."""
        with _told():
            if isinstance(self._topics, list):
                found = self.admin.partitions(self._topics, TIMEOUT_S)
            else:
                there = self.admin.topics(TIMEOUT_S)
                found = {name: there[name] for name in self._chosen(there)}
        return [TopicPartition(name, number) for name, numbers in found.items() for number in numbers]

    def _chosen(self, there: Collection[str]) -> Collection[str]:
        if isinstance(self._topics, re.Pattern):
            return [name for name in there if self._topics.fullmatch(name)]
        assert not isinstance(self._topics, list)
        return self._topics(there)

    def _offsets(self, partitions: Iterable[TopicPartition], which: int) -> dict[TopicPartition, int]:
        with _told():
            return self.admin.offsets(
                dict.fromkeys(partitions, which), committed_only=self._committed_only, timeout=TIMEOUT_S
            )


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except AdminError as error:
        raise ConnectError(f"The ends of the topics are not known: {error.words}.") from error
