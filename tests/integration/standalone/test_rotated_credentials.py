"""Credentials that a config provider gives are changed while a worker runs: tasks go on with those of then.

Whoever is refused fails, and what fails is restarted, by itself or on request, with what its variables stand for then.
"""

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker
from connect.ports import free_port
from tests.servers.postgresql import PostgresDatabase
from tests.servers.s3 import S3Bucket
from tests.servers.twitter import TOKEN, TwitterServer
from tests.support.rest import ask
from tests.support.waiting import until

JSON = "org.apache.kafka.connect.json.JsonConverter"
FILE = "org.apache.kafka.common.config.provider.FileConfigProvider"
SCHEMA = {"type": "struct", "fields": [{"field": "id", "type": "int32"}]}
AT_ONCE = {"restart.policy": "on", "restart.policy.initial.delay.ms": "200", "restart.policy.max.delay.ms": "1000"}


class Secret:
    """A secret in a file, which a config provider of the worker reads."""

    def __init__(self, standalone: Any, value: str) -> None:
        self._folder: Path = standalone.folder
        self.variable = f"${{file:{self._folder / 'secrets.properties'}:secret}}"
        self.port = free_port()
        self.worker = {
            "config.providers": "file",
            "config.providers.file.class": FILE,
            "listeners": f"http://127.0.0.1:{self.port}",
        }
        self.seen: list[str] = []
        self.becomes(value)

    def becomes(self, value: str) -> None:
        self.seen.append(value)
        fresh = self._folder / "secrets.new"
        fresh.write_text(f"secret={value}\n")
        fresh.replace(self._folder / "secrets.properties")


class Role:
    """Somebody who may log in, and whose password changes in the database and in the file."""

    def __init__(self, database: PostgresDatabase, secret: Secret) -> None:
        self.name = f"turning_{uuid.uuid4().hex[:8]}"
        self._database = database
        self._secret = secret
        database.execute(f"CREATE ROLE {self.name} LOGIN SUPERUSER PASSWORD '{secret.seen[-1]}'")

    def rotate(self) -> None:
        """Another password for the role; nobody who is connected stays so."""
        password = f"password-{uuid.uuid4().hex}"
        self._database.execute(f"ALTER ROLE {self.name} PASSWORD '{password}'")
        self._secret.becomes(password)
        # Capture connects once for its snapshot, and again to follow: for a moment nobody may be connected.
        ending = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{self.name}'"
        until(lambda: self._database.execute(ending), 30, "nobody is connected, so nobody has to connect again")

    def drop(self) -> None:
        self._database.execute(f"DROP OWNED BY {self.name}")
        self._database.execute(f"DROP ROLE {self.name}")


@pytest.fixture
def secret(standalone: Any) -> Secret:
    return Secret(standalone, f"password-{uuid.uuid4().hex}")


@pytest.fixture
def role(postgres_database: PostgresDatabase, secret: Secret, standalone: Any) -> Iterator[Role]:
    made = Role(postgres_database, secret)
    yield made
    standalone.close()
    made.drop()


def state(port: int, name: str) -> str:
    (task,) = ask(port, "GET", f"/connectors/{name}/status").body["tasks"]
    return str(task["state"])


@pytest.mark.promise("P8")
@pytest.mark.parametrize("restarted", ["by itself", "on request"])
def test_a_jdbc_sink_goes_on_with_the_password_of_then(
    standalone: Any, topic: str, postgres_database: PostgresDatabase, secret: Secret, role: Role, restarted: str
) -> None:
    postgres_database.execute("CREATE TABLE numbers (id integer PRIMARY KEY)")
    sink = {
        "name": f"{topic}-sink",
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "topics": topic,
        "connection.url": postgres_database.jdbc_url,
        "connection.user": role.name,
        "connection.password": secret.variable,
        "retry.backoff.ms": "50",
        "table.name.format": "numbers",
        "value.converter": JSON,
    }
    policy = AT_ONCE if restarted == "by itself" else {}
    standalone.worker({**secret.worker, **policy})
    lines = standalone.folder / "in.txt"

    def write(number: int) -> None:
        with lines.open("a") as file:
            print(json.dumps({"schema": SCHEMA, "payload": {"id": number}}), file=file)

    def written() -> list[int]:
        return [number for (number,) in postgres_database.execute("SELECT id FROM numbers ORDER BY id")]

    write(1)
    running = standalone.start(standalone.source(topic), standalone.properties("jdbc.properties", sink))
    running.until(lambda: written() == [1])
    for number in (2, 3):
        role.rotate()
        write(number)
        if restarted == "on request":
            running.until(lambda: state(secret.port, sink["name"]) == "FAILED")
            asked = ask(secret.port, "POST", f"/connectors/{sink['name']}/tasks/0/restart")
            assert asked.status < 300, asked
        running.until(lambda number=number: written() == list(range(1, number + 1)))
    assert "password authentication failed" in running.log  # nobody asks before it has to
    assert running.stop() == 0
    assert not [value for value in secret.seen if value in running.log]


@pytest.mark.promise("P8")
@pytest.mark.parametrize("connector", ["jdbc", "capture"])
def test_a_source_of_a_database_goes_on_with_the_password_of_then(
    standalone: Any,
    topic: str,
    broker: Broker,
    new_topic: Callable[..., str],
    read: Callable[..., list[Any]],
    postgres_database: PostgresDatabase,
    secret: Secret,
    role: Role,
    connector: str,
) -> None:
    postgres_database.execute("CREATE TABLE numbers (id integer PRIMARY KEY)")
    postgres_database.execute("INSERT INTO numbers VALUES (1)")
    jdbc = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": postgres_database.jdbc_url,
        "connection.user": role.name,
        "connection.password": secret.variable,
        "connection.backoff.ms": "50",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "poll.interval.ms": "50",
        "table.whitelist": "numbers",
        "table.poll.interval.ms": "100",
        "topic.prefix": f"{topic}-",
    }
    capture = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": postgres_database.host,
        "database.port": str(postgres_database.port),
        "database.user": role.name,
        "database.password": secret.variable,
        "database.dbname": postgres_database.name,
        "topic.prefix": topic,
        "slot.name": topic.replace("-", "_"),
        "poll.interval.ms": "50",
    }
    config, written_to = (jdbc, f"{topic}-numbers") if connector == "jdbc" else (capture, f"{topic}.public.numbers")
    standalone.worker({**secret.worker, **AT_ONCE, "value.converter": JSON, "value.converter.schemas.enable": "false"})
    new_topic(name=written_to)
    running = standalone.start(standalone.properties("source.properties", {"name": topic, **config}))
    assert read(broker.bootstrap_servers, written_to, 1), running.log
    for number in (2, 3):
        role.rotate()
        postgres_database.execute("INSERT INTO numbers VALUES (%s)", [number])
        values = [json.loads(message.value()) for message in read(broker.bootstrap_servers, written_to, number)]
        found = [value["id"] if connector == "jdbc" else value["after"]["id"] for value in values]
        assert found == list(range(1, number + 1)), running.log
    assert "password authentication failed" in running.log
    assert running.stop() == 0
    assert not [value for value in secret.seen if value in running.log]


@pytest.mark.promise("P1", "P8")
def test_an_s3_sink_goes_on_with_the_secret_of_then(
    standalone: Any, topic: str, s3_bucket: S3Bucket, secret: Secret
) -> None:
    sink = {
        **s3_bucket.config,
        "name": f"{topic}-sink",
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "topics": topic,
        "aws.secret.access.key": secret.variable,
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "flush.size": "1",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    standalone.worker({**secret.worker, **AT_ONCE})
    (standalone.folder / "in.txt").write_text('{"n": 1}\n')
    running = standalone.start(standalone.source(topic), standalone.properties("s3.properties", sink))
    running.until_logged("SignatureDoesNotMatch")
    assert s3_bucket.keys() == []
    secret.becomes(s3_bucket.config["aws.secret.access.key"])
    running.until(lambda: len(s3_bucket.keys()) == 1)
    (key,) = s3_bucket.keys()
    assert json.loads(s3_bucket.get(key)) == {"n": 1}
    assert running.stop() == 0
    assert not [value for value in secret.seen if value in running.log]


@pytest.mark.promise("P8")
def test_a_twitter_source_goes_on_with_the_token_of_then(
    standalone: Any, broker: Broker, new_topic: Callable[..., str], read: Callable[..., list[Any]], secret: Secret
) -> None:
    topic, x = new_topic(), TwitterServer()
    try:
        secret.becomes(TOKEN)
        source = {
            "name": topic,
            "connector.class": "com.github.jcustenborder.kafka.connect.twitter.TwitterSourceConnector",
            "kafka.status.topic": topic,
            "twitter.base.url": x.url,
            "twitter.bearer.token": secret.variable,
            "filter.keywords": "#kafka",
            "twitter.backfill.settle.ms": "50",
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
        }
        standalone.worker({**secret.worker, **AT_ONCE})
        running = standalone.start(standalone.properties("twitter.properties", source))
        running.until(lambda: bool(x.listeners))
        x.post("1 #kafka")
        assert read(broker.bootstrap_servers, topic, 1), running.log
        another = f"AAAAAAAA{uuid.uuid4().hex}"
        x.tokens = {another}
        secret.becomes(another)
        x.disconnect()
        running.until_logged("does not accept our credentials")  # before, the old connection may take it
        x.post("2 #kafka")
        values = [json.loads(message.value()) for message in read(broker.bootstrap_servers, topic, 2)]
        assert [value["text"] for value in values] == ["1 #kafka", "2 #kafka"], running.log
        assert running.stop() == 0
        assert not [value for value in secret.seen if value in running.log]
    finally:
        x.close()
