"""Finds out whether a producer's client still sends to the brokers that lead its partitions.

librdkafka keeps the leader epoch of a partition whose topic is deleted. What brokers say of a topic of the same name
that is created later is outdated for it, as its epochs begin at 0: where another broker leads the partition now, it
sends to the former one for good, and is refused, without a word
(https://github.com/confluentinc/librdkafka/issues/4898).

https://github.com/confluentinc/librdkafka/blob/master/STATISTICS.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

#: How often the client says where it sends.
EVERY_S: Final = 30
_ANSWER_S: Final = 2.0


class WrongLeader(NamedTuple):
    """A partition, the broker to which its records are sent, and the one that leads it."""

    topic: str
    partition: int
    sent_to: int
    leader: int

    def __str__(self) -> str:
        where = f"{self.topic}-{self.partition}"
        return f"Records for {where} are sent to broker {self.sent_to}, but broker {self.leader} leads it"


class Leaders:
    """Compares where one client sends with what brokers say. For one thread."""

    def __init__(self) -> None:
        self._said = ""
        self._suspects: frozenset[WrongLeader] = frozenset()

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that the client has to have: it tells its statistics from within its `poll`."""
        return {"statistics.interval.ms": EVERY_S * 1000, "stats_cb": self._hear}

    def _hear(self, statistics: str) -> None:
        self._said = statistics

    def rest(self) -> None:
        """No record waits for an answer."""
        self._said, self._suspects = "", frozenset()

    def wrong(self, client: Any) -> WrongLeader | None:
        """A partition that was led by another broker at the last statistics and at those before.

        Each are looked at once; without new ones it costs nothing. To be asked while records wait for answers.
        """
        if not self._said:
            return None
        said, self._said = json.loads(self._said), ""
        found = frozenset(_differing(client, said.get("topics", {})))
        still = found & self._suspects
        self._suspects = found
        return min(still, default=None)


def _differing(client: Any, topics: Mapping[str, Any]) -> list[WrongLeader]:
    from confluent_kafka import KafkaException

    found = []
    for topic, told in topics.items():
        try:
            partitions = client.list_topics(topic, timeout=_ANSWER_S).topics[topic].partitions
        except KafkaException:
            return []  # brokers are away, and the client tells of it
        for each in told["partitions"].values():
            number, sent_to = each["partition"], each["leader"]
            led_by = partitions[number].leader if number in partitions else -1
            if min(sent_to, led_by) >= 0 and sent_to != led_by:  # else it waits for a leader
                found.append(WrongLeader(topic, number, sent_to, led_by))
    return found
