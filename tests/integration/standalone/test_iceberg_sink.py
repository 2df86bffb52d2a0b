"""The Iceberg sink's example file in `connect standalone`, whose processes are killed while it writes."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer
from pyiceberg.catalog import load_catalog

from tests.integration.standalone.conftest import Standalone

EXAMPLE = Path(__file__).parents[3] / "config" / "connect-iceberg-sink.properties"
COUNT = 4000
#: A commit for some twenty records.
SMALL = "consumer.override.max.poll.records=20\nflush.bytes=1024\n"


@pytest.mark.promise("P1", "P10")
def test_the_example_writes_each_record_once_though_its_processes_are_killed(
    standalone: Standalone, topic: str, broker: Any
) -> None:
    folder = standalone.folder
    text = EXAMPLE.read_text("utf-8").replace("/tmp/", f"{folder}/")
    for key, value in {"topics": topic, "iceberg.control.commit.interval-ms": "50"}.items():
        text, count = re.subn(rf"(?m)^{re.escape(key)}=.*$", f"{key}={value}", text)
        assert count == 1, key
    (folder / "sink.properties").write_text(text + SMALL)
    catalog = {"type": "sql", "uri": f"sqlite:///{folder}/connect-iceberg.db", "warehouse": f"file://{folder}"}

    def written() -> int:
        with closing(load_catalog("iceberg", **catalog)) as opened:
            if not opened.table_exists("shop.events"):
                return 0
            snapshots = opened.load_table("shop.events").snapshots()
        return sum(int(snapshot.summary["added-records"] or 0) for snapshot in snapshots)

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(COUNT):
        producer.produce(topic, json.dumps({"id": number}).encode())
    assert producer.flush(30) == 0
    for dies in ("a task", "the worker", "a task", "the worker"):
        before = written()
        running = standalone.start("sink.properties")
        running.until(lambda: written() >= before + 100)  # noqa: B023 - called at once
        children = psutil.Process(running.process.pid).children(recursive=True)
        for process in children[::-1] if dies == "a task" else [psutil.Process(running.process.pid)]:
            process.kill()
        running.kill_tree()
        assert before + 100 <= written() < COUNT, "it dies in the middle"
    last = standalone.start("sink.properties")
    last.until(lambda: written() >= COUNT)
    assert last.stop() == 0
    with closing(load_catalog("iceberg", **catalog)) as opened:
        rows = opened.load_table("shop.events").scan().to_arrow()
    assert sorted(rows.column("id").to_pylist()) == list(range(COUNT))
