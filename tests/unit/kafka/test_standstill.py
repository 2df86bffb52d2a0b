"""A client stands still in a partition whose end it does not hear of, and brokers know."""

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect.data.record import TopicPartition
from connect.kafka.reading.standstill import Standstill

ONE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Client:
    """Ends as a client has heard them, and as brokers name them; an exception in place of all, or an error."""

    def __init__(self) -> None:
        self.heard: dict[TopicPartition, int] = {}
        self.ends: Any = {}
        self.asked = 0

    def get_watermark_offsets(self, partition: Any, *, cached: bool) -> tuple[int, int] | None:
        assert cached, "that asks nobody"
        high = self.heard.get(TopicPartition(partition.topic, partition.partition))
        return None if high is None else (0, high)

    def offsets_for_times(self, partitions: Any, *, timeout: float) -> Any:
        assert {each.offset for each in partitions} == {-1}
        self.asked += 1
        if isinstance(self.ends, Exception):
            raise self.ends
        return [_Answer(each, self.ends[TopicPartition(each.topic, each.partition)]) for each in partitions]


class _Answer:
    def __init__(self, asked: Any, end: int | KafkaError) -> None:
        self.topic, self.partition = asked.topic, asked.partition
        self.error = end if isinstance(end, KafkaError) else None
        self.offset = -1 if self.error else end


class Looks:
    """Looks at one client, each when it is due."""

    def __init__(self, **settings: Any) -> None:
        self.now = 0.0
        self.client = Client()
        self.positions: Mapping[TopicPartition, int] = {}
        self.of = Standstill(self.client, settings, lambda: self.now)

    @classmethod
    def at(cls, position: int | None, heard: int | None, end: Any, level: str) -> "Looks":
        """At one partition: the next offset, the end as the client has heard it and as brokers name it."""
        made = cls(**{"isolation.level": level})
        made.positions = {} if position is None else {ONE: position}
        made.client.heard = {} if heard is None else {ONE: heard}
        made.client.ends = {ONE: end}
        return made

    def look(self, *partitions: TopicPartition) -> frozenset[TopicPartition]:
        self.now += 60
        return self.of.look(frozenset(partitions or (ONE,)), lambda: self.positions)


@pytest.mark.parametrize(
    ("position", "heard", "end", "level"),
    [
        (20, 20, 25, "read_uncommitted"),
        (20, 20, 25, "read_committed"),
        (20, 20, 5, "read_uncommitted"),
        (20, 20, 5, "read_committed"),
        (None, 20, 5, "read_uncommitted"),
        (None, None, 5, "read_committed"),
        (20, 20, KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION), "read_committed"),
    ],
)
def test_what_stays_behind_at_two_looks_stands_still(
    position: int | None, heard: int | None, end: Any, level: str
) -> None:
    looks = Looks.at(position, heard, end, level)
    assert not looks.look()
    assert looks.look() == {ONE}


@pytest.mark.parametrize(
    ("position", "heard", "end", "level"),
    [
        (20, 20, 20, "read_uncommitted"),
        (18, 20, 20, "read_committed"),  # what follows are ends of transactions
        (18, 30, 20, "read_committed"),  # a transaction is open
        (None, 0, 0, "read_uncommitted"),
        (None, None, 0, "read_uncommitted"),
        (20, 20, KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), "read_uncommitted"),
        (20, 20, KafkaError(KafkaError.LEADER_NOT_AVAILABLE), "read_uncommitted"),
    ],
)
def test_what_has_heard_all_or_cannot_be_judged_does_not(
    position: int | None, heard: int | None, end: Any, level: str
) -> None:
    looks = Looks.at(position, heard, end, level)
    assert not any(looks.look() for _ in range(3))


def test_a_client_that_hears_or_reads_something_between_looks_goes_on() -> None:
    looks = Looks()
    for number in range(3):
        looks.client.heard, looks.client.ends = {ONE: 10 + number}, {ONE: 20 + number}
        assert not looks.look()
    looks.client.heard, looks.client.ends = {ONE: 12}, {ONE: 30}
    for number in range(3):
        looks.positions = {ONE: number}
        assert not looks.look()
    assert looks.look() == {ONE}


def test_partitions_that_rest_in_between_or_leave_start_over() -> None:
    looks = Looks()
    looks.client.heard, looks.client.ends = {ONE: 10, OTHER: 10}, {ONE: 20, OTHER: 20}
    looks.look(ONE, OTHER)
    looks.of.rest([ONE])
    assert looks.look(ONE, OTHER) == {OTHER}
    looks.of.forget([ONE, OTHER])
    assert not looks.look(ONE, OTHER)


def test_an_outage_is_no_standstill_and_delays_nothing() -> None:
    looks = Looks()
    looks.client.heard, looks.client.ends = {ONE: 10}, KafkaException(KafkaError(KafkaError._TIMED_OUT))
    assert not any(looks.look() for _ in range(3))


@pytest.mark.parametrize(("refresh_ms", "seconds"), [(1000, 5), (20_000, 20), (300_000, 60)])
def test_looks_are_as_frequent_as_the_client_s_own_within_bounds(refresh_ms: int, seconds: int) -> None:
    looks = Looks(**{"topic.metadata.refresh.interval.ms": refresh_ms})
    looks.client.ends = {ONE: 0}
    for second in range(300):
        looks.now = second
        looks.of.look(frozenset({ONE}), dict)
    assert looks.client.asked == 299 // seconds


def test_a_partition_that_was_gone_is_so_until_it_is_seen_alive() -> None:
    looks = Looks()
    looks.of.is_gone([ONE])
    looks.client.heard, looks.client.ends = {ONE: 10}, {ONE: 3}
    looks.look()
    assert looks.of.gone == {ONE}
    looks.client.heard = {ONE: 3}
    looks.look()
    assert not looks.of.gone


@pytest.mark.parametrize(("gone", "looks"), [([], 0), ([ONE], 1)], ids=["none", "one"])
def test_only_a_partition_that_is_gone_hastens_the_next_look(gone: list[TopicPartition], looks: int) -> None:
    made = Looks()
    made.client.ends = {ONE: 0}
    made.of.is_gone(gone)
    made.now = 6
    made.of.look(frozenset({ONE}), dict)
    assert made.client.asked == looks
