"""Offset stores of connectors with topics of their own: shared where those are the same, closed with the last one."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from connect.herder import offset_stores
from connect.herder.offset_stores import OffsetStores
from connect.storage.topic_offsets import TopicOffsetStore
from tests.support.waiting import until

WORKER: Any = {"offset.storage.topic": "all", "offset.storage.partitions": 1, "offset.storage.replication.factor": 1}


class Topic(TopicOffsetStore):
    """Is never read."""

    made: list["Topic"] = []  # noqa: RUF012 - emptied by each test
    reads: dict[str, threading.Event] = {}  # noqa: RUF012 - by topic: when its brokers answer

    def __init__(self, topic: str, *_: Any) -> None:
        self.is_open = True
        self._topic = topic
        Topic.made.append(self)

    def start(self, timeout: float = 60) -> None:
        if self._topic in self.reads:
            self.reads[self._topic].wait(30)

    def close(self) -> None:
        self.is_open = False


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> OffsetStores:
    monkeypatch.setattr(offset_stores, "TopicOffsetStore", Topic)
    shared = Topic("all")
    Topic.made = []
    return OffsetStores({"bootstrap.servers": "b:1"}, WORKER, shared)


def connector(name: str, topic: str) -> dict[str, str]:
    return {"name": name, "offsets.storage.topic": topic}


def test_a_store_is_closed_when_the_last_connector_that_uses_it_is_deleted(stores: OffsetStores) -> None:
    assert stores.of(connector("a", "own")) is stores.of(connector("b", "own"))
    stores.of(connector("a", "before"))  # it had another topic once
    stores.of(connector("c", "other"))
    own, before, other = Topic.made
    stores.forget("a")
    assert [each.is_open for each in (own, before, other)] == [True, False, True]
    stores.forget("b")
    assert [each.is_open for each in (own, other)] == [False, True]
    # One of the same name begins with another one.
    stores.of(connector("b", "own"))
    assert len(Topic.made) == 4
    stores.close()
    assert not any(each.is_open for each in Topic.made)


@pytest.mark.promise("P6", "P11")
def test_nobody_waits_for_the_brokers_of_another_connector(
    stores: OffsetStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(Topic, "reads", {"away": answers})
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(stores.of, connector("a", "away")) for _ in range(2)]
        until(lambda: len(Topic.made) == 1, 10)
        threads.submit(stores.of, connector("b", "own")).result(10)
        assert not any(each.done() for each in waiting)
        threads.submit(stores.close).result(10)
        answers.set()
        first, second = (each.result(10) for each in waiting)
        assert first is second
