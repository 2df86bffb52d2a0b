"""Records as they lie in Kafka, read by Spark: all of them, once, wherever a query begins or goes on."""

from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from .readings import Readings, Run


def delete_before(readings: Readings, topic: str, offset: int, partition: int = 0) -> None:
    admin = AdminClient({"bootstrap.servers": readings.servers})
    for future in admin.delete_records([Place(topic, partition, offset)]).values():
        future.result(30)


def test_raw_rows_are_the_records_that_were_produced(readings: Readings, new_topic: Any) -> None:
    topic = new_topic(partitions=2, config={"retention.ms": "-1"})  # the records are old
    producer = Producer({"bootstrap.servers": readings.servers})
    headers: Any = [("a", b"1"), ("a", None), ("", b"\xff")]
    producer.produce(topic, b"v", b"k", partition=0, timestamp=1_600_000_000_123, headers=headers)
    producer.produce(topic, None, b"\xff\x00", partition=0, timestamp=1)
    producer.produce(topic, b"", None, partition=1, timestamp=1_700_000_000_000)
    assert producer.flush(30) == 0
    rows = readings.available(readings.plan(topic)).rows
    common = {"topic": topic, "timestamp_type": "CreateTime"}
    assert sorted(rows, key=lambda row: (row["partition"], row["offset"])) == [
        {**common, "partition": 0, "offset": 0, "timestamp": 1_600_000_000_123, "key": b"k", "value": b"v",
         "headers": [{"key": "a", "value": b"1"}, {"key": "a", "value": None}, {"key": "", "value": b"\xff"}]},
        {**common, "partition": 0, "offset": 1, "timestamp": 1, "key": b"\xff\x00", "value": None, "headers": None},
        {**common, "partition": 1, "offset": 0, "timestamp": 1_700_000_000_000, "key": None, "value": b"",
         "headers": None},
    ]  # fmt: skip


@pytest.mark.promise("P1")
def test_a_query_begins_where_it_is_told_and_goes_on_exactly_where_it_was(readings: Readings, new_topic: Any) -> None:
    topic = new_topic(partitions=3)
    for partition in range(3):
        readings.produce(topic, [b"%d" % n for n in range(50)], partition)
    delete_before(readings, topic, 20, partition=2)
    start = {topic: {"0": 45, "1": 50}}
    first = readings.available(readings.plan(topic, start=start))
    places = sorted((row["partition"], row["offset"]) for row in first.rows)
    assert places == [*((0, n) for n in range(45, 50)), *((2, n) for n in range(20, 50))]
    for partition in range(3):
        readings.produce(topic, [b"%d" % n for n in range(50, 53)], partition)
    again = readings.available(readings.plan(topic, start={topic: {"0": 0}}))  # a checkpoint knows better
    places = sorted((row["partition"], row["offset"]) for row in again.rows)
    assert places == [(partition, n) for partition in range(3) for n in range(50, 53)]
    assert readings.available(readings.plan(topic)).rows == []


@pytest.mark.slow
def test_ranges_end_with_marks_of_transactions_and_leave_out_what_was_aborted(
    readings: Readings, new_topic: Any
) -> None:
    topic = new_topic()
    for number, commit in ((0, True), (1, False), (2, True)):
        producer = Producer({"bootstrap.servers": readings.servers, "transactional.id": f"{topic}-{number}"})
        producer.init_transactions(30)
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(topic, b"%d" % number, partition=0)
        producer.flush(30)
        (producer.commit_transaction if commit else producer.abort_transaction)(30)
    committed = {"consumer.override.isolation.level": "read_committed"}
    run = readings.available(readings.plan(topic, config=committed))
    assert [(row["offset"], row["value"]) for row in run.rows] == [
        *((n, b"0") for n in (0, 1, 2)), *((n, b"2") for n in (8, 9, 10))
    ]  # fmt: skip
    assert readings.available(readings.plan(topic, config=committed)).rows == []
    assert len(readings.available(readings.plan(topic), "all of it").rows) == 9


@pytest.mark.slow
def test_a_batch_that_did_not_end_comes_again_with_the_same_records(readings: Readings, new_topic: Any) -> None:
    topic = new_topic(partitions=2)
    for partition in range(2):
        readings.produce(topic, [b"%d" % n for n in range(100)], partition)
    plan = readings.plan(topic, most_records=70)
    seen: list[Any] = []

    def fail_at_the_second(df: Any, batch: int) -> None:
        seen.append((batch, sorted((row["partition"], row["offset"]) for row in df.collect())))
        if batch == 1:
            raise ValueError("the target is away")

    assert "the target is away" in str(readings.begin(Run(), plan, fail_at_the_second, "checkpoint").error())
    readings.produce(topic, [b"new"] * 50)
    again = readings.available(plan)
    assert sorted((row["partition"], row["offset"]) for row in again.batches[0]) == seen[1][1]
    places = [*seen[0][1], *((row["partition"], row["offset"]) for row in again.rows)]
    assert sorted(places) == [*((0, n) for n in range(150)), *((1, n) for n in range(100))]
