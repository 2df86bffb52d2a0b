"""Records that a sink cannot take become dead letters, byte for byte, before their offsets are committed."""

import uuid

import pytest
from confluent_kafka.admin import AdminClient

from connect.pipeline.error_headers import ErrorContext

from .conftest import A_WHILE_AGO_MS, PLUGINS

JSON = "org.apache.kafka.connect.json.JsonConverter"


def dead(topic: str, **more: str) -> dict[str, str]:
    return {
        "errors__tolerance": "all",
        "errors__deadletterqueue__topic__name": topic,
        "errors__deadletterqueue__topic__replication__factor": "1",
        "errors__deadletterqueue__context__headers__enable": "true",
        **more,
    }


def own_topic() -> str:
    return f"dead-{uuid.uuid4().hex[:8]}"


@pytest.mark.quick
@pytest.mark.promise("P1", "P5")
def test_a_record_that_the_converter_does_not_take_is_a_dead_letter_and_costs_no_other(
    picky, produce, all_of, lines_of, new_topic, committed, broker
):
    topic, queue = new_topic(), own_topic()
    produce(
        topic, (b"k", b"1"), (b"k", b"bad\xc3\xa4"), headers=[("h", b"\xff"), ("h", None)], timestamp=A_WHILE_AGO_MS
    )
    produce(topic, (None, None), (b"k", b"2"))
    partitions = {"errors__deadletterqueue__topic__partitions": "3"}
    run = picky("sink", topic, value__converter="picky.PickyConverter", **dead(queue, **partitions))
    (letter,) = all_of(queue, 1)
    assert (letter.key(), letter.value()) == (b"k", b"bad\xc3\xa4")
    assert letter.timestamp()[1] == A_WHILE_AGO_MS
    own, context = ErrorContext.split(letter.headers())
    assert own == [("h", b"\xff"), ("h", None)]
    assert (context.topic, context.partition, context.offset) == (topic, 0, 1)
    assert (context.connector, context.task, context.stage) == ("sink", 0, "VALUE_CONVERTER")
    assert context.class_name == "picky.PickyConverter"
    assert context.exception == "org.apache.kafka.connect.errors.DataException"
    assert context.message == "badä is bad"
    run.until(lambda: lines_of() == [f"{topic} k 1", f"{topic} None None", f"{topic} k 2"], lines_of)
    run.until(lambda: committed("sink", topic) == {0: 4})
    there = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(queue, timeout=10).topics[queue]
    assert len(there.partitions) == 3


@pytest.mark.promise("P5")
@pytest.mark.parametrize("how", ["report", "late"])
def test_a_record_that_the_task_reports_is_a_dead_letter_with_its_raw_bytes(
    picky, produce, all_of, lines_of, new_topic, committed, how
):
    topic, queue = new_topic(), own_topic()
    run = picky("sink", topic, how=how, value__converter=JSON, value__converter__schemas__enable="false", **dead(queue))
    produce(topic, (b"k", b' "bad" '), (b"k", b'"first"'))
    run.until(lambda: lines_of() == [f"{topic} k first"], lines_of)
    produce(topic, (b"k", b'"good"'))
    (letter,) = all_of(queue, 1)
    assert letter.value() == b' "bad" '
    _, context = ErrorContext.split(letter.headers())
    assert (context.stage, context.class_name) == ("TASK_PUT", "org.apache.kafka.connect.sink.SinkTask")
    assert (context.topic, context.offset, context.message) == (topic, 0, "bad is bad")
    run.until(lambda: lines_of() == [f"{topic} k first", f"{topic} k good"], lines_of)
    run.until(lambda: committed("sink", topic) == {0: 3})


@pytest.mark.promise("P1", "P9")
def test_a_dead_letter_that_the_topic_does_not_take_fails_the_task_and_nothing_is_committed(
    picky, produce, new_topic, committed
):
    topic, queue = new_topic(), new_topic(config={"max.message.bytes": "200"})
    produce(topic, (b"k", b"1"), (b"k", b"bad" + b"x" * 400))
    run = picky("sink", topic, value__converter="picky.PickyConverter", **dead(queue))
    trace = run.await_state("sink", "FAILED")
    assert f'"{queue}"' in trace
    assert "MSG_SIZE_TOO_LARGE" in trace
    assert committed("sink", topic) == {0: 0}


@pytest.mark.promise("P9")
def test_a_queue_that_cannot_be_made_fails_the_task_at_once(new_topic, herd):
    run = herd(plugin__path=PLUGINS)
    more = {**dead(own_topic()), "errors__deadletterqueue__topic__replication__factor": "7"}
    run.run("sink", connector__class="picky.PickySink", topics=new_topic(), file="/dev/null", **more)
    trace = run.await_state("sink", "FAILED")
    assert "errors.deadletterqueue.topic.*" in trace
    assert "INVALID_REPLICATION_FACTOR" in trace


def test_without_tolerance_the_first_bad_record_is_a_dead_letter_and_fails_the_task(
    picky, produce, all_of, new_topic, committed
):
    topic, queue = new_topic(), own_topic()
    produce(topic, (b"k", b"bad 1"), (b"k", b"bad 2"))
    config = dead(queue, errors__tolerance="none")
    run = picky("sink", topic, value__converter="picky.PickyConverter", **config)
    run.await_state("sink", "FAILED")
    assert [letter.value() for letter in all_of(queue, 1)] == [b"bad 1"]
    assert committed("sink", topic) == {0: 0}


@pytest.mark.promise("P1", "P5")
def test_a_record_that_a_put_does_not_take_is_a_dead_letter_where_puts_are_tolerated(
    picky, produce, all_of, lines_of, new_topic, committed
):
    topic, queue = new_topic(), own_topic()
    records = [(b"k", str(number).encode() if number % 7 else b"bad %d" % number) for number in range(20)]
    produce(topic, *records)
    run = picky("sink", topic, errors__put__tolerance="all", **dead(queue))
    letters = all_of(queue, 3)
    assert [letter.value() for letter in letters] == [b"bad 0", b"bad 7", b"bad 14"]
    contexts = [ErrorContext.split(letter.headers())[1] for letter in letters]
    assert [(c.stage, c.class_name, c.offset) for c in contexts] == [
        ("TASK_PUT", "picky.PickyTask", number) for number in (0, 7, 14)
    ]
    good = [f"{topic} k {value.decode()}" for _, value in records if not value.startswith(b"bad")]
    run.until(lambda: lines_of() == good, lines_of)
    run.until(lambda: committed("sink", topic) == {0: 20})
    produce(topic, (b"k", b"after"))
    run.until(lambda: lines_of() == [*good, f"{topic} k after"], lines_of)


def test_without_that_a_put_that_fails_fails_the_task_as_in_kafka(picky, produce, new_topic, committed):
    topic, queue = new_topic(), own_topic()
    produce(topic, (b"k", b"1"), (b"k", b"bad"))
    run = picky("sink", topic, **dead(queue))
    assert "bad is bad" in run.await_state("sink", "FAILED")
    assert committed("sink", topic) == {0: 0}
