"""P1, P3, P10: Spark writes a Delta table while all that takes part is killed at random; each record is one row."""

import json
import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.support.waiting import until

from . import topic as topics
from .attacks import FREEZE_S, Attacks
from .conftest import StartWorker
from .test_delta_table import numbers
from .worker import Worker

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

PARTITIONS = 2
ATTACKS = 8  # that `SparkAttacks` knows
AT_A_TIME = 3000  # of a partition: more batches than an attack waits for
#: Spark needs seconds to start, many times as long where the machine is busy.
WITHIN_S = 240


class SparkAttacks(Attacks):
    """Those on any worker, and those on what Spark is made of."""

    def kinds(self) -> list[Callable[[], None]]:
        """Each of them."""
        return [
            self.kill_task,
            self.kill_task_that_is_deaf,
            self.kill_worker,
            self.freeze_worker,
            self.kill_jvm,
            self.kill_executors_python,
            self.kill_source_runner,
            self.freeze_driver,
        ]

    def kill_jvm(self) -> None:
        """Driver and executors at once, as when they run out of memory."""
        self._kill(self._below(lambda line: line.startswith(("java", "/")) and "org.apache.spark" in line))

    def kill_executors_python(self) -> None:
        """What reads ranges: its Spark task is tried again, or the query fails."""
        self._kill(self._below(lambda line: "pyspark.daemon" in line and "streaming" not in line))

    def kill_source_runner(self) -> None:
        """What offers offsets."""
        self._kill(self._below(lambda line: "python_streaming_source_runner" in line))

    def freeze_driver(self) -> None:
        """Its lease ends while the JVM runs on: nothing more is committed, and all goes on when it wakes up."""
        pid = self._task_pid()
        self._moment()
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(FREEZE_S + 3)  # what was under way is through by then
            committed = self.commits()
            time.sleep(3)
            assert self.commits() == committed
        finally:
            os.kill(pid, signal.SIGCONT)

    commits: Callable[[], int]

    def _below(self, wanted: Callable[[str], bool]) -> list[psutil.Process]:
        self._moment()
        found = []
        for process in psutil.Process(self._worker.pid).children(recursive=True):
            try:
                if wanted(" ".join(process.cmdline())):
                    found.append(process)
            except psutil.NoSuchProcess:
                continue
        return found

    def _kill(self, processes: list[psutil.Process]) -> None:
        for process in processes:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue


def attack(
    worker: Worker,
    bootstrap: str,
    topic: str,
    chance: random.Random,
    kinds: list[int],
    table: Path,
    keys: Mapping[str, str],
) -> None:
    """Have a topic written while this worker and all of Spark are killed, in these ways (of `SparkAttacks.kinds`)."""
    topics.create(bootstrap, topic, PARTITIONS)
    attacks = SparkAttacks(worker, "rows", chance, lambda: None)

    def versions() -> int:
        return sum(1 for _ in table.glob("_delta_log/*.json"))

    attacks.commits = versions
    worker.put(
        "rows",
        {
            "connector.class": "SparkSink",
            "topics": topic,
            "table": str(table),
            "trigger.interval.ms": "0",
            "max.records.per.batch": "700",
            "spark.master": "local[2]",
            "spark.driver.memory": "1g",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            **keys,
        },
    )

    def fixed() -> bool:
        """A query fails only some time after a part of Spark was killed."""
        if worker.task("rows")["state"] == "FAILED":
            worker.ask("restart_task", name="rows", task=0)
        return True

    def goes_on(before: int) -> bool:
        return fixed() and versions() > before

    known = attacks.kinds()
    assert len(known) == ATTACKS
    for number, strike in enumerate(known[kind] for kind in kinds):
        before = versions()

        def moment(commits: int = before + 2 + chance.randrange(6)) -> None:
            until(lambda: versions() >= commits, WITHIN_S, lambda: f"commits are made\n{worker.last_words()}")

        some = range(number * AT_A_TIME, (number + 1) * AT_A_TIME)
        records = [[json.dumps({"p": p, "n": n}).encode() for n in some] for p in range(PARTITIONS)]
        topics.fill(bootstrap, topic, records)
        # It writes again: what the last attack broke has shown itself.
        until(partial(goes_on, before), WITHIN_S, lambda: f"it goes on\n{worker.last_words()}")
        attacks.strike(strike, moment)
    each = len(kinds) * AT_A_TIME

    def all_is_written() -> bool:
        return fixed() and topics.committed(bootstrap, "connect-rows", topic, PARTITIONS) == [each] * PARTITIONS

    words = "all is committed"
    until(all_is_written, WITHIN_S, lambda: f"{words}: {attacks.done}\n{worker.last_words()}", progress=versions)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.promise("P1", "P3", "P10")
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_each_record_is_one_row_whatever_of_spark_is_killed(
    start_worker: StartWorker, broker: "Broker", chance: random.Random, seed: int, tmp_path: Path, mode: str
) -> None:
    # Each attack costs a start of Spark: every run has each once, in the one mode or in the other.
    order = random.Random(seed).sample(range(ATTACKS), ATTACKS)
    kinds = order[: ATTACKS // 2] if mode == "append" else order[ATTACKS // 2 :]
    worker = start_worker(task_shutdown_graceful_timeout_ms="5000")
    table = tmp_path / "lake" / "rows"
    keys = {} if mode == "append" else {"mode": "upsert", "pk.mode": "record_value", "pk.fields": "p,n"}
    attack(worker, broker.bootstrap_servers, f"rows-{chance.randrange(1 << 32)}", chance, kinds, table, keys)
    assert numbers(table) == [(p, n) for p in range(PARTITIONS) for n in range(len(kinds) * AT_A_TIME)]
