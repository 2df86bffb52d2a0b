"""Ranges of offsets read from a real broker: exactly them, whatever lies in between and whatever became of them."""

import itertools
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from connect.data.record import TopicPartition
from connect.errors import RetriableError
from connect.kafka.clients.settings import client_settings
from connect.kafka.reading import range_consumer
from connect.kafka.reading.range_consumer import DataLossError, RangeConsumer
from tests.support.waiting import until

COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "100",
    "min.compaction.lag.ms": "0",
    "delete.retention.ms": "0",
}

MakeReader = Callable[..., RangeConsumer]


@pytest.fixture
def reader(broker) -> Iterator[MakeReader]:
    """Makes consumers: `reader(on=..., isolation_level=..., fail_on_data_loss=False, silence_s=1.0)`."""
    made: list[RangeConsumer] = []

    def make(on=broker, isolation_level="read_committed", **settings) -> RangeConsumer:
        java = {"bootstrap.servers": on.bootstrap_servers, "group.id": "ranges", "isolation.level": isolation_level}
        made.append(RangeConsumer(client_settings("consumer", java).librdkafka, **settings))
        return made[-1]

    yield make
    for one in made:
        one.close()


def read(reader: RangeConsumer, topic: str, start: int, end: int, rows: int = 1000, partition: int = 0) -> list[int]:
    """The offsets that a range brings; the values are what `write` wrote at them."""
    batches = list(reader.read(TopicPartition(topic, partition), start, end, rows))
    assert all(0 < len(batch) <= rows for batch in batches)
    return [offset for batch in batches for offset in batch.offsets]


def delete_before(broker, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.delete_records([Place(topic, 0, offset)]).values():
        future.result(30)


def delete(broker, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(30)
    while topic in admin.list_topics(timeout=30).topics:
        pass


@pytest.mark.parametrize(
    ("start", "end", "rows"), [(0, 500, 1000), (0, 500, 64), (17, 18, 10), (100, 499, 7), (499, 500, 1)]
)
def test_a_range_brings_exactly_its_records(reader, new_topic, write, start, end, rows):
    topic = new_topic()
    write(topic, 0, 500)
    assert read(reader(), topic, start, end, rows) == list(range(start, end))


def test_an_empty_range_brings_nothing(reader, new_topic):
    assert read(reader(), new_topic(), 5, 5) == []


def test_everything_of_a_record_arrives(reader, new_topic, broker):
    topic = new_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"v", b"k", timestamp=1_600_000_000_000, headers=[("a", b"1"), ("a", None)])
    producer.produce(topic, None, b"k")
    producer.produce(topic, b"", None)
    assert producer.flush(30) == 0
    (batch,) = list(reader().read(TopicPartition(topic, 0), 0, 3, 10))
    rows = batch.records()
    assert [(r.topic, r.partition, r.offset) for r in rows] == [(topic, 0, 0), (topic, 0, 1), (topic, 0, 2)]
    assert [(r.value, r.key) for r in rows] == [(b"v", b"k"), (None, b"k"), (b"", None)]
    assert (rows[0].timestamp, rows[0].timestamp_type) == (1_600_000_000_000, "CreateTime")
    assert batch.headers.to_list() == [[("a", b"1"), ("a", None)], None, None]


def test_ranges_in_any_order_bring_their_own_records(reader, new_topic, write, seed):
    topic = new_topic(partitions=3)
    for partition in range(3):
        write(topic, 0, 300, partition)
    one = reader()
    ranges = [(p, start, start + 60) for p in range(3) for start in range(0, 300, 60)]
    for partition, start, end in sorted(ranges, key=lambda each: hash((seed, each))):
        assert read(one, topic, start, end, 25, partition) == list(range(start, end)), (partition, start)


def test_a_range_that_begins_where_the_last_one_ended_goes_on_with_what_was_fetched(reader, new_topic, write):
    topic = new_topic()
    write(topic, 0, 300)
    one = reader()
    assigned = []
    client = one._consumer

    class Watched:
        def assign(self, places):
            assigned.append(places[0].offset)
            client.assign(places)

        def __getattr__(self, name):
            return getattr(client, name)

    one._consumer = Watched()
    assert [read(one, topic, start, start + 100) for start in (0, 100, 200)] == [
        list(range(start, start + 100)) for start in (0, 100, 200)
    ]
    assert assigned == [0]
    write(topic, 300, 50)
    assert read(one, topic, 300, 350) == list(range(300, 350))
    assert assigned == [0]
    assert read(one, topic, 10, 20) == list(range(10, 20))
    assert assigned == [0, 10]


def test_a_range_left_in_the_middle_does_not_shift_the_next(reader, new_topic, write):
    topic = new_topic()
    write(topic, 0, 300)
    one = reader()
    begun = one.read(TopicPartition(topic, 0), 0, 300, 10)
    assert [list(batch.offsets) for batch in itertools.islice(begun, 2)] == [list(range(10)), list(range(10, 20))]
    begun.close()
    assert read(one, topic, 20, 40) == list(range(20, 40))
    assert read(one, topic, 0, 5) == list(range(5))


@pytest.mark.slow
def test_gaps_of_compaction_are_passed_within_a_range_and_at_its_ends(reader, new_topic, broker):
    topic = new_topic(config=COMPACTED)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    one = reader(isolation_level="read_uncommitted")

    def left() -> list[int]:
        return read(one, topic, 0, 60)

    for number in range(60):
        producer.produce(topic, b"%d" % number, b"%d" % (number % 3))
    assert producer.flush(30) == 0
    deadline = time.monotonic() + 90
    while len(left()) > 3:  # a segment is compacted when the next one has begun
        assert time.monotonic() < deadline
        producer.produce(topic, b"more", b"other")
        producer.flush(30)
    assert left() == [57, 58, 59]
    assert read(one, topic, 0, 30) == []
    assert read(one, topic, 30, 58) == [57]
    assert read(one, topic, 10, 20) == []
    assert read(one, topic, 58, 60) == [58, 59]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_range_ends_behind_the_marker_of_a_transaction(reader, new_topic, transaction, end_of, broker, isolation):
    topic = new_topic()
    transaction(topic, 0, 5)
    # The coordinator writes the marker after it has answered.
    until(lambda: end_of(broker.bootstrap_servers, topic) == 6)
    assert read(reader(isolation_level=isolation, silence_s=5.0), topic, 0, 6) == [0, 1, 2, 3, 4]


def test_a_range_may_consist_of_a_marker(reader, new_topic, transaction, write):
    topic = new_topic()
    transaction(topic, 0, 5)
    one = reader(silence_s=5.0)
    assert read(one, topic, 5, 6) == []
    write(topic, 6, 4)
    assert read(one, topic, 6, 10) == [6, 7, 8, 9]
    assert read(one, topic, 5, 6) == []
    assert read(one, topic, 4, 7) == [4, 6]


def test_a_range_of_markers_goes_on_behind_one_that_ended_with_the_partition(
    reader, new_topic, transaction, broker, end_of, monkeypatch
):
    monkeypatch.setattr(range_consumer, "_WAIT_S", 5.0)  # long enough for the end to come with the records
    topic = new_topic()
    transaction(topic, 0, 3)
    transaction(topic, 4, 3)
    transaction(topic, 8, 3, commit=False)
    until(lambda: end_of(broker.bootstrap_servers, topic) == 12)
    one = reader(silence_s=5.0)
    assert read(one, topic, 0, 7) == [0, 1, 2, 4, 5, 6]  # and the end, as the seventh message
    assert read(one, topic, 7, 12) == []


@pytest.mark.parametrize(
    ("isolation", "found"), [("read_committed", [0, 1, 8, 9]), ("read_uncommitted", [0, 1, 3, 4, 5, 6, 8, 9, 11, 12])]
)
def test_aborted_records_are_left_out_for_who_reads_what_is_committed(reader, new_topic, transaction, isolation, found):
    topic = new_topic()
    transaction(topic, 0, 2)
    transaction(topic, 3, 4, commit=False)
    transaction(topic, 8, 2)
    transaction(topic, 11, 2, commit=False)
    one = reader(isolation_level=isolation, silence_s=5.0)
    assert read(one, topic, 0, 14) == found
    for start, end in ((0, 5), (4, 6), (4, 9), (6, 14), (11, 14), (12, 13), (13, 14)):
        assert read(one, topic, start, end) == [offset for offset in found if start <= offset < end], (start, end)


def test_a_range_ends_before_a_transaction_that_is_under_way(reader, new_topic, write, broker):
    topic = new_topic()
    write(topic, 0, 3)
    open_one = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic})
    open_one.init_transactions(30)
    open_one.begin_transaction()
    open_one.produce(topic, b"3", partition=0)
    assert open_one.flush(30) == 0
    assert read(reader(silence_s=5.0), topic, 0, 3) == [0, 1, 2]
    open_one.abort_transaction(30)


@pytest.mark.promise("P9")
@pytest.mark.parametrize("start", [0, 99])
def test_records_that_are_gone_are_an_error(reader, new_topic, write, broker, start):
    topic = new_topic()
    write(topic, 0, 200)
    delete_before(broker, topic, 100)
    with pytest.raises(DataLossError, match=rf"{topic}-0 are gone before they were read.*fail\.on\.data\.loss=false"):
        read(reader(), topic, start, 150)
    assert read(reader(), topic, 100, 150) == list(range(100, 150))


def test_reading_goes_on_behind_records_that_are_gone_where_that_is_wished(reader, new_topic, write, broker):
    topic = new_topic()
    write(topic, 0, 200)
    delete_before(broker, topic, 100)
    one = reader(fail_on_data_loss=False)
    assert read(one, topic, 0, 150) == list(range(100, 150))
    assert read(one, topic, 0, 50) == []
    assert read(one, topic, 150, 200) == list(range(150, 200))


@pytest.mark.promise("P9")
@pytest.mark.parametrize("start", [10, 50])
def test_a_partition_that_ends_before_the_range_has_lost_records(reader, new_topic, write, start):
    topic = new_topic()
    write(topic, 0, 30)
    with pytest.raises(DataLossError, match=f"{topic}-0 are gone"):
        read(reader(truncated_s=0.5), topic, start, 60)


@pytest.mark.parametrize(("start", "found"), [(10, list(range(10, 30))), (30, []), (50, [])])
def test_what_is_left_of_a_truncated_partition_is_read_where_that_is_wished(reader, new_topic, write, start, found):
    topic = new_topic()
    write(topic, 0, 30)
    assert read(reader(fail_on_data_loss=False, truncated_s=0.5), topic, start, 60) == found


def test_a_range_waits_for_a_broker_that_knows_the_end_a_little_later(reader, new_topic, write):
    topic = new_topic()
    write(topic, 0, 30)
    begun = reader(truncated_s=30.0).read(TopicPartition(topic, 0), 0, 40, 30)
    assert list(next(begun).offsets) == list(range(30))
    write(topic, 30, 10)
    assert [offset for batch in begun for offset in batch.offsets] == list(range(30, 40))


def test_a_topic_made_anew_has_lost_its_records(reader, new_topic, write, broker):
    topic = new_topic()
    write(topic, 0, 100)
    assert read(reader(), topic, 0, 50) == list(range(50))
    delete(broker, topic)
    new_topic(name=topic)
    write(topic, 0, 30)
    with pytest.raises(DataLossError):
        read(reader(truncated_s=0.5), topic, 50, 100)
    assert read(reader(fail_on_data_loss=False, truncated_s=0.5), topic, 50, 100) == []


@pytest.mark.parametrize(("name", "partition"), [("there-is-no-such-topic", 0), (None, 7)])
def test_a_partition_that_does_not_exist_is_lost(reader, new_topic, strict_broker, name, partition):
    topic = name or new_topic(on=strict_broker)
    with pytest.raises(DataLossError, match="no such partition"):
        read(reader(strict_broker, unknown_s=0.5), topic, 0, 10, partition=partition)
    one = reader(strict_broker, fail_on_data_loss=False, unknown_s=0.5)
    assert read(one, topic, 0, 10, partition=partition) == []


def test_no_topic_is_made_by_reading_it(reader, broker):
    topic = f"never-made-{time.time_ns()}"
    with pytest.raises(DataLossError, match="no such partition"):
        read(reader(unknown_s=0.5), topic, 0, 10)
    assert topic not in AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=30).topics


@pytest.mark.slow
@pytest.mark.promise("P9")
def test_reading_is_given_up_for_now_when_no_broker_answers(reader, new_topic, strict_broker):
    topic = new_topic(on=strict_broker)
    producer = Producer({"bootstrap.servers": strict_broker.bootstrap_servers})
    for number in range(20):
        producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(30) == 0
    one = reader(strict_broker, silence_s=1.0, fetch_ahead_kb=1)
    begun = one.read(TopicPartition(topic, 0), 0, 40, 10)
    assert list(next(begun).offsets) == list(range(10))
    strict_broker.kill()
    try:
        with pytest.raises(RetriableError, match=f"{topic}-0 cannot be read: nothing came for 1 s. .+"):
            list(begun)
    finally:
        strict_broker.start()
    assert read(one, topic, 0, 20) == list(range(20))


@pytest.mark.slow
def test_a_client_that_stands_still_is_another_one_at_the_next_try(reader, new_topic, strict_broker):
    """The leader epochs of a recreated topic begin at 0, and a client takes what it hears of it for outdated."""
    topic = new_topic(on=strict_broker)
    producer = Producer({"bootstrap.servers": strict_broker.bootstrap_servers})

    def write(count: int) -> None:
        for number in range(count):
            producer.produce(topic, b"%d" % number, partition=0)
        assert producer.flush(30) == 0

    write(10)
    one = reader(strict_broker, silence_s=3.0)
    assert read(one, topic, 0, 10) == list(range(10))
    strict_broker.stop()
    strict_broker.start()
    write(10)
    assert read(one, topic, 10, 20) == list(range(10, 20))
    delete(strict_broker, topic)
    new_topic(on=strict_broker, name=topic)
    write(10)
    with pytest.raises(RetriableError, match="nothing came for 3 s"):
        read(one, topic, 0, 10)
    assert read(one, topic, 0, 10) == list(range(10))


def test_who_takes_long_over_a_batch_is_not_told_that_nothing_came(reader, new_topic, write, monkeypatch):
    later = 0.0

    class Time:
        def monotonic(self) -> float:
            return time.monotonic() + later

    monkeypatch.setattr(range_consumer, "time", Time())
    topic = new_topic()
    write(topic, 0, 20)
    begun = reader().read(TopicPartition(topic, 0), 0, 30, 20)
    assert len(next(begun)) == 20
    later = 3600.0
    write(topic, 20, 10)
    assert [offset for batch in begun for offset in batch.offsets] == list(range(20, 30))
