"""Exactly-once sources on three brokers, while the leaders of their topics, and of their transactions, move."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
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


class Flow:
    """A source whose transactions end at one kind of boundary, and what comes of it.

    Args:
        pool: runs.
        boundary: of its transactions.
        folder: for its numbers.
    """

    def __init__(self, pool: Pool, cluster: Brokers, boundary: str, folder: Path) -> None:
        folder.mkdir()
        self.boundary = boundary
        self.name = f"count-{boundary}"
        topic = f"{pool.name}-{boundary}"
        self.leaders = Leaders(cluster, topic, f"{pool.name}-{self.name}-0")
        self.numbers = Numbers(folder)
        self.seen = Committed(cluster.bootstrap, topic)
        self._drops = boundary == "connector"
        more = {"transaction_boundary": boundary, "transaction_boundary_interval_ms": "300", "topic": topic}
        pool.up[0].create(self.name, source(pool, folder, **more))

    def read(self) -> float:
        """How many numbers the source has read, by those that came."""
        return len(self.seen.values) / (2 / 3 if self._drops else 1)

    def wanted(self) -> list[str]:
        """The numbers that have to come; those of the last transaction need not."""
        kept = [text for text in self.numbers.all() if not (self._drops and dropped(int(text)))]
        return kept[: len(kept) - 7] if self._drops else kept


def test_brokers_that_restart_in_turn_and_take_leadership_back_lose_and_repeat_nothing(
    cluster: Brokers, pool_at: Callable[[str], Pool], tmp_path: Path
) -> None:
    """Of sources with every kind of boundary, side by side: each start of a broker costs seconds."""
    pool = pool_at(cluster.bootstrap)
    pool.settings |= {key: "3" for key in pool.settings if key.endswith("replication.factor")}
    # A failure that another start would hide is one.
    (worker,) = pool.start(1, exactly_once_source_support="enabled")
    with ExitStack() as stack:
        flows = [Flow(pool, cluster, boundary, tmp_path / boundary) for boundary in ("poll", "interval", "connector")]
        for flow in flows:
            stack.enter_context(closing(flow.seen))

        def goes_on(node: Node, when: str) -> None:
            goals = [len(flow.seen.values) + 100 for flow in flows]

            def is_through() -> bool:
                return all(len(flow.seen.values) >= goal for flow, goal in zip(flows, goals, strict=True))

            pool.until(is_through, f"numbers come through {when} {node} is down", within=90)
            for flow in flows:
                flow.leaders.look()

        with ExitStack() as growth:
            for flow in flows:
                growth.enter_context(growing(flow.numbers, flow.read))
            for node in cluster.nodes:
                goes_on(node, "before")
                node.stop()
                goes_on(node, "while")
                node.start()
                goes_on(node, "after")
                flows[0].leaders.prefer()
                goes_on(node, "long after")
        for flow in flows:
            wanted, seen = flow.wanted(), flow.seen.values
            pool.until(lambda: len(seen) >= len(wanted), f"all come through, {flow.boundary}", within=90)  # noqa: B023
            assert seen[: len(wanted)] == wanted, flow.boundary
            assert len(seen) == len(set(seen)), flow.boundary
    for flow in flows:
        assert min(flow.leaders.moves.values()) >= 2, (flow.boundary, flow.leaders.moves)
        assert worker.states(flow.name)["0"] == ("RUNNING", worker.id)
        assert worker.get(f"/connectors/{flow.name}/status")["tasks"][0].get("trace") is None
