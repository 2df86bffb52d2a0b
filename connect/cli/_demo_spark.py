"""The part of the demo in which Spark writes tables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from connect.cli._demo_run import FILES, DemoError, append, await_, copy_changed, say
from connect.cli._own_worker import dying_with_us, worker

SPARK_FILE = "connect-spark-sink.properties"
_WORKER_FILE = "connect-spark-standalone.properties"
_SPARK_WITHIN_S = 300.0  # of a machine with much to do
_SMALL = {"spark.driver.memory": "1g"}
_ORDERS = 10_000
_STRING = "org.apache.kafka.connect.storage.StringConverter"
_JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}


def show_lines_as_rows(folder: Path, environment: dict[str, str], source: Path, shown: tuple[str, ...]) -> None:
    say("5. Have Spark write the same topic into a Delta table (it takes some seconds to start)")
    table, log = folder / "lake" / "lines", folder / "spark.log"
    copy_changed(SPARK_FILE, folder, {"table": str(table), "trigger.interval.ms": "500", **_SMALL})
    _own_worker(folder, _WORKER_FILE)
    began = time.monotonic()
    lines = source.read_text(encoding="utf-8").splitlines()
    with worker(folder, environment, log, [_WORKER_FILE, SPARK_FILE]) as running:
        # A demo that was killed may have left lines in the topic.
        await_(lambda: _row_count(table) >= len(lines), running, _SPARK_WITHIN_S)
        took = time.monotonic() - began
    rows, commits = _rows_of(table)
    for row in {row["value"]: row for row in rows if row["value"] in shown}.values():
        say(f"   {row}")
    say(f"   and others: {len(rows):,} rows in {commits} commits, {took:.0f} s after its start")


def show_table(folder: Path, environment: dict[str, str], cluster: int | None) -> None:
    source, table, log = folder / "orders.jsonl", folder / "lake" / "orders", folder / "worker.log"
    orders = [json.dumps({"id": n, "item": f"item {n % 7}", "price": n / 4, "paid": n % 3 > 0}) for n in range(_ORDERS)]
    append(source, orders)
    files = [_WORKER_FILE, FILES[1], SPARK_FILE]
    _own_worker(folder, files[0])
    topic = f"orders-{uuid.uuid4().hex[:8]}"
    copy_changed(FILES[1], folder, {"file": str(source), "topic": topic, "value.converter": _STRING})
    with _cluster(cluster, environment) as master:
        changes = {"table": str(table), "topics": topic, "trigger.interval.ms": "500", **_SMALL, **_JSON}
        copy_changed(SPARK_FILE, folder, changes | {"spark.master": master})
        say(f"3. Run them on {master}: connect standalone {' '.join(files)}")
        began = time.monotonic()
        with worker(folder, environment, log, files) as running:
            await_(lambda: _row_count(table) >= _ORDERS, running, _SPARK_WITHIN_S)
            took = time.monotonic() - began
    rows, commits = _rows_of(table)
    for row in sorted(rows, key=lambda row: int(row["id"]))[:3]:
        say(f"   {row}")
    say(f"   and {len(rows) - 3:,} rows more, in {commits} commits, {took:.0f} s after the start")
    say("4. Stop the worker and the broker")


@contextmanager
def _cluster(workers: int | None, environment: dict[str, str]) -> Iterator[str]:
    """The address of a Spark master: this process's own machine, or a cluster that is started for it."""
    if workers is None:
        say("2. Take orders as lines of JSON; Spark runs within this machine")
        yield "local[2]"
        return
    say(f"2. Take orders as lines of JSON, and start a Spark cluster of {workers} workers")
    command = [sys.executable, "-m", "spark_sink.session.cluster", "--workers", str(workers)]
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=dying_with_us(),  # noqa: PLW1509  there is one thread here
    )
    try:
        assert process.stdout is not None
        said = next((line for line in process.stdout if "spark://" in line), None)
        if said is None:
            raise DemoError(f"The cluster did not start (exit code {process.wait()}).")
        yield re.findall(r"spark://\S+", said)[0].rstrip(".,")
    finally:
        process.terminate()
        process.wait()


def _own_worker(folder: Path, name: str) -> None:
    """The quickstart's worker again, with offsets of its own."""
    copy_changed(FILES[0], folder, {"offset.storage.file.filename": f"{name}.offsets"}, name)


def _rows_of(table: Path) -> tuple[list[dict[str, Any]], int]:
    """All rows, and the number of commits; no rows for a table that does not exist yet.

    The log of a Delta table that is only appended to has its files, and the number of rows of each.
    https://github.com/delta-io/delta/blob/master/PROTOCOL.md
    """
    import pyarrow.parquet as pq

    rows = [row for file in _files(table) for row in pq.read_table(table / unquote(file["path"])).to_pylist()]
    return rows, len(_commits(table))


def _row_count(table: Path) -> int:
    """The number of rows, without reading them."""
    return sum(json.loads(file["stats"])["numRecords"] for file in _files(table))


def _files(table: Path) -> list[dict[str, Any]]:
    lines = [line for commit in _commits(table) for line in commit.read_text(encoding="utf-8").splitlines()]
    return [action["add"] for action in map(json.loads, lines) if "add" in action]


def _commits(table: Path) -> list[Path]:
    return sorted((table / "_delta_log").glob("*.json"))
