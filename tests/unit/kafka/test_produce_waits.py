"""A producer whose client gets nothing acknowledged any more: it ends, and skips nothing."""

import json
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect.data.batch import SourceBatch
from connect.data.column import Constant, Plain
from connect.data.values import Values
from connect.errors import ConnectError, RetriableError
from connect.kafka.clients.errors import ClientErrors, NotLetInError
from connect.kafka.writing.produce import BatchProducer
from connect.pipeline.error_kinds import ErrorKind, kind_of

SETTINGS = {"queue.buffering.max.kbytes": 1024, "bootstrap.servers": "b1:9093", "sasl.mechanism": "PLAIN"}


class Client:
    """Accepts records and never has them acknowledged; `tells` is called while it is waited for."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.tells: Callable[[], None] = lambda: None
        self.broken: KafkaError | None = None  # then it accepts nothing

    def produce_batch(self, topic: str, messages: list[Any], on_delivery: Any, **_: Any) -> int:
        self._report = on_delivery
        for message in messages if self.broken else ():
            message["_error"] = self.broken
        return 0 if self.broken else len(messages)

    def produce(self, *_: Any) -> None:
        if self.broken is not None:
            raise KafkaException(self.broken)

    def reports(self, error: KafkaError) -> None:
        self._report(error, SimpleNamespace(topic=lambda: "t"))

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


class Skipping:
    """A producer whose records that are refused for good are skipped."""

    def __init__(self) -> None:
        self.skipped: list[Any] = []
        self.producer = Producer(SETTINGS, lambda: None, lambda error, _: self.skipped.append(error))

    def sends(self, **columns: Any) -> None:
        self.producer.send(SourceBatch("t", Values.raw([b"x"]), **columns), "mark")

    def is_still_under_way(self) -> bool:
        return not self.skipped and not self.producer.deliveries.acknowledged()


@pytest.fixture
def skipping() -> Skipping:
    return Skipping()


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


@pytest.mark.promise("P1", "P5")
@pytest.mark.parametrize("dated", [False, True], ids=["by columns", "one by one"])
def test_what_a_broken_client_does_not_accept_is_not_skipped(skipping: Skipping, dated: bool) -> None:
    skipping.producer.client.broken = KafkaError(KafkaError._FATAL, "Message failed")
    with pytest.raises(ConnectError, match="The producer cannot go on"):
        skipping.sends(timestamps=[7] if dated else None)
    assert skipping.is_still_under_way()


@pytest.mark.promise("P1", "P5")
@pytest.mark.parametrize("code", [KafkaError._PURGE_QUEUE, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER])
def test_what_a_client_throws_away_when_it_breaks_is_not_skipped(skipping: Skipping, code: int) -> None:
    skipping.sends()
    skipping.producer.client.reports(KafkaError(code))
    with pytest.raises(ConnectError, match="The producer cannot go on"):
        skipping.producer.poll()
    assert skipping.is_still_under_way()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorKind.UNKNOWN),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, ErrorKind.ACCESS),
    ],
)
def test_a_fatal_error_of_the_client_says_what_it_means(producer: Producer, code: int, kind: ErrorKind) -> None:
    def fail(timeout: float) -> int:
        raise KafkaException(KafkaError(code, "it broke", fatal=True))

    producer.client.poll = producer.client.flush = fail  # type: ignore[method-assign]
    for call in (producer.poll, producer.drain):
        with pytest.raises(ConnectError, match=r"The producer cannot go on: it broke \(\w+\)\. A restart") as raised:
            call(0.01)
        assert kind_of(raised.value) is kind


class Waits(Exception):
    """A producer waits for acknowledgements."""


@pytest.mark.promise("P1", "P11")
@pytest.mark.parametrize("topics", [["b"], ["a", "b"]], ids=["its only topic", "one of its topics"])
def test_a_batch_that_was_to_wait_for_a_topic_is_not_under_way_when_the_wait_ends(topics: list[str]) -> None:
    """The task is to stop: what it waits for before it ends is what may still be acknowledged."""
    is_over = False

    def wait() -> None:
        if is_over:
            raise Waits

    producer = Producer(SETTINGS, wait, lambda error, _: None)
    producer.send(SourceBatch("a", Values.raw([b"x"])), "first")
    producer.client._report(None, None)
    is_over = True
    with pytest.raises(Waits):
        producer.send(SourceBatch(Plain(topics), Values.raw([b"x"] * len(topics))), "second")
    assert producer.drain(0.01)
    assert producer.deliveries.acknowledged() == ["first"]
    assert (producer.sent, producer.deliveries.rows, producer.deliveries.bytes) == (1, 0, 0)


@pytest.mark.promise("P7")
@pytest.mark.parametrize(
    "columns",
    [
        {"values": [b"0123456789"] * 100},
        {"values": [b""] * 100, "keys": [b"k" * 100] * 100},
        {"values": [None] * 100, "keys": Constant(b"k" * 100, 100)},
        {"values": [b""] * 100, "headers": Plain([[("a", b"x" * 100), ("b", None)]] * 100)},
        {"values": [b""] * 100, "headers": Constant([("a", b"x" * 100), ("b", None)], 100)},
    ],
    ids=["small", "keys", "one key", "headers", "the same headers"],
)
def test_all_that_records_take_counts_against_the_window(columns: dict[str, Any]) -> None:
    sent = 0

    def wait() -> None:
        if sent:  # before that it is the topic that is waited for
            raise Waits

    producer = Producer(SETTINGS, wait, lambda error, _: None)
    values, headers = Values.raw(columns["values"]), columns.get("headers", Constant(None, 100))
    keys = columns.get("keys", Constant(None, 100))
    batch = SourceBatch("t", values, keys=Values.raw(keys)).with_columns(headers=headers)
    with suppress(Waits):
        while sent < 100_000:
            producer.send(batch, None)
            sent += len(batch)
    taken = sum(len(column[0] or b"") for column in (columns["values"], keys))
    taken += sum(len(name) + len(value or b"") for name, value in headers[0] or ())
    assert 0 < (256 + taken) * sent <= 1 << 20
    assert producer.deliveries.bytes >= (256 + taken) * sent
