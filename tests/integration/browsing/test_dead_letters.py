"""Dead letters on a real broker: looked at in pages, in groups and one by one."""

import pytest

from connect.herder.dead_letters import DeadLetters, Wanted
from connect.herder.errors import BadRequestError, NotFoundError
from connect.kafka.reading.browse import NoTopicError

from .letters import KEPT, OWN, letter, write


@pytest.fixture
def dlq(broker, new_topic):
    """A topic of dead letters with two partitions, and what opens it: 1200 in partition 0, three others in 1."""
    name = new_topic(partitions=2, config=KEPT)
    many = [
        {"value": f"{number}", "key": f"k{number}", "headers": letter("orders", 0, number)} for number in range(1200)
    ]
    other = {"stage": "TRANSFORMATION", "message": "no field 'id' in 5", "exception": "java.lang.NullPointerException"}
    few = [
        {"value": b"\xff", "headers": letter("orders", 1, 7, **other), "partition": 1, "timestamp": 1_500_500},
        {"value": None, "headers": letter("more", 0, 8, connector="another"), "partition": 1},
        {"value": "bare", "headers": [("a", b"b")], "partition": 1, "timestamp": 9_000_000},
    ]
    write(broker.bootstrap_servers, name, [*many, *few])
    opened = []

    def open_(topic=name, **more):
        letters = DeadLetters({"bootstrap.servers": broker.bootstrap_servers}, {"name": "orders"}, topic, **more)
        opened.append(letters)
        return letters

    yield open_
    for one in opened:
        one.close()


def all_pages(letters, wanted, limit):
    found, after = [], None
    while True:
        page = letters.page(wanted, limit, after)
        found += page.letters
        after = page.next
        if after is None:
            return found


def test_pages_hold_each_letter_once_and_the_newest_first(dlq):
    letters = dlq()
    first = letters.page(Wanted(), 3)
    assert [(one.partition, one.offset) for one in first.letters] == [(1, 2), (1, 1), (0, 1199)]
    found = all_pages(letters, Wanted(), 400)
    places = [(one.partition, one.offset) for one in found]
    assert sorted(places) == [(0, offset) for offset in range(1200)] + [(1, offset) for offset in range(3)]
    assert [offset for partition, offset in places if partition == 0] == list(range(1199, -1, -1))


def test_few_that_are_wanted_are_found_among_many(dlq):
    letters = dlq()
    assert [one.offset for one in all_pages(letters, Wanted(key="k5"), 1)] == [5]
    assert [one.offset for one in all_pages(letters, Wanted(error="CHARACTER 11"), 7)] == [
        *range(1199, 1099, -1), *range(119, 109, -1), 11
    ]  # fmt: skip
    assert len(all_pages(letters, Wanted(connector="orders"), 500)) == 1202
    assert [one.offset for one in all_pages(letters, Wanted(stage="transformation"), 5)] == [0]
    assert [one.offset for one in all_pages(letters, Wanted(places=frozenset([(0, 7), (1, 99)])), 5)] == [7]
    assert letters.page(Wanted(key="nothing"), 5).letters == []


def test_time_is_asked_for(dlq):
    letters = dlq()
    found = all_pages(letters, Wanted(since=1_500_000, until=1_502_000), 50)
    assert [(one.partition, one.offset) for one in found] == [(0, 502), (0, 501), (1, 0), (0, 500)]
    assert len(all_pages(letters, Wanted(until=1_002_000), 50)) == 3
    assert [one.offset for one in all_pages(letters, Wanted(since=3_000_000), 50)] == [2]


def test_a_letter_says_all(dlq):
    one = dlq().one(0, 5)
    assert (one.key.text, one.value.text, one.timestamp) == ("k5", "5", 1_005_000)
    assert [(header.key, header.value and header.value.data()) for header in one.headers] == OWN
    error = one.error
    assert (error.connector, error.topic, error.partition, error.offset) == ("orders", "orders", 0, 5)
    assert error.stacktrace == "Traceback\n  at 5"
    assert error.exception == "org.apache.kafka.connect.errors.DataException"


def test_bytes_and_nulls_and_letters_without_headers(dlq):
    letters = dlq()
    assert (letters.one(1, 0).value.base64, letters.one(1, 0).value.size) == ("/w==", 1)
    assert letters.one(1, 1).value is None
    assert letters.one(1, 2).error is None
    assert letters.one(1, 2).headers[0].key == "a"


def test_groups_count_what_differs_in_numbers_alone(dlq):
    found = dlq().groups(Wanted())
    assert sorted((group.count, group.stage, group.message) for group in found.groups if group.message) == [
        (1, "TRANSFORMATION", "no field 'id' in 5"),
        (1201, "VALUE_CONVERTER", "This is not JSON at character 8"),
    ]
    (bare,) = [group for group in found.groups if group.message is None]
    assert bare.stage == ""
    assert [one.offset for one in all_pages(dlq(), Wanted(fingerprint=bare.fingerprint), 500)] == [2]
    largest = found.groups[0]
    assert (largest.first, found.count, found.complete) == (1_000_000, 1203, True)
    assert len(all_pages(dlq(), Wanted(fingerprint=largest.fingerprint), 500)) == 1201


def test_long_payloads_are_shown_from_their_beginning_in_lists(dlq, broker, new_topic):
    name = new_topic(config=KEPT)
    write(broker.bootstrap_servers, name, [{"value": "ä" * 5000, "headers": letter("t", 0, 1, message="x" * 5000)}])
    letters = dlq(name)
    (listed,) = letters.page(Wanted(), 10).letters
    assert (listed.value.size, listed.value.cut, listed.value.text) == (10_000, True, "ä" * 512)
    assert (len(listed.error.message), listed.error.stacktrace) == (1024, None)
    whole = letters.one(0, 0)
    assert (whole.value.text, len(whole.error.message)) == ("ä" * 5000, 5000)


def test_what_is_not_there_is_said(dlq, broker):
    letters = dlq()
    for place in ((0, 1200), (5, 0)):
        with pytest.raises(NotFoundError, match=f"There is no record {place[1]} in partition {place[0]}"):
            letters.one(*place)
    with pytest.raises(NoTopicError):
        dlq("dlq-nowhere").page(Wanted(), 5)
    with pytest.raises(NotFoundError, match="keeps no dead letters"):
        DeadLetters({"bootstrap.servers": broker.bootstrap_servers}, {"name": "orders"})
    connector = {"name": "orders", "errors.deadletterqueue.topic.name": "dlq-nowhere"}
    nothing_yet = DeadLetters({"bootstrap.servers": broker.bootstrap_servers}, connector)
    assert nothing_yet.page(Wanted(since=5), 5).letters == nothing_yet.groups(Wanted()).groups == []
    with pytest.raises(NotFoundError, match="no record 0 in partition 0 of dlq-nowhere"):
        nothing_yet.one(0, 0)
    for wrong in ("x", "0:", "0:1,"):
        with pytest.raises(BadRequestError, match="after is the value of next"):
            letters.page(Wanted(), 5, wrong)
    with pytest.raises(BadRequestError, match="limit is between"):
        letters.page(Wanted(), 501)


def test_a_question_ends_in_its_time(dlq):
    letters = dlq(patience=0.001)
    assert letters.groups(Wanted()).complete is False
