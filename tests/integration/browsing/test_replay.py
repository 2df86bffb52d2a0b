"""Dead letters replayed on a real broker: to the letter, once, and what is edited in them."""

import json

import pytest
from confluent_kafka.admin import AdminClient
from kafka.partitioner.default import murmur2

from connect.errors import ConnectError
from connect.herder.dead_letters import DeadLetters, Wanted
from connect.herder.errors import BadRequestError
from connect.herder.replay import ReplayRequest, replay
from connect.kafka.admin.replay_marks import Marks

from .letters import KEPT, OWN, letter, write


@pytest.fixture
def target(new_topic):
    """Where the letters came from: two partitions."""
    return new_topic(partitions=2, config=KEPT)


@pytest.fixture
def letters(broker, new_topic, target):
    """Five letters of that topic, and what opens them."""
    name = new_topic(config=KEPT)
    write(
        broker.bootstrap_servers,
        name,
        [
            {"key": b"\x00k", "value": b'{"id": "5", "price": 1.50}', "headers": letter(target, 1, 12)},
            {"key": None, "value": b"\xff\x00", "headers": letter(target, 0, 13)},
            {"key": "t", "value": None, "headers": letter(target, 1, 14, stage="TRANSFORMATION")},
            {"key": "gone", "value": b"{}", "headers": letter(target, 9, 15)},
            {"key": "bare", "value": b"{}", "headers": [("own", b"1")]},
        ],
    )
    found = DeadLetters({"bootstrap.servers": broker.bootstrap_servers}, {"name": name}, name)
    yield found
    found.close()


@pytest.fixture
def arrived(broker, read):
    """What lies in a topic: partition, key, value, headers and timestamp of each record."""

    def of(topic, count):
        return sorted(
            (one.partition(), one.key(), one.value(), one.headers(), one.timestamp()[1])
            for one in read(broker.bootstrap_servers, topic, count)
        )

    return of


def places(outcome):
    return [(sent.offset, sent.to_partition) for sent in outcome.replayed]


def test_a_record_comes_back_to_the_letter(letters, target, arrived):
    outcome = replay(letters, ReplayRequest(limit=3))
    assert outcome.skipped == []
    assert [(sent.offset, sent.topic, sent.to_partition) for sent in outcome.replayed] == [
        (0, target, 1),
        (1, target, 0),
        (2, target, 1),
    ]
    assert arrived(target, 3) == [
        (0, None, b"\xff\x00", OWN, 1_001_000),
        (1, b"\x00k", b'{"id": "5", "price": 1.50}', OWN, 1_000_000),
        (1, b"t", None, OWN, 1_002_000),
    ]
    assert outcome.complete is False


def test_what_cannot_go_back_is_skipped_and_says_why(letters, target, arrived):
    outcome = replay(letters, ReplayRequest())
    assert [one.offset for one in outcome.replayed] == [0, 1, 2, 3]
    assert [(one.offset, one.reason) for one in outcome.skipped] == [
        (4, "its headers do not say which topic it came from; name one.")
    ]
    # Partition 9 is not there any more: the key says which it is now, as Java's producer would.
    by_key = (murmur2(b"gone") & 0x7FFFFFFF) % 2
    assert [partition for partition, key, *_ in arrived(target, 4) if key == b"gone"] == [by_key]
    assert outcome.complete is True


def test_the_same_is_not_replayed_twice_unless_it_is_asked_for(letters, target, end_of, broker):
    def written():
        return sum(end_of(broker.bootstrap_servers, target, number) for number in (0, 1))

    only = ReplayRequest(wanted=Wanted(places=frozenset([(0, 1)])))
    assert places(replay(letters, only)) == [(1, 0)]
    again = replay(letters, only)
    assert (places(again), again.marked_before, written()) == ([], 1, 1)
    rest = replay(letters, ReplayRequest())
    assert ([one.offset for one in rest.replayed], rest.marked_before) == ([0, 2, 3], 1)
    assert replay(letters, ReplayRequest()).marked_before == 4
    assert places(replay(letters, ReplayRequest(wanted=only.wanted, again=True))) == [(1, 0)]
    assert written() == 5


def test_a_dry_run_writes_and_marks_nothing(letters, target, end_of, broker):
    outcome = replay(letters, ReplayRequest(dry_run=True))
    assert [(sent.offset, sent.to_partition, sent.to_offset) for sent in outcome.replayed] == [
        (0, 1, None),
        (1, 0, None),
        (2, 1, None),
        (3, None, None),
    ]
    assert [end_of(broker.bootstrap_servers, target, number) for number in (0, 1)] == [0, 0]
    assert replay(letters, ReplayRequest(dry_run=True)).marked_before == 0


def test_edits_change_json_and_nothing_else_of_the_record(letters, target, arrived):
    request = ReplayRequest(
        wanted=Wanted(places=frozenset([(0, 0), (0, 1), (0, 2)])), put={"id": 5, "by": "me"}, drop=["nothing"]
    )
    outcome = replay(letters, request)
    assert [(one.offset, one.reason) for one in outcome.skipped] == [
        (1, "the value is not JSON."),
        (2, "the value is null, not JSON."),
    ]
    assert arrived(target, 1) == [(1, b"\x00k", b'{"id":5,"price":1.50,"by":"me"}', OWN, 1_000_000)]


def test_values_take_the_place_of_those_that_lie_there(letters, target, arrived):
    wanted = Wanted(places=frozenset([(0, 0), (0, 1)]))
    replay(letters, ReplayRequest(wanted=wanted, values={(0, 0): None, (0, 1): b"new"}))
    assert [(value, headers) for _, _, value, headers, _ in arrived(target, 2)] == [(b"new", OWN), (None, OWN)]


def test_another_topic_takes_also_what_has_no_headers(letters, new_topic, arrived):
    other = new_topic(config=KEPT)
    outcome = replay(letters, ReplayRequest(into=other, wanted=Wanted(places=frozenset([(0, 0), (0, 4)]))))
    assert outcome.skipped == []
    assert [(key, headers) for _, key, _, headers, _ in arrived(other, 2)] == [
        (b"\x00k", OWN),
        (b"bare", [("own", b"1")]),
    ]


def test_a_topic_that_is_gone_is_not_made(letters, broker):
    outcome = replay(letters, ReplayRequest(into="replay-nowhere", limit=10))
    assert {one.reason for one in outcome.skipped} == {"topic replay-nowhere does not exist."}
    assert "replay-nowhere" not in AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics().topics


def test_a_value_that_was_left_out_is_not_replayed_as_null(broker, new_topic, target):
    name = new_topic(config=KEPT)
    headers = letter(target, 0, 1, omitted="it is larger than the producer takes")
    write(broker.bootstrap_servers, name, [{"value": None, "headers": headers}])
    letters = DeadLetters({"bootstrap.servers": broker.bootstrap_servers}, {"name": name}, name)
    (skipped,) = replay(letters, ReplayRequest()).skipped
    assert skipped.reason == "its value is not in the dead letter: it is larger than the producer takes"
    assert len(replay(letters, ReplayRequest(values={(0, 0): b"whole"})).replayed) == 1


def test_a_record_that_the_topic_does_not_take_is_told_and_not_marked(letters, broker, new_topic):
    small = new_topic(config={"max.message.bytes": "500", **KEPT})
    request = ReplayRequest(into=small, wanted=Wanted(places=frozenset([(0, 0), (0, 2)])), values={(0, 0): b"x" * 1000})
    outcome = replay(letters, request)
    assert [one.offset for one in outcome.replayed] == [2]
    (skipped,) = outcome.skipped
    assert (skipped.offset, f"{small} refuses it: " in skipped.reason) == (0, True)
    assert "MSG_SIZE_TOO_LARGE" in skipped.reason
    assert replay(letters, ReplayRequest(wanted=request.wanted)).marked_before == 1


def test_marks_are_kept_as_ranges_and_too_many_of_them_are_refused(broker, new_topic):
    worker, topic = {"bootstrap.servers": broker.bootstrap_servers}, new_topic(partitions=2)

    def marks():
        found = Marks(worker, {}, topic, f"marks-{topic}")
        found.read()
        return found

    first = marks()
    first.add([(0, 0), (0, 1), (0, 5), *((1, offset) for offset in range(7, 4000))])
    first.store({})
    second = marks()
    assert [offset for offset in range(8) if second.has(0, offset)] == [0, 1, 5]
    assert (second.has(1, 6), second.has(1, 7), second.has(1, 3999), second.has(1, 4000)) == (False, True, True, False)
    second.add([(0, 2), (0, 3)])
    second.store({1: 3000})
    third = marks()
    assert [offset for offset in range(8) if third.has(0, offset)] == [0, 1, 2, 3, 5]
    assert third.has(1, 3999)
    third.add((0, offset) for offset in range(100, 4000, 2))
    with pytest.raises(ConnectError, match="too scattered to be remembered"):
        third.store({})


def test_many_are_replayed_in_order(broker, new_topic, target, read):
    name = new_topic(config=KEPT)
    write(
        broker.bootstrap_servers,
        name,
        [{"value": json.dumps(number), "headers": letter(target, 0, number)} for number in range(1300)],
    )
    letters = DeadLetters({"bootstrap.servers": broker.bootstrap_servers}, {"name": name}, name)
    outcome = replay(letters, ReplayRequest())
    assert (len(outcome.replayed), outcome.complete, outcome.warning) == (1300, True, None)
    assert [int(one.value()) for one in read(broker.bootstrap_servers, target, 1300)] == list(range(1300))


def test_a_connector_without_retry_topics_takes_nothing_back_directly(letters):
    with pytest.raises(BadRequestError, match="has no retry topics to replay through"):
        replay(letters, ReplayRequest(to="connector"))
    with pytest.raises(BadRequestError, match="not both"):
        replay(letters, ReplayRequest(to="connector", into="t"))
    with pytest.raises(BadRequestError, match="limit is between"):
        replay(letters, ReplayRequest(limit=0))


def test_a_letter_of_a_source_is_written_only_where_somebody_says(broker, new_topic, target):
    name, other = new_topic(config=KEPT), new_topic(config=KEPT)
    write(broker.bootstrap_servers, name, [{"value": "{}", "headers": letter(target, 0, 1, source_partition={"a": 1})}])
    letters = DeadLetters({"bootstrap.servers": broker.bootstrap_servers}, {"name": name}, name)
    (skipped,) = replay(letters, ReplayRequest()).skipped
    assert skipped.reason.startswith("it is a source's, and is JSON")
    assert len(replay(letters, ReplayRequest(into=other)).replayed) == 1
