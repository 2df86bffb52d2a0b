"""`connect try` on a real topic: it reads, and leaves no trace."""

import json

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from connect.cli import main
from connect.kafka.reading.browse import Browser, NoTopicError, Span
from tests.support.groups import group_ids

from .letters import KEPT


@pytest.fixture
def topic(broker, new_topic):
    """Two partitions with five records each, of which one is not JSON and one has only a key."""
    name = new_topic(partitions=2, config=KEPT)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for partition in (0, 1):
        for number in range(5):
            value = {(0, 2): "{", (1, 4): None}.get((partition, number), json.dumps({"n": number}))
            producer.produce(
                name, value, f"k{number}", partition, timestamp=1000 * number + partition + 1, headers=[("h", b"\xff")]
            )
    assert producer.flush(30) == 0
    return name


@pytest.fixture
def tried(broker, tmp_path, capsys):
    """Runs it for a connector whose values are JSON; gives the exit code and what was shown."""
    config = {
        "name": "orders",
        "connector.class": "FileStreamSink",
        "topics": "orders",
        "key.converter": "StringConverter",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    file = tmp_path / "orders.json"
    file.write_text(json.dumps(config))

    def run(*words):
        code = main(["try", str(file), "--bootstrap-server", broker.bootstrap_servers, "--json", *words])
        shown = capsys.readouterr()
        return code, json.loads(shown.out) if shown.out else shown.err

    return run


def places(outcomes):
    return [(one["before"]["partition"], one["before"]["offset"]) for one in outcomes]


def test_records_are_read_as_they_lie_and_each_is_tried(topic, tried):
    code, outcomes = tried("--topic", topic)
    assert code == 1
    assert sorted(places(outcomes)) == [(partition, offset) for partition in (0, 1) for offset in range(5)]
    by_place = dict(zip(places(outcomes), outcomes, strict=True))
    assert by_place[0, 2]["verdict"] == "failed"
    assert by_place[1, 4]["before"]["value"] is None
    assert by_place[1, 3]["before"]["timestamp"] == 3002
    assert by_place[1, 3]["before"]["headers"] == [{"key": "h", "value": {"base64": "/w=="}, "schema": None}]
    assert by_place[1, 3]["after"]["value"] == {"n": 3}


def test_a_part_of_a_topic_is_asked_for(topic, tried):
    assert places(tried("--topic", topic, "--partition", "1", "--offset", "3")[1]) == [(1, 3), (1, 4)]
    assert places(tried("--topic", topic, "--partition", "0", "--limit", "2")[1]) == [(0, 0), (0, 1)]
    assert places(tried("--topic", topic, "--from-end", "--limit", "3")[1]) == [(1, 3), (0, 4), (1, 4)]
    assert tried("--topic", topic, "--partition", "0", "--offset", "99") == (0, [])


def test_nothing_is_committed_and_no_group_stays(topic, tried, broker):
    before = group_ids(broker.bootstrap_servers)  # those of other tests stay a while
    tried("--topic", topic)
    assert group_ids(broker.bootstrap_servers) <= before


def test_a_topic_that_is_not_there_is_said_and_not_made(tried, broker):
    code, said = tried("--topic", "try-nowhere")
    assert (code, said) == (1, "connect: There is no topic try-nowhere, or this user may not see it.\n")
    assert "try-nowhere" not in AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics().topics


def test_a_partition_that_is_not_there_is_said(topic, tried):
    assert tried("--topic", topic, "--partition", "7")[1].endswith(f"topic {topic} has the partitions [0, 1].\n")


@pytest.fixture
def browser(broker):
    found = Browser({"bootstrap.servers": broker.bootstrap_servers}, {"name": "browse"})
    yield found
    found.close()


def test_spans_end_where_they_should(browser, topic):
    assert browser.spans(topic) == {0: Span(0, 5), 1: Span(0, 5)}
    read = list(browser.read(topic, {0: Span(1, 3), 1: Span(5, 5)}, 30))
    assert [(one.partition, one.offset, one.key) for one in read] == [(0, 1, b"k1"), (0, 2, b"k2")]
    assert browser.offsets_at(topic, browser.spans(topic), 3000) == {0: 3, 1: 3}
    assert browser.offsets_at(topic, browser.spans(topic), 3002) == {0: 4, 1: 3}
    assert browser.offsets_at(topic, browser.spans(topic), 10**10) == {0: 5, 1: 5}
    with pytest.raises(NoTopicError):
        browser.spans("browse-nowhere")


@pytest.mark.parametrize(("level", "values"), [("read_uncommitted", [b"1", b"2"]), ("read_committed", [b"1"])])
def test_reading_ends_at_marks_of_transactions_and_sees_what_the_connector_would(broker, new_topic, level, values):
    name = new_topic(config=KEPT)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(30)
    for value, end in ((b"1", producer.commit_transaction), (b"2", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(name, value)
        assert producer.flush(30) == 0
        end(30)
    connector = {"name": "browse", "consumer.override.isolation.level": level}
    browser = Browser({"bootstrap.servers": broker.bootstrap_servers}, connector)
    spans = browser.spans(name)
    assert spans == {0: Span(0, 4)}
    assert [one.value for one in browser.read(name, spans, 30)] == values


def test_reading_gives_up_in_time(browser, topic):
    with pytest.raises(TimeoutError, match=r"within 0 s"):
        list(browser.read(topic, browser.spans(topic), 0))
