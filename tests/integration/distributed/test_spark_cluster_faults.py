"""Spark's connectors on a standalone cluster of two workers that loses its parts: each record is one row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from spark_sink.session.cluster import Cluster

from .pool import Pool
from .test_spark_tables import WITHIN_S, Lake, config, lake

pytest.importorskip("pyspark")

__all__ = ["lake"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.promise("P3", "P10")]

SPARK = {
    "spark__driver__memory": "1g",
    "spark__executor__memory": "512m",
    "spark__cores__max": "2",
    "max__records__per__batch": "200",
}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """One of its own, which the test breaks."""
    with Cluster(2, memory="1g") as running:
        yield running


def test_a_master_that_dies_stops_nothing(pool: Pool, lake: Lake, cluster: Cluster) -> None:
    """Who has executors keeps them; only who wants new ones needs a master."""
    pool.start(1)
    lake.send(500)
    pool.up[0].create(lake.name, config(lake, spark__master=cluster.url, **SPARK))
    lake.until_written()
    cluster._jvms[0].kill()
    lake.send(500)
    lake.until_written()
    assert pool.up[0].runs(lake.name, 1)


def test_a_worker_of_the_cluster_that_dies_costs_its_executor_only(pool: Pool, lake: Lake, cluster: Cluster) -> None:
    pool.start(1)
    lake.send(500)
    pool.up[0].create(lake.name, config(lake, spark__master=cluster.url, **SPARK))
    lake.until_written()
    for process in psutil.Process(cluster.workers[0].process.pid).children(recursive=True):
        process.kill()
    cluster.workers[0].kill()
    lake.send(500)
    lake.until_written()
    assert pool.up[0].runs(lake.name, 1)


def test_executors_that_run_out_of_memory_are_replaced_and_that_is_said(
    pool: Pool, lake: Lake, cluster: Cluster, tmp_path: Path
) -> None:
    pool.start(1, restart_policy="on")
    lake.send(500)
    hungry = {
        "foreach__batch": "hungry_batches:take",
        "spark__hungry__marker": str(tmp_path / "marker"),
        "spark__task__maxFailures": "1",
    }
    pool.up[0].create(lake.name, config(lake, spark__master=cluster.url, **SPARK, **hungry))
    lake.until_written()
    assert re.search("Spark ran out of memory: .* Raise .* spark.executor.memory", pool.up[0].log)
    lake.send(500)
    lake.until_written()
    assert pool.up[0].runs(lake.name, 1)


def test_executors_come_and_go_with_the_work(pool: Pool, lake: Lake, cluster: Cluster, tmp_path: Path) -> None:
    """Dynamic allocation: none is there while nothing is to be done, and speculation repeats no row."""
    events = tmp_path / "events"
    events.mkdir()
    dynamic = {
        "spark__dynamicAllocation__enabled": "true",
        "spark__dynamicAllocation__shuffleTracking__enabled": "true",
        "spark__dynamicAllocation__shuffleTracking__timeout": "2s",
        "spark__dynamicAllocation__minExecutors": "0",
        "spark__dynamicAllocation__executorIdleTimeout": "2s",
        "spark__speculation": "true",
        "spark__speculation__interval": "50ms",
        "spark__speculation__multiplier": "1.1",
        "spark__speculation__quantile": "0.1",
        "spark__speculation__minTaskRuntime": "10ms",
        "spark__eventLog__enabled": "true",
        "spark__eventLog__compress": "false",
        "spark__eventLog__dir": events.as_uri(),
    }
    pool.start(1)
    lake.send(500)
    pool.up[0].create(lake.name, config(lake, spark__master=cluster.url, **SPARK, **dynamic))
    lake.until_written()
    workers = [psutil.Process(worker.process.pid) for worker in cluster.workers]
    # Of a program that a worker has run a zombie may stay: it is no executor.
    pool.until(
        lambda: all(each.status() == psutil.STATUS_ZOMBIE for worker in workers for each in worker.children()),
        "executors are given back",
        WITHIN_S,
    )
    lake.send(500)
    lake.until_written()
    said = "".join(file.read_text() for file in events.rglob("*") if file.is_file())
    assert '"Speculative":true' in said, "tasks were begun a second time"
