"""P5, P9: a record that cannot be taken is named exactly, costs no other record, and nothing behind it is committed."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.waiting import until

from . import topic as topics
from .attacks import Attacks
from .conftest import StartWorker
from .worker import notes, unruly

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

COUNT = 5000
POISON = 3217

JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


def fill(bootstrap: str, topic: str) -> list[bytes]:
    """Numbers as JSON in partition 0, with one that is not JSON among them; good ones alone in partition 1."""
    good = [b"%d" % number for number in range(COUNT)]
    bad = [*good[:POISON], b'{"no": json', *good[POISON + 1 :]]
    topics.fill(bootstrap, topic, [bad, good])
    return bad


def sink(topic: str, file: Path, **config: str) -> dict[str, str]:
    return {
        "connector.class": "FileStreamSink",
        "topics": topic,
        "file": str(file),
        "consumer.override.max.poll.records": "300",
        **JSON,
        **{key.replace("_", "."): value for key, value in config.items()},
    }


def numbers(file: Path) -> list[int]:
    return [json.loads(line) for line in file.read_bytes().split(b"\n")[:-1]] if file.exists() else []


@pytest.mark.quick
@pytest.mark.promise("P5", "P9")
@pytest.mark.parametrize("exactly_once", ["true", "false"])
def test_a_poison_record_fails_its_task_which_names_it_and_nothing_behind_it_is_committed(
    exactly_once: str, start_worker: StartWorker, broker: "Broker", new_topic: Callable[..., str]
) -> None:
    topic = name = new_topic(2)  # a group of its own, too
    fill(broker.bootstrap_servers, topic)
    worker = start_worker()
    file = worker.folder / "out.txt"
    for _ in range(3):  # and again after each restart
        worker.put(name, sink(topic, file, errors_tolerance="none", exactly_once=exactly_once))
        failed = worker.await_task(name, "FAILED")
        assert f"{topic}-0@{POISON}" in failed["trace"]
        until(lambda: not worker.task(name)["alive"], 10, "it has ended")
        committed = topics.committed(broker.bootstrap_servers, f"connect-{name}", topic, 2)
        assert committed[0] <= POISON
    if exactly_once == "true":
        ledger = json.loads(file.with_name("out.txt.offsets").read_text())
        assert all(offset <= POISON for _, partition, offset in ledger["offsets"] if partition == 0)
    # The one record away, everything arrives.
    worker.put(name, sink(topic, file, errors_tolerance="all", exactly_once=exactly_once))
    until(
        lambda: topics.committed(broker.bootstrap_servers, f"connect-{name}", topic, 2) == [COUNT, COUNT],
        30,
        lambda: f"all is committed\n{worker.last_words()}",
    )
    expected = sorted([*range(COUNT), *range(POISON), *range(POISON + 1, COUNT)])
    written = sorted(numbers(file))
    if exactly_once == "true":
        assert written == expected
    else:
        assert set(written) == set(expected)
        assert written.count(POISON) >= 1  # the good one, of the other partition


@pytest.mark.promise("P5")
def test_with_tolerance_a_poison_record_is_left_out_and_no_other(
    start_worker: StartWorker, broker: "Broker", new_topic: Callable[..., str]
) -> None:
    topic = name = new_topic(2)  # a group of its own, too
    fill(broker.bootstrap_servers, topic)
    worker = start_worker()
    file = worker.folder / "out.txt"
    worker.put(name, sink(topic, file, errors_tolerance="all", errors_log_enable="true"))
    until(
        lambda: topics.committed(broker.bootstrap_servers, f"connect-{name}", topic, 2) == [COUNT, COUNT],
        30,
        lambda: f"all is committed\n{worker.last_words()}",
    )
    assert sorted(numbers(file)) == sorted([*range(COUNT), *range(POISON), *range(POISON + 1, COUNT)])
    assert f"{topic}-0@{POISON}" in worker.log.read_text()
    assert worker.task(name)["state"] == "RUNNING"


ROUNDS = 6
AT_A_TIME = 3000


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.promise("P1", "P5", "P10")
@pytest.mark.parametrize("exactly_once", [False, True])
def test_poison_is_set_apart_and_costs_nothing_else_whatever_is_killed(
    start_worker: StartWorker,
    broker: "Broker",
    new_topic: Callable[..., str],
    chance: random.Random,
    exactly_once: bool,
) -> None:
    bootstrap, name = broker.bootstrap_servers, new_topic()
    dead = new_topic()
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000", offset_flush_interval_ms="20")
    file = worker.folder / "out.txt"
    config = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "transforms": "slow",
        "transforms.slow.type": "unruly.Slow",
        "consumer.override.max.poll.records": "50",
        "exactly.once": str(exactly_once).lower(),
    }
    attacks = Attacks(worker, name, chance, lambda: None)
    worker.put(name, {**sink(name, file), **config})
    poison: set[bytes] = set()
    for turn, attack in enumerate(attacks.some(ROUNDS)):
        some = [b"%d" % number for number in range(turn * AT_A_TIME, (turn + 1) * AT_A_TIME)]
        for number in chance.sample(range(AT_A_TIME), 30):
            some[number] = b"no json: " + some[number]
            poison.add(some[number])

        def moment(lines: int = len(numbers(file)) + chance.randrange(AT_A_TIME // 2)) -> None:
            until(lambda: len(numbers(file)) >= lines, 90, lambda: f"lines flow\n{worker.last_words()}")

        topics.fill(bootstrap, name, [some])
        attacks.strike(attack, moment)
    count = ROUNDS * AT_A_TIME
    until(
        lambda: topics.committed(bootstrap, f"connect-{name}", name) == [count],
        180,
        lambda: f"all is committed: {attacks.done}\n{worker.last_words()}",
    )
    good = sorted(set(range(count)) - {int(value.rpartition(b" ")[2]) for value in poison})
    written = numbers(file)
    assert (written if exactly_once else sorted(set(written))) == good
    seen = topics.Topic(bootstrap, dead)
    until(lambda: seen.read() and set(seen.values[0]) >= poison, 30, "each lies in the dead letter topic")
    assert set(seen.values[0]) == poison
    seen.close()


@pytest.mark.promise("P5")
def test_a_poison_record_of_a_source_fails_its_task_and_no_offset_behind_it_is_stored(
    start_worker: StartWorker, broker: "Broker", new_topic: Callable[..., str]
) -> None:
    topic = name = new_topic()
    worker = start_worker()
    file = worker.folder / "in.txt"
    lines = [b"%09d" % number for number in range(COUNT)]
    lines[POISON] = b"x" * 3_000_000  # more than the broker takes
    file.write_bytes(b"\n".join([*lines, b""]))
    source = {
        "connector.class": "FileStreamSource",
        "file": str(file),
        "topic": topic,
        "batch.size": "100",
        "producer.override.max.request.size": "10000000",
    }
    before = sum(len(line) + 1 for line in lines[:POISON])
    worker.put(name, source)
    failed = worker.await_task(name, "FAILED")
    assert topic in failed["trace"]
    until(lambda: not worker.task(name)["alive"], 10, "it has ended")
    stored = worker.ask("offsets", name=name)
    assert all(offset["position"] <= before for _, offset in stored)
    worker.put(name, {**source, "errors.tolerance": "all"})
    until(
        lambda: [offset["position"] for _, offset in worker.ask("offsets", name=name)] == [file.stat().st_size],
        30,
        lambda: f"all is stored\n{worker.last_words()}",
    )
    seen = topics.Topic(broker.bootstrap_servers, topic)
    until(lambda: seen.read() and seen.values[0][-1] == lines[-1], 20, "the last line")
    assert sorted(set(seen.values[0])) == [line for line in lines if line[0] != ord("x")]
    seen.close()


@pytest.mark.promise("P1", "P9")
def test_a_put_that_raises_fails_its_task_and_nothing_of_its_batch_is_committed(
    start_worker: StartWorker, broker: "Broker", new_topic: Callable[..., str]
) -> None:
    topic = name = new_topic()
    values = [b"%d" % number for number in range(1000)]
    topics.fill(broker.bootstrap_servers, topic, [values])
    worker = start_worker()
    config = {
        **unruly(worker.folder, "UnrulySink", topics=topic, every_ms="1"),
        "consumer.override.max.poll.records": "50",
    }
    worker.put(name, {**config, "fail.at": "617"})
    assert "the target is on fire" in worker.await_task(name, "FAILED")["trace"]
    until(lambda: not worker.task(name)["alive"], 10, "it has ended")
    put = [int(value) for note in notes(worker.folder, name) if note["what"] == "ended" for value in note["values"]]
    assert topics.committed(broker.bootstrap_servers, f"connect-{name}", topic) == [max(put) + 1]
    worker.put(name, config)
    until(
        lambda: topics.committed(broker.bootstrap_servers, f"connect-{name}", topic) == [1000],
        30,
        lambda: f"all is committed\n{worker.last_words()}",
    )
    put = [int(value) for note in notes(worker.folder, name) if note["what"] == "ended" for value in note["values"]]
    assert put == list(range(1000))
