"""Few records are written, and it is said of each what became of it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.clients.settings import client_settings
from connect.kafka.reading.read_range import StoredRecord, read_records
from connect.kafka.writing.resend import Resender
from connect.kafka.writing.topic_producer import TopicProducer
from connect.kafka.writing.write_once import OutgoingRecord, refusal

NOBODY = "127.0.0.1:1"


@pytest.fixture
def written(broker: Any) -> Callable[..., list[StoredRecord]]:
    """What lies in a topic: `written(topic, partitions=1)`."""

    def read(topic: str, partitions: int = 1) -> list[StoredRecord]:
        settings = client_settings("consumer", {"bootstrap.servers": broker.bootstrap_servers, "group.id": "any"})
        begin = {TopicPartition(topic, number): 0 for number in range(partitions)}
        return list(read_records(settings.librdkafka, begin, lambda: None))

    return read


@pytest.fixture
def resender(broker: Any) -> Iterator[Resender]:
    made = Resender({"bootstrap.servers": broker.bootstrap_servers}, {})
    yield made
    made.close()


def test_records_lie_there_to_the_letter(resender: Resender, new_topic: Any, written: Any) -> None:
    topic = new_topic(2)
    outcomes = resender.write(
        [
            OutgoingRecord(topic, b"k", b"v", 1, [("a", b"1"), ("b", None)], 5),
            OutgoingRecord(topic, None, None, 1, timestamp=0),
            OutgoingRecord(topic, b"k", b"w", 0),
        ]
    )
    assert [(each.partition, each.offset, each.error) for each in outcomes] == [(1, 0, ""), (1, 1, ""), (0, 0, "")]
    first, second = (each for each in written(topic, 2) if each.partition == 1)
    assert (first.key, first.value, first.headers, first.timestamp) == (b"k", b"v", [("a", b"1"), ("b", None)], 5)
    assert (second.key, second.value, second.headers, second.timestamp) == (None, None, (), 1)


def test_what_is_refused_is_said_of_that_record(resender: Resender, new_topic: Any) -> None:
    topic = new_topic()
    good, large, other = resender.write(
        [
            OutgoingRecord(topic, None, b"small"),
            OutgoingRecord(topic, None, b"x" * 5_000_000),
            OutgoingRecord(topic, None, b"too"),
        ]
    )
    assert (good.error, large.code, other.error) == ("", "MSG_SIZE_TOO_LARGE", "")
    assert "large" in refusal([good, large, other])
    assert refusal([good, other]) == ""


def test_offsets_are_written_in_order_or_it_is_an_error(broker: Any, new_topic: Any, written: Any) -> None:
    topic = new_topic(config={"cleanup.policy": "compact"})
    producer = TopicProducer(topic, {"bootstrap.servers": broker.bootstrap_servers})
    producer.write([(b"a", b"1"), (b"b", None), (b"a", b"2")], 30)
    with pytest.raises(ConnectError, match=f"Topic {topic} refuses a record: .*large"):
        producer.write([(b"a", b"x" * 5_000_000)], 30)
    producer.write([(b"a", b"3")], 30)
    producer.close()
    assert [(each.key, each.value) for each in written(topic)] == [
        *((b"a", b"1"), (b"b", None), (b"a", b"2")),
        (b"a", b"3"),
    ]


def test_offsets_that_nobody_answers_for_are_an_error_in_time() -> None:
    producer = TopicProducer("any", {"bootstrap.servers": NOBODY})
    with pytest.raises(ConnectError, match=r"Topic any refuses a record: no answer within 0\.5 s"):
        producer.write([(b"a", b"1")], 0.5)
    producer.close()
