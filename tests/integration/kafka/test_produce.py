"""Producing batches to a real broker: Java's partitions and order, bounded memory, refusals that are told."""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from connect.data.batch import SourceBatch
from connect.data.column import Constant, Plain
from connect.data.values import Values
from connect.kafka.clients.settings import client_settings
from connect.kafka.writing import topic_wait
from connect.kafka.writing.produce import BatchProducer
from connect.kafka.writing.refusals import DeliveryError, WrongClockError
from tests.support.processes import frozen
from tests.support.waiting import until

PARTITIONS = """
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import java.util.*;
public class Partitions {
    public static void main(String[] args) {
        int count = Integer.parseInt(args[0]);
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine())
            System.out.println(BuiltInPartitioner.partitionForKey(HexFormat.of().parseHex(lines.nextLine()), count));
    }
}
"""


class Enough(Exception):
    """A test has seen enough of a wait."""


def fail(error: DeliveryError, message: Any) -> None:
    raise error


@pytest.fixture
def make_producer() -> Iterator[Callable[..., BatchProducer]]:
    """Makes producers: `make_producer(broker, refused=..., keep_going=..., **java_settings)`."""
    made: list[BatchProducer] = []

    def make(
        broker: Any,
        refused: Callable[[DeliveryError, Any], None] = fail,
        keep_going: Callable[[], None] = lambda: None,
        java: dict[str, str] | None = None,
    ) -> BatchProducer:
        settings = client_settings("producer", {"bootstrap.servers": broker.bootstrap_servers, **(java or {})})
        made.append(BatchProducer(settings.librdkafka, keep_going, refused))
        return made[-1]

    yield make
    for producer in made:
        producer.close()


def batch(topic: str, values: Sequence[bytes | None], **columns: Any) -> SourceBatch:
    return SourceBatch(topic, Values.raw(list(values)), **columns)


def send_and_drain(producer: BatchProducer, records: SourceBatch, each: Any = None) -> None:
    producer.send(records, "mark", each)
    assert producer.drain(30)


def numbers(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


@pytest.mark.quick
def test_keys_lie_in_the_partitions_that_java_puts_them_in(broker, new_topic, make_producer, java_program, seed, read):
    chance = random.Random(seed)
    keys = [b"", b"a", b"21", *(chance.randbytes(chance.randrange(1, 41)) for _ in range(1000))]
    asked = "\n".join(key.hex() for key in keys) + "\n"
    said = java_program(PARTITIONS, jars=["kafka-broker"]).run(7, asked=asked)
    expected = [int(line) for line in said.split()]

    for headers in ([], [("h", b"v")]):  # these go through another method of the client
        topic = new_topic(partitions=7)
        producer = make_producer(broker)
        columns = {"headers": Plain([headers] * len(keys))} if headers else {}
        producer.send(batch(topic, numbers(0, len(keys)), keys=Values.raw(keys), **columns), None)
        assert producer.drain(30)
        found = {int(m.value()): m.partition() for m in read(broker.bootstrap_servers, topic, len(keys))}
        assert [found[row] for row in range(len(keys))] == expected


@pytest.mark.quick
def test_everything_of_a_record_arrives(broker, new_topic, make_producer, read):
    topic, other = new_topic(partitions=3), new_topic()
    producer = make_producer(broker)
    rows = [
        (topic, b"v0", b"k0", 2, 1_600_000_000_000),
        (topic, None, b"gone", 2, 1_600_000_000_001),
        (other, b"elsewhere", None, None, None),
        (topic, b"", b"", 2, 1_600_000_000_002),
        (topic, b"v3", None, 2, 1_600_000_000_003),
    ]
    topics, values, keys, partitions, timestamps = map(list, zip(*rows, strict=True))
    producer.send(
        SourceBatch(
            topics,
            Values.raw(values),
            keys=Values.raw(keys),
            partitions=Plain(partitions),
            timestamps=Plain(timestamps),
        ),
        "mark",
    )
    assert producer.drain(30)
    assert producer.deliveries.acknowledged() == ["mark"]
    found = [
        (m.topic(), m.value(), m.key(), m.partition(), m.timestamp()[1])
        for m in read(broker.bootstrap_servers, topic, 4)
    ]
    assert found == [row for row in rows if row[0] == topic]
    assert [m.value() for m in read(broker.bootstrap_servers, other, 1)] == [b"elsewhere"]


@pytest.mark.parametrize("told", [False, True])
def test_records_go_to_the_partitions_that_they_name(broker, new_topic, make_producer, read, told):
    """Also without timestamps and headers, when they go through the client's call for batches."""
    topic = new_topic(partitions=3)
    producer = make_producer(broker)
    each = (lambda row: lambda error, message: None) if told else None
    named = [row % 3 if row % 10 else None for row in range(1000)]
    send_and_drain(producer, batch(topic, numbers(0, 1000), partitions=Plain(named)), each)
    send_and_drain(producer, batch(topic, numbers(1000, 100), partitions=2), each)
    found = {int(m.value()): m for m in read(broker.bootstrap_servers, topic, 1100)}
    assert all(found[row].partition() == wanted for row, wanted in enumerate(named) if wanted is not None)
    assert {found[row].partition() for row in range(1000, 1100)} == {2}
    for partition in range(3):
        rows = [row for row in range(1000) if named[row] == partition]
        assert [found[row].offset() for row in rows] == sorted(found[row].offset() for row in rows)


def test_headers_arrive_in_order_with_nulls_and_repeated_names(broker, new_topic, make_producer, read):
    topic = new_topic(partitions=2)
    producer = make_producer(broker)
    headers = [[("a", b"1"), ("a", b"2"), ("b", None), ("c", b"")], [], None, [("z", b"\xff")]]
    producer.send(
        batch(
            topic,
            [b"0", None, b"2", b"3"],
            keys=Values.raw([b"k", b"k", b"k", None]),
            partitions=Plain([1, 1, 1, 1]),
            timestamps=Plain([5, 6, 7, None]),
            headers=Plain(headers),
        ),
        None,
    )
    assert producer.drain(30)
    found = read(broker.bootstrap_servers, topic, 4)
    assert [(m.value(), m.key(), m.partition()) for m in found] == [
        (b"0", b"k", 1),
        (None, b"k", 1),
        (b"2", b"k", 1),
        (b"3", None, 1),
    ]
    assert [m.headers() or [] for m in found] == [row or [] for row in headers]
    assert [m.timestamp()[1] for m in found][:3] == [5, 6, 7]
    assert found[3].timestamp()[1] > 1_600_000_000_000


@pytest.mark.promise("P1")
def test_marks_come_back_in_order_and_once(broker, new_topic, make_producer):
    topic = new_topic(partitions=4)
    producer = make_producer(broker)
    marks: list[int] = []
    for count in range(50):
        producer.send(batch(topic, numbers(count, count % 7)), count)
        marks += producer.deliveries.acknowledged()
    assert producer.drain(30)
    marks += producer.deliveries.acknowledged()
    assert marks == list(range(50))
    assert producer.deliveries.acknowledged() == []
    assert producer.deliveries.outstanding == 0
    assert producer.sent == sum(count % 7 for count in range(50))


def test_each_record_can_be_reported(broker, new_topic, make_producer):
    topic = new_topic()
    producer = make_producer(broker)
    places: dict[int, tuple[str, int, int]] = {}

    def each(row: int) -> Callable[[Any, Any], None]:
        return lambda error, message: places.__setitem__(row, (message.topic(), message.partition(), message.offset()))

    producer.send(batch(topic, numbers(0, 3)), None, each)
    producer.send(batch(topic, numbers(3, 1), headers=Plain([[("h", b"v")]])), None, lambda row: each(row + 3))
    assert producer.drain(30)
    assert places == {row: (topic, 0, row) for row in range(4)}


@pytest.mark.parametrize("headers", [None, Plain([[("h", b"v")]] * 8)], ids=["columns", "singly"])
def test_each_record_of_several_topics_is_reported_as_itself(broker, new_topic, make_producer, headers):
    one, other = new_topic(), new_topic()
    producer = make_producer(broker, lambda error, message: None, java={"max.request.size": "2000"})
    told: dict[int, tuple[str, str | None]] = {}

    def each(place: int) -> Callable[[Any, Any], None]:
        return lambda error, message: told.__setitem__(
            place, (message.topic(), None if error is None else error.name())
        )

    values = [bytes(3000) if place == 5 else b"%d" % place for place in range(8)]
    topics = [one, one, other, one, other, other, one, other]
    producer.send(SourceBatch(Plain(topics), Values.raw(values), headers=headers), None, each)
    assert producer.drain(30)
    assert told == {place: (topic, "MSG_SIZE_TOO_LARGE" if place == 5 else None) for place, topic in enumerate(topics)}


def test_an_error_in_a_report_reaches_the_task(broker, new_topic, make_producer):
    producer = make_producer(broker)

    def each(row: int) -> Callable[[Any, Any], None]:
        def report(error: Any, message: Any) -> None:
            raise OSError("the queue is gone")

        return report

    producer.send(batch(new_topic(), numbers(0, 3)), None, each)
    with pytest.raises(OSError, match="the queue is gone"):
        producer.drain(30)


# Records that are too large.

LIMITS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "the client's": ({}, {"max.request.size": "20000"}),
    "the topic's": ({"max.message.bytes": "20000"}, {}),
}


@pytest.mark.promise("P1", "P5")
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("headers", [False, True], ids=["plain", "with headers"])
def test_a_record_above_a_limit_is_refused_by_name_and_nothing_behind_it_counts(
    broker, new_topic, make_producer, limit, headers
):
    of_topic, of_client = LIMITS[limit]
    topic = new_topic(config=of_topic)
    producer = make_producer(broker, java={"linger.ms": "0", **of_client})
    columns: dict[str, Any] = {"headers": Plain([[("h", b"v")]])} if headers else {}
    producer.send(batch(topic, [b"small"], **columns), "before")
    assert producer.drain(30)
    with pytest.raises(DeliveryError, match=r"max\.message\.bytes of the topic.*errors\.tolerance") as refusal:
        send_and_drain(producer, batch(topic, [b"x" * 50_000], **columns))
    assert topic in str(refusal.value)
    assert "MSG_SIZE_TOO_LARGE" in str(refusal.value)
    assert producer.deliveries.acknowledged() == ["before"]


#: Takes no record that was made before it comes: as from a machine whose clock is behind.
NOTHING_OLD = {"message.timestamp.before.max.ms": "0"}


@pytest.mark.promise("P1")
@pytest.mark.parametrize("policy", ["delete", "compact"])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("headers", [False, True], ids=["plain", "with headers"])
def test_the_time_of_a_wrong_clock_is_no_fault_of_a_record(broker, new_topic, make_producer, headers, count, policy):
    topic = new_topic(config={**NOTHING_OLD, "cleanup.policy": policy})
    given_up: list[DeliveryError] = []
    producer = make_producer(broker, lambda error, message: given_up.append(error), java={"linger.ms": "50"})
    columns: dict[str, Any] = {"headers": Plain([[("h", b"v")]] * count)} if headers else {}
    if policy == "compact":
        columns["keys"] = Values.raw(numbers(0, count))
    producer.send(batch(topic, numbers(0, count), **columns), "mark")
    made = time.time()
    until(lambda: time.time() > made + 0.01)  # a broker that is as quick as a millisecond would find nothing old
    with pytest.raises(WrongClockError, match=r"clock .*message\.timestamp\.before\.max\.ms"):
        producer.drain(30)
    assert (given_up, producer.deliveries.acknowledged()) == ([], [])


@pytest.mark.parametrize("count", [1, 3])
def test_a_key_that_is_missing_is_a_records_fault(broker, new_topic, make_producer, count):
    topic = new_topic(config={"cleanup.policy": "compact"})
    given_up: list[DeliveryError] = []
    producer = make_producer(broker, lambda error, message: given_up.append(error))
    send_and_drain(producer, batch(topic, numbers(0, count)))
    assert {(type(error), error.code) for error in given_up} == {(DeliveryError, "INVALID_RECORD")}


def test_a_timestamp_of_a_records_own_is_its_fault(broker, new_topic, make_producer):
    topic = new_topic(config=NOTHING_OLD)
    given_up: list[DeliveryError] = []
    producer = make_producer(broker, lambda error, message: given_up.append(error))
    send_and_drain(producer, batch(topic, [b"a"], timestamps=Plain([1_600_000_000_000])))
    assert [(type(error), error.code) for error in given_up] == [(DeliveryError, "INVALID_TIMESTAMP")]
    assert producer.deliveries.acknowledged() == ["mark"]


@pytest.mark.promise("P1", "P5")
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("headers", [False, True], ids=["plain", "with headers"])
def test_a_refused_record_that_is_given_up_costs_no_other(broker, new_topic, make_producer, limit, headers, read):
    of_topic, of_client = LIMITS[limit]
    topic = new_topic(config=of_topic)
    refused: list[str] = []
    producer = make_producer(broker, lambda error, message: refused.append(error.code), java=of_client)
    values = [b"a", b"x" * 50_000, b"b"]
    columns: dict[str, Any] = {"headers": Plain([[("h", b"v")]] * 3)} if headers else {}
    reported: list[tuple[int, bool]] = []

    def each(row: int) -> Callable[[Any, Any], None]:
        return lambda error, message: reported.append((row, error is None))

    for value in values:  # one request for each: a broker refuses what came in one as a whole
        producer.send(batch(topic, [value], headers=columns["headers"].take([0])) if headers else batch(topic, [value]),
                      value[:1], lambda row, value=value: each(values.index(value)))  # fmt: skip
        assert producer.drain(30)
    assert producer.deliveries.acknowledged() == [b"a", b"x", b"b"]
    assert [code.removeprefix("_") for code in refused] == ["MSG_SIZE_TOO_LARGE"]
    assert [m.value() for m in read(broker.bootstrap_servers, topic, 2)] == [b"a", b"b"]
    assert sorted(reported) == [(0, True), (1, False), (2, True)]


@pytest.mark.promise("P2")
@pytest.mark.parametrize("limit", LIMITS)
def test_a_record_that_fails_the_task_is_not_reported_as_done(broker, new_topic, make_producer, limit):
    of_topic, of_client = LIMITS[limit]
    topic = new_topic(config=of_topic)
    producer = make_producer(broker, java=of_client)
    reported: list[int] = []
    with pytest.raises(DeliveryError):
        send_and_drain(producer, batch(topic, [b"x" * 50_000]), lambda row: lambda error, message: reported.append(row))
    assert reported == []


# Topics and brokers that are not there.


@pytest.mark.promise("P9")
def test_a_topic_that_nobody_may_create_is_named(strict_broker, make_producer, monkeypatch):
    monkeypatch.setattr(topic_wait, "_TOPIC_S", 0.5)
    producer = make_producer(strict_broker)
    with pytest.raises(DeliveryError, match=r'Topic "not-there" .* does not exist.*kafka-topics --create'):
        producer.send(batch("not-there", [b"x"]), None)


def test_a_topic_that_is_made_while_we_wait_for_it_is_used(strict_broker, new_topic, make_producer, read):
    topic = "made-later"
    waited = []

    def keep_going() -> None:
        waited.append(1)
        if len(waited) == 3:
            new_topic(on=strict_broker, name=topic)

    producer = make_producer(strict_broker, keep_going=keep_going)
    producer.send(batch(topic, [b"x"]), None)
    assert producer.drain(30)
    assert [m.value() for m in read(strict_broker.bootstrap_servers, topic, 1)] == [b"x"]


def test_a_name_that_no_topic_can_have_is_refused_at_once(broker, make_producer):
    with pytest.raises(DeliveryError, match=r'Topic "not a topic"'):
        make_producer(broker).send(batch("not a topic", [b"x"]), None)


@pytest.mark.promise("P9")
def test_a_broker_that_is_away_is_said_once_and_waited_for(make_producer, caplog, monkeypatch):
    monkeypatch.setattr(topic_wait, "_METADATA_S", 0.2)
    waits = []

    def keep_going() -> None:
        waits.append(1)
        if len(waits) > 2:
            raise Enough

    class Nobody:
        bootstrap_servers = "127.0.0.1:1"

    with caplog.at_level(logging.WARNING), pytest.raises(Enough):
        make_producer(Nobody, keep_going=keep_going).send(batch("any", [b"x"]), None)
    assert len([r for r in caplog.records if "No broker answers" in r.getMessage()]) == 1


# A broker that stops.


@pytest.mark.promise("P1", "P7")
def test_what_is_under_way_is_bounded_while_the_broker_hangs(strict_broker, new_topic, make_producer, end_of):
    topic = new_topic(on=strict_broker)
    waits = []

    def keep_going() -> None:
        waits.append(1)
        if hanging and len(waits) > 20:
            raise Enough

    hanging = False
    producer = make_producer(strict_broker, keep_going=keep_going, java={"buffer.memory": "1048576"})
    producer.send(batch(topic, numbers(0, 100)), 0)
    assert producer.drain(30)
    with frozen(strict_broker.running.pid):
        hanging = True
        sent = 1
        try:
            for sent in range(1, 1000):
                producer.send(batch(topic, [b"%05d" % sent + b"x" * 1019] * 100), sent)
        except Enough:
            pass
        assert sent * 100 * 1024 <= (1 << 20) + 100 * 1024
        assert producer.deliveries.outstanding <= 1100
    hanging = False
    assert producer.drain(60)
    assert producer.deliveries.acknowledged() == list(range(sent))
    assert end_of(strict_broker.bootstrap_servers, topic) == 100 + (sent - 1) * 100


@pytest.mark.slow
@pytest.mark.promise("P1", "P10")
def test_order_survives_a_restart_of_the_broker_amid_a_stream(strict_broker, new_topic, make_producer, read, end_of):
    topic = new_topic(on=strict_broker)
    producer = make_producer(strict_broker, java={"buffer.memory": "4194304", "linger.ms": "1"})

    def restart() -> None:
        strict_broker.kill()
        strict_broker.start()

    restarting = threading.Thread(target=restart)
    count, marks = 0, []
    after = 20
    while after:
        producer.send(batch(topic, numbers(count, 50)), count)
        count += 50
        marks += producer.deliveries.acknowledged()
        if count == 5000:
            restarting.start()
        if count > 5000 and not restarting.is_alive():
            after -= 1
    restarting.join()
    assert producer.drain(60)
    marks += producer.deliveries.acknowledged()
    assert marks == list(range(0, count, 50))
    found = [int(m.value()) for m in read(strict_broker.bootstrap_servers, topic, count)]
    assert found == list(range(count))
    assert end_of(strict_broker.bootstrap_servers, topic) == count


@pytest.mark.promise("P2")
def test_records_that_are_thrown_away_at_the_end_are_reported_to_nobody(strict_broker, new_topic, make_producer):
    topic = new_topic(on=strict_broker)
    told: list[Any] = []
    producer = make_producer(strict_broker, refused=lambda error, message: told.append(error))
    producer.send(batch(topic, [b"x"]), None)
    assert producer.drain(30)
    with frozen(strict_broker.running.pid):
        producer.send(batch(topic, numbers(0, 10)), None, lambda row: lambda error, message: told.append(row))
        producer.close()
        assert told == []


def test_closing_waits_for_no_broker(strict_broker, new_topic, make_producer):
    topic = new_topic(on=strict_broker)
    producer = make_producer(strict_broker)
    producer.send(batch(topic, [b"x"]), None)
    assert producer.drain(30)
    with frozen(strict_broker.running.pid):
        producer.send(batch(topic, numbers(0, 10)), None)
        assert not producer.drain(0.2)
        producer.close()
        assert producer.deliveries.outstanding == 0


def test_the_timestamp_zero_is_written_as_one_and_never_as_now_and_that_is_said_once(
    broker, new_topic, make_producer, read, caplog
):
    topic = new_topic()
    producer = make_producer(broker)
    send_and_drain(producer, batch(topic, [b"a", b"b"], timestamps=Plain([0, 7])))
    send_and_drain(producer, batch(topic, [b"c", b"d"], timestamps=Constant(0, 2)))
    assert [message.timestamp()[1] for message in read(broker.bootstrap_servers, topic, 4)] == [1, 7, 1, 1]
    assert caplog.text.count("timestamp 0") == 1


def test_a_timestamp_of_minus_one_is_none_as_in_java(broker, new_topic, make_producer, read):
    topic = new_topic()
    producer = make_producer(broker)
    send_and_drain(producer, batch(topic, [b"a", b"b"], timestamps=Plain([-1, 7])))
    send_and_drain(producer, batch(topic, [b"c"], timestamps=Constant(-1, 1)))
    found = [message.timestamp()[1] for message in read(broker.bootstrap_servers, topic, 3)]
    assert found[1] == 7
    assert min(found[0], found[2]) > 1_600_000_000_000


@pytest.mark.promise("P5")
@pytest.mark.parametrize("impossible", [-2, -(10**13), 2**63, 10**30])
def test_a_time_that_kafka_has_not_is_the_fault_of_its_record(broker, new_topic, make_producer, read, impossible):
    topic = new_topic()
    refused: list[DeliveryError] = []
    producer = make_producer(broker, refused=lambda error, message: refused.append(error))
    send_and_drain(producer, batch(topic, [b"a", b"b", b"c"], timestamps=Plain([5, impossible, 7])))
    assert producer.deliveries.acknowledged() == ["mark"]
    assert [message.value() for message in read(broker.bootstrap_servers, topic, 2)] == [b"a", b"c"]
    (error,) = refused
    assert error.code == "INVALID_TIMESTAMP"
    assert f"its timestamp is {impossible}" in str(error)
