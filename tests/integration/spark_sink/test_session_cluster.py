"""A standalone cluster of two workers: sessions on it, our code sent to it, and the command that starts it."""

import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from connect.errors import ConnectError, RetriableError
from spark_sink.error_translation import translate_error
from spark_sink.session import open_session
from spark_sink.session.cluster import Cluster
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_shared_spark")]

CONFIG = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.cores.max": "2",
}
COMMAND = [sys.executable, "-m", "spark_sink.session.cluster"]


def executors(spark: Any, count: int) -> list[Any]:
    """Where executors import our code from, and which they are: a row for each of so many tasks."""

    # Inside, so that it is sent as it is: executors do not have this module.
    def where(batches: Any) -> Any:
        import os

        import connect

        for batch in batches:
            batch["code"], batch["executor"] = connect.__file__, os.getppid()
            yield batch

    rows = spark.range(count, numPartitions=count).mapInPandas(where, "id bigint, code string, executor long")
    return list(rows.collect())


def python_without_us(folder: Path) -> Path:
    """A Python that has the compiled packages and not our code, as an executor elsewhere."""
    packages = folder / "packages"
    packages.mkdir()
    import pyarrow

    installed = Path(pyarrow.__file__).parent.parent
    ours = ("__editable__", "_editable", "_virtualenv", "connect")
    for entry in installed.iterdir():
        if not entry.name.startswith(ours) and entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    python = folder / "python"
    base = Path(sys.base_prefix, "bin", "python3")
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {base} -s "$@"\n')
    python.chmod(0o755)
    return python


@pytest.mark.quick
def test_both_workers_work_and_a_table_is_right(cluster: Cluster, tmp_path: Path) -> None:
    with open_session({**CONFIG, "spark.master": cluster.url}, "cluster") as session:
        rows = executors(session.spark, 2)
        session.spark.range(1000).write.format("delta").save(str(tmp_path / "table"))

        assert session.spark.read.format("delta").load(str(tmp_path / "table")).count() == 1000
        assert len({row.executor for row in rows}) == 2
        assert all(re.search(r"connect-runtime-\w+\.zip/connect/__init__.py", row.code) for row in rows)


def test_executors_without_our_code_are_sent_it_with_plugins(cluster: Cluster, tmp_path: Path) -> None:
    plugin = tmp_path / "plugins" / "shop"
    plugin.mkdir(parents=True)
    (plugin / "shop_orders.py").write_text("NAME = 'orders'\n")
    folder = tmp_path / "python"
    folder.mkdir()
    config = {**CONFIG, "spark.master": cluster.url, "spark.pyspark.python": str(python_without_us(folder))}

    def plug_in(batches: Any) -> Any:
        import shop_orders  # type: ignore[import-not-found]  # only workers have it

        import connect.errors

        for batch in batches:
            batch["code"], batch["plugin"] = connect.errors.__file__, shop_orders.NAME
            yield batch

    with open_session(config, "code", plugin_path=[str(tmp_path / "plugins")]) as session:
        row = session.spark.range(1).mapInPandas(plug_in, "id bigint, code string, plugin string").first()

        assert row.plugin == "orders"
        assert ".zip/connect/errors.py" in row.code
        assert not any("connect-runtime-" in each for each in sys.path)

    with open_session({**config, "spark.ship.code": "never"}, "code") as session:
        with pytest.raises(Exception) as caught:  # noqa: PT011  what it becomes is tested
            executors(session.spark, 1)

        assert "does not have the module connect" in str(translate_error(caught.value))


@pytest.mark.promise("P10")
@pytest.mark.timeout(500)
def test_an_executor_that_is_killed_in_the_middle_of_a_batch_costs_no_row_and_repeats_none(
    cluster: Cluster, tmp_path: Path
) -> None:
    table, begun, go = str(tmp_path / "table"), tmp_path / "begun", tmp_path / "go"
    begun.mkdir()

    def waits(batches: Any) -> Any:
        import os
        import time
        from pathlib import Path

        Path(begun, f"{os.getppid()}-{os.getpid()}-{time.monotonic_ns()}").touch()
        while not Path(go).exists():
            time.sleep(0.01)
        yield from batches

    with open_session({**CONFIG, "spark.master": cluster.url}, "killed") as session, ThreadPoolExecutor(1) as threads:
        frame = session.spark.range(1000, numPartitions=2).mapInPandas(waits, "id bigint")
        writing = threads.submit(frame.write.format("delta").save, table)
        try:
            until(lambda: len(list(begun.iterdir())) == 2, 120, "two tasks begin")
            daemon, _, _ = next(begun.iterdir()).name.split("-")
            executor = psutil.Process(int(daemon)).parent()
            assert executor is not None
            assert "CoarseGrainedExecutorBackend" in " ".join(executor.cmdline())
            executor.kill()
            until(lambda: len(list(begun.iterdir())) > 2, 120, "its task begins again")
        finally:
            go.touch()
        writing.result(120)

        rows = session.spark.read.format("delta").load(table).collect()
    assert sorted(row.id for row in rows) == list(range(1000))


def test_an_executor_without_memory_is_said(cluster: Cluster) -> None:
    config = {**CONFIG, "spark.master": cluster.url, "spark.task.maxFailures": "1"}
    with open_session(config, "memory") as session:
        with pytest.raises(Exception) as caught:  # noqa: PT011  what it becomes is tested
            session.spark.range(1).selectExpr("length(repeat(cast(id AS string), 1000000000))").collect()

        found = translate_error(caught.value)

    assert "ran out of memory" in str(found), caught.value
    assert "spark.executor.memory" in str(found)


@pytest.mark.promise("P9")
def test_a_cluster_that_gives_no_executor_is_said() -> None:
    with Cluster(0) as nobody, pytest.raises(RetriableError, match=f"{nobody.url} did not come up in time.*resources"):
        open_session({**CONFIG, "spark.master": nobody.url, "spark.start.timeout.ms": "20000"}, "alone")


def test_a_command_starts_a_cluster_and_ends_all_of_it() -> None:
    command = subprocess.Popen([*COMMAND, "--workers", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert command.stdout is not None
    url = command.stdout.readline().strip()
    children = psutil.Process(command.pid).children(recursive=True)
    try:
        assert re.fullmatch(r"spark://127\.0\.0\.1:\d+", url)
        assert len([each for each in children if each.name() == "java"]) == 3
    finally:
        command.send_signal(signal.SIGTERM)
        _, said = command.communicate(timeout=60)

    assert command.returncode == 0
    assert f"spark.master={url}" in said
    assert not psutil.wait_procs(children, timeout=10)[1]


def test_daemons_die_with_a_command_that_is_killed() -> None:
    with subprocess.Popen([*COMMAND, "--workers", "1"], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        assert command.stdout.readline().startswith("spark://")
        children = psutil.Process(command.pid).children(recursive=True)
        command.kill()

    assert not psutil.wait_procs(children, timeout=10)[1]


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConnectError, match=rf"{port}"):
            Cluster(1, port=port)
