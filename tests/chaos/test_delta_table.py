"""P1, P3, P10: whoever writes a Delta table is killed at random moments; each record is one row of it."""

import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from deltalake import DeltaTable

from tests.support.waiting import until

from . import topic as topics
from .attacks import Attacks
from .conftest import StartWorker
from .test_crashes import ROUNDS
from .worker import Worker

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

PARTITIONS = 3
BATCHES = 90  # a round; a commit takes up to nine, in 0.2 s


def numbers(table: Path) -> list[tuple[int, int]]:
    """The records that are rows of a table, in order."""
    if not DeltaTable.is_deltatable(str(table)):
        return []
    rows = DeltaTable(table).to_pyarrow_table(columns=["p", "n"]).to_pydict()
    return sorted(zip(rows["p"], rows["n"], strict=True))


class Rows:
    """How many rows the commits of all tables in a folder say that they have added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._of: dict[Path, int] = {}

    def count(self) -> int:
        for commit in self._folder.rglob("_delta_log/*.json"):
            if commit not in self._of:
                self._of[commit] = sum(map(int, re.findall(r'numRecords\\?":(\d+)', commit.read_text())))
        return sum(self._of.values())


class Counted(Protocol):
    """Tells how many rows are written so far."""

    def count(self) -> int: ...


def attack(
    worker: Worker,
    bootstrap: str,
    topic: str,
    chance: random.Random,
    rounds: int,
    written: Counted,
    keys: Mapping[str, str],
) -> int:
    """Have a whole topic written while this worker and its children are killed.

    Returns how many records each partition has.
    """
    topics.create(bootstrap, topic, PARTITIONS)
    rows = chance.choice([10, 50])  # a batch
    at_a_time = BATCHES * rows // PARTITIONS
    attacks = Attacks(worker, "rows", chance, lambda: None)
    worker.put(
        "rows",
        {
            "topics": topic,
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "consumer.override.max.poll.records": str(rows),
            "transforms": "slow",
            "transforms.slow.type": "unruly.Slow",
            **keys,
        },
    )
    for number, strike in enumerate(attacks.some(rounds)):

        def moment(enough: int = written.count() + chance.randrange(40) * rows) -> None:
            until(lambda: written.count() >= enough, 90, lambda: f"rows are written\n{worker.last_words()}")

        some = range(number * at_a_time, (number + 1) * at_a_time)
        records = [[json.dumps({"p": p, "n": n}).encode() for n in some] for p in range(PARTITIONS)]
        topics.fill(bootstrap, topic, records)
        attacks.strike(strike, moment)
    each = rounds * at_a_time
    until(
        lambda: topics.committed(bootstrap, "connect-rows", topic, PARTITIONS) == [each] * PARTITIONS,
        120 + 20 * rounds,
        lambda: f"all is committed: {attacks.done}\n{worker.last_words()}",
        progress=written.count,
    )
    return each


#: As many commits as can be, so that some deaths come in the middle of one.
DELTA = {"connector.class": "DeltaSinkConnector", "engine": "worker", "trigger.interval.ms": "10"}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.promise("P1", "P3", "P10")
def test_a_delta_table_has_each_record_once_whatever_is_killed(
    start_worker: StartWorker, broker: "Broker", chance: random.Random, tmp_path: Path
) -> None:
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000", offset_flush_interval_ms="20")
    table = tmp_path / "lake" / "rows"
    written, keys = Rows(worker.folder), {**DELTA, "table": str(table)}
    each = attack(worker, broker.bootstrap_servers, f"rows-{chance.randrange(1 << 32)}", chance, 4, written, keys)
    assert numbers(table) == [(p, n) for p in range(PARTITIONS) for n in range(each)]


@pytest.mark.slow
@pytest.mark.timeout(600 + 30 * ROUNDS)
@pytest.mark.promise("P1", "P3", "P10")
def test_so_has_each_of_several_tables(
    start_worker: StartWorker, broker: "Broker", chance: random.Random, tmp_path: Path, new_topic: Callable[..., str]
) -> None:
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000", offset_flush_interval_ms="20")
    lake = tmp_path / "lake"
    written, keys = Rows(worker.folder), {**DELTA, "table": f"{lake}/${{field}}", "table.field": "p"}
    each = attack(worker, broker.bootstrap_servers, f"rows-{chance.randrange(1 << 32)}", chance, ROUNDS, written, keys)
    for p in range(PARTITIONS):
        assert numbers(lake / str(p)) == [(p, n) for n in range(each)]
