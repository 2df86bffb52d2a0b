"""Workers of one cluster follow and write one config topic on a real broker."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.errors import ConnectError
from connect.kafka.broker.embedded import Broker
from connect.storage.config_log import TopicConfigLog
from connect.storage.config_state import (
    ConnectorChanged,
    ConnectorRemoved,
    Event,
    LoggerChanged,
    RestartAsked,
    RestartRequest,
    SessionKey,
    SessionKeyChanged,
    TargetChanged,
    TasksCommitted,
)

from .conftest import ONE

Eventually = Callable[..., None]


class Config(TopicConfigLog):
    """A worker's view, with the events that it was told of."""

    def __init__(self, servers: str, topic: str, transactional_id: str | None = None) -> None:
        self.events: list[Event] = []
        super().__init__(topic, {"bootstrap.servers": servers}, ONE, transactional_id)


@pytest.fixture
def join(broker: Broker, to_close: ExitStack, topic: str) -> Callable[..., Config]:
    """One more worker of this test's cluster, started."""

    def make(transactional_id: str | None = None, servers: str | None = None) -> Config:
        config = Config(servers or broker.bootstrap_servers, topic, transactional_id)
        to_close.callback(config.close)
        config.start(config.events.append)
        return config

    return make


@pytest.mark.quick
@pytest.mark.parametrize("exactly_once", [False, True])
def test_what_the_leader_writes_is_what_all_read(
    join: Callable[..., Config], eventually: Eventually, topic: str, *, exactly_once: bool
) -> None:
    name = f"leader-of-{topic}" if exactly_once else None
    leader, follower = join(name), join(name)
    leader.claim()
    key = SessionKey(b"k" * 32, "HmacSHA256", 1)
    restart = RestartRequest("a", include_tasks=True, only_failed=True)

    # What a change is, is there when the call returns.
    leader.put_connector("a", {"x": "1"}, "PAUSED")
    assert (leader.state.connectors, leader.state.target("a")) == ({"a": {"name": "a", "x": "1"}}, "PAUSED")
    leader.put_tasks("a", [{"task": "0"}, {"task": "1"}])
    assert leader.state.task_configs("a") == [{"task": "0"}, {"task": "1"}]
    leader.put_tasks("a", [])
    assert leader.state.task_counts == {"a": 0}
    leader.put_target("a", "STARTED")
    assert leader.state.target("a") == "STARTED"
    leader.put_fencing("a", 2)
    assert leader.state.fencing == {"a": 2}
    leader.put_session_key(key)
    assert leader.state.session_key == key
    leader.put_restart(restart)
    leader.put_logger_level("b.c", "TRACE")
    leader.remove_connector("a")
    assert leader.state.connectors == {}

    events = [
        ConnectorChanged("a"),
        TasksCommitted("a"),
        TasksCommitted("a"),
        TargetChanged("a"),
        SessionKeyChanged(),
        RestartAsked(restart),
        LoggerChanged("b.c", "TRACE"),
        ConnectorRemoved("a"),
    ]
    assert follower.read_to_end(30) == leader.state
    late = join(name)
    assert late.state == leader.state
    eventually(lambda: leader.events == follower.events == events)
    assert late.events == []


def test_a_worker_that_starts_is_told_only_of_what_comes_after(join: Callable[..., Config]) -> None:
    leader = join()
    leader.put_connector("a", {})
    leader.put_restart(RestartRequest("a", include_tasks=True, only_failed=False))
    late = join()
    assert late.events == []
    late.put_connector("b", {})
    assert late.events == [ConnectorChanged("b")]


@pytest.mark.promise("P4")
def test_no_commit_stands_where_a_task_was_refused(join: Callable[..., Config], new_topic: Any, topic: str) -> None:
    new_topic(1, {"cleanup.policy": "compact", "max.message.bytes": "2000"}, name=topic)
    leader = join()
    leader.put_connector("a", {})
    leader.put_tasks("a", [{"v": "1"}, {"v": "1"}])
    # The last one is refused by the broker, the first is in the topic.
    with pytest.raises(ConnectError, match="refuses a record"):
        leader.put_tasks("a", [{"v": "2"}, {"v": "2" * 5000}])
    for config in (leader, join()):
        config.read_to_end(30)
        assert config.state.task_configs("a") == [{"v": "1"}, {"v": "1"}]
        assert config.state.inconsistent == frozenset()


def test_a_leader_that_was_replaced_writes_nothing(join: Callable[..., Config], topic: str) -> None:
    former, leader = (join(f"leader-of-{topic}") for _ in range(2))
    former.claim()
    former.put_connector("a", {"v": "1"})
    leader.claim()
    leader.put_connector("a", {"v": "2"})
    assert former.claimed
    with pytest.raises(ConnectError):
        former.put_connector("a", {"v": "stale"})
    assert not former.claimed
    assert former.read_to_end(30).connectors["a"]["v"] == "2"
    former.claim()
    former.put_connector("a", {"v": "3"})
    assert leader.read_to_end(30).connectors["a"]["v"] == "3"


def test_levels_of_loggers_are_set_by_whoever_is_asked(join: Callable[..., Config], topic: str) -> None:
    leader, follower = (join(f"leader-of-{topic}") for _ in range(2))
    leader.claim()
    follower.put_logger_level("b.c", "TRACE")
    assert leader.read_to_end(30).offset == follower.state.offset
    assert leader.events == [LoggerChanged("b.c", "TRACE")]
    leader.put_connector("a", {})
    assert leader.claimed


def test_a_long_history_is_read_before_a_worker_starts(join: Callable[..., Config], broker: Broker, topic: str) -> None:
    writer = join()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(20_000):
        name, text = f"c-{number % 500}", str(number)
        producer.produce(topic, f'{{"properties":{{"name":"{name}","v":"{text}"}}}}', f"connector-{name}")
        if not number % 1000:
            producer.flush(30)
    assert producer.flush(60) == 0
    state = join().state
    assert {name: config["v"] for name, config in state.connectors.items()} == {
        f"c-{number % 500}": str(number) for number in range(19_500, 20_000)
    }
    assert state.offset == 20_000
    assert writer.read_to_end(60) == state


def test_workers_go_on_after_the_broker_was_killed_in_the_middle(
    join: Callable[..., Config], strict_broker: Any, topic: str
) -> None:
    name, servers = f"leader-of-{uuid.uuid4()}", strict_broker.bootstrap_servers
    leader, follower = join(name, servers), join(name, servers)
    leader.claim()
    leader.put_connector("a", {"v": "1"})
    strict_broker.kill()
    strict_broker.start()
    leader.put_connector("a", {"v": "2"})
    assert follower.read_to_end(60).connectors["a"]["v"] == "2"
    follower.claim()
    follower.put_tasks("a", [{"t": "0"}])
    assert leader.read_to_end(60).task_configs("a") == [{"t": "0"}]
    assert join(name, servers).state == follower.state
