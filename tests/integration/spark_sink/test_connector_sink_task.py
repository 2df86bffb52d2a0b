"""A connector that knows nothing of Spark, run by a worker with engine=spark."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, TopicPartition

from connect.kafka.broker.embedded import Broker
from tests.integration.worker.conftest import Herd, herd

from .connector_sinks import PLUGINS, ConnectorSinks

__all__ = ["herd"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.usefixtures("no_shared_spark")]

WITHIN_S = 120.0


@pytest.fixture
def sinks(broker: Broker, tmp_path: Path) -> ConnectorSinks:
    return ConnectorSinks(None, broker, tmp_path)


@pytest.fixture
def on_spark(herd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a connector: `on_spark(topics, **config)`."""
    monkeypatch.setattr("tests.integration.worker.conftest.WITHIN_S", WITHIN_S)

    def start(topics: str, run: Herd | None = None, **config: str) -> Herd:
        run = run or herd(plugin__path=PLUGINS)
        common = {"engine": "spark", "spark.master": "local[2]", "topics": topics, "trigger.interval.ms": "100"}
        place = {"checkpoint.location": (tmp_path / "checkpoints").as_uri()}
        said = {key.replace("__", "."): value for key, value in config.items()}
        run.run("sink", **{**common, **place, **said})
        run.await_state("sink", "RUNNING")
        return run

    return start


def committed(broker: Broker, topic: str) -> dict[int, int]:
    """What the connector's group has."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "connect-sink"})
    try:
        places = [TopicPartition(topic, number) for number in consumer.list_topics(topic).topics[topic].partitions]
        return {place.partition: place.offset for place in consumer.committed(places, timeout=30)}
    finally:
        consumer.close()


def task_process() -> int:
    """The process of the task: the one that has a JVM."""
    for process in psutil.Process().children(recursive=True):
        if process.name() == "java" and "SparkSubmit" in " ".join(process.cmdline()):
            parent = process.parent()
            if parent is not None and parent.pid != os.getpid():  # ours is the server of other tests
                return parent.pid
    raise AssertionError("There is no JVM.")


@pytest.mark.promise("P1", "P10")
def test_a_third_party_s_sink_runs_pauses_and_loses_nothing_when_its_task_is_killed_in_the_middle_of_a_put(
    sinks: ConnectorSinks, on_spark: Any, new_topic: Any, broker: Broker
) -> None:
    topic = new_topic(partitions=2)
    for partition in (0, 1):
        sinks.produce(topic, [str(number) for number in range(1000)], partition)
    config = {"connector__class": "spark_lines.LinesSinkConnector", "folder": str(sinks.folder), "tasks__max": "2"}
    run = on_spark(topic, hang="1500", max__records__per__batch="500", **config)
    run.until(lambda: committed(broker, topic) == {0: 1000, 1: 1000}, lambda: run.task("sink"))

    sinks.produce(topic, [str(number) for number in range(1000, 2000)])
    run.until((sinks.folder / "hanging").exists, lambda: run.task("sink"))
    os.kill(task_process(), signal.SIGKILL)
    run.await_state("sink", "FAILED")
    pid = int((sinks.folder / "hanging").read_text())
    run.until(lambda: not Path(f"/proc/{pid}").exists())  # nobody writes on behind the next one's back
    run.herder.restart_task("sink", 0).result(60)
    run.until(lambda: committed(broker, topic) == {0: 2000, 1: 1000}, lambda: run.task("sink"))

    run.herder.pause("sink").result(60)
    run.await_state("sink", "PAUSED")
    sinks.produce(topic, ["2000"])
    run.herder.resume("sink").result(60)
    run.until(lambda: committed(broker, topic) == {0: 2001, 1: 1000}, lambda: run.task("sink"))
    run.stop()
    for partition, count in ((0, 2001), (1, 1000)):
        lines = sinks.lines(topic, partition)
        assert sorted({line[0] for line in lines}) == list(range(count))
    assert len(sinks.lines(topic, 1)) == 1000


def test_without_tasks_max_a_sink_has_as_many_tasks_as_there_are_cores(
    sinks: ConnectorSinks, on_spark: Any, new_topic: Any, broker: Broker
) -> None:
    topic = new_topic(partitions=3)
    for partition in range(3):
        sinks.produce(topic, ["a"], partition)
    config = {"connector__class": "spark_lines.LinesSinkConnector", "folder": str(sinks.folder), "tasks__max": ""}
    run = on_spark(topic, **config)
    run.until(lambda: committed(broker, topic) == {0: 1, 1: 1, 2: 1}, lambda: run.task("sink"))
    series = 'lines_total{connector="sink",task="0"} 3'  # of all executors
    run.until(lambda: series in run.herder.metrics().page(), lambda: run.herder.metrics().page())
    run.stop()
    assert {sinks.lines(topic, partition)[0][2] for partition in range(3)} == {0, 1}  # local[2]


@pytest.mark.promise("P9")
def test_a_sink_that_keeps_records_back_says_what_to_do_and_is_not_restarted(
    sinks: ConnectorSinks, on_spark: Any, herd: Any, new_topic: Any
) -> None:
    topic = new_topic()
    sinks.produce(topic, ["a", "b", "c"])
    run = herd(plugin__path=PLUGINS, restart__policy="on")
    config = {"connector__class": "spark_lines.LinesSinkConnector", "folder": str(sinks.folder), "keep": "1"}
    on_spark(topic, run, sink__flush__timeout__ms="200", **config)
    trace = run.await_state("sink", "FAILED")
    assert "LinesTask cannot run on Spark as it is: it holds back records" in trace
    assert "Write engine=worker; or have the task write everything where context.one_batch says so" in trace
    note = run.until(lambda: run.task("sink").restart)
    assert (note.kind, note.at_ms) == ("configuration", None)


def batch_ends(checkpoints: Path) -> list[int]:
    """Where the batches of a query of one partition end, as Spark's own log of them says."""
    logs = sorted(checkpoints.rglob("offsets/[0-9]*"), key=lambda file: int(file.name))
    (ends,) = zip(*(json.loads(log.read_text().splitlines()[-1]).values() for log in logs), strict=True)
    return [next(iter(end.values())) for end in ends]


@pytest.mark.promise("P7")
def test_a_batch_of_a_third_party_s_sink_has_no_more_bytes_than_it_may_have(
    sinks: ConnectorSinks, on_spark: Any, new_topic: Any, broker: Broker, tmp_path: Path
) -> None:
    topic = new_topic()
    sinks.produce(topic, ["x" * 100_000] * 25)
    config = {"connector__class": "spark_lines.LinesSinkConnector", "folder": str(sinks.folder)}
    run = on_spark(topic, trigger="available_now", max__bytes__per__batch=str(1 << 20), **config)
    run.until(lambda: committed(broker, topic) == {0: 25}, lambda: run.task("sink"))
    run.stop()
    assert len(sinks.lines(topic)) == 25
    assert batch_ends(tmp_path / "checkpoints") == [10, 20, 25]
