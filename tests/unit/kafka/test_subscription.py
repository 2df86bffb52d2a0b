"""Which topics a consumer subscribes to, and when it looks again."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect.errors import ConnectError
from connect.kafka.reading.subscription import Subscription


class Client:
    """Lists topics, or fails; notes which it was asked for by name."""

    def __init__(self, *topics: str) -> None:
        self.topics = topics
        self.error: KafkaError | None = None
        self.asked: list[str] = []

    def list_topics(self, topic: str = "", timeout: float = -1) -> Any:
        if self.error is not None:
            raise KafkaException(self.error)
        if topic:
            self.asked.append(topic)
            return SimpleNamespace(topics={topic: SimpleNamespace(error=None)})
        return SimpleNamespace(topics=dict.fromkeys(self.topics))


def test_names_are_subscribed_to_once() -> None:
    client = Client()
    subscription = Subscription(client, ["b", "a"], ["retry"], may_create=False)
    assert subscription.changed() == ["b", "a", "retry"] == subscription.names
    assert subscription.changed() == []
    assert not subscription.due
    assert client.asked == []


def test_missing_topics_are_made_by_asking_for_them() -> None:
    client = Client()
    Subscription(client, ["a", "b"], [], may_create=True).changed()
    assert client.asked == ["a", "b"]


def test_a_pattern_is_for_whole_names_and_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("connect.kafka.reading.subscription.time.monotonic", lambda: now)
    client = Client("orders-2", "orders-1", "old-orders-1", "orders-x")
    subscription = Subscription(client, re.compile(r"orders-\d"), ["retry"], may_create=False)
    assert subscription.due
    assert subscription.changed() == ["orders-1", "orders-2", "retry"]
    assert not subscription.due
    now += 29
    assert not subscription.due
    now += 1
    assert subscription.due
    assert subscription.changed() == []
    client.topics += ("orders-3",)
    assert subscription.changed() == ["orders-1", "orders-2", "orders-3", "retry"]


def test_what_is_subscribed_stays_so_while_no_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("connect.kafka.reading.subscription.time.monotonic", lambda: now)
    client = Client("orders")
    subscription = Subscription(client, re.compile("o.*"), [], may_create=False)
    subscription.changed()
    client.error = KafkaError(KafkaError._TRANSPORT)
    assert subscription.changed() == []
    assert subscription.names == ["orders"]
    now += 1  # sooner than after an answer
    assert subscription.due
    client.error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(ConnectError, match="The topics cannot be listed"):
        subscription.changed()
