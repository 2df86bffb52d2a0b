"""States of connectors and tasks in a real topic, as several workers write them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.kafka.admin.topics import TopicShape
from connect.kafka.broker.embedded import Broker
from connect.storage.status import ConnectorStatus, State, Status, TaskStatus
from connect.storage.topic_status import TopicStatusStore

A, B = "a:8083", "b:8083"
Join = Callable[..., TopicStatusStore]
Eventually = Callable[..., None]


@pytest.fixture
def join(broker: Broker, to_close: ExitStack, topic: str) -> Join:
    """One more worker's view of this test's topic, started."""

    def make(servers: str | None = None) -> TopicStatusStore:
        clients = {"bootstrap.servers": servers or broker.bootstrap_servers}
        store = TopicStatusStore(topic, clients, TopicShape(5, 1, {}))
        to_close.callback(store.close)
        store.start()
        return store

    return make


def connector(state: State, worker: str = A, **more: Any) -> ConnectorStatus:
    return ConnectorStatus("c-1", state, worker, **more)


def task(number: int, state: State, worker: str = A, **more: Any) -> TaskStatus:
    return TaskStatus("c-1", number, state, worker, **more)


def seen(store: TopicStatusStore) -> tuple[Status | None, list[TaskStatus]]:
    return store.connector("c-1"), store.tasks("c-1")


def test_what_one_worker_says_all_come_to_know(join: Join, eventually: Eventually) -> None:
    ours, theirs = join(), join()
    states = [state for state in State if state is not State.DESTROYED]
    for state in states:
        status = connector(
            state, generation=3, version="1.0", trace="Traceback\n  ä😀" if state is State.FAILED else None
        )
        ours.put(status)
        assert ours.connector("c-1") == status
        eventually(lambda expected=status: theirs.connector("c-1") == expected)
    for number, state in enumerate(states):
        ours.put(task(number, state))
    eventually(lambda: len(theirs.tasks("c-1")) == len(states))
    assert seen(join()) == seen(theirs) == seen(ours)


def test_what_a_worker_said_in_a_former_life_is_read_in_order(join: Join, eventually: Eventually) -> None:
    first = join()
    for state in (State.RUNNING, State.PAUSED, State.FAILED):
        first.put(connector(state))
    first.put(task(0, State.RUNNING))
    first.forget("c-1", 0)
    first.close()
    again = join()
    assert seen(again) == (connector(State.FAILED), [])
    again.put(connector(State.RUNNING))
    assert again.connector("c-1") == connector(State.RUNNING)


def test_our_own_word_is_never_hidden_by_what_came_before_it(join: Join, eventually: Eventually) -> None:
    ours, theirs = join(), join()
    heard: list[Status] = []
    ours.listen(heard.append)
    said: list[Status] = []
    for number in range(300):
        status = connector(State.RUNNING, generation=number)
        ours.put(status)
        said.append(status)
        assert ours.connector("c-1") == status
    eventually(lambda: theirs.connector("c-1") == said[-1])
    # What comes back is not told a second time.
    theirs.put(connector(State.RUNNING, B, generation=1000))
    eventually(lambda: ours.connector("c-1") == connector(State.RUNNING, B, generation=1000))
    assert heard == [*said, connector(State.RUNNING, B, generation=1000)]


def test_two_workers_that_speak_at_once_come_to_one_view(join: Join, eventually: Eventually) -> None:
    ours, theirs = join(), join()
    for number in range(200):
        ours.put(task(0, State.RUNNING, A, generation=number))
        theirs.put(task(0, State.RUNNING, B, generation=number))
        if not number % 3:
            (ours if number % 2 else theirs).forget("c-1", 0)
    for store in (ours, theirs):
        store.close()
    late = join()
    # Both had read all that was there when their last word was acknowledged, or hold that word itself.
    last = late.tasks("c-1")
    assert last in (ours.tasks("c-1"), theirs.tasks("c-1"))


def test_views_agree_after_both_have_spoken(join: Join, eventually: Eventually) -> None:
    ours, theirs = join(), join()
    for number in range(100):
        ours.put(task(number % 5, State.RUNNING, A, generation=number))
        theirs.put(task(number % 5, State.PAUSED, B, generation=number))
    eventually(lambda: seen(ours) == seen(theirs) == seen(join()))


def test_an_ending_does_not_hide_what_a_successor_says(join: Join, eventually: Eventually) -> None:
    former, successor = join(), join()
    former.put(task(0, State.RUNNING, A, generation=1))
    eventually(lambda: successor.tasks("c-1"))
    successor.put(task(0, State.RUNNING, B, generation=2))
    eventually(lambda: former.tasks("c-1") == [task(0, State.RUNNING, B, generation=2)])
    former.put_safe(task(0, State.UNASSIGNED, A, generation=1))
    former.put_safe(task(0, State.UNASSIGNED, A, generation=2))
    assert former.tasks("c-1") == [task(0, State.RUNNING, B, generation=2)]
    # One of a later generation, its own, or the first is written.
    former.put_safe(task(0, State.UNASSIGNED, A, generation=3))
    former.put_safe(task(0, State.FAILED, A, generation=1))
    former.put_safe(task(1, State.UNASSIGNED, A, generation=0))
    expected = [task(0, State.FAILED, A, generation=1), task(1, State.UNASSIGNED, A, generation=0)]
    assert former.tasks("c-1") == expected
    eventually(lambda: successor.tasks("c-1") == expected)


def test_what_is_forgotten_is_gone_for_all(join: Join, eventually: Eventually) -> None:
    ours, theirs = join(), join()
    ours.put(connector(State.RUNNING))
    for number in range(3):
        ours.put(task(number, State.RUNNING))
    ours.put_topic("c-1", "orders", 0)
    ours.put(replace(connector(State.RUNNING), connector="c"))
    eventually(lambda: theirs.connectors() == ["c", "c-1"] and len(theirs.tasks("c-1")) == 3)
    ours.forget("c-1", 2)
    ours.put(task(1, State.DESTROYED))
    eventually(lambda: theirs.tasks("c-1") == [task(0, State.RUNNING)])
    theirs.forget("c-1")
    eventually(lambda: ours.connectors() == theirs.connectors() == join().connectors() == ["c"])
    eventually(lambda: ours.topics("c-1") == [])
    ours.forget_connector("c")
    eventually(lambda: theirs.connectors() == [])


def test_topics_are_known_to_all_until_they_are_forgotten(join: Join, eventually: Eventually) -> None:
    ours, theirs = join(), join()
    for topic in ("b", "a", "b", "x.y_z-1"):
        ours.put_topic("c:connector-d", topic, 1)
    assert ours.topics("c:connector-d") == ["a", "b", "x.y_z-1"]
    eventually(lambda: theirs.topics("c:connector-d") == ["a", "b", "x.y_z-1"])
    theirs.forget_topics("c:connector-d")
    eventually(lambda: ours.topics("c:connector-d") == join().topics("c:connector-d") == [])
    ours.put_topic("c:connector-d", "a", 0)
    eventually(lambda: theirs.topics("c:connector-d") == ["a"])


def test_states_are_written_when_the_broker_is_back(join: Join, strict_broker: Any, eventually: Eventually) -> None:
    ours, theirs = (join(strict_broker.bootstrap_servers) for _ in range(2))
    ours.put(connector(State.RUNNING))
    strict_broker.kill()
    failed = connector(State.FAILED, trace="while it was away")
    ours.put(failed)
    assert ours.connector("c-1") == failed
    strict_broker.start()
    eventually(lambda: theirs.connector("c-1") == failed, within=60)


def test_what_others_wrote_amiss_is_passed_over(
    join: Join, broker: Broker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"})
    good = {"state": "RUNNING", "trace": None, "worker_id": A, "generation": 1}
    amiss = [
        (b"\xff", b"{}"),
        (b"status-task-x", json.dumps(good).encode()),
        (b"status-connector-x", b"[]"),
        (b"status-connector-x", b"{"),
        (b"status-connector-x", json.dumps({**good, "state": "DREAMING"}).encode()),
        (b"status-connector-x", b'{"state":"RUNNING"}'),
        (b"status-topic-t:connector-x", b'{"topic":1}'),
        (b"status-topic-t:connector-x", b'{"topic":{"name":"t"}}'),
    ]
    join().close()
    refused: list[object] = []

    def report(error: object, message: object) -> None:
        refused.extend([error] if error else [])

    for name, value in amiss:
        producer.produce(topic, value, name, on_delivery=report)
    producer.produce(topic, json.dumps(good).encode(), b"status-connector-c-1", on_delivery=report)  # no version
    assert (producer.flush(30), refused) == (0, [])
    with caplog.at_level(logging.WARNING):
        store = join()
    assert store.connectors() == ["c-1"]
    assert store.connector("c-1") == connector(State.RUNNING, generation=1)
    assert len([record for record in caplog.records if "Skipped record" in record.getMessage()]) == len(amiss)
    assert not [record for record in caplog.records if record.exc_info]
