"""TLS and SASL by Java's keys, on a real broker."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from connect.errors import ConnectError
from connect.kafka.admin.groups import remove_member
from connect.kafka.clients.kafka_python_settings import connected_client, kafka_python_settings
from connect.kafka.clients.settings import client_settings
from tests.support.java import to_jks

from .members import Group
from .secure_broker import PASSWORD, SecureBroker


@pytest.fixture(scope="module")
def secure(secure_broker: SecureBroker) -> SecureBroker:
    return secure_broker


def connect(settings: dict[str, str], timeout: float = 20.0) -> Any:
    return connected_client(kafka_python_settings(settings), timeout)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("mechanism", "user", "password"), [("PLAIN", "alice", "wonder"), ("SCRAM-SHA-512", "bob", "builder")]
)
def test_a_member_logs_in_and_joins(
    secure: SecureBroker, group_at: Callable[[str], Group], mechanism: str, user: str, password: str
) -> None:
    group = group_at(secure.bootstrap_servers)
    worker = group.prepare(settings=secure.settings(mechanism, user, password))
    worker.membership.start()
    worker.wait(lambda worker: worker.membership.live())


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_ends_the_groups_client_at_once_and_is_not_shown(secure: SecureBroker, mechanism: str) -> None:
    patience = 110.0  # on a busy machine some tries end without the broker's word
    begin = time.monotonic()
    with pytest.raises(ConnectError, match="refuse the login by") as raised:
        connect(secure.settings(mechanism, "alice", "not-it"), timeout=patience)
    assert time.monotonic() - begin < patience / 2, "not when the time is over"
    assert "not-it" not in str(raised.value)


def test_a_mechanism_the_broker_does_not_have_is_named(secure: SecureBroker) -> None:
    with pytest.raises(ConnectError, match="refuse SCRAM-SHA-256"):
        connect(secure.settings("SCRAM-SHA-256", "bob", "builder"), timeout=60)


def test_an_authority_that_is_not_trusted_ends_the_groups_client_at_once(
    secure: SecureBroker,
) -> None:
    settings = secure.settings("PLAIN", "alice", "wonder")
    del settings["ssl.truststore.location"]
    with pytest.raises(ConnectError, match="certificate of the brokers .* is not trusted: .*ssl.truststore.location"):
        connect(settings, timeout=60)


def test_the_wrong_protocol_is_an_error_that_says_so(secure: SecureBroker) -> None:
    settings = secure.settings("PLAIN", "alice", "wonder") | {"security.protocol": "PLAINTEXT"}
    with pytest.raises(ConnectError, match=r"Check bootstrap.servers and security.protocol \(PLAINTEXT\)"):
        connect(settings, timeout=2)


STORES = {
    "trust in PKCS#12": {"ssl.truststore.type": "PKCS12", "ssl.truststore.location": "trust.p12"},
    "trust in PKCS#12 called JKS": {"ssl.truststore.type": "JKS", "ssl.truststore.location": "trust.p12"},
    "key in PEM": {"ssl.keystore.type": "PEM", "ssl.keystore.location": "client.pem"},
    "key in PKCS#12": {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "client.p12"},
    "trust in JKS": {"ssl.truststore.type": "JKS", "ssl.truststore.location": "trust.jks"},
    "key in JKS": {"ssl.keystore.type": "JKS", "ssl.keystore.location": "client.jks"},
    "both in JKS called PKCS#12": {
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": "trust.jks",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": "client.jks",
    },
}


@pytest.fixture(scope="module")
def jks(secure: SecureBroker, keytool: Callable[..., str]) -> None:
    """The stores once more in Java's old format, written by its keytool; the client's key has a chain of two."""
    to_jks(keytool, secure.stores, ("trust", "client"), PASSWORD)


@pytest.mark.parametrize("stores", STORES.values(), ids=STORES.keys())
def test_stores_are_read_by_both_libraries(secure: SecureBroker, jks: None, stores: dict[str, str]) -> None:
    settings = secure.settings("PLAIN", "alice", "wonder") | stores
    for store in ("truststore", "keystore"):
        if location := settings.get(f"ssl.{store}.location"):
            settings[f"ssl.{store}.location"] = str(secure.stores / Path(location).name)
        if settings.get(f"ssl.{store}.type") in {"JKS", "PKCS12"}:
            settings[f"ssl.{store}.password"] = PASSWORD
    connect(settings).close()
    admin = AdminClient(client_settings("admin", settings).librdkafka)
    assert admin.list_topics(timeout=20).brokers


def test_a_client_without_a_certificate_is_refused_where_one_is_needed_and_one_from_jks_is_not(
    secure: SecureBroker, jks: None
) -> None:
    settings = secure.settings("PLAIN", "alice", "wonder") | {
        "bootstrap.servers": secure.mutual,
        "security.protocol": "SSL",
    }
    with pytest.raises(ConnectError):
        connect(settings, timeout=2)
    settings |= {"ssl.keystore.location": str(secure.stores / "client.jks"), "ssl.keystore.password": PASSWORD}
    connect(settings).close()
    assert AdminClient(client_settings("admin", settings).librdkafka).list_topics(timeout=20).brokers
    remove_member(settings, {}, "never-there", "member")  # the worker's own look at groups is let in as well


def test_certificates_and_key_may_stand_in_the_file_itself(secure: SecureBroker) -> None:
    settings = secure.settings("PLAIN", "alice", "wonder")
    del settings["ssl.truststore.location"]
    private, begin, certificate = (secure.stores / "client.pem").read_text().partition("-----BEGIN CERTIFICATE-----")
    settings |= {
        "ssl.truststore.certificates": (secure.stores / "trust.pem").read_text(),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": private,
        "ssl.keystore.certificate.chain": begin + certificate,
    }
    connect(settings).close()
