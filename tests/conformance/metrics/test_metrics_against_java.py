"""The same records through a Java worker and ours: the same totals under the same names."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from confluent_kafka import Producer

from connect.jvm.jars import JarsUnavailable, classpath
from connect.jvm.java import JavaNotFound, find_java
from connect.telemetry.catalogue import KAFKA

HERE = Path(__file__).parent
PATIENCE = 90.0
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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], Any], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[Path]:
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(60)


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


@pytest.fixture
def java(cannot_have: Callable[[str, object], NoReturn]) -> tuple[str, str]:
    """The command and the class path of Kafka Connect."""
    try:
        return str(find_java().path), classpath("kafka-connect")
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Kafka Connect", error)


@pytest.mark.slow
def test_both_count_the_same(java: tuple[str, str], broker: Any, tmp_path: Path) -> None:
    topic = f"metrics-{uuid.uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in [b"good"] * 20 + [b"twice"] + [b"never"] * 7 + [b"good"] * 20:
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    theirs = _of_java(java, broker.bootstrap_servers, topic, tmp_path / "java")
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


def _of_java(java: tuple[str, str], bootstrap: str, topic: str, folder: Path) -> dict[str, dict[str, Any]]:
    command, jars = java
    classes = folder / "classes"
    services = classes / "META-INF" / "services"
    services.mkdir(parents=True)
    compiler = shutil.which("javac") or str(Path(command).resolve().with_name("javac"))
    subprocess.run([compiler, "-cp", jars, "-d", classes, HERE / "Flaky.java"], check=True, capture_output=True)
    (services / "org.apache.kafka.connect.transforms.Transformation").write_text("Flaky\n")
    jmx = free_port()
    files = write_files(folder, bootstrap, free_port(), topic, **{"plugin.discovery": "service_load"})
    remote = "-Dcom.sun.management.jmxremote"
    options = [f"{remote}.port={jmx}", f"{remote}.authenticate=false", f"{remote}.ssl=false"]
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    arguments = ["-Xmx256m", *options, "-Djava.rmi.server.hostname=127.0.0.1", "-cp", f"{jars}:{classes}", main]
    found: dict[str, dict[str, Any]] = {}

    def told() -> bool:
        ask = [command, "-cp", jars, HERE / "Beans.java", str(jmx)]
        done = subprocess.run(ask, check=False, capture_output=True, text=True, timeout=60)  # it may not be there yet
        found.clear()
        for line in done.stdout.splitlines():
            bean, name, value = line.split("\t")
            parts = dict(part.split("=", 1) for part in bean.split(","))
            if parts.get("task") == "0":
                number = value.replace(".", "", 1).replace("E", "", 1).isdigit()
                found.setdefault(parts["type"], {})[name] = float(value) if number else value
        sink = found.get("sink-task-metrics", {})
        return sink.get("sink-record-send-total") == 41 and sink.get("sink-record-active-count") == 0

    with running([command, *arguments, *files], folder) as log:
        until(told, log)
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
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/connectors?expand=metrics", timeout=30) as answer:
                tasks = [one["metrics"]["tasks"] for one in json.load(answer).values()]
        except OSError:
            return False
        found.clear()
        if tasks and tasks[0]:
            found.update(tasks[0][0]["metrics"])
        sink = found.get("sink-task-metrics", {})
        return sink.get("sink-record-send-total") == 41 and sink.get("sink-record-active-count") == 0

    command = [sys.executable, "-m", "connect.cli", "standalone", *files]
    with running(command, folder) as log:
        until(told, log)
    return found
