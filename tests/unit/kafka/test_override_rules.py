"""What clients are made with: nothing that loads code into a process, and of a connector only what is known."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from connect.kafka.clients import override_rules
from connect.kafka.clients.java_keys import RULES
from connect.kafka.clients.librdkafka import PROPERTIES
from connect.kafka.clients.librdkafka_property import Property
from connect.kafka.clients.override_rules import CLIENTS, NEVER, of_questions, refused, refused_of_worker
from connect.kafka.clients.settings import ClientSettingError, Kind, client_settings, task_client_settings
from connect.kafka.reading.browse import Browser, Span
from connect.kafka.reading.group_lag import GroupLag
from connect.kafka.writing.resend import Resender

WORKER = {"bootstrap.servers": "127.0.0.1:1"}
OPERATORS = {
    "sasl.oauthbearer.assertion.file": "/etc/passwd",
    "sasl.oauthbearer.assertion.private.key.file": "/etc/ssl/key.pem",
    "sasl.oauthbearer.assertion.template.file": "/etc/passwd",
    "sasl.oauthbearer.assertion.jwt.template.file": "/etc/passwd",
    "sasl.oauthbearer.metadata.authentication.type": "aws_iam",
    "topic.blacklist": "^a",
    "ssl.providers": "legacy,default",
}
#: What users of Kafka Connect override, and what is librdkafka's own and harmless.
ALLOWED = {
    "bootstrap.servers": "other:9092",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="p";',
    "ssl.truststore.location": "/etc/ssl/certs/store.p12",
    "ssl.ca.location": "/etc/ssl/certs",
    "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
    "client.id": "orders",
    "debug": "broker",
    "socket.keepalive.enable": "true",
    "metric.reporters": "com.example.Reporter",
    "no.client.knows.it": "x",
}


def told(connector: Mapping[str, str]) -> dict[str, str]:
    return dict(refused(connector))


def test_somebody_has_looked_at_each_setting_of_librdkafka() -> None:
    native, operators = override_rules._NATIVE, set(override_rules._OPERATORS)
    java = set().union(*RULES.values())
    assert native | set(NEVER) | operators | java >= set(PROPERTIES)
    assert not native & set(NEVER)
    assert not native & operators
    assert not native & java


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("key", [*NEVER, "ssl.providers"])
def test_what_loads_code_or_breaks_the_loops_is_refused_whoever_sets_it(kind: Kind, key: str) -> None:
    value = "/tmp/evil.so"
    with pytest.raises(ClientSettingError) as caught:
        client_settings(kind, {**WORKER, key: value})
    assert caught.value.key == key
    with pytest.raises(ClientSettingError) as caught:
        task_client_settings(kind, {**WORKER, f"{kind}.{key}": value}, {"name": "orders"})
    assert caught.value.key == f"{kind}.{key}"
    assert "remove it" in caught.value.message
    assert dict(refused_of_worker({f"{kind}.{key}": value, key: value})).keys() == {f"{kind}.{key}", key}
    override = {f"{kind}.override.{key}": value}
    assert told(override).keys() == override.keys()
    # Whichever client is made: with one of them wrong there is none.
    for any_kind in CLIENTS:
        with pytest.raises(ClientSettingError) as caught:
            task_client_settings(any_kind, WORKER, {"name": "orders", **override})
        assert caught.value.key == f"{kind}.override.{key}"
    with pytest.raises(ClientSettingError):
        of_questions(override)


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("key", OPERATORS)
def test_some_are_the_operators_alone(kind: Kind, key: str) -> None:
    worker = {**WORKER, "sasl.oauthbearer.token.endpoint.url": "https://x", f"{kind}.{key}": OPERATORS[key]}
    task_client_settings(kind, worker, {"name": "orders"})
    assert not list(refused_of_worker(worker))
    (message,) = told({f"{kind}.override.{key}": OPERATORS[key]}).values()
    assert f"only the operator may set it: as {kind}.{key} in the worker's properties, or remove it" in message


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_command_is_never_taken_from_an_override(kind: Kind) -> None:
    (message,) = told({f"{kind}.override.sasl.kerberos.kinit.cmd": "touch /tmp/x"}).values()
    assert "a command that would be run" in message


@pytest.mark.parametrize("kind", CLIENTS)
def test_what_connectors_override_stays_allowed(kind: Kind) -> None:
    assert not told({f"{kind}.override.{key}": value for key, value in ALLOWED.items()})
    assert not told({"name": "orders", "plugin.library.paths": "of the connector's own", "override.x": "y"})


@pytest.mark.parametrize("kind", CLIENTS)
def test_what_an_update_of_librdkafka_brings_is_refused_in_overrides(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROPERTIES, "brand.new.command", Property("any", "string"))
    (message,) = told({f"{kind}.override.brand.new.command": "x"}).values()
    assert message.startswith("only the operator may set it")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sasl.kerberos.principal", "me; touch /tmp/x"),
        ("sasl.kerberos.principal", "-X"),
        ("sasl.kerberos.service.name", "$(id)"),
        ("sasl.kerberos.keytab", "/k`id`"),
        (
            "sasl.jaas.config",
            'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="me|id";',
        ),
    ],
)
def test_kerberos_words_cannot_leave_the_command_that_they_become_part_of(key: str, value: str) -> None:
    (message,) = told({f"consumer.override.{key}": value}).values()
    assert "kinit" in message


def test_kerberos_words_that_are_plain_are_taken() -> None:
    login = (
        'com.sun.security.auth.module.Krb5LoginModule required keyTab="/k/me.keytab" principal="me/host@EXAMPLE.COM";'
    )
    words = {"sasl.jaas.config": login, "sasl.kerberos.principal": "me@X", "sasl.kerberos.service.name": "kafka"}
    assert not told({f"consumer.override.{key}": value for key, value in words.items()})


@pytest.mark.parametrize(
    "key",
    ["ssl.truststore.location", "ssl.keystore.location", "ssl.ca.location", "ssl.key.location", "ssl.crl.location"],
)
def test_a_file_of_an_override_is_a_file_and_no_pipe(key: str, tmp_path: Path) -> None:
    """Who opens a pipe waits for a writer, and has the interpreter meanwhile."""
    pipe, large, good = tmp_path / "pipe", tmp_path / "large", tmp_path / "good.pem"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.truncate((16 << 20) + 1)
    good.write_text("-----BEGIN")
    for kind in CLIENTS:
        assert "not a regular file" in told({f"{kind}.override.{key}": str(pipe)}).popitem()[1]
        assert "not a regular file" in told({f"{kind}.override.{key}": "/dev/zero"}).popitem()[1]
        assert "larger than 16 MiB" in told({f"{kind}.override.{key}": str(large)}).popitem()[1]
        assert not told({f"{kind}.override.{key}": str(good)})
        assert not told({f"{kind}.override.{key}": str(tmp_path / "absent")})


@pytest.mark.parametrize("key", ["ssl.truststore.location", "ssl.keystore.location"])
def test_a_store_is_read_with_an_end(key: str) -> None:
    with pytest.raises(ClientSettingError, match="not a regular file"):
        client_settings("consumer", {**WORKER, key: "/dev/zero"})


def test_a_token_comes_from_a_server_and_from_no_file() -> None:
    with pytest.raises(ClientSettingError, match="https://"):
        client_settings("consumer", {**WORKER, "sasl.oauthbearer.token.endpoint.url": "file:///etc/passwd"})


class Made(Exception):
    """The settings of a client that was about to be made."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.settings = settings


def test_clients_of_the_worker_take_of_a_connector_what_a_question_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes, signals, debugging and what else librdkafka knows are for a connector's own process."""

    def raising(settings: dict[str, Any]) -> None:
        raise Made(settings)

    monkeypatch.setattr(confluent_kafka, "Consumer", raising)
    monkeypatch.setattr(confluent_kafka, "Producer", raising)
    values = {"boolean": "true", "integer": "7", "float": "7", "string": "x", "CSV flags": "all", "pattern list": "x"}
    everything = {
        f"{kind}.override.{key}": known.choices[0] if known.choices else values[known.kind]
        for kind in CLIENTS
        for key, known in PROPERTIES.items()
        if key in override_rules._NATIVE and not key.startswith(("ssl.", "sasl.", "https."))
    }
    connector = {"name": "orders", "consumer.override.group.id": "mine", **everything}
    assert not told(connector)
    plain = {"name": "orders", "consumer.override.group.id": "mine"}
    for make in (
        lambda config: GroupLag(WORKER, config, ["t"]).waiting_since({}, 0),
        lambda config: list(Browser(WORKER, config).read("t", {0: Span(0, 1)}, 0)),
        lambda config: Resender(WORKER, config),
    ):
        with pytest.raises(Made) as without:
            make(plain)
        with pytest.raises(Made) as caught:
            make(connector)
        changed = {
            key
            for key, value in caught.value.settings.items()
            if value != without.value.settings.get(key) and key not in {"group.id", "logger"}
        }
        assert changed <= {
            *("bootstrap.servers", "broker.address.family", "enable.ssl.certificate.verification", "partitioner"),
            *("enable.sasl.oauthbearer.unsecure.jwt", "compression.type", "compression.level", "message.max.bytes"),
        }
