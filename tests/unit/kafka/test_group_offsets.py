"""Commits of a consumer's group: one at a time, each waited for a while; and questions about its offsets."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.reading import group_offsets
from connect.kafka.reading.group_offsets import GroupOffsets
from connect.kafka.reading.standstill import Standstill

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Client:
    """Answers a commit when it may; refuses partitions."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.refused: dict[int, int] = {}
        self.commits: list[dict[int, int]] = []
        self.ends = {0: 10, 1: 20}
        self.times = {0: 5, 1: -1}

    def commit(self, offsets: list[ClientPartition], asynchronous: bool) -> list[Any]:
        assert not asynchronous
        self.commits.append({each.partition: each.offset for each in offsets})
        self.may_answer.wait(30)
        return [Answer(each, self.refused.get(each.partition)) for each in offsets]

    def offsets_for_times(self, asked: list[ClientPartition], timeout: float) -> list[Any]:
        found = [(self.ends if each.offset == -1 else self.times)[each.partition] for each in asked]
        return [
            Answer(ClientPartition(each.topic, each.partition, at), None) for each, at in zip(asked, found, strict=True)
        ]


class Answer:
    def __init__(self, partition: ClientPartition, error: int | None) -> None:
        self.topic, self.partition, self.offset = partition.topic, partition.partition, partition.offset
        self.error = None if error is None else KafkaError(error)


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.may_answer.set()


@pytest.fixture
def offsets(client: Client) -> GroupOffsets:
    return GroupOffsets(client, Standstill(client, {}))


def test_a_commit_waits_for_a_while_and_is_never_overtaken(
    client: Client, offsets: GroupOffsets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_offsets, "_PATIENCE_S", 0.05)
    client.may_answer.clear()
    for offset in (1, 2):
        with pytest.raises(ConnectError, match="the brokers do not answer"):
            offsets.commit({T0: offset})
    assert client.commits == [{0: 1}], "the second one has to wait for the first"
    assert offsets.under_way()
    client.may_answer.set()
    assert not offsets.under_way(None)
    offsets.commit({T0: 3})
    assert client.commits == [{0: 1}, {0: 3}]


def test_in_a_callback_it_is_this_thread_that_commits(client: Client, offsets: GroupOffsets) -> None:
    threads = []
    original = client.commit

    def commit(**given: Any) -> list[Any]:
        threads.append(threading.current_thread())
        return original(**given)

    client.commit = commit  # type: ignore[method-assign]
    with offsets.in_callback():
        offsets.commit({T0: 1})
    offsets.commit({T0: 2})
    assert threads[0] is threading.current_thread() is not threads[1]


def test_a_refusal_names_the_partition_and_one_that_is_gone_is_left_out_from_then_on(
    client: Client, offsets: GroupOffsets
) -> None:
    client.refused = {1: KafkaError.UNKNOWN_TOPIC_OR_PART}
    with pytest.raises(ConnectError, match="The offset of t-1 was not committed"):
        offsets.commit({T0: 1, T1: 1})
    client.refused = {}
    with pytest.raises(ConnectError, match="t-1 did not exist when they were to be"):
        offsets.commit({T0: 2, T1: 2})
    assert client.commits == [{0: 1, 1: 1}, {0: 2}]


def test_no_record_so_late_is_the_end(offsets: GroupOffsets) -> None:
    assert offsets.at(1_700_000_000_000, [T0, T1]) == {T0: 5, T1: 20}
    assert offsets.at(1_700_000_000_000, []) == {}
