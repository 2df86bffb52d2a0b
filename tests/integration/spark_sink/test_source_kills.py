"""A source on Spark is killed at every stage of a batch: each row comes once, whatever is repeated."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from connect.kafka.broker.embedded import Broker
from spark_sink.session import Session
from spark_sink.source.delta_task import DeltaSourceTask
from tests.integration.spark_sink.source_runs import Context, everything, running, values
from tests.support.waiting import until

ROOT = Path(__file__).parents[3]
DRIVER = Path(__file__).with_name("source_driver.py")
ROWS = 200

#: A transformation that writes down its process and stands still at the row 7, the first time.
SLOW = """
    import os, time
    from pathlib import Path
    from connect import Transformation

    class Slow(Transformation):
        def apply(self, record):
            marker = Path(os.environ.get("SLOW_MARKER", {marker!r}))
            if record.value is not None and record.value["id"] == 7 and not marker.exists():
                marker.with_suffix(".new").write_text(str(os.getpid()))
                marker.with_suffix(".new").rename(marker)
                time.sleep(600)
            return record
"""


class Table:
    """A table with rows, and what is needed to read it."""

    def __init__(self, tmp_path: Path, topic: str, accounts: str, broker: Broker) -> None:
        self.path = tmp_path / "t"
        self.topic, self.accounts, self.broker = topic, accounts, broker
        self.offsets = tmp_path / "offsets.json"
        self.marker = tmp_path / "marker"
        self.plugins = tmp_path / "plugins"
        folder = self.plugins / "slow"
        folder.mkdir(parents=True)
        (folder / "slow_rows.py").write_text(textwrap.dedent(SLOW.format(marker=str(self.marker))))
        self.config = {
            "name": f"killed-{topic}",
            "table": str(self.path),
            "topic": topic,
            "key.fields": "id",
            "kafka.writers": "4",
            "checkpoint.location": (tmp_path / "checkpoints").as_uri(),
            "trigger.interval.ms": "100",
            "spark.master": "local[2]",
        }
        rows = pa.table({"id": pa.array(range(ROWS), pa.int64())})
        write_deltalake(str(self.path), rows, configuration={"delta.enableChangeDataFeed": "true"})

    def slowly(self) -> dict[str, str]:
        """The configuration with the transformation."""
        return {**self.config, "transforms": "slow", "transforms.slow.type": "slow_rows.Slow"}

    def ids(self) -> list[int]:
        """What a consumer finds."""
        return sorted(value["id"] for _, value in values(everything(self.broker, self.topic)))

    @contextmanager
    def driver(self, config: dict[str, str], die: str = "never") -> Iterator[subprocess.Popen[str]]:
        """A task in a process of its own; it is stopped at the end."""
        told = {
            "config": config,
            "servers": self.broker.bootstrap_servers,
            "accounts": self.accounts,
            "offsets": str(self.offsets),
            "plugins": [str(self.plugins)],
            "die": die,
        }
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, str(DRIVER), json.dumps(told)]
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                yield process
            finally:
                assert process.stdin is not None
                process.stdin.close()
                process.wait(60)


@pytest.fixture
def table(tmp_path: Path, new_topic: Callable[..., str], broker: Broker) -> Table:
    return Table(tmp_path, new_topic(2), new_topic(5, {"cleanup.policy": "compact"}), broker)


@pytest.fixture
def lone_table(table: Table, no_shared_spark: None) -> Table:
    """The table; the tests' own Spark is closed, to leave its memory to the drivers."""
    return table


def await_batch(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline().startswith("batch")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.promise("P10")
def test_a_driver_that_is_killed_between_the_transactions_and_the_checkpoint(lone_table: Table) -> None:
    with lone_table.driver(lone_table.config, "after") as process:
        assert process.wait(300) == -signal.SIGKILL
    assert lone_table.ids() == list(range(ROWS))
    with lone_table.driver(lone_table.config) as process:
        await_batch(process)  # the same batch once more
    assert lone_table.ids() == list(range(ROWS))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.promise("P10")
def test_a_driver_that_is_killed_while_some_writers_have_committed(lone_table: Table) -> None:
    with lone_table.driver(lone_table.slowly()) as process:
        until(lambda: lone_table.marker.exists() and len(lone_table.ids()) > ROWS // 2, 300, every=0.2)
        process.kill()
    worker = int(lone_table.marker.read_text())
    until(lambda: not Path(f"/proc/{worker}").exists(), 300)  # what it has left open ends with it
    some = lone_table.ids()
    assert 0 < len(some) < ROWS
    # As few writers as there may be: the batch is repeated as it was cut all the same.
    with lone_table.driver({**lone_table.slowly(), "kafka.writers": "1"}) as process:
        await_batch(process)
    assert lone_table.ids() == list(range(ROWS))


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.promise("P10")
def test_a_writer_that_is_killed_in_its_transaction(table: Table, session: Session, monkeypatch: Any) -> None:
    offsets: dict[str, Any] = {}

    def context() -> Context:
        made = Context(table.broker, table.slowly(), offsets, table.accounts)
        made.plugin_path = [str(table.plugins)]
        return made

    def kill_the_writer() -> bool:
        if table.marker.exists():
            os.kill(int(table.marker.read_text()), signal.SIGKILL)
            return True
        return False

    with running(DeltaSourceTask, context(), session, monkeypatch) as run:
        run.until(kill_the_writer)
        run.until_idle()  # Spark tries the task once more
    assert table.ids() == list(range(ROWS))
