"""Records that fail wait in retry topics and are tried again, while those behind them go on."""

import os
import random
import signal
import time
import uuid

import pytest
from confluent_kafka import Consumer, TopicPartition

from connect.pipeline.error_headers import ErrorContext, ParkedHeaders

from .conftest import A_WHILE_AGO_MS, PLUGINS

CONVERTER = {"value__converter": "picky.PickyConverter"}


def retries(tiers: str, **more: str) -> dict[str, str]:
    return {"errors__retry__topics": tiers, "errors__tolerance": "all", **more}


@pytest.fixture
def name() -> str:
    return f"sink-{uuid.uuid4().hex[:8]}"


@pytest.mark.quick
@pytest.mark.promise("P1", "P5")
def test_a_record_that_fails_waits_and_comes_back_as_it_was(
    picky, produce, all_of, lines_of, new_topic, committed, name, tmp_path, broker
):
    topic = new_topic(partitions=3)
    config = {"value__converter__gate": str(tmp_path / "gate"), **CONVERTER}
    run = picky(name, topic, **retries("1s,2s,4s,8s,16s"), **config)
    more = {"headers": [("h", b"\xff"), ("h", None)], "timestamp": A_WHILE_AGO_MS}
    before = time.time() * 1000
    produce(topic, (b"k", b"1"), (b"k", b"bad"), (b"k", b"2"), partition=2, **more)
    run.until(lambda: lines_of() == [f"{topic} k 1", f"{topic} k 2"], lambda: (lines_of(), run.task(name)))
    (parked,) = all_of(f"connect-retry-{name}-1s", 1)
    assert (parked.key(), parked.value(), parked.partition()) == (b"k", b"bad", 2)
    own, place = ParkedHeaders.split(parked.headers())
    assert own == more["headers"]
    assert (place.topic, place.partition, place.offset, place.timestamp) == (topic, 2, 1, A_WHILE_AGO_MS)
    assert (place.attempt, place.parked) == (1, 1)
    assert place.due >= before + 1000
    run.until(lambda: committed(name, topic)[2] == 3)
    (tmp_path / "gate").touch()
    run.until(lambda: lines_of() == [f"{topic} k 1", f"{topic} k 2", f"{topic} k bad"], lines_of)
    assert time.time() * 1000 >= before + 1000
    run.until(lambda: committed(name, f"connect-retry-{name}-1s")[2] == 1)
    run.until(lambda: first_offset(broker, f"connect-retry-{name}-1s", 2) == 1)  # what is done is deleted


@pytest.mark.promise("P5")
def test_after_the_last_tier_it_is_a_dead_letter_of_where_it_came_from_first(
    picky, produce, all_of, lines_of, new_topic, committed, name
):
    topic, queue = new_topic(), f"dead-{name}"
    dead = {
        "errors__deadletterqueue__topic__name": queue,
        "errors__deadletterqueue__topic__replication__factor": "1",
        "errors__deadletterqueue__context__headers__enable": "true",
    }
    run = picky(name, topic, **retries("200ms,400ms"), **CONVERTER, **dead)
    more = {"headers": [("h", b"\xff")], "timestamp": A_WHILE_AGO_MS}
    produce(topic, (b"k", b"1"), (b"k", b"bad"), **more)
    (letter,) = all_of(queue, 1)
    assert (letter.key(), letter.value(), letter.timestamp()[1]) == (b"k", b"bad", A_WHILE_AGO_MS)
    own, context = ErrorContext.split(letter.headers())
    assert own == more["headers"]
    assert (context.topic, context.partition, context.offset) == (topic, 0, 1)
    for tier in ("200ms", "400ms"):
        run.until(lambda tier=tier: committed(name, f"connect-retry-{name}-{tier}") == {0: 1})
    assert lines_of() == [f"{topic} k 1"]


def test_a_record_that_the_task_reports_is_parked_too(picky, produce, lines_of, new_topic, name, tmp_path, all_of):
    topic = new_topic()
    run = picky(name, topic, how="report", **retries("300ms,600ms,1s,2s,4s,8s"))
    produce(topic, (b"k", b"bad"), (b"k", b"1"))
    all_of(f"connect-retry-{name}-300ms", 1)
    (tmp_path / "gate").touch()
    run.until(lambda: lines_of() == [f"{topic} k 1", f"{topic} k bad"], lines_of)


@pytest.mark.promise("P7")
def test_many_records_come_back_and_none_twice(picky, produce, lines_of, new_topic, name, tmp_path, committed):
    topic = new_topic()
    config = {"value__converter__gate": str(tmp_path / "gate"), **CONVERTER}
    run = picky(name, topic, **retries("500ms,1s,2s,4s,8s,16s"), **config)
    for part in range(5):
        produce(topic, *((b"k", f"bad {part * 500 + number}".encode()) for number in range(500)))
    run.until(lambda: committed(name, topic) == {0: 2500})
    (tmp_path / "gate").touch()
    run.until(lambda: len(lines_of()) >= 2500, lambda: len(lines_of()))
    assert sorted(lines_of()) == sorted(f"{topic} k bad {number}" for number in range(2500))


def ordered(tiers: str, tmp_path, **more: str) -> dict[str, str]:
    gate = {"value__converter__gate": str(tmp_path / "gate")}
    return {**retries(tiers, errors__retry__topics__keep__order="true"), **CONVERTER, **gate, **more}


def test_what_follows_a_parked_record_of_its_key_waits_behind_it(
    picky, produce, lines_of, new_topic, name, tmp_path, committed
):
    topic = new_topic(partitions=2)
    run = picky(name, topic, **ordered("300ms,600ms,1s,2s,4s,8s", tmp_path, errors__retry__topics__prefix=name))
    produce(topic, (b"a", b"bad 0"), (b"b", b"1"), (b"a", b"2"), partition=1)
    produce(topic, (b"a", b"3"), (None, b"4"), partition=1)
    run.until(lambda: lines_of() == [f"{topic} b 1", f"{topic} None 4"], lines_of)
    (tmp_path / "gate").touch()
    run.until(lambda: len(lines_of()) == 5, lines_of)
    assert lines_of()[2:] == [f"{topic} a bad 0", f"{topic} a 2", f"{topic} a 3"]
    produce(topic, (b"a", b"5"), partition=1)
    run.until(lambda: lines_of()[5:] == [f"{topic} a 5"], lines_of)


def test_a_record_that_a_put_does_not_take_is_parked_and_its_followers_in_the_batch_behind_it(
    picky, produce, lines_of, new_topic, name, tmp_path
):
    topic = new_topic()
    order = {"errors__retry__topics__keep__order": "true", "errors__put__tolerance": "all"}
    produce(topic, (b"a", b"0"), (b"a", b"bad 1"), (b"b", b"2"), (b"a", b"3"), (b"a", b"4"))
    run = picky(name, topic, **retries("500ms,1s,2s,4s,8s"), **order)
    run.until(lambda: lines_of() == [f"{topic} a 0", f"{topic} b 2"], lines_of)
    (tmp_path / "gate").touch()
    run.until(lambda: len(lines_of()) >= 5, lines_of)
    assert lines_of()[2:] == [f"{topic} a bad 1", f"{topic} a 3", f"{topic} a 4"]


def test_a_record_that_is_given_up_lets_those_behind_it_go(picky, produce, lines_of, new_topic, name, tmp_path):
    topic = new_topic()
    run = picky(name, topic, **ordered("200ms", tmp_path))
    produce(topic, (b"a", b"bad 0"), (b"a", b"1"), (b"a", b"2"))
    run.until(lambda: lines_of() == [f"{topic} a 1", f"{topic} a 2"], lines_of)


@pytest.mark.promise("P9")
def test_order_cannot_be_kept_across_topics_of_other_widths(herd, new_topic, name, tmp_path):
    narrow, wide = new_topic(), new_topic(partitions=2)
    run = herd(plugin__path=PLUGINS)
    config = ordered("1s", tmp_path)
    run.run(name, connector__class="picky.PickySink", topics=f"{narrow},{wide}", file="/dev/null", **config)
    assert f"{narrow} has 1" in run.await_state(name, "FAILED")


@pytest.mark.slow
@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("keep", ["true", "false"])
def test_kill_at_any_moment_loses_nothing_and_keeps_the_order_where_it_is_asked_for(
    herd, produce, lines_of, new_topic, name, tmp_path, committed, seed, keep
):
    chance = random.Random(seed)
    topic = new_topic(partitions=2)
    gate = {"value__converter__gate": str(tmp_path / "gate"), "errors__retry__topics__keep__order": keep}
    config = {**retries("200ms,500ms,1s,2s,3s,4s,5s,6s,7s,8s"), **CONVERTER, **gate}
    where = {"file": str(tmp_path / "out"), "gate": str(tmp_path / "gate"), "tasks__max": "1"}
    run = herd(plugin__path=PLUGINS, restart__policy="on", restart__policy__initial__delay__ms="100")
    run.run(name, connector__class="picky.PickySink", topics=topic, **where, **config)
    run.await_state(name, "RUNNING")
    sent: dict[bytes, list[str]] = {}
    for number in range(12):
        for _ in range(40):
            key = b"k%d" % chance.randrange(6)
            value = f"{'bad' if chance.random() < 0.05 else 'ok'}-{sum(map(len, sent.values()))}"
            sent.setdefault(key, []).append(value)
            produce(topic, (key, value.encode()), partition=key[1] % 2)
        if number % 2:
            kill_task(run, name)
            run.until(lambda: run.state(name) == "RUNNING" and process_of(run, name))
    (tmp_path / "gate").touch()
    wanted = {f"{topic} {key.decode()} {value}" for key, values in sent.items() for value in values}
    run.until(lambda: set(lines_of()) == wanted, lambda: sorted(wanted - set(lines_of()))[:20])
    for key, values in sent.items() if keep == "true" else ():
        got = [line.split()[2] for line in lines_of() if line.split()[1] == key.decode()]
        assert got[-1] == values[-1]
        for number, value in enumerate(got):  # where a key goes back, all of it that follows comes again
            assert set(values[values.index(value) :]) <= set(got[number:])


def process_of(run, name: str):
    """The process of the connector's task, as long as it runs."""
    running = run.herder.worker.tasks.of(name)
    return running[0].process if 0 in running else None


def kill_task(run, name: str) -> None:
    process = run.until(lambda: process_of(run, name))
    os.kill(process.pid, signal.SIGKILL)
    run.until(lambda: process_of(run, name) is not process)


def first_offset(broker, topic: str, partition: int) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "ends"})
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[0]
    finally:
        consumer.close()
