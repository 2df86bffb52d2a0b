"""Exactly-once sources on three brokers, while the leaders of their topics, and of their transactions, move."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from kafka.protocol.admin import ElectionType

from tests.chaos.suite.brokers import Brokers, Node, brokers
from tests.chaos.suite.relay import Network
from tests.support.waiting import until

from .committed import Committed
from .plugins.counting import dropped
from .pool import Pool
from .test_exactly_once import Numbers, source

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.promise("P1", "P10")]

TRANSACTIONS = "__transaction_state"
ANSWER_S = 10.0
AHEAD = 500


@pytest.fixture(scope="module")
def cluster(broker: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Three brokers. The usual one is asked for so that jars and Java are there."""
    with brokers(tmp_path_factory.mktemp("cluster"), Network(random.Random(0)), 0) as running:
        yield running


class Leaders:
    """Who leads the partition of numbers and that of the task's transactions: its coordinator.

    Attributes:
        moves: how often each of them was seen at another broker than before.
    """

    def __init__(self, cluster: Brokers, topic: str, transactional_id: str) -> None:
        self._bootstrap = cluster.bootstrap
        self._admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        self._id = transactional_id
        self._last: dict[str, int] = {}
        self.moves = {topic: 0, TRANSACTIONS: 0}
        made = NewTopic(topic, 1, 3)
        self._admin.create_topics([made])[topic].result(30)

    def look(self) -> None:
        """Note where they are now."""
        for topic, count in self.moves.items():
            leader = until(lambda: self._leader(topic), 30, f"{topic} has a leader")  # noqa: B023 - called at once
            self.moves[topic] = count + (self._last.get(topic, leader) != leader)
            self._last[topic] = leader

    def prefer(self) -> None:
        """Have every partition led by the broker that is the first of its copies, once all brokers have all."""

        def all_have_all() -> bool:
            found = self._admin.list_topics(timeout=ANSWER_S).topics.values()
            return all(len(each.isrs) == len(each.replicas) for topic in found for each in topic.partitions.values())

        until(lambda: _answered(all_have_all), 90, "all copies are there", every=0.2)
        until(lambda: _answered(self._elect), 30, "the brokers elect", every=0.2)

    def _elect(self) -> bool:
        # confluent-kafka's own fails whatever it is given (2.16).
        with closing(KafkaAdminClient(bootstrap_servers=self._bootstrap.split(","))) as admin:
            admin.elect_leaders(ElectionType.PREFERRED, timeout_ms=int(ANSWER_S * 1000))
        return True

    def _leader(self, topic: str) -> int:
        """The number of the broker; 0 for none."""

        def leader() -> int:
            partitions = self._admin.list_topics(topic, timeout=ANSWER_S).topics[topic].partitions
            place = TopicPartition(topic, _java_hash(self._id) % len(partitions) if topic == TRANSACTIONS else 0)
            return max(0, partitions[place.partition].leader)

        return _answered(leader)


def _answered(ask: Callable[[], int]) -> int:
    """What the brokers say, 0 if they do not."""
    try:
        return ask()
    except (KafkaError, KafkaException, KeyError, ZeroDivisionError):
        return 0


def _java_hash(text: str) -> int:
    """As brokers find the partition of a transactional id."""
    code = 0
    for character in text:
        code = (31 * code + ord(character)) & 0xFFFFFFFF
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return 0 if signed == -(1 << 31) else abs(signed)


@contextmanager
def growing(numbers: Numbers, come: Callable[[], float]) -> Iterator[None]:
    """There are always some more numbers than have come, but not many."""
    enough = threading.Event()

    def grow() -> None:
        while not enough.wait(0.02):
            if numbers.upto < come() + AHEAD:
                numbers.grow(20)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


@pytest.mark.parametrize("boundary", ["poll", "interval", "connector"])
def test_brokers_that_restart_in_turn_and_take_leadership_back_lose_and_repeat_nothing(
    cluster: Brokers, pool_at: Callable[[str], Pool], tmp_path: Path, boundary: str
) -> None:
    pool = pool_at(cluster.bootstrap)
    pool.settings |= {key: "3" for key in pool.settings if key.endswith("replication.factor")}
    numbers, topic = Numbers(tmp_path), f"{pool.name}-numbers"
    leaders = Leaders(cluster, topic, f"{pool.name}-count-0")
    # A failure that another start would hide is one.
    (worker,) = pool.start(1, exactly_once_source_support="enabled")
    more = {"transaction_boundary": boundary, "transaction_boundary_interval_ms": "300"}
    worker.create("count", source(pool, numbers.folder, **more))
    with closing(Committed(cluster.bootstrap, topic)) as seen:

        def goes_on(node: Node, when: str) -> None:
            goal = len(seen.values) + 100
            pool.until(lambda: len(seen.values) >= goal, f"numbers come through {when} {node} is down", within=90)
            leaders.look()

        kept = 2 / 3 if boundary == "connector" else 1
        with growing(numbers, lambda: len(seen.values) / kept):
            for node in cluster.nodes:
                goes_on(node, "before")
                node.stop()
                goes_on(node, "while")
                node.start()
                goes_on(node, "after")
                leaders.prefer()
                goes_on(node, "long after")
        wanted = [text for text in numbers.all() if boundary != "connector" or not dropped(int(text))]
        last = len(wanted) - (7 if boundary == "connector" else 0)  # the last transaction may be half
        pool.until(lambda: len(seen.values) >= last, "all come through", within=90)
        assert seen.values[:last] == wanted[:last]
        assert len(seen.values) == len(set(seen.values))
    assert min(leaders.moves.values()) >= 2, leaders.moves
    assert worker.states("count")["0"] == ("RUNNING", worker.id)
    assert worker.get("/connectors/count/status")["tasks"][0].get("trace") is None
