"""The same sinks twice: in a worker of Java as Debezium's, and here as ours, each with databases of its own."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from connect import ConnectError
from connect.ports import free_port
from connect.testing import Message, SinkRun
from connectors.jdbc.sink import JdbcSinkConnector
from tests.conformance.jdbc.debezium_connector import java_worker
from tests.servers.mariadb import MariaDatabase
from tests.servers.postgresql import PostgresDatabase
from tests.support.rest import NO_ANSWER, ask

CLASS = "io.debezium.connector.jdbc.JdbcSinkConnector"
_JSON = "org.apache.kafka.connect.json.JsonConverter"

Database = PostgresDatabase | MariaDatabase


class Sink(NamedTuple):
    """A connector.

    Attributes:
        config: what it is told beside where its database is.
        messages: what is in its topics.
    """

    config: Mapping[str, str]
    messages: list[Message]

    @property
    def topics(self) -> list[str]:
        return list(dict.fromkeys(message.topic for message in self.messages))


def configuration(name: str, sink: Sink, database: Database) -> dict[str, str]:
    """One text for both."""
    return {
        "name": name,
        "connector.class": CLASS,
        "tasks.max": "1",
        "topics": ",".join(sink.topics),
        "key.converter": _JSON,
        "value.converter": _JSON,
        "header.converter": _JSON,
        "connection.url": database.jdbc_url,
        "connection.username": database.user,
        "connection.password": database.password,
        "connection.pool.min_size": "1",
        "connection.pool.max_size": "2",
        "flush.max.retries": "0",
        **sink.config,
    }


def by_debezium(
    bootstrap: str, folder: Path, sinks: Mapping[str, tuple[Sink, Database]], patience: float = 240.0
) -> dict[str, str]:
    """Run each until it has taken all, or failed; for those that failed why."""
    _produce(bootstrap, [sink for sink, _ in sinks.values()])
    configs = {
        name: configuration(name, sink, database) | {"consumer.override.auto.offset.reset": "earliest"}
        for name, (sink, database) in sinks.items()
    }
    port = free_port()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    ends = {name: _ends(sink.messages) for name, (sink, _) in sinks.items()}
    waiting, failed = set(sinks), {}
    deadline = time.monotonic() + patience
    with java_worker(bootstrap, folder, configs, "debezium-jdbc", port) as log:
        while waiting:
            for name in sorted(waiting):
                if (trace := _trace(port, name)) is not None:
                    failed[name] = trace
                    waiting.remove(name)
                elif _committed(admin, f"connect-{name}") == ends[name]:
                    waiting.remove(name)
            if time.monotonic() > deadline:
                raise AssertionError(f"{sorted(waiting)} do not end: {log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.2)
    return failed


def by_us(name: str, sink: Sink, database: Database) -> str | None:
    """The same here, all records in one batch; why it failed if it did."""
    try:
        with SinkRun(JdbcSinkConnector, configuration(name, sink, database), timeout=60) as run:
            run.put(*sink.messages)
            run.commit()
    except ConnectError as error:
        return str(error)
    return None


def _produce(bootstrap: str, sinks: Iterable[Sink]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    by_topic = {topic: sink for sink in sinks for topic in sink.topics}
    for topic, made in admin.create_topics([NewTopic(topic, 1, 1) for topic in by_topic]).items():
        try:
            made.result(30)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
            del by_topic[topic]  # with the same records, for another database
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    for topic, sink in by_topic.items():
        for message in sink.messages:
            if message.topic == topic:
                producer.produce(topic, message.value, message.key, headers=list(message.headers))
    assert producer.flush(30) == 0


def _ends(messages: list[Message]) -> dict[str, int]:
    found: dict[str, int] = {}
    for message in messages:
        found[message.topic] = found.get(message.topic, 0) + 1
    return found


def _committed(admin: AdminClient, group: str) -> dict[str, int]:
    try:
        found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(10)
    except KafkaException:
        return {}
    return {place.topic: place.offset for place in found.topic_partitions}


def _trace(port: int, name: str) -> str | None:
    """Why the task, or the connector, failed; None when it did not."""
    try:
        answer = ask(port, "GET", f"/connectors/{name}/status", timeout=5)
    except NO_ANSWER:
        return None
    if answer.status != 200:
        return None
    for each in (answer.body["connector"], *answer.body["tasks"]):
        if each["state"] == "FAILED":
            return [line for line in str(each["trace"]).splitlines() if not line.startswith(("\t", " "))][-1]
    return None


# What is in a database.


def columns(database: Database, table: str) -> dict[str, str]:
    """For each column of a table its type and what else is said of it; nothing when there is no such table."""
    if isinstance(database, PostgresDatabase):
        found = database.execute(
            # Six digits behind the seconds are what a column has that does not say.
            """
            SELECT a.attname,
                replace(format_type(a.atttypid, a.atttypmod), '(6)', '')
                || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
                || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
                || CASE WHEN a.attnum = ANY(i.indkey) THEN ' key' ELSE '' END
            FROM pg_attribute a
            LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
            LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
            WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0
            """,
            [f'"{table}"'],
        )
    else:
        found = database.execute(
            """
            SELECT column_name, concat(
                column_type,
                if(is_nullable = 'NO', ' not null', ''),
                if(column_default IS NULL OR column_default = 'NULL', '', concat(' default ', column_default)),
                if(column_key = 'PRI', ' key', ''))
            FROM information_schema.columns WHERE table_schema = database() AND table_name = %s
            """,
            [table],
        )
    return dict(sorted(found))


def rows(database: Database, table: str) -> list[dict[str, Any]]:
    """The rows of a table, every value as its text, in the order of those."""
    kinds = columns(database, table)
    if isinstance(database, PostgresDatabase):
        texts = [f'"{name}"::text' for name in kinds]
        found = database.execute(f'SELECT {", ".join(texts)} FROM "{table}"')
    else:
        texts = [
            f"hex(`{name}`)"
            if kind.startswith(("bit", "blob", "longblob", "varbinary", "mediumblob", "point", "geom"))
            else f"cast(`{name}` AS char)"
            for name, kind in kinds.items()
        ]
        found = database.execute(f"SELECT {', '.join(texts)} FROM `{table}`")
    return [dict(zip(kinds, row, strict=True)) for row in sorted(found, key=repr)]
