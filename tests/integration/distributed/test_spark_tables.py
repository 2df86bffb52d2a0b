"""Spark's connectors in a pool: one task, wherever it is; offsets and states by REST; another worker takes over."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from confluent_kafka import Producer

from .pool import Pool

pytest.importorskip("pyspark")
deltalake = pytest.importorskip("deltalake")

#: Spark needs seconds to start, many times as long where the machine is busy.
WITHIN_S = 240
#: Plans become code, which most tests spare themselves (tests/conftest.py).
AS_USERS_HAVE_IT = {"spark__sql__codegen__wholeStage": "true", "spark__sql__codegen__factoryMode": "FALLBACK"}


class Lake:
    """A topic, and the Delta table that a connector makes of it."""

    def __init__(self, pool: Pool, name: str, topic: str, table: Path) -> None:
        self._pool = pool
        self.name, self.topic, self.table = name, topic, table
        self.sent = 0

    def send(self, count: int) -> None:
        """More records, numbered on."""
        producer = Producer({"bootstrap.servers": self._pool.bootstrap})
        for number in range(self.sent, self.sent + count):
            producer.produce(self.topic, json.dumps({"n": number}).encode(), partition=number % 2)
        assert producer.flush(30) == 0
        self.sent += count

    def numbers(self) -> list[int]:
        """What the table holds."""
        if not any(self.table.glob("_delta_log/*.json")):
            return []
        return sorted(deltalake.DeltaTable(str(self.table)).to_pyarrow_table()["n"].to_pylist())

    def until_written(self) -> None:
        """Wait for all of it; each record is one row."""
        self._pool.until(lambda: len(self.numbers()) >= self.sent, f"{self.sent} rows", WITHIN_S)
        assert self.numbers() == list(range(self.sent))

    def offsets(self) -> dict[int, int]:
        """What REST says of the connector's offsets, by partition."""
        said = self._pool.up[0].do("GET", f"/connectors/{self.name}/offsets")["offsets"]
        return {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in said}


@pytest.fixture
def lake(pool: Pool, new_topic: Callable[..., str], tmp_path: Path) -> Lake:
    topic = new_topic(2)
    return Lake(pool, f"lake-{uuid.uuid4().hex[:8]}", topic, tmp_path / "lake" / "rows")


def config(lake: Lake, **more: str) -> dict[str, Any]:
    return {
        "connector.class": "DeltaSink",
        "tasks.max": "4",
        "topics": lake.topic,
        "table": str(lake.table),
        "trigger.interval.ms": "100",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **{key.replace("__", "."): value for key, value in more.items()},
    }


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.promise("P3", "P10")
def test_a_table_is_written_on_by_another_worker(pool: Pool, lake: Lake) -> None:
    pool.start(2)
    lake.send(1000)
    spark = {"spark__master": "local[1]", "spark__driver__memory": "1g", **AS_USERS_HAVE_IT}
    pool.up[0].create(lake.name, config(lake, **spark))
    lake.until_written()
    asked = pool.up[0]
    pool.until(lambda: asked.runs(lake.name, 1), "one task, whatever tasks.max says")

    asked.do("PUT", f"/connectors/{lake.name}/pause")
    pool.until(lambda: asked.runs(lake.name, 1, "PAUSED"), "it is paused")
    lake.send(500)
    asked.do("PUT", f"/connectors/{lake.name}/resume")
    lake.until_written()

    owner = asked.states(lake.name)["0"][1]
    next(worker for worker in pool.workers if worker.id == owner).kill()
    lake.send(500)
    pool.until(lambda: pool.up[0].states(lake.name).get("0", ("", ""))[1] == pool.up[0].id, "it moves", WITHIN_S)
    lake.until_written()
    pool.until(lambda: lake.offsets() == {0: lake.sent // 2, 1: lake.sent // 2}, "offsets follow", WITHIN_S)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_offsets_that_are_altered_are_where_it_goes_on(pool: Pool, lake: Lake) -> None:
    pool.start(1)
    lake.send(100)
    asked = pool.up[0]
    spark = {"spark__master": "local[1]", "spark__driver__memory": "1g", "spark__ui__enabled": "true"}
    asked.create(lake.name, config(lake, **spark))
    lake.until_written()
    page = asked.do("GET", f"/connectors/{lake.name}/status")["tasks"][0]["page"]
    assert lake.name in requests.get(f"{page}/StreamingQuery/", timeout=60).text
    pool.until(lambda: lake.offsets() == {0: 50, 1: 50}, "offsets follow", WITHIN_S)

    asked.do("PUT", f"/connectors/{lake.name}/stop")
    pool.until(lambda: asked.runs(lake.name, 0, "STOPPED"), "it is stopped", WITHIN_S)
    place = {"kafka_topic": lake.topic, "kafka_partition": 1}
    asked.do(
        "PATCH", f"/connectors/{lake.name}/offsets", {"offsets": [{"partition": place, "offset": {"kafka_offset": 40}}]}
    )
    asked.do("PUT", f"/connectors/{lake.name}/resume")
    pool.until(lambda: len(lake.numbers()) >= 110, "it reads them again", WITHIN_S)
    again = range(81, 100, 2)  # offsets 40 to 49 of partition 1
    assert lake.numbers() == sorted([*range(100), *again])


@pytest.mark.promise("P3", "P10")
def test_a_table_without_spark_is_written_on_by_another_worker(pool: Pool, lake: Lake) -> None:
    pool.start(2)
    lake.send(1000)
    pool.up[0].create(lake.name, config(lake, engine="worker", tasks__max="1"))
    lake.until_written()
    pool.until(lambda: pool.up[0].runs(lake.name, 1), "the worker that is asked knows it too")
    owner = pool.up[0].states(lake.name)["0"][1]
    next(worker for worker in pool.workers if worker.id == owner).kill()
    lake.send(500)
    lake.until_written()
