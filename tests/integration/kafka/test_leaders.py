"""A producer whose client sends to a former leader for good, on a real cluster: it has to be told, and ended."""

import random
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from connect.data.batch import SourceBatch
from connect.data.values import Values
from connect.errors import RetriableError
from connect.kafka.clients.settings import client_settings
from connect.kafka.writing import leaders
from connect.kafka.writing.produce import BatchProducer
from tests.chaos.suite.brokers import Brokers, brokers
from tests.chaos.suite.relay import Network
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def cluster(broker: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Three brokers. The usual one is asked for so that jars and Java are there."""
    with brokers(tmp_path_factory.mktemp("cluster"), Network(random.Random(0)), 0) as running:
        yield running


class Topic:
    """A topic that another broker leads when it is recreated."""

    def __init__(self, cluster: Brokers) -> None:
        self.name = f"again-{uuid.uuid4().hex[:8]}"
        self._cluster = cluster
        self._admin = AdminClient({"bootstrap.servers": cluster.bootstrap})

    def make(self, replicas: list[int]) -> None:
        config = {"min.insync.replicas": "1"}
        made = NewTopic(self.name, 1, replica_assignment=[replicas], config=config)
        self._admin.create_topics([made])[self.name].result(30)
        until(lambda: self.leader() == replicas[0], 30)

    def leader(self) -> int | None:
        partitions = self._admin.list_topics(self.name, timeout=10).topics[self.name].partitions
        return partitions[0].leader if partitions else None

    def move_leader(self, number: int) -> None:
        """Restart its leader. The other replica, of this number, leads it then."""
        before = self.leader()
        node = next(each for each in self._cluster.nodes if each.number == before)
        node.stop()
        until(lambda: self.leader() == number, 30)
        node.start()

    def delete(self) -> None:
        self._admin.delete_topics([self.name])[self.name].result(30)
        until(lambda: not self.leader(), 30)


def test_a_topic_that_another_broker_leads_when_it_is_recreated(
    cluster: Brokers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(leaders, "EVERY_S", 1)
    topic = Topic(cluster)
    topic.make([1, 2])
    settings = client_settings("producer", {"bootstrap.servers": cluster.bootstrap, "metadata.max.age.ms": "1000"})

    def refused(error: Exception, _: object) -> None:
        raise error

    def send(producer: BatchProducer) -> None:
        producer.send(SourceBatch(topic.name, Values.raw([b"x"])), "mark")

    first = BatchProducer(settings.librdkafka, lambda: None, refused)
    send(first)
    assert first.drain(30)
    topic.move_leader(2)
    send(first)
    assert first.drain(30)
    topic.delete()
    topic.make([3])
    send(first)
    with pytest.raises(RetriableError, match=f"{topic.name}-0 are sent to broker 2, but broker 3 leads it"):
        until(lambda: first.poll(0.2), 60)
    first.close()
    second = BatchProducer(settings.librdkafka, lambda: None, refused)
    send(second)
    assert second.drain(30)
    second.close()
