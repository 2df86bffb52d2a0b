"""The workers that are talked to: Apache Kafka Connect's own and ours, each alone on its machine's loopback."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from connect.jvm.jars import JarsUnavailable, classpath
from connect.jvm.java import JavaNotFound, find_java
from connect.ports import free_port
from tests.support.worker_process import WorkerProcess

from .talk import Party

LINES = "".join(f"line {number}\n" for number in range(100))
CONVERTERS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.flush.interval.ms": "200",
    "consumer.metadata.max.age.ms": "500",
    "restart.policy": "off",  # ours alone; Java's worker takes no notice of it
}


def java_command(mode: str, cannot_have: Callable[[str, object], NoReturn], *, loggers: bool = False) -> list[str]:
    """Apache Kafka Connect's own. Its `loggers` are those of Log4j, which its own jars leave to whoever runs it."""
    try:
        jars = classpath("kafka-connect").split(":")
        if loggers:
            jars += [jar for jar in classpath("kafka-broker").split(":") if "log4j-" in Path(jar).name]
        command = [str(find_java().path), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", ":".join(jars)]
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Kafka Connect", error)
    return [*command, f"org.apache.kafka.connect.cli.Connect{mode.capitalize()}"]


@contextmanager
def party(
    side: str, mode: str, command: list[str], folder: Path, bootstrap: str, extra: Mapping[str, str]
) -> Iterator[Party]:
    """A worker that answers, in a folder of its own."""
    folder.mkdir()
    (folder / "in.txt").write_text(LINES)
    port = free_port()
    name = f"{side}-{uuid.uuid4().hex[:8]}"  # a group of its own, beside those of other tests at these brokers
    settings = {"bootstrap.servers": bootstrap, "listeners": f"http://127.0.0.1:{port}", **CONVERTERS, **extra}
    settings |= _standalone(folder) if mode == "standalone" else _distributed(name)
    properties = folder / "worker.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    worker = WorkerProcess([*command, properties], folder / "worker.log", cwd=folder).start()
    try:
        worker.until_answering(port)
        yield Party(name, port, folder, f"topic-of-{name}")
    finally:
        worker.close()


def _standalone(folder: Path) -> dict[str, str]:
    return {"offset.storage.file.filename": str(folder / "offsets")}


def _distributed(name: str) -> dict[str, str]:
    return {"group.id": f"{name}-workers"} | {
        f"{what}.storage.{key}": value
        for what in ("config", "offset", "status")
        for key, value in (("topic", f"{name}-{what}"), ("replication.factor", "1"))
    }
