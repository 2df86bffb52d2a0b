"""Which topics a consumer subscribes to, by their names or by a pattern."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from connect.errors import ConnectError
from connect.kafka.clients.errors import is_away

#: How long a look at all topics may take; when the next one comes, and when after one that found no broker.
_LIST_S: Final = 2.0
_AGAIN_S: Final = 30.0
_AFTER_NONE_S: Final = 1.0
_CREATED_WITHIN_S: Final = 1.0


class Subscription:
    """The topics of one client. For the consumer's thread.

    Args:
        consumer: the client.
        topics: names, or a compiled pattern that whole names must match.
        also: names of further topics.
        may_create: whether the broker is to create missing topics.

    Attributes:
        names: of the topics that were returned last.
    """

    def __init__(
        self, consumer: Any, topics: Sequence[str] | re.Pattern[str], also: Sequence[str], *, may_create: bool
    ) -> None:
        self.names: list[str] = []
        self._consumer = consumer
        self._topics = topics
        self._also = also
        self._may_create = may_create
        self._due = 0.0

    @property
    def due(self) -> bool:
        """Whether the topics of a pattern should be looked for again."""
        return isinstance(self._topics, re.Pattern) and time.monotonic() >= self._due

    def changed(self) -> list[str]:
        """The topics to subscribe to, if they are others than those returned last; else nothing.

        Raises:
            ConnectError: the topics cannot be listed.
        """
        if isinstance(self._topics, re.Pattern):
            known = self._all_topics()
            self._due = time.monotonic() + (_AFTER_NONE_S if known is None else _AGAIN_S)
            if known is None:
                return []  # no broker answers: a poll tells of it, and what is subscribed stays so
            names = sorted({name for name in known if self._topics.fullmatch(name)} | set(self._also))
        else:
            names = [*self._topics, *self._also]
            self._await_topics(names)
        if not names or names == self.names:
            return []
        self.names = names
        return names

    def _all_topics(self) -> Iterable[str] | None:
        """The names of all topics; None where no broker answers."""
        from confluent_kafka import KafkaException

        try:
            return list(self._consumer.list_topics(timeout=_LIST_S).topics)
        except KafkaException as error:
            if not is_away(error.args[0]):
                raise ConnectError(f"The topics cannot be listed: {error.args[0].str()}") from error
            return None

    def _await_topics(self, names: Sequence[str]) -> None:
        """Let the broker create missing topics, as Kafka's consumers do by default, before subscribing.

        Otherwise librdkafka finds them missing, and looks again only after two seconds.
        """
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + _CREATED_WITHIN_S
        for name in names if self._may_create else ():
            while (left := deadline - time.monotonic()) > 0:
                try:
                    if self._consumer.list_topics(name, timeout=left).topics[name].error is None:
                        break
                except KafkaException:
                    return  # no broker answers; the subscription tells of it
                time.sleep(0.02)
