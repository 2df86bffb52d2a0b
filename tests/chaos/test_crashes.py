"""P1, P10: processes are killed at random moments, over and over; numbered lines show that nothing is lost."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.rounds import rounds
from tests.support.waiting import until

from . import topic as topics
from .attacks import Attacks
from .conftest import StartWorker
from .lines import GrowingFile, number_of, runs
from .topic import Topic
from .worker import Worker

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

#: Attacks in a long test.
ROUNDS = rounds(6)


@pytest.fixture
def own_broker(tmp_path: Path, broker: "Broker") -> Iterator["Broker"]:
    """A broker that this test may kill. The other one says whether there can be any."""
    from tests.servers.broker import a_broker

    with a_broker(tmp_path / "broker") as running:
        yield running


def stored_position(worker: Worker) -> int:
    """The source offset on the disk, as the next worker will find it."""
    path = worker.folder / "offsets"
    if not path.exists():
        return 0
    entries = json.loads(path.read_text() or '{"offsets": []}')["offsets"]
    return max((offset["position"] for _, offset in entries), default=0)


def attack_a_source(
    worker: Worker, bootstrap: str, topic: str, chance: random.Random, rounds: int, broker: "Broker | None" = None
) -> None:
    seen = Topic(bootstrap, topic)
    with GrowingFile(worker.folder / "in.txt", chance) as file:

        def nothing_stored_is_missing() -> None:
            """P1: the task is dead, so what is stored must be in the topic by now, and no later."""
            lines = file.lines_before(stored_position(worker))
            until(lambda: seen.read() and max(map(number_of, seen.values[0][-5000:])) + 1 >= lines, 20, "read on")

        attacks = Attacks(worker, "lines", chance, nothing_stored_is_missing, broker)
        worker.put(
            "lines",
            {
                "connector.class": "FileStreamSource",
                "file": str(file.path),
                "topic": topic,
                "batch.size": str(chance.choice([7, 50, 2000])),
            },
        )
        for attack in attacks.some(rounds):

            def moment(lines: int = seen.read() + chance.randrange(1, 1500)) -> None:
                until(
                    lambda: seen.read() >= lines,
                    60,
                    lambda: f"{lines} lines flow after {attacks.done}: {worker.status('lines')}\n{worker.last_words()}",
                )

            attacks.strike(attack, moment)
    count = file.finish()
    until(
        lambda: seen.read() and number_of(seen.values[0][-1]) == count - 1,
        90,
        lambda: f"the last line arrives\n{worker.last_words()}",
    )
    until(lambda: stored_position(worker) == file.ends[-1], 30, "the offset of the last line is stored")
    seen.read(1)
    stretches = runs([number_of(value) for value in seen.values[0]])  # P1: none is missing, each life is in order
    seen.close()
    assert max(end for _, end in stretches) == count
    assert len(stretches) <= len(attacks.done) + 1, f"more lives than deaths: {stretches} {attacks.done}"


@pytest.mark.quick
@pytest.mark.promise("P1", "P10")
def test_a_source_that_is_killed_now_and_then_loses_no_line(
    start_worker: StartWorker, broker: "Broker", new_topic: Callable[..., str], chance: random.Random
) -> None:
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000")
    attack_a_source(worker, broker.bootstrap_servers, new_topic(), chance, 5)


@pytest.mark.slow
@pytest.mark.timeout(600 + 20 * ROUNDS)
@pytest.mark.promise("P1", "P10")
def test_a_source_that_is_killed_all_the_time_loses_no_line_nor_does_its_broker(
    start_worker: StartWorker, own_broker: "Broker", chance: random.Random
) -> None:
    worker = start_worker(own_broker.bootstrap_servers, task_shutdown_graceful_timeout_ms="1000")
    topics.create(own_broker.bootstrap_servers, "lines", 1)
    attack_a_source(worker, own_broker.bootstrap_servers, "lines", chance, ROUNDS, own_broker)


PARTITIONS = 3
AT_A_TIME = 6000
WIDTH = len(b"0:000000000")


def attack_a_sink(
    worker: Worker,
    bootstrap: str,
    topic: str,
    chance: random.Random,
    rounds: int,
    *,
    exactly_once: bool,
    broker: "Broker | None" = None,
) -> tuple[list[bytes], Attacks, list[tuple[int, list[int]]]]:
    """Write a whole topic to a file.

    Returns:
        the lines of the file; what was done; and, each time the task was dead, how many lines there were and up to
        where each partition was committed.
    """
    topics.create(bootstrap, topic, PARTITIONS)
    output = worker.folder / "out.txt"
    deaths: list[tuple[int, list[int]]] = []

    def size() -> int:
        return output.stat().st_size if output.exists() else 0

    def note_commits() -> None:
        lines = output.read_bytes().count(b"\n") if output.exists() else 0
        deaths.append((lines, topics.committed(bootstrap, "connect-lines", topic, PARTITIONS)))

    attacks = Attacks(worker, "lines", chance, note_commits, broker)
    worker.put(
        "lines",
        {
            "connector.class": "FileStreamSink",
            "file": str(output),
            "topics": topic,
            "exactly.once": str(exactly_once).lower(),
            "consumer.override.max.poll.records": str(chance.choice([10, 50])),
            "transforms": "slow",
            "transforms.slow.type": "unruly.Slow",
        },
    )
    for number, attack in enumerate(attacks.some(rounds)):

        def moment(lines: int = chance.randrange(PARTITIONS * AT_A_TIME), before: int = size()) -> None:
            enough = before + lines * (WIDTH + 1)
            until(lambda: size() >= enough, 90, lambda: f"lines flow\n{worker.last_words()}")

        # While nothing is being attacked, so that each record is in the topic once.
        some = range(number * AT_A_TIME, (number + 1) * AT_A_TIME)
        topics.fill(bootstrap, topic, [[b"%d:%09d" % (p, n) for n in some] for p in range(PARTITIONS)])
        attacks.strike(attack, moment)
    each = rounds * AT_A_TIME
    until(
        lambda: topics.committed(bootstrap, "connect-lines", topic, PARTITIONS) == [each] * PARTITIONS,
        180,
        lambda: f"all is committed: {size()} {attacks.done}\n{worker.last_words()}",
    )
    return output.read_bytes().split(b"\n")[:-1], attacks, deaths


def by_partition(lines: list[bytes]) -> tuple[dict[int, list[int]], int]:
    """The numbers of each partition, in the order of the file, and how many lines were cut short."""
    numbers: dict[int, list[int]] = {partition: [] for partition in range(PARTITIONS)}
    halves = 0
    for text in lines:
        if len(text) == WIDTH:
            numbers[int(text[:1])].append(int(text[2:]))
        else:
            halves += 1
    return numbers, halves


def assert_each_once(lines: list[bytes]) -> None:
    numbers, halves = by_partition(lines)
    assert halves == 0
    for partition, found in numbers.items():
        assert found == list(range(len(found))), f"partition {partition}: {runs(found)[:20]}"


@pytest.mark.slow
@pytest.mark.promise("P1", "P10")
def test_a_sink_with_exactly_once_that_is_killed_now_and_then_writes_each_line_once(
    start_worker: StartWorker, broker: "Broker", chance: random.Random
) -> None:
    # Often, so that some deaths come between the ledger and the commit.
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000", offset_flush_interval_ms="20")
    topic = f"once-{chance.randrange(1 << 32)}"
    lines, *_ = attack_a_sink(worker, broker.bootstrap_servers, topic, chance, 5, exactly_once=True)
    assert_each_once(lines)


@pytest.mark.slow
@pytest.mark.timeout(600 + 30 * ROUNDS)
@pytest.mark.promise("P1", "P10")
def test_a_sink_with_exactly_once_writes_each_line_once_whatever_is_killed(
    start_worker: StartWorker, own_broker: "Broker", chance: random.Random
) -> None:
    worker = start_worker(
        own_broker.bootstrap_servers, task_shutdown_graceful_timeout_ms="1000", offset_flush_interval_ms="20"
    )
    bootstrap = own_broker.bootstrap_servers
    lines, *_ = attack_a_sink(worker, bootstrap, "lines", chance, ROUNDS, exactly_once=True, broker=own_broker)
    assert_each_once(lines)


@pytest.mark.slow
@pytest.mark.timeout(600 + 30 * ROUNDS)
@pytest.mark.promise("P1", "P10")
def test_a_sink_without_exactly_once_loses_no_line_and_repeats_only_what_was_not_committed(
    start_worker: StartWorker, broker: "Broker", chance: random.Random
) -> None:
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000")
    topic = f"lines-{chance.randrange(1 << 32)}"
    bootstrap = broker.bootstrap_servers
    lines, attacks, deaths = attack_a_sink(worker, bootstrap, topic, chance, ROUNDS, exactly_once=False)
    numbers, halves = by_partition(lines)
    assert halves <= len(attacks.done)
    for partition, found in numbers.items():
        stretches = runs(found)
        assert len(stretches) <= len(attacks.done) + 1, f"more lives than deaths: {stretches} {attacks.done}"
        assert stretches[-1][1] == AT_A_TIME * ROUNDS, f"partition {partition} has no end"
    for count, committed in deaths:
        later, _ = by_partition(lines[count:])
        for partition, found in later.items():
            again = f"partition {partition} goes on from {found[:1]} though {committed[partition]} was committed"
            assert not found or found[0] >= committed[partition], again
