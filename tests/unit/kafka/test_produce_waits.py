"""A producer that waits until all is acknowledged: it ends where that will never be."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect.data.batch import SourceBatch
from connect.data.values import Values
from connect.errors import RetriableError
from connect.kafka.clients.errors import ClientErrors, NotLetInError
from connect.kafka.writing.produce import BatchProducer

SETTINGS = {"queue.buffering.max.kbytes": 1024, "bootstrap.servers": "b1:9093", "sasl.mechanism": "PLAIN"}


class Client:
    """Accepts records and never has them acknowledged; `tells` is called while it is waited for."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.tells: Callable[[], None] = lambda: None

    def produce_batch(self, topic: str, messages: list[Any], **_: Any) -> int:
        return len(messages)

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions={0: SimpleNamespace(leader=2)})})

    def poll(self, timeout: float) -> int:
        return 1

    def flush(self, timeout: float) -> int:
        self.tells()
        return 1

    def purge(self, **_: Any) -> None: ...


class Producer(BatchProducer):
    """With that client."""

    client: Client

    def _connect(self, logger: Any) -> None:
        self._producer: Any = Client(self._settings)
        self.client = self._producer


@pytest.fixture
def producer() -> Producer:
    made = Producer(SETTINGS, lambda: None, lambda error, _: None)
    made.send(SourceBatch("t", Values.raw([b"x"])), None)
    return made


def drains(producer: Producer) -> None:
    for _ in range(20):
        assert not producer.drain(0.001)


def test_brokers_that_refuse_the_login_end_the_wait(producer: Producer, clock: Any) -> None:
    producer._brokers = ClientErrors(SETTINGS, clock=clock)
    producer.client.list_topics = _no_answer  # type: ignore[method-assign]

    def refuse() -> None:
        clock.now += 1
        said = "sasl_ssl://b1:9093/1: SASL authentication error: Invalid username or password"
        producer.client.settings["error_cb"](KafkaError(KafkaError._AUTHENTICATION, said))

    producer.client.tells = refuse
    with pytest.raises(NotLetInError):
        drains(producer)


def test_records_that_go_to_the_wrong_broker_end_the_wait(producer: Producer) -> None:
    partition = {"partition": 0, "leader": 1}
    said = json.dumps({"topics": {"t": {"partitions": {"0": partition}}}})
    producer.client.tells = lambda: producer.client.settings["stats_cb"](said)
    with pytest.raises(RetriableError, match="t-0 are sent to broker 1, but broker 2 leads it"):
        drains(producer)


def _no_answer(topic: str, timeout: float) -> Any:
    raise KafkaException(KafkaError(KafkaError._TRANSPORT))
