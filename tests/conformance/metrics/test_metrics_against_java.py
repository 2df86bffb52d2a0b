"""The same records through a Java worker and ours: the same totals under the same names."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.jvm.jars import classpath
from connect.jvm.java import find_java
from connect.ports import free_port
from connect.telemetry.catalogue import KAFKA
from tests.support.java import JavaProgram
from tests.support.rest import NO_ANSWER, ask
from tests.support.worker_process import WorkerProcess, our_command

Compile = Callable[..., JavaProgram]

HERE = Path(__file__).parent
STRING = "org.apache.kafka.connect.storage.StringConverter"
#: What both must count alike. What depends on the clock, or on how records come in batches, is not here.
TOTALS = {
    "task-error-metrics": (
        "total-record-failures",
        "total-record-errors",
        "total-records-skipped",
        "total-retries",
        "total-errors-logged",
        "deadletterqueue-produce-requests",
    ),
    "sink-task-metrics": (
        "sink-record-read-total",
        "sink-record-send-total",
        "sink-record-active-count",
        "partition-count",
    ),
    "connector-task-metrics": ("status", "connector-type", "connector-class", "task-class", "value-converter-class"),
}
#: What we leave out, and what Kafka Connect documents and does not show. See docs/metrics.md.
NOT_OURS = {"commit-id"}
NOT_JAVAS = {"sink-record-lag-max", "transaction-size-min", "transaction-size-max", "transaction-size-avg"}


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(command, folder / "log", cwd=folder).start()
    try:
        yield worker
    finally:
        worker.stop()


def write_files(folder: Path, bootstrap: str, port: int, topic: str, **more: str) -> list[str]:
    worker = {
        "bootstrap.servers": bootstrap,
        "key.converter": STRING,
        "value.converter": STRING,
        "offset.storage.file.filename": str(folder / "offsets"),
        "offset.flush.interval.ms": "500",
        "listeners": f"http://127.0.0.1:{port}",
        **more,
    }
    sink = {
        "name": f"{topic}-{folder.name}",
        "connector.class": "FileStreamSink",
        "topics": topic,
        "file": str(folder / "out.txt"),
        "errors.tolerance": "all",
        "errors.retry.timeout": "60000",
        "errors.log.enable": "true",
        "transforms": "flaky",
        "transforms.flaky.type": "Flaky" if folder.name == "java" else "flaky.Flaky",
    }
    for name, settings in (("worker", worker), ("sink", sink)):
        (folder / f"{name}.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return ["worker.properties", "sink.properties"]


@pytest.mark.slow
def test_both_count_the_same(java_program: Compile, broker: Any, tmp_path: Path) -> None:
    topic = f"metrics-{uuid.uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in [b"good"] * 20 + [b"twice"] + [b"never"] * 7 + [b"good"] * 20:
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    theirs = _of_java(java_program, broker.bootstrap_servers, topic, tmp_path / "java")
    ours = _of_ours(broker.bootstrap_servers, topic, tmp_path / "ours")
    for group, names in TOTALS.items():
        assert {name: ours[group][name] for name in names} == {name: theirs[group][name] for name in names}
    assert ours["task-error-metrics"]["total-record-failures"] == 9
    # The names: all of theirs, and none that they do not know.
    for group in TOTALS:
        assert theirs[group].keys() - ours[group].keys() <= NOT_OURS
        assert ours[group].keys() - theirs[group].keys() <= NOT_JAVAS
        known = {metric.name for metric in KAFKA if metric.group == group}
        assert theirs[group].keys() <= known


def _of_java(java_program: Compile, bootstrap: str, topic: str, folder: Path) -> dict[str, dict[str, Any]]:
    folder.mkdir()
    # Its answers hold classes of Kafka Connect.
    beans = java_program(HERE / "Beans.java", jars=["kafka-connect"])
    plugin = java_program(HERE / "Flaky.java", jars=["kafka-connect"]).classes
    services = plugin / "META-INF" / "services"
    services.mkdir(parents=True)
    (services / "org.apache.kafka.connect.transforms.Transformation").write_text("Flaky\n")
    jmx = free_port()
    files = write_files(folder, bootstrap, free_port(), topic, **{"plugin.discovery": "service_load"})
    remote = "-Dcom.sun.management.jmxremote"
    options = [f"{remote}.port={jmx}", f"{remote}.authenticate=false", f"{remote}.ssl=false"]
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    path = f"{classpath('kafka-connect')}:{plugin}"
    arguments = ["-Xmx256m", *options, "-Djava.rmi.server.hostname=127.0.0.1", "-cp", path, main]
    found: dict[str, dict[str, Any]] = {}

    def told() -> bool:
        # It may not be there yet.
        done = subprocess.run([*beans.command, str(jmx)], check=False, capture_output=True, text=True, timeout=60)
        found.clear()
        for line in done.stdout.splitlines():
            bean, name, value = line.split("\t")
            parts = dict(part.split("=", 1) for part in bean.split(","))
            if parts.get("task") == "0":
                number = value.replace(".", "", 1).replace("E", "", 1).isdigit()
                found.setdefault(parts["type"], {})[name] = float(value) if number else value
        sink = found.get("sink-task-metrics", {})
        return sink.get("sink-record-send-total") == 41 and sink.get("sink-record-active-count") == 0

    with running([str(find_java().path), *arguments, *files], folder) as worker:
        worker.until(told)
    return found


def _of_ours(bootstrap: str, topic: str, folder: Path) -> dict[str, dict[str, Any]]:
    folder.mkdir()
    port = free_port()
    plugins = folder / "plugins"
    plugins.mkdir()
    shutil.copy(HERE / "flaky.py", plugins)
    files = write_files(folder, bootstrap, port, topic, **{"plugin.path": str(plugins)})
    found: dict[str, dict[str, Any]] = {}

    def told() -> bool:
        try:
            answer = ask(port, "GET", "/connectors?expand=metrics")
        except NO_ANSWER:
            return False
        if answer.status != 200:
            return False
        tasks = [one["metrics"]["tasks"] for one in answer.body.values()]
        found.clear()
        if tasks and tasks[0]:
            found.update(tasks[0][0]["metrics"])
        sink = found.get("sink-task-metrics", {})
        return sink.get("sink-record-send-total") == 41 and sink.get("sink-record-active-count") == 0

    command = our_command("standalone", *files)
    with running(command, folder) as worker:
        worker.until(told)
    return found
