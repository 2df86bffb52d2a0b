"""A worker's first task on Spark has Spark's classes archived; the next one maps them."""

from pathlib import Path
from typing import Any

import psutil
import pytest

from connect.jvm.cache import cache_path
from connect.kafka.broker.embedded import Broker
from tests.integration.spark_sink.test_connector_sink_task import committed, on_spark, sinks
from tests.integration.worker.conftest import herd
from tests.support.waiting import until

from .connector_sinks import ConnectorSinks

__all__ = ["herd", "on_spark", "sinks"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.usefixtures("no_shared_spark")]

#: Spark starts, works for a minute at the lowest priority, and writes 200 MB.
WITHIN_S = 400.0


def mapping(archive: Path) -> list[int]:
    """The JVMs below this process that map a file."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.name() == "java" and str(archive) in Path(f"/proc/{process.pid}/maps").read_text():
                found.append(process.pid)
        except (OSError, psutil.Error):
            pass
    return found


def test_the_first_task_has_them_archived_and_the_next_one_maps_them(
    sinks: ConnectorSinks,
    on_spark: Any,
    new_topic: Any,
    broker: Broker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jars, cache = cache_path("jars"), tmp_path / "cache" / "connect-runtime"
    cache.mkdir(parents=True)
    (cache / "jars").symlink_to(jars)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent))
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)  # tests' own, by which nothing is made
    topic = new_topic()
    sinks.produce(topic, ["a"])
    run = on_spark(topic, connector__class="spark_lines.LinesSinkConnector", folder=str(sinks.folder))
    run.until(lambda: committed(broker, topic) == {0: 1}, lambda: run.task("sink"))
    until(lambda: list(cache.glob("class-archives/spark-*.jsa")), WITHIN_S, lambda: list(cache.rglob("*")))
    (archive,) = cache.glob("class-archives/spark-*.jsa")
    assert mapping(archive) == [], "it was not there when this one began"

    run.herder.restart_task("sink", 0).result(60)
    sinks.produce(topic, ["b"])
    run.until(lambda: committed(broker, topic) == {0: 2}, lambda: run.task("sink"))
    assert len(mapping(archive)) == 1
    run.stop()
