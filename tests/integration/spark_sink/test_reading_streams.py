"""Queries that go on reading: what comes while they run, how much a batch takes, and when none may begin."""

import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from connect.data.schema import INT64, Schema
from connect.kafka.reading.topic_ends import TIMEOUT_S
from connect.telemetry.metrics import Registry
from spark_sink.lease_file import LeaseFile
from spark_sink.query.progress import QueryProgress

from .readings import Readings, Run

IDS = Schema.struct({"id": INT64.as_optional()})


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def sizes(run: Run) -> list[int]:
    """Of batches that are not empty: a pace may make one of nothing."""
    return [len(batch) for batch in run.batches if batch]


@pytest.mark.promise("P3")
def test_no_batch_begins_while_the_gate_is_shut(readings: Readings, new_topic: Any, tmp_path: Path) -> None:
    topic = new_topic()
    lease_file = LeaseFile(tmp_path / "lease_file")
    lease_file.hold_until(now() + 3600)
    idle = "spark.sql.streaming.noDataProgressEventInterval"
    with readings.told(idle, "100ms"):
        run = readings.start(readings.plan(topic, lease_file=str(lease_file.path)))
    readings.produce(topic, [b"0"])
    run.until_read(1)
    lease_file.hold_until(0.0)
    readings.produce(topic, [b"1", b"2"])
    ended = len(run.query.recentProgress)
    run.until(lambda: len(run.query.recentProgress) > ended)  # it looked, and found nothing
    assert run.offsets == [0]
    lease_file.hold_until(now() + 3600)
    run.until_read(3)
    assert run.offsets == [0, 1, 2]
    lease_file.close()
    readings.produce(topic, [b"3"])
    run.query.stop()
    assert run.offsets == [0, 1, 2]


def test_what_is_there_is_read_in_several_batches_and_progress_says_so(readings: Readings, new_topic: Any) -> None:
    topic = new_topic(partitions=2)
    for partition, count in ((0, 230), (1, 20)):
        readings.produce(topic, [b"%d" % n for n in range(count)], partition)
    run = readings.available(readings.plan(topic, most_records=100))
    assert len(sizes(run)) == 3
    assert max(sizes(run)) <= 100
    assert sorted((row["partition"], row["offset"]) for row in run.rows) == [
        *((0, n) for n in range(230)), *((1, n) for n in range(20))
    ]  # fmt: skip
    assert any(row["partition"] == 1 for row in run.batches[0])
    progress = QueryProgress("q", Registry().labelled())
    progress.take(run.query)
    assert (progress.rows, progress.lag, progress.topics) == (250, 0, {topic})
    assert {place.partition: offset for place, offset in progress.offsets.items()} == {0: 230, 1: 20}


def test_a_batch_of_large_records_is_limited_by_its_bytes(readings: Readings, new_topic: Any) -> None:
    topic = new_topic()
    readings.produce(topic, [b"x" * 100_000] * 25)
    run = readings.available(readings.plan(topic, most_bytes=1 << 20))
    assert sizes(run) == [10, 10, 5]


@pytest.mark.slow
def test_a_batch_is_limited_by_its_bytes_and_by_its_pace(readings: Readings, new_topic: Any) -> None:
    topic = new_topic()
    readings.produce(topic, [b"x" * 100] * 50 + [b"y" * 1000] * 4)
    run = readings.available(readings.plan(topic, most_bytes=2000, record_bytes=100.0), "bytes")
    assert sizes(run)[0] == 20
    assert sizes(run)[-1] == 2  # by their own size, whatever those before had
    assert max(sum(len(row["value"]) for row in batch) for batch in run.batches) <= 2000
    assert run.offsets == list(range(54))
    began = time.monotonic()
    run = readings.available(readings.plan(topic, most_per_second=20), "pace")
    assert run.offsets == list(range(54))
    assert max(sizes(run)) < 54
    assert time.monotonic() - began >= 1.4  # twenty at once; no sooner, whatever else there is to do


@pytest.mark.slow
def test_a_batch_that_is_read_twice_counts_once(readings: Readings, new_topic: Any) -> None:
    topic = new_topic(partitions=2)
    for partition in range(2):
        readings.produce(topic, [b"%d" % n for n in range(100)], partition)
    counts: list[int] = []

    def read_twice(df: Any, batch: int) -> None:
        counts.append(df.count() + df.count())

    plan = readings.plan(topic, most_records=150)
    run = readings.begin(Run(), plan, read_twice, "checkpoint", availableNow=True)
    assert run.query.awaitTermination(120)
    assert sum(counts) == 400
    assert sum(report["numInputRows"] for report in run.query.recentProgress) == 400  # the reason for this test
    progress = QueryProgress("q", Registry().labelled())
    progress.take(run.query)
    assert progress.rows == 200


@pytest.mark.slow
def test_topics_and_partitions_that_come_while_a_query_runs_are_read_from_their_first_record(
    readings: Readings, new_topic: Any
) -> None:
    prefix = f"p{uuid.uuid4().hex[:8]}"
    first = new_topic(name=f"{prefix}-a")
    readings.produce(first, [b"0"])
    run = readings.start(readings.plan(pattern=f"{prefix}-[ab]"))
    run.until_read(1)
    admin = AdminClient({"bootstrap.servers": readings.servers})
    admin.create_partitions([NewPartitions(first, 2)])[first].result(30)
    while len(admin.list_topics(first, timeout=30).topics[first].partitions) < 2:
        pass
    second, third = new_topic(name=f"{prefix}-b"), new_topic(name=f"{prefix}-c")
    for topic, partition in ((first, 1), (second, 0), (third, 0)):
        readings.produce(topic, [b"1", b"2"], partition)
    run.until_read(5)
    run.query.stop()
    assert sorted((row["topic"], row["partition"], row["offset"]) for row in run.rows) == [
        (first, 0, 0), (first, 1, 0), (first, 1, 1), (second, 0, 0), (second, 0, 1)
    ]  # fmt: skip


@pytest.mark.slow
def test_a_topic_that_is_deleted_while_a_query_runs_does_not_end_it(readings: Readings, new_topic: Any) -> None:
    gone, stays = new_topic(), new_topic()
    for topic in (gone, stays):
        readings.produce(topic, [b"0"])
    run = readings.start(readings.plan(gone, stays))
    run.until_read(2)
    admin = AdminClient({"bootstrap.servers": readings.servers})
    admin.delete_topics([gone])[gone].result(30)
    readings.produce(stays, [b"1"])
    run.until_read(3)
    run.query.stop()


@pytest.mark.slow
@pytest.mark.promise("P9")
def test_records_that_are_gone_end_the_query_or_are_passed_by_as_is_wished(readings: Readings, new_topic: Any) -> None:
    topic = new_topic()
    readings.produce(topic, [b"%d" % n for n in range(10)])
    run = readings.available(readings.plan(topic))
    assert run.offsets == list(range(10))
    admin = AdminClient({"bootstrap.servers": readings.servers})
    admin.delete_topics([topic])[topic].result(30)
    while topic in admin.list_topics(timeout=30).topics:
        pass
    new_topic(name=topic)
    readings.produce(topic, [b"again"] * 3)
    failing = readings.start(readings.plan(topic))
    assert f"{topic}-0 ends at offset 3, before 10 where reading was to go on" in str(failing.error())
    again = readings.available(readings.plan(topic, fail_on_data_loss=False))
    assert [(row["offset"], row["value"]) for row in again.rows] == [(n, b"again") for n in range(3)]
    assert readings.available(readings.plan(topic)).rows == []


@pytest.mark.slow
def test_a_query_goes_on_when_its_brokers_were_away_for_a_while(
    readings: Readings, new_topic: Any, strict_broker: Any
) -> None:
    topic = new_topic(on=strict_broker)
    readings.worker["bootstrap.servers"] = readings.servers = strict_broker.bootstrap_servers
    readings.produce(topic, [b"0"])
    run = readings.start(readings.plan(topic))
    run.until_read(1)
    strict_broker.kill()
    try:
        asked = time.monotonic()
        run.until(lambda: run.query.status["isTriggerActive"] and time.monotonic() > asked + TIMEOUT_S)
    finally:
        strict_broker.start()
    readings.produce(topic, [b"1"])
    run.until_read(2)
    run.query.stop()
    assert run.offsets == [0, 1]
