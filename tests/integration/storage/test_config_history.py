"""The topic of configurations' versions, on a real broker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest

from connect.errors import ConnectError
from connect.kafka.admin.client import Admin
from connect.kafka.admin.topics import TopicShape
from connect.kafka.broker.embedded import Broker
from connect.storage.config_history import ConfigHistory, ConfigVersion

from .conftest import ONE

pytestmark = pytest.mark.quick

Join = Callable[..., ConfigHistory]


@pytest.fixture
def join(broker: Broker, to_close: ExitStack, topic: str) -> Join:
    """The history as one more worker sees it."""

    def make(keep: int = 50) -> ConfigHistory:
        history = ConfigHistory(topic, {"bootstrap.servers": broker.bootstrap_servers}, ONE, keep)
        to_close.callback(history.close)
        history.open()
        return history

    return make


def version(offset: int, by: str | None = "user:alice", connector: str = "a", **config: str) -> ConfigVersion:
    return ConfigVersion(connector, offset, config, 1000 + offset, by)


def test_what_one_worker_adds_another_reads_newest_first(join: Join) -> None:
    writer, reader = join(), join()
    assert reader.versions("a") == []
    removed = ConfigVersion("a", 9, None, 1009, "token:ci")
    writer.add([version(3, x="1"), version(4, connector="b", x="ü"), removed])
    writer.add([version(7, x="2")])
    assert reader.versions("a") == [removed, version(7, x="2"), version(3, x="1")]
    assert reader.versions("b") == [version(4, connector="b", x="ü")]
    assert reader.versions("c") == []


def test_an_author_replaces_none_and_none_replaces_no_author(join: Join) -> None:
    leader, owner = join(), join()
    owner.add([version(3, by=None)])
    leader.add([version(3)])
    owner.add([version(3, by=None)])
    assert join().versions("a") == [version(3)]
    leader.add([version(4)])
    owner.add([version(4, by=None), version(5, by=None)])
    assert join().versions("a") == [version(5, by=None), version(4), version(3)]


def test_only_the_newest_versions_of_each_connector_are_kept(join: Join) -> None:
    join(keep=3).add([version(offset) for offset in range(10)])
    join(keep=3).add([version(offset, connector="b") for offset in range(2)])
    join(keep=3).add([version(11)])  # by a worker that reads what there is
    assert [one.offset for one in join().versions("a")] == [11, 9, 8]
    assert [one.offset for one in join().versions("b")] == [1, 0]


def test_the_topic_is_compacted(join: Join, broker: Broker, topic: str) -> None:
    join()
    with closing(Admin({"bootstrap.servers": broker.bootstrap_servers}, "test")) as admin:
        assert admin.topic_settings([topic])[topic]["cleanup.policy"].value == "compact"


def test_a_topic_that_cannot_be_created_is_named(broker: Broker, topic: str) -> None:
    history = ConfigHistory(topic, {"bootstrap.servers": broker.bootstrap_servers}, TopicShape(1, 7, {}), 50)
    with pytest.raises(ConnectError, match=topic):
        history.versions("a")
