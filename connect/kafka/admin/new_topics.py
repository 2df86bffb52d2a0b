"""Creates the topics that a source is about to write to, where they do not exist."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from connect.errors import ConnectError
from connect.kafka.clients.errors import ClientErrors, is_away
from connect.kafka.clients.log import log as client_log

log = logging.getLogger("connect.kafka")

#: How long a task that is to stop may wait for an answer.
_ANSWER_S = 2.0
_PAUSE_S = 0.2
#: A client without an answer for so long is recreated: librdkafka's may wait for a controller that the others know.
_ANEW_S = 10.0


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be created.

    Attributes:
        name: its name.
        partitions, replication: the number of partitions and of copies of each; -1 leaves it to the broker.
        settings: such as ``cleanup.policy``.
    """

    name: str
    partitions: int
    replication: int
    settings: Mapping[str, str]


class TopicMaker:
    """Creates topics before their first record. Called on the task's thread.

    Args:
        settings: librdkafka's for an admin client.
        plan: returns how a topic of this name is created.
        wait: called with seconds between two tries; raises to end the wait (the task stops, the lease is gone).
        keys: named in errors when the broker refuses.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        plan: Callable[[str], NewTopic],
        wait: Callable[[float], None],
        keys: str = "topic.creation.*",
    ) -> None:
        self._keys = keys
        self._settings = settings
        self._plan = plan
        self._wait = wait
        self._admin: Any = None
        self._asked_in_vain: float | None = None  # since when this client has had no answer
        self._brokers = ClientErrors(settings)

    def __call__(self, topic: str) -> None:
        """Create a topic if it does not exist. Others may do so at the same time. Waits for brokers that do not answer.

        Raises:
            ConnectError: the broker refuses: a setting that it does not know, more replicas than there are brokers, no
                right to create or to see the topic.
            NotLetInError: the brokers refuse this client.
        """
        from confluent_kafka import KafkaException

        while True:
            try:
                if not self._exists(topic):
                    self._make(self._plan(topic))
                self._answered()
                return
            except KafkaException as error:
                problem = error.args[0]
                if not is_away(problem):
                    raise self._refused(topic, problem) from error
                self._not_yet(problem)
            self._wait(_PAUSE_S)

    def partitions(self) -> dict[str, int]:
        """The number of partitions of every topic. Waits for brokers, and raises, as above."""
        from confluent_kafka import KafkaException

        while True:
            try:
                found = self._client().list_topics(timeout=_ANSWER_S).topics
                self._answered()
                return {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}
            except KafkaException as error:
                self._not_yet(error.args[0])
            self._wait(_PAUSE_S)

    def _not_yet(self, problem: Any) -> None:
        """A request was not answered: report it, unless the brokers refuse this client."""
        self._admin.poll(0)  # what the client has to say of its connections
        self._brokers.check()
        if self._brokers.refusal is None:
            self._brokers.unanswered(problem)
        now = time.monotonic()
        if self._asked_in_vain is None:
            self._asked_in_vain = now
        elif now - self._asked_in_vain >= _ANEW_S:
            self._admin = self._asked_in_vain = None

    def _answered(self) -> None:
        self._asked_in_vain = None
        self._brokers.answered()

    def _client(self) -> Any:
        from confluent_kafka.admin import AdminClient

        if self._admin is None:
            settings: dict[str, Any] = {**self._settings, "error_cb": self._brokers.hear, "logger": client_log}
            self._admin = AdminClient(settings)
        return self._admin

    def _exists(self, topic: str) -> bool:
        """Checked first: a user who may write to a topic need not have the right to create it."""
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        asked = self._client().describe_topics(TopicCollection([topic]), request_timeout=self._brokers.soon(_ANSWER_S))
        try:
            asked[topic].result()
        except KafkaException as error:
            if error.args[0].code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
                return False
            raise
        return True

    def _make(self, topic: NewTopic) -> None:
        from confluent_kafka import KafkaError, KafkaException, admin

        asked = self._client().create_topics(
            [admin.NewTopic(topic.name, topic.partitions, topic.replication, config=dict(topic.settings))],
            request_timeout=_ANSWER_S,
        )
        try:
            asked[topic.name].result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another task was quicker
                raise
        else:
            log.info("made topic %s", topic.name)

    def _refused(self, topic: str, problem: Any) -> ConnectError:
        from confluent_kafka import KafkaError

        advice = f" Look at the {self._keys} keys of this connector."
        if problem.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
            advice = (
                f" Grant DESCRIBE and CREATE on topic {topic} to the admin client of this connector (admin.* of the"
                " worker, admin.override.* of the connector), or make the topic."
            )
        words = problem.str().rstrip(".")
        return ConnectError(f'Topic "{topic}" cannot be made: {words} ({problem.name()}).{advice}')
