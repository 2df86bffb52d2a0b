"""A pool goes on where one of version 0.2.0 was: with its records, byte for byte, and what it left in files and tables.

written_by_0_2_0.json is what two of its workers left in their topics, with the newest record of each key, when they had
been stopped. {folder} and {bootstrap} stand for those of the test.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from .committed import Committed
from .pool import Pool

WRITTEN: Final = Path(__file__).with_name("written_by_0_2_0.json")
LINES: Final = "".join(f"line {n} ü\n" for n in range(50))
RETRY: Final = "connect-retry-released-parks-1h"
ORDER: Final = {
    "type": "struct",
    "name": "orders",
    "optional": False,
    "fields": [
        {"field": "id", "type": "int32", "optional": False},
        {"field": "changed", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1},
        {"field": "word", "type": "string", "optional": True},
    ],
}


class Released:
    """What a pool of 0.2.0 has left: topics, files, and tables of SQLite."""

    def __init__(self, pool: Pool, folder: Path, new_topic: Callable[..., str]) -> None:
        self.pool = pool
        self.folder = folder
        self._producer = Producer({"bootstrap.servers": pool.bootstrap})
        self._files()
        said = WRITTEN.read_text(encoding="utf-8")
        said = said.replace("{folder}", str(folder)).replace("{bootstrap}", pool.bootstrap)
        self.written = json.loads(said)
        for what in ("config", "offset", "status"):
            topic = new_topic(name=pool.settings[f"{what}.storage.topic"], config={"cleanup.policy": "compact"})
            for key, value in self.written[what]:
                self._produce(topic, key, self._of_this_file(value))
        for topic in (
            "released-topic-lines",
            "released-shop-orders",
            "released-bad",
            "connect-retry-released-parks-1s",
        ):
            new_topic(name=topic)
        for line in LINES.splitlines():
            self._produce("released-topic-lines", None, line)
        for n in range(1, 31):
            payload = {"id": n, "changed": 1767323045000, "word": f"w{n}"}
            self._produce("released-shop-orders", None, json.dumps({"schema": ORDER, "payload": payload}))
        new_topic(name=RETRY)
        for n, (key, value, headers) in enumerate(self.written["parked"]):
            self._produce("released-bad", f"k{n}", "no json")
            due = [[name, "0" if name == "__connect.retry.due" else said] for name, said in headers]  # its hour is over
            self._produce(RETRY, key, value, due)
        assert self._producer.flush(30) == 0
        self._commit("connect-released-parks", {"released-bad": 3})
        self._commit("connect-released-copy", {"released-topic-lines": 50})
        self._commit("connect-released-rows", {"released-shop-orders": 30})

    def _files(self) -> None:
        (self.folder / "in.txt").write_text(LINES)
        (self.folder / "out.txt").write_text(LINES)
        ledger = '{"connector": "released-copy", "length": 540, "offsets": [["released-topic-lines", 0, 50]]}\n'
        (self.folder / "out.txt.offsets").write_text(ledger)
        rows = [(n, "2026-01-02 03:04:05", f"w{n}") for n in range(1, 31)]
        with sqlite3.connect(self.folder / "shop.db") as shop:
            shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, changed TIMESTAMP NOT NULL, word TEXT)")
            shop.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        with sqlite3.connect(self.folder / "out.db") as out:
            out.execute(
                'CREATE TABLE "connect_offsets" (connector VARCHAR(249) NOT NULL, topic VARCHAR(249) NOT NULL, '
                "partition_number INTEGER NOT NULL, next_offset BIGINT, owner VARCHAR(32), "
                "PRIMARY KEY (connector, topic, partition_number))"
            )
            owner = "d576b3f87aed4d6796de254ea43bbcb9"
            out.execute(
                "INSERT INTO connect_offsets VALUES ('released-rows', 'released-shop-orders', 0, 30, ?)", [owner]
            )
            out.execute(
                'CREATE TABLE "released-shop-orders" ("id" INTEGER NOT NULL, "changed" DATETIME NOT NULL, "word" TEXT, '
                'PRIMARY KEY ("id"))'
            )
            # Were they written once more, their words would be others.
            out.executemany(
                'INSERT INTO "released-shop-orders" VALUES (?, ?, ?)', [(*row[:2], "written before") for row in rows]
            )

    def _of_this_file(self, value: str | None) -> str | None:
        if value is None or '"inode"' not in value:
            return value
        offset = json.loads(value) | {"inode": (self.folder / "in.txt").stat().st_ino}
        return json.dumps(offset, separators=(",", ":"))

    def _produce(self, topic: str, key: str | None, value: str | None, headers: Any = ()) -> None:
        self._producer.produce(topic, value, key, partition=0, headers=[(name, said) for name, said in headers])

    def _commit(self, group: str, offsets: dict[str, int]) -> None:
        admin: Any = AdminClient({"bootstrap.servers": self.pool.bootstrap})
        places = [TopicPartition(topic, 0, offset) for topic, offset in offsets.items()]
        admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group].result(20)

    def rows(self) -> list[Any]:
        with sqlite3.connect(self.folder / "out.db") as out:
            return out.execute('SELECT id, word FROM "released-shop-orders" ORDER BY id').fetchall()


@pytest.mark.promise("P1", "P10")
def test_a_pool_goes_on_where_one_of_0_2_0_was(
    pool: Pool,
    tmp_path: Path,
    new_topic: Callable[..., str],
    committed: Callable[[str], Committed],
) -> None:
    released = Released(pool, tmp_path, new_topic)
    dead = committed("released-dead")
    (worker,) = pool.start(1, exactly_once_source_support="enabled")
    for name in ("lines", "copy", "orders", "rows", "parks"):
        pool.until(lambda: worker.runs(f"released-{name}", 1), f"{name} runs")  # noqa: B023
    pool.until(lambda: worker.runs("released-paused", 1, "PAUSED") and worker.runs("released-stopped", 0, "STOPPED"))
    assert worker.get("/connectors/released-gone") is None
    assert worker.get("/admin/loggers/connect.kafka")["level"] == "INFO"
    topics = worker.get("/connectors/released-orders/topics")["released-orders"]["topics"]
    assert topics == ["released-shop-orders"]

    with (tmp_path / "in.txt").open("a") as file:
        file.write("the next line\n")
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("INSERT INTO orders VALUES (31, '2026-01-02 03:04:06', 'next')")
    pool.until(lambda: (tmp_path / "out.txt").read_text() == LINES + "the next line\n", "the file goes on")
    pool.until(lambda: released.rows()[30:] == [(31, "next")], "the table goes on")
    assert released.rows()[:30] == [(n, "written before") for n in range(1, 31)]
    pool.until(lambda: len(dead.values) == 3, "what was parked is tried again, and then is a dead letter")
    offsets = worker.get("/connectors/released-lines/offsets")["offsets"]
    assert offsets[0]["partition"] == {"filename": str(tmp_path / "in.txt")}
    assert offsets[0]["offset"]["position"] == 540 + len("the next line\n")
    assert " ERROR " not in worker.log
    assert "Skipped record" not in worker.log
