"""The partitions of topics and where they begin and end, asked of the brokers without a consumer.

By admin requests, which have timeouts: a consumer's own question for the ends may wait for ever while another thread
polls it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakValueDictionary

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.client_log import log as client_log
from connect.kafka.client_settings import task_client_settings

TIMEOUT_S: Final = 10.0


class _Client:
    """An admin client that several share. It ends with the last one that holds it."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from confluent_kafka.admin import AdminClient

        own: dict[str, Any] = {**settings, "client.id": "connect-lag", "logger": client_log}
        self.admin: Any = AdminClient(own)


_clients: WeakValueDictionary[frozenset[tuple[str, Any]], _Client] = WeakValueDictionary()
_making = threading.Lock()


def _shared_client(settings: Mapping[str, Any]) -> _Client:
    """One for all connectors with the same settings: an idle client costs too, and there may be hundreds of sinks."""
    key = frozenset((name, value) for name, value in settings.items() if name != "client.id")
    with _making:
        found = _clients.get(key)
        if found is None:
            found = _clients[key] = _Client(settings)
        return found


class TopicEnds:
    """Asks about the topics of one sink connector. Called from one thread at a time; making it connects to the brokers.

    All methods raise ConnectError when a broker refuses, or none answers.

    Args:
        worker, connector: their configurations, with secrets filled in.
        topics: names, or a pattern that whole names match.

    Raises:
        ConnectError: a client setting is wrong.
    """

    def __init__(
        self, worker: Mapping[str, str], connector: Mapping[str, str], topics: list[str] | re.Pattern[str]
    ) -> None:
        consumer = task_client_settings("consumer", worker, connector).librdkafka
        self._committed_only = consumer.get("isolation.level", "read_committed") == "read_committed"
        self._topics = topics
        self._client = _shared_client(task_client_settings("admin", worker, connector).librdkafka)
        self.admin = self._client.admin

    def ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """For each partition the offset after its last record that a consumer would be given."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(places, OffsetSpec.latest())

    def begins(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """For each partition the offset of its first record."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(places, OffsetSpec.earliest())

    def places(self) -> list[TopicPartition]:
        """Every partition of the topics that exist."""
        with _told():
            return self._places()

    def _places(self) -> list[TopicPartition]:
        from confluent_kafka import KafkaException, TopicCollection

        if isinstance(self._topics, re.Pattern):
            known = self.admin.list_topics(timeout=TIMEOUT_S).topics
            return [
                TopicPartition(name, number)
                for name, topic in known.items()
                if self._topics.fullmatch(name)
                for number in topic.partitions
            ]
        found = []
        # Not by a list of one topic, which would have the broker make it.
        answers = self.admin.describe_topics(TopicCollection(self._topics), request_timeout=TIMEOUT_S)
        for name, answer in answers.items():
            try:
                found += [TopicPartition(name, partition.id) for partition in answer.result().partitions]
            except KafkaException as error:
                if error.args[0].name() not in {"UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_OR_PARTITION"}:
                    raise
        return found

    def _offsets(self, places: Iterable[TopicPartition], which: Any) -> dict[TopicPartition, int]:
        from confluent_kafka import IsolationLevel
        from confluent_kafka import TopicPartition as Place

        level = IsolationLevel.READ_COMMITTED if self._committed_only else IsolationLevel.READ_UNCOMMITTED
        asked = {Place(*place): which for place in places}
        if not asked:
            return {}
        with _told():
            answers = self.admin.list_offsets(asked, isolation_level=level, request_timeout=TIMEOUT_S)
            return {TopicPartition(at.topic, at.partition): answer.result().offset for at, answer in answers.items()}


@contextmanager
def _told() -> Iterator[None]:
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise ConnectError(f"The ends of the topics are not known: {error.args[0].str()}") from error
