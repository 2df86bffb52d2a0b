"""Questions to brokers: what real ones answer, and what happens when they are away, restart, or answer with errors."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer
from kafka import errors

from connect.data.record import TopicPartition
from connect.kafka.admin.answers import EARLIEST, LATEST, NO_ANSWER, AdminError, Committed
from connect.kafka.admin.client import Admin, shared_admin
from connect.kafka.clients.errors import NotLetInError
from tests.servers.mock_cluster import TOPIC, MockCluster, a_mock_cluster
from tests.support.waiting import until


@pytest.fixture
def admin_of() -> Iterator[Callable[..., Admin]]:
    """Makes one: `admin_of(broker, timeout=5)`."""
    made: list[Admin] = []

    def make(on: Any, timeout: float = 30.0, **java: str) -> Admin:
        settings = {"bootstrap.servers": on.bootstrap_servers, **{k.replace("_", "."): v for k, v in java.items()}}
        made.append(Admin(settings, timeout=timeout))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def admin(broker, admin_of) -> Admin:
    return admin_of(broker)


@pytest.fixture(scope="module")
def mock() -> Iterator[MockCluster]:
    with a_mock_cluster() as running:
        yield running


def a_name() -> str:
    return f"admin-{uuid.uuid4().hex[:8]}"


def test_topics_are_made_grown_listed_and_deleted(admin):
    topic = a_name()
    assert admin.make_topic(topic, 2, 1, {"retention.ms": "1000000"}) is True
    assert admin.make_topic(topic, 2, 1, {}) is False
    until(lambda: admin.partitions([topic]) == {topic: [0, 1]})
    admin.grow_topic(topic, 3)
    until(lambda: admin.partitions([topic]) == {topic: [0, 1, 2]})
    assert admin.topics()[topic] == [0, 1, 2]
    assert admin.cluster_id()
    for _ in range(2):  # the second time there is none
        admin.delete_topic(topic)
        until(lambda: topic not in admin.topics())


def test_what_does_not_exist_is_left_out_and_not_made(admin, new_topic):
    missing = a_name()
    assert admin.partitions([missing, there := new_topic()]) == {there: [0]}
    assert admin.topic_settings([missing]) == {}
    assert missing not in admin.topics()


def test_a_refusal_says_kafka_s_name_for_it(admin, new_topic):
    with pytest.raises(AdminError) as raised:
        admin.make_topic(a_name(), 1, 3, {})
    assert (raised.value.code, raised.value.passes) == ("INVALID_REPLICATION_FACTOR", False)
    assert "replication" in raised.value.words.lower()
    with pytest.raises(AdminError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        admin.offsets({TopicPartition(new_topic(), 7): LATEST}, committed_only=True)


def test_settings_of_a_topic_are_changed_and_taken_back(admin, new_topic):
    topic = new_topic(config={"segment.ms": "1000000"})
    found = admin.topic_settings([topic])[topic]
    assert found["segment.ms"] == ("1000000", False, True, False, False)
    assert found["max.message.bytes"].is_default
    admin.change_topic_settings(topic, {"segment.ms": None, "max.message.bytes": "2000000"})
    until(lambda: admin.topic_settings([topic])[topic]["max.message.bytes"].value == "2000000")
    assert admin.topic_settings([topic])[topic]["segment.ms"].is_default


def test_offsets_by_end_and_by_time(admin, new_topic, write):
    topic = new_topic(partitions=2)
    places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    write(topic, 0, 5)
    assert admin.offsets(dict.fromkeys(places, LATEST), committed_only=True) == {places[0]: 5, places[1]: 0}
    assert admin.offsets({places[0]: 0}, committed_only=False) == {places[0]: 0}
    assert admin.offsets({places[0]: 1 << 50}, committed_only=False) == {places[0]: -1}
    assert admin.offsets(dict.fromkeys(places, EARLIEST), committed_only=False) == dict.fromkeys(places, 0)
    assert admin.offsets({}, committed_only=True) == {}


def test_offsets_of_a_group_with_what_stands_beside_them(admin, new_topic):
    group, topic = a_name(), new_topic(partitions=2)
    one, two = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert admin.committed(group) == {}
    assert admin.group_states([group]) == {group: "DEAD"}
    admin.commit(group, {one: Committed(3, "a note"), two: Committed(4)})
    assert admin.committed(group) == {one: (3, "a note"), two: (4, "")}
    with pytest.raises(AdminError, match=rf"^Unknown topic or partition: {one.topic}-9 \("):
        admin.commit(group, {one: Committed(3, "a note"), TopicPartition(one.topic, 9): Committed(1)})
    assert group in admin.groups()
    assert admin.group_states([group]) == {group: "EMPTY"}
    admin.forget(group, [two])
    assert admin.committed(group) == {one: (3, "a note")}
    admin.delete_group(group)
    admin.delete_group(group)
    assert admin.committed(group) == {}
    admin.forget(group, [two])


def test_a_group_with_members_keeps_its_offsets(admin, new_topic, broker):
    group, topic = a_name(), new_topic()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    consumer.subscribe([topic])
    until(lambda: consumer.poll(0.1) is None and consumer.assignment(), 30)
    assert admin.group_states([group]) == {group: "STABLE"}
    with pytest.raises(AdminError) as raised:
        admin.commit(group, {TopicPartition(topic, 0): Committed(0)})
    assert raised.value.code == "UNKNOWN_MEMBER_ID"
    with pytest.raises(AdminError) as raised:
        admin.delete_group(group)
    assert raised.value.code == "NON_EMPTY_GROUP"
    admin.remove_member(group, "nobody", "a test")
    admin.remove_member(group, consumer.memberid(), "a test")
    until(lambda: admin.group_states([group]) == {group: "EMPTY"})
    consumer.close()


def test_no_broker_is_an_error_in_time_and_says_where(admin_of):
    class Nowhere:
        bootstrap_servers = "127.0.0.1:1"

    began = time.monotonic()
    with pytest.raises(AdminError, match=r"No broker answers at 127\.0\.0\.1:1") as raised:
        admin_of(Nowhere, timeout=1).topics()
    assert raised.value.code == NO_ANSWER
    assert time.monotonic() - began < 20  # a bound of what hangs, no measure


def test_a_broker_that_comes_back_answers_what_was_asked_meanwhile(strict_broker, admin_of, new_topic):
    topic = new_topic(on=strict_broker)
    admin, place = admin_of(strict_broker, timeout=60), TopicPartition(topic, 0)
    assert admin.offsets({place: LATEST}, committed_only=True) == {place: 0}
    strict_broker.kill()
    answers: list[Any] = []
    asking = [
        threading.Thread(target=lambda: answers.append(admin.offsets({place: LATEST}, committed_only=True))),
        threading.Thread(target=lambda: answers.append(admin.committed("nobody"))),
    ]
    for thread in asking:
        thread.start()
    strict_broker.start()
    for thread in asking:
        thread.join(60)
    assert sorted(answers, key=len) == [{}, {place: 0}]


def test_closing_ends_a_question_that_waits(admin_of):
    class Nowhere:
        bootstrap_servers = "127.0.0.1:1"

    admin, ended = admin_of(Nowhere, timeout=600), threading.Event()

    def ask() -> None:
        with pytest.raises(AdminError, match="closed"):
            admin.topics()
        ended.set()

    threading.Thread(target=ask, daemon=True).start()
    until(admin._connecting.locked)
    admin.close()
    assert ended.wait(30)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_login_that_is_refused_names_its_key(secure_broker, mechanism):
    user, password = {"PLAIN": ("alice", "wonder"), "SCRAM-SHA-512": ("bob", "builder")}[mechanism]
    right = Admin(secure_broker.settings(mechanism, user, password))
    assert right.cluster_id()
    right.close()
    wrong = Admin(secure_broker.settings(mechanism, user, "another-secret"))
    with pytest.raises(NotLetInError) as raised:
        wrong.cluster_id()
    wrong.close()
    assert raised.value.key == "sasl.jaas.config"
    assert "another-secret" not in str(raised.value)


def test_those_with_the_same_settings_share_a_client(broker):
    java = {"bootstrap.servers": broker.bootstrap_servers}
    one, same = shared_admin({**java, "client.id": "a"}, "x"), shared_admin({**java, "client.id": "b"}, "y")
    assert one is same
    assert shared_admin({**java, "retry.backoff.ms": "7"}, "x") is not one
    assert one.cluster_id()
    thread = next(each for each in threading.enumerate() if each is one._client._net._io_thread)
    del one, same
    until(lambda: not thread.is_alive(), what="nobody holds it, and it runs on")


OLD = (2, 3)  # what the mock knows
METADATA, LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 3, 2, 8, 9, 10
PASSING = {
    METADATA: (5, 6, 7, 13),
    LIST_OFFSETS: (5, 6, 7, 9, 13, 56, 74, 75, 78),
    OFFSET_COMMIT: (7, 13, 14, 15, 16),
    OFFSET_FETCH: (7, 13, 14, 15, 16),
    FIND_COORDINATOR: (7, 13, 14, 15),
}


@pytest.mark.parametrize(("api", "code"), [(api, code) for api, codes in PASSING.items() for code in codes], ids=str)
def test_whatever_passes_is_asked_again(mock, admin_of, api, code):
    """One of these ended the process where librdkafka's admin client asked, others gave a wrong answer."""
    admin, place = admin_of(mock), TopicPartition(TOPIC, 0)
    admin._settings["api_version"] = OLD
    mock.push(api, code)
    if api in (METADATA, LIST_OFFSETS):
        assert admin.offsets({place: LATEST}, committed_only=True) == {place: 0}
    elif api == OFFSET_COMMIT:
        admin.commit("g", {place: Committed(1)})
    else:
        assert set(admin.committed("g")) <= {place}


@pytest.mark.parametrize("code", [29, 30, 31])
def test_a_right_that_is_not_there_is_said_at_once(mock, admin_of, code):
    admin = admin_of(mock)
    admin._settings["api_version"] = OLD
    mock.push(OFFSET_FETCH, code)
    with pytest.raises(AdminError) as raised:
        admin.committed("g")
    assert raised.value.code == errors.for_code(code).message
    assert not raised.value.passes
