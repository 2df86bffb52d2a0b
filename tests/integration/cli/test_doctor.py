"""`connect doctor` against real brokers: faults of topics, groups and logins are found, and nothing is changed."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from connect.kafka.broker.embedded import Broker
from tests.integration.group.secure_broker import SecureBroker
from tests.support.waiting import until

COMPACT = {"cleanup.policy": "compact"}
STEPS_WITHIN_S = 120


class Doctor:
    """Runs the command on a file for a worker of a pool; its topics have names of their own."""

    def __init__(self, folder: Path, servers: str) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex[:8]
        self.keys = {
            "bootstrap.servers": servers,
            "group.id": f"pool-{self.mark}",
            "key.converter": "StringConverter",
            "value.converter": "StringConverter",
            "listeners": "http://127.0.0.1:0",
            **{f"{what}.storage.topic": f"{what}-{self.mark}" for what in ("config", "offset", "status")},
            **{f"{what}.storage.replication.factor": "1" for what in ("config", "offset", "status")},
        }

    def look(self, code: int, **keys: str) -> list[dict[str, str]]:
        """The findings. Underscores in keys stand for dots."""
        self.keys |= {key.replace("_", "."): value for key, value in keys.items()}
        file = self.folder / "worker.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in self.keys.items()))
        file.chmod(0o600)
        done = subprocess.run(
            [sys.executable, "-m", "connect.cli", "doctor", file, "--json"],
            capture_output=True,
            text=True,
            timeout=STEPS_WITHIN_S,
            env={**os.environ, "CONNECT_URL": "http://127.0.0.1:1"},
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        found: list[dict[str, str]] = json.loads(done.stdout)["findings"]
        return found


def told(findings: list[dict[str, str]], area: str, *levels: str) -> list[str]:
    """What was found in an area, at these levels."""
    return [
        f"{each['found']} -> {each['next_step']}"
        for each in findings
        if each["area"] == area and each["level"] in (levels or ("warning", "error"))
    ]


@pytest.fixture
def doctor(broker: Broker, tmp_path: Path) -> Doctor:
    return Doctor(tmp_path, broker.bootstrap_servers)


NewTopic = Callable[..., str]


@pytest.mark.quick
def test_a_worker_that_could_start_has_no_errors_and_no_topic_is_made(doctor: Doctor, broker: Broker) -> None:
    found = doctor.look(0)
    assert told(found, "topics", "ok") == ["it does not exist, and the worker may make it. -> "] * 3
    assert told(found, "group", "ok") == ["it does not exist: this worker would be its first member. -> "]
    (cluster,) = (each["found"] for each in found if each["what"] == "the cluster")
    assert cluster.startswith("answers by PLAINTEXT: id ")
    assert cluster.endswith(", 1 broker.")
    there = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=10).topics
    assert not [topic for topic in there if doctor.mark in topic]


def test_topics_that_are_as_they_must_be_are_well(doctor: Doctor, new_topic: NewTopic) -> None:
    for what, partitions in (("config", 1), ("offset", 5), ("status", 2)):
        new_topic(partitions, COMPACT, name=f"{what}-{doctor.mark}")
    found = doctor.look(0)
    assert told(found, "topics") == []
    assert told(found, "topics", "ok")[0] == "1 partition, compacted, with the rights that it takes. -> "
    assert told(found, "topics", "note") == []


def test_wrong_topics_are_found(doctor: Doctor, new_topic: NewTopic) -> None:
    new_topic(3, COMPACT, name=f"config-{doctor.mark}")
    new_topic(5, {"cleanup.policy": "delete"}, name=f"offset-{doctor.mark}")
    new_topic(2, {**COMPACT, "min.insync.replicas": "2"}, name=f"status-{doctor.mark}")
    config, offset, status = told(doctor.look(2), "topics", "error")
    assert config.startswith(f"Topic config-{doctor.mark} has 3 partitions, and must have 1. -> Name another topic")
    assert offset.startswith(f"Topic offset-{doctor.mark} has cleanup.policy=delete")
    assert "kafka-configs --alter" in offset
    assert status.startswith(
        "min.insync.replicas=2 is more than the number of its copies, 1: brokers refuse every record."
    )


def test_more_copies_than_brokers_are_an_error_only_for_topics_that_are_to_be_made(
    doctor: Doctor, new_topic: NewTopic
) -> None:
    new_topic(1, COMPACT, name=f"config-{doctor.mark}")
    found = doctor.look(2, config_storage_replication_factor="3", offset_storage_replication_factor="3")
    (offset,) = told(found, "topics", "error")
    assert offset == (
        "it does not exist, and cannot be made with replication factor 3: brokers are 1."
        " -> Set offset.storage.replication.factor=1 or less, or start more brokers."
    )
    (config,) = told(found, "topics", "note")
    assert config.startswith("its copies are 1, and the file asks for 3")


@pytest.fixture
def consumers(broker: Broker, doctor: Doctor, new_topic: NewTopic) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Starts a consumer in the group that the workers are to have."""
    made = []

    def start(settings: Mapping[str, Any]) -> None:
        group = {"bootstrap.servers": broker.bootstrap_servers, "group.id": doctor.keys["group.id"]}
        consumer = Consumer({**group, **settings})
        made.append(closing(consumer))
        consumer.subscribe([new_topic(1)])
        until(lambda: consumer.poll(0.2) is not None or consumer.assignment(), 60)

    yield start
    for each in made:
        with each:
            pass


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_group_of_the_same_name_is_found(
    doctor: Doctor, consumers: Callable[[Mapping[str, Any]], None], protocol: str
) -> None:
    consumers({"group.protocol": protocol})
    (said,) = told(doctor.look(2), "group", "error")
    assert said.startswith("it is a group of another kind (consumer)")
    assert said.endswith("-> Choose another group.id.")


@pytest.fixture
def secure(secure_broker: SecureBroker, tmp_path: Path) -> Doctor:
    doctor = Doctor(tmp_path, secure_broker.bootstrap_servers)
    doctor.keys |= secure_broker.settings("PLAIN", "alice", "wonder")
    return doctor


def test_a_login_that_is_right_is_well(secure: Doctor) -> None:
    found = secure.look(0)
    assert any(each["found"].startswith("answers by SASL_SSL with this login") for each in found)
    (broker,) = (each for each in found if each["what"].startswith("broker 127.0.0.1") and each["level"] == "warning")
    assert broker["found"].startswith("the certificate of the broker expires in 1 day")


def test_a_wrong_password_is_found_at_its_step_and_not_shown(secure: Doctor, secure_broker: SecureBroker) -> None:
    secure.keys |= secure_broker.settings("SCRAM-SHA-512", "bob", "not-the-builder")
    found = secure.look(3)
    (said,) = told(found, "brokers", "error")
    assert said.startswith("SASL: The brokers at")
    assert "refuse the login by SCRAM-SHA-512" in said
    assert said.endswith("-> Check user and password in sasl.jaas.config.")
    assert "not-the-builder" not in json.dumps(found)
    assert [each for each in found if each["found"] == "they are not looked at without brokers."]


def test_a_client_without_tls_is_told_so(secure: Doctor) -> None:
    (said,) = told(secure.look(3, security_protocol="PLAINTEXT"), "brokers", "error")
    assert "Set security.protocol to that of this listener, such as SSL or SASL_SSL" in said


def test_a_client_without_a_login_is_told_so(secure: Doctor) -> None:
    (said,) = told(secure.look(3, security_protocol="SSL"), "brokers", "error")
    assert said.startswith("SASL: the brokers end connections of clients that do not log in")


def test_tls_towards_a_listener_without_it_is_told_so(secure: Doctor, broker: Broker) -> None:
    (said,) = told(secure.look(3, bootstrap_servers=broker.bootstrap_servers), "brokers", "error")
    assert said.startswith("TLS: what listens there does not speak TLS")


def test_a_certificate_that_brokers_want_is_told(secure: Doctor, secure_broker: SecureBroker) -> None:
    """With TLS 1.3 a broker refuses a client after the handshake."""
    found = secure.look(3, bootstrap_servers=secure_broker.mutual, security_protocol="SSL")
    (said,) = told(found, "brokers", "error")
    assert "check ssl.keystore.*" in said


def test_brokers_that_are_not_trusted_are_told(secure: Doctor, secure_broker: SecureBroker) -> None:
    del secure.keys["ssl.truststore.location"]
    (said,) = told(secure.look(3), "brokers", "error")
    assert said.startswith("TLS: the broker's certificate is not trusted")
