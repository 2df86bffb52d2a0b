"""Debezium's own connectors, in a standalone worker of Apache Kafka Connect."""

import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from connect.jvm.jars import resolve
from connect.jvm.java import find_java
from connect.kafka.broker.embedded import Broker
from connect.ports import free_port
from connect.storage import java_offsets
from tests.servers.mariadb import MariaDatabase
from tests.servers.postgresql import PostgresDatabase
from tests.support.worker_process import WorkerProcess

CONNECTOR = "io.debezium.connector.postgresql.PostgresConnector"
#: What a worker brings itself. Hibernate, which the sink is built on, refuses to start where Jackson is there twice.
_OF_THE_WORKER = (
    "com.fasterxml.jackson.core",
    "com.fasterxml.jackson.datatype",
    "org.apache.kafka",
    "org.slf4j",
)


def keys(database: PostgresDatabase, name: str) -> dict[str, str]:
    """What any connector for changes of this database is told. Slot, publication and topics are named after it."""
    return {
        "name": name,
        "connector.class": CONNECTOR,
        "tasks.max": "1",
        "plugin.name": "pgoutput",
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": database.user,
        "database.password": database.password,
        "database.dbname": database.name,
        "topic.prefix": name,
        "slot.name": name,
        "publication.name": name,
        "poll.interval.ms": "50",
    }


def maria_keys(broker: Broker, database: MariaDatabase, prefix: str, server_id: int) -> dict[str, str]:
    """The same for a database of MariaDB; each connector is a replica with a number of its own."""
    return {
        "name": prefix,
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "tasks.max": "1",
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": database.user,
        "database.password": database.password,
        "database.server.id": str(server_id),
        "database.include.list": database.name,
        "topic.prefix": prefix,
        "schema.history.internal.kafka.bootstrap.servers": broker.bootstrap_servers,
        "schema.history.internal.kafka.topic": f"history_of_{prefix}",
        "include.schema.changes": "false",
        "poll.interval.ms": "50",
    }


def plug_in(folder: Path, jars: str) -> None:
    """Put the plug-in of a set of jars into a folder of plugin.path. Raises JarsUnavailable."""
    (folder / jars).mkdir(parents=True)
    for jar in resolve(jars):
        if jar.parent.name not in _OF_THE_WORKER:
            shutil.copy(jar, folder / jars)


@contextmanager
def java_worker(
    bootstrap: str,
    folder: Path,
    connectors: Mapping[str, Mapping[str, str]],
    jars: str = "debezium-postgres",
    port: int | None = None,
) -> Iterator[Path]:
    """A worker with these connectors, of a set of jars; its log. Its REST is on `port`, or anywhere."""
    plug_in(folder / "plugins", jars)
    worker = folder / "worker.properties"
    write_properties(
        worker,
        {
            "bootstrap.servers": bootstrap,
            "listeners": f"http://127.0.0.1:{port or free_port()}",
            "plugin.path": str(folder / "plugins"),
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "offset.storage.file.filename": str(folder / "offsets"),
            "offset.flush.interval.ms": "500",
        },
    )
    files = []
    for name, config in connectors.items():
        files.append(folder / f"{name}.properties")
        write_properties(files[-1], config)
    classpath = ":".join(map(str, resolve("kafka-connect")))
    command = [str(find_java(17).path), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", "-cp", classpath]
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    log = folder / "worker.log"
    started = WorkerProcess([*command, main, worker, *files], log, env={**os.environ, "TZ": "UTC"}).start()
    try:
        yield log
    finally:
        started.close()


def stored_offset(folder: Path, prefix: str) -> dict[str, Any] | None:
    """What a worker that ran in this folder has stored for a connector."""
    entries = java_offsets.read((folder / "offsets").read_bytes())
    return next((offset for _, partition, offset in entries if partition == {"server": prefix}), None)


def write_properties(file: Path, settings: Mapping[str, str]) -> None:
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")


def records(bootstrap: str, prefix: str, last: Any, patience: float = 90.0) -> list[tuple[str, Any, Any]]:
    """Topic, key and value of all records of topics with this prefix, until the one that `last` recognises came."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{uuid.uuid4()}",
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": "500",
        }
    )
    found: list[tuple[str, Any, Any]] = []

    def read() -> None:
        for message in consumer.consume(500, 0.3):
            if message.error() is None:
                key, value = (None if b is None else json.loads(b) for b in (message.key(), message.value()))
                found.append((message.topic(), key, value))

    try:
        consumer.subscribe([f"^{prefix}\\..*"])
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            read()
            if any(map(last, found)):
                # Topics are fetched side by side, and found one after the other: the others are read to their ends.
                ends = _ends(consumer, prefix)
                while len(found) < sum(ends) and time.monotonic() < deadline:
                    read()
                return found
    finally:
        consumer.close()
    raise AssertionError(f"the last change did not come, but {len(found)} records")


def _ends(consumer: Any, prefix: str) -> list[int]:
    """How many records each partition of the topics with this prefix has."""
    from confluent_kafka import TopicPartition

    topics = consumer.list_topics(timeout=30).topics
    partitions = [TopicPartition(t, p) for t in topics if t.startswith(f"{prefix}.") for p in topics[t].partitions]
    return [high - low for low, high in (consumer.get_watermark_offsets(each, timeout=30) for each in partitions)]
