"""Topics of source connectors, made by topic.creation.* on a broker that makes none, and on one that guards them."""

import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    ConfigSource,
    ResourcePatternType,
    ResourceType,
)

from connect.kafka.admin.new_topics import NewTopic, TopicMaker
from connect.kafka.broker.embedded import Broker
from connect.kafka.clients.settings import client_settings
from connect.ports import free_port
from tests.servers.broker import a_broker
from tests.support.waiting import until

NUMBERS = {"connector.class": "odd.NumbersConnector", "count": "30"}
DEFAULT = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "3"}


def name() -> str:
    return f"made-{uuid.uuid4().hex[:12]}"


def described(on: Any, topic: str) -> tuple[int, dict[str, str]] | None:
    """How many partitions a topic has, and what is set for it; None when there is no such topic."""
    admin = AdminClient({"bootstrap.servers": on.bootstrap_servers})
    found = admin.list_topics(timeout=10).topics.get(topic)
    if found is None:
        return None
    resource = ConfigResource(ResourceType.TOPIC, topic)
    settings = admin.describe_configs([resource])[resource].result(10)
    own = {key: one.value for key, one in settings.items() if one.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}
    return len(found.partitions), own


def test_topics_are_made_as_asked_before_the_first_record(herd, strict_broker, read):
    plain, wide, small = name(), f"{name()}-wide", f"{name()}-small"
    keys = {
        **DEFAULT,
        "topic.creation.groups": "wide,small",
        "topic.creation.wide.include": ".*-WIDE,(?i).*-wide",
        "topic.creation.wide.partitions": "5",
        "topic.creation.small.include": r"\w+-\w+-\p{Lower}+",
        "topic.creation.small.partitions": "-1",
        "topic.creation.small.max.message.bytes": "999",
        "topic.creation.small.retention.ms": "1000",
    }
    run = herd(on=strict_broker)
    run.run("numbers", **NUMBERS, topic=f"{plain},{wide},{small}", **keys)
    run.await_state("numbers", "RUNNING")
    run.until(lambda: run.herder.worker.offsets.all("numbers") == [({"numbers": "0"}, {"next": 30})])
    assert len(read(strict_broker.bootstrap_servers, wide, 10)) == 10
    assert described(strict_broker, plain) == (3, {})
    assert described(strict_broker, wide) == (5, {})
    assert described(strict_broker, small) == (1, {"max.message.bytes": "999", "retention.ms": "1000"})


def test_tasks_that_make_the_same_topics_at_once_all_go_on(herd, strict_broker, read):
    topics = [name() for _ in range(5)]
    run = herd(on=strict_broker)
    run.run("numbers", **NUMBERS | {"count": "20"}, topic=",".join(topics), tasks="4", tasks__max="4", **DEFAULT)
    for number in range(4):
        run.await_state("numbers", "RUNNING", number)
    run.until(lambda: len(run.herder.worker.offsets.all("numbers")) == 4)
    for topic in topics:
        assert len(read(strict_broker.bootstrap_servers, topic, 16)) == 16
        assert described(strict_broker, topic) == (3, {})


def test_a_topic_that_exists_stays_as_it_is(herd, strict_broker, new_topic, read):
    topic = new_topic(partitions=2, on=strict_broker)
    run = herd(on=strict_broker)
    run.run("numbers", **NUMBERS, topic=topic, **DEFAULT, **{"topic.creation.default.cleanup.policy": "compact"})
    assert len(read(strict_broker.bootstrap_servers, topic, 30)) == 30
    assert described(strict_broker, topic) == (2, {})


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"topic.creation.default.nonsense": "1"}, "Unknown topic config name: nonsense"),
        ({"topic.creation.default.retention.ms": "x"}, "Invalid value x for configuration retention.ms"),
        ({"topic.creation.default.replication.factor": "3"}, "only 1 broker"),
    ],
)
def test_what_the_broker_does_not_take_fails_the_task_with_its_words(herd, strict_broker, keys, said):
    topic = name()
    run = herd(on=strict_broker)
    run.run("numbers", **NUMBERS, topic=topic, **DEFAULT | keys)
    trace = run.await_state("numbers", "FAILED")
    assert said in trace
    assert f'Topic "{topic}" cannot be made' in trace
    assert described(strict_broker, topic) is None


@pytest.mark.slow  # ten seconds are given to a broker to make a topic
@pytest.mark.parametrize("keys", [{}, DEFAULT, {"topic.creation.default.partitions": "never looked at"}])
def test_a_worker_that_makes_no_topics_leaves_it_to_the_broker(herd, strict_broker, broker, read, keys):
    topic = name()
    off = {"topic.creation.enable": "false"} if keys else {}
    run = herd(on=strict_broker, **off)
    run.run("numbers", **NUMBERS, topic=topic, **keys)
    assert "the broker does not create it" in run.await_state("numbers", "FAILED")
    run = herd(**off)
    run.run("numbers", **NUMBERS, topic=topic, **keys)
    run.until(lambda: run.herder.worker.offsets.all("numbers") == [({"numbers": "0"}, {"next": 30})])
    assert len(read(broker.bootstrap_servers, topic, 30)) == 30
    assert described(broker, topic) == (1, {})


@pytest.mark.slow
def test_a_broker_that_is_away_is_awaited_until_the_task_is_to_end(strict_broker, caplog):
    caplog.set_level("INFO")
    settings = client_settings("admin", {"bootstrap.servers": strict_broker.bootstrap_servers}).librdkafka
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 1:
            strict_broker.start()

    topic = name()
    strict_broker.stop()
    TopicMaker(settings, lambda name: NewTopic(name, 2, 1, {}), wait)(topic)
    assert waits
    assert f"made topic {topic}" in caplog.text
    until(lambda: described(strict_broker, topic) == (2, {}), 30)

    class Stop(Exception):
        pass

    def end(seconds: float) -> None:
        raise Stop

    strict_broker.stop()
    try:
        with pytest.raises(Stop):
            TopicMaker(settings, lambda name: NewTopic(name, 2, 1, {}), end)(name())
    finally:
        strict_broker.start()


class DeafAtFirst:
    """What stands before a broker: who connects to it in the first five seconds is never answered."""

    def __init__(self, broker_port: int, stack: ExitStack) -> None:
        self.listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        stack.callback(self.listener.shutdown, socket.SHUT_RDWR)  # closing alone does not wake who accepts
        self.port: int = self.listener.getsockname()[1]
        self.held: list[socket.socket] = []
        stack.callback(lambda: [each.close() for each in self.held])
        threading.Thread(target=self._accept, args=(broker_port, time.monotonic() + 5), daemon=True).start()

    def _accept(self, broker_port: int, hears_from: float) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.held.append(client)
            if time.monotonic() >= hears_from:
                broker = socket.create_connection(("127.0.0.1", broker_port))
                self.held.append(broker)
                for one, other in ((client, broker), (broker, client)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)


def test_a_client_that_has_no_answer_is_made_anew(strict_broker):
    """As one of librdkafka that waits for a controller which all others know."""
    patient = {"socket.timeout.ms": 300_000, "api.version.request.timeout.ms": 300_000}
    began = time.monotonic()

    def not_for_ever(seconds: float) -> None:
        assert time.monotonic() - began < 60
        time.sleep(seconds)

    topic = name()
    with ExitStack() as stack:
        before = DeafAtFirst(int(strict_broker.bootstrap_servers.rpartition(":")[2]), stack)
        settings = {"bootstrap.servers": f"127.0.0.1:{before.port}", **patient}
        TopicMaker(settings, lambda name: NewTopic(name, 2, 1, {}), not_for_ever)(topic)
    assert described(strict_broker, topic) == (2, {})


# A broker that guards its topics.

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required {}="{}"{};'
ALICE = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": LOGIN.format("username", "alice", ' password="wonder"'),
}


class GuardedBroker:
    """A broker; where alice connects, she may do only what `grant` gave her."""

    def __init__(self, running: Broker, guarded: int) -> None:
        self.plain = running
        self.bootstrap_servers = f"127.0.0.1:{guarded}"
        self.admin = AdminClient({"bootstrap.servers": running.bootstrap_servers})
        self.grant(ResourceType.BROKER, "kafka-cluster", AclOperation.IDEMPOTENT_WRITE)

    def grant(self, what: ResourceType, name: str, *operations: AclOperation) -> None:
        rules = [
            AclBinding(what, name, ResourcePatternType.LITERAL, "User:alice", "*", one, AclPermissionType.ALLOW)
            for one in operations
        ]
        for answer in self.admin.create_acls(rules).values():
            answer.result(10)


@pytest.fixture(scope="module")
def guarded(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedBroker]:
    plain, theirs, controller = (free_port() for _ in range(3))
    data: Path = tmp_path_factory.mktemp("guarded")
    places = f"PLAINTEXT://127.0.0.1:{plain},GUARDED://127.0.0.1:{theirs}"
    settings = {
        "listeners": f"{places},CONTROLLER://127.0.0.1:{controller}",
        # The same key once more, and the last one counts: the embedded broker finds its port by the first.
        "advertised\\.listeners": places,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.guarded.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.guarded.plain.sasl.jaas.config": LOGIN.format("user_alice", "wonder", ""),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with a_broker(data, port=plain, settings=settings) as running:
        yield GuardedBroker(running, theirs)


@pytest.mark.slow
def test_without_the_right_to_make_or_to_see_a_topic_the_task_fails_and_says_so(herd, guarded, read):
    rights = AclOperation
    unseen, unmade, made, existing = (name() for _ in range(4))
    guarded.grant(ResourceType.TOPIC, unmade, rights.WRITE)
    guarded.grant(ResourceType.TOPIC, made, rights.WRITE, rights.CREATE)
    guarded.grant(ResourceType.TOPIC, existing, rights.WRITE)
    TopicMaker({"bootstrap.servers": guarded.plain.bootstrap_servers}, lambda n: NewTopic(n, 2, 1, {}), print)(existing)
    login = {f"{who}{key}": value for who in ("", "admin.", "producer.") for key, value in ALICE.items()}
    run = herd(on=guarded, **login)
    for topic in (unseen, unmade, made, existing):
        run.run(topic, **NUMBERS, topic=topic, **DEFAULT)
    for topic in (unseen, unmade):
        trace = run.await_state(topic, "FAILED")
        assert f"Grant DESCRIBE and CREATE on topic {topic}" in trace
        assert "TOPIC_AUTHORIZATION_FAILED" in trace
    for topic, partitions in ((made, 3), (existing, 2)):
        run.until(lambda topic=topic: run.herder.worker.offsets.all(topic) == [({"numbers": "0"}, {"next": 30})])
        assert len(read(guarded.plain.bootstrap_servers, topic, 30)) == 30
        found = guarded.admin.describe_topics(TopicCollection([topic]))[topic].result(10)
        assert len(found.partitions) == partitions
