"""Which worker records a version of a configuration, with which author, and what becomes of it meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest

from connect.errors import ConnectError
from connect.herder.config_recorder import ConfigRecorder
from connect.storage.config_history import ConfigVersion
from connect.storage.config_state import ConnectorChanged, ConnectorRemoved, TargetChanged

PATIENCE_S = 20


class Topic:
    """Keeps what is added; refuses it while `refuses` says so."""

    def __init__(self) -> None:
        self.added: Queue[list[ConfigVersion]] = Queue()
        self.opened = 0
        self.refuses = ""
        self.tries: Queue[int] = Queue()
        self.closed = False

    def versions(self, connector: str) -> list[ConfigVersion]:
        return []

    def open(self) -> None:
        self.opened += 1

    def add(self, versions: list[ConfigVersion]) -> None:
        self.tries.put(len(versions))
        if self.refuses:
            raise ConnectError(self.refuses)
        self.added.put(versions)

    def close(self) -> None:
        self.closed = True


class Pool:
    """A worker's view: it owns these connectors."""

    def __init__(self, *owned: str) -> None:
        self.owned = set(owned)
        self.state = SimpleNamespace(connectors={"a": {"x": "1"}, "b": {"y": "2"}}, written={"a": 7, "b": 8})

    def owns(self, name: str) -> bool:
        return name in self.owned


@pytest.fixture
def topic() -> Topic:
    return Topic()


@pytest.fixture
def recorder(topic: Topic) -> Iterator[Callable[..., ConfigRecorder]]:
    made: list[ConfigRecorder] = []

    def make(leader_first: float = 0.0) -> ConfigRecorder:
        made.append(ConfigRecorder(topic, leader_first))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.close(PATIENCE_S)


def any_pool(*owned: str) -> Any:
    return Pool(*owned)


def changed(name: str = "a", offset: int = 7, at: int | None = 1000) -> ConnectorChanged:
    return ConnectorChanged(name, offset=offset, at=at)


def test_who_writes_a_change_records_it_at_once_with_its_author(recorder, topic: Topic) -> None:
    writer, pool = recorder(leader_first=3600), any_pool()
    with writer.written_by("a", "user:alice"):
        writer.followed(changed(), pool)
    assert topic.added.get(timeout=PATIENCE_S) == [ConfigVersion("a", 7, {"x": "1"}, 1000, "user:alice")]


def test_a_deletion_is_a_version(recorder, topic: Topic) -> None:
    writer, pool = recorder(), any_pool()
    with writer.written_by("a", None):
        writer.followed(ConnectorRemoved("a", offset=9, at=2000), pool)
    assert topic.added.get(timeout=PATIENCE_S) == [ConfigVersion("a", 9, None, 2000, None)]


def test_of_other_workers_changes_only_the_owner_records_without_an_author(recorder, topic: Topic) -> None:
    follower = recorder()
    follower.followed(changed("b", 8), any_pool("a"))
    follower.followed(TargetChanged("a"), any_pool("a"))
    follower.followed(changed("a", 7), any_pool("a"))
    assert topic.added.get(timeout=PATIENCE_S) == [ConfigVersion("a", 7, {"x": "1"}, 1000, None)]


def test_an_owner_lets_the_leader_be_first(recorder, topic: Topic) -> None:
    owner = recorder(leader_first=3600)
    owner.followed(changed("a", 7), any_pool("a"))
    assert topic.tries.empty()
    owner.close(PATIENCE_S)  # but not when it ends
    assert topic.added.get_nowait() == [ConfigVersion("a", 7, {"x": "1"}, 1000, None)]
    assert topic.closed


def test_connectors_that_a_worker_gets_are_recorded_as_they_are(recorder, topic: Topic) -> None:
    recorder().owned(["a", "unknown"], any_pool())
    assert topic.added.get(timeout=PATIENCE_S) == [ConfigVersion("a", 7, {"x": "1"})]


def test_what_is_followed_later_does_not_replace_what_says_more(recorder, topic: Topic) -> None:
    owner = recorder(leader_first=3600)
    owner.followed(changed("a", 7), any_pool("a"))
    owner.owned(["a"], any_pool("a"))  # knows no time
    owner.close(PATIENCE_S)
    assert topic.added.get_nowait() == [ConfigVersion("a", 7, {"x": "1"}, 1000, None)]


def test_a_topic_that_refuses_costs_one_warning_and_no_version(
    recorder, topic: Topic, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connect.herder.config_recorder._FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr("connect.herder.config_recorder._LONGEST_PAUSE_S", 0.04)
    topic.refuses = "Topic h cannot be written."
    writer, pool = recorder(), any_pool()
    with caplog.at_level(logging.WARNING, "connect.herder"):
        with writer.written_by("a", "user:alice"):
            writer.followed(changed(), pool)
        for _ in range(3):
            topic.tries.get(timeout=PATIENCE_S)
        topic.refuses = ""
        assert topic.added.get(timeout=PATIENCE_S) == [ConfigVersion("a", 7, {"x": "1"}, 1000, "user:alice")]
    assert [record.getMessage() for record in caplog.records] == [
        "The history of configurations is not recorded at the moment: Topic h cannot be written."
    ]
    assert topic.opened == 1


def test_a_worker_that_ends_does_not_wait_for_a_topic_that_refuses(recorder, topic: Topic) -> None:
    topic.refuses = "Topic h cannot be written."
    writer, pool = recorder(leader_first=3600), any_pool("a")
    writer.followed(changed(), pool)
    writer.close(PATIENCE_S)
    assert topic.closed


def test_an_error_that_nobody_expects_costs_its_versions_alone(
    recorder, topic: Topic, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = recorder()
    add = topic.add

    def fail_once(versions: list[ConfigVersion]) -> None:
        monkeypatch.setattr(topic, "add", add)
        topic.tries.put(len(versions))
        raise KeyError("a")

    monkeypatch.setattr(topic, "add", fail_once)
    with one.written_by("a", None):
        one.followed(changed("a", 7), any_pool())
        assert topic.tries.get(timeout=PATIENCE_S) == 1
        one.followed(changed("a", 9), any_pool())
    assert [version.offset for version in topic.added.get(timeout=PATIENCE_S)] == [9]
    assert "Not in the history of configurations: version 7 of a" in caplog.text
