import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.clients.kafka_python_settings import kafka_python_settings
from connect.kafka.clients.settings import ClientSettingError

BROKERS = {"bootstrap.servers": "one:9092, two:9092"}
SASL = BROKERS | {"security.protocol": "sasl_plaintext"}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def test_without_further_settings_javas_defaults_hold() -> None:
    settings = kafka_python_settings(BROKERS)
    assert settings["bootstrap_servers"] == ["one:9092", "two:9092"]
    assert settings["security_protocol"] == "PLAINTEXT"
    assert settings["reconnect_backoff_max_ms"] == 1000
    assert settings["request_timeout_ms"] == 40_000
    assert "client_id" not in settings


def test_times_names_and_buffers_take_effect() -> None:
    settings = kafka_python_settings(
        BROKERS
        | {"client.id": "me", "request.timeout.ms": "7", "retry.backoff.ms": "8"}
        | {"send.buffer.bytes": "4096", "receive.buffer.bytes": "-1"}
    )
    assert (settings["client_id"], settings["request_timeout_ms"], settings["retry_backoff_ms"]) == ("me", 7, 8)
    assert (socket.SOL_SOCKET, socket.SO_SNDBUF, 4096) in settings["socket_options"]
    assert all(option != socket.SO_RCVBUF for _, option, _ in settings["socket_options"])


def test_keys_of_the_worker_that_are_no_clients_are_passed_over() -> None:
    assert kafka_python_settings(BROKERS | {"offset.flush.interval.ms": "1"}) == kafka_python_settings(BROKERS)


def test_user_and_password_come_from_the_jaas_configuration() -> None:
    settings = kafka_python_settings(
        SASL | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{PLAIN} username="me" password="a \\"b\\"";'}
    )
    assert (settings["sasl_mechanism"], settings["security_protocol"]) == ("PLAIN", "SASL_PLAINTEXT")
    assert (settings["sasl_plain_username"], settings["sasl_plain_password"]) == ("me", 'a "b"')


@pytest.mark.parametrize(
    ("settings", "key", "advice"),
    [
        ({"security.protocol": "TLS"}, "security.protocol", "SASL_SSL"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms", "whole number"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "NTLM"}, "sasl.mechanism", "SCRAM-SHA-512"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config", "PlainLoginModule"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256"}, "sasl.jaas.config", "ScramLoginModule"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "sasl.oauthbearer", "missing"),
        ({"security.protocol": "SASL_SSL", "sasl.login.class": "com.example.Login"}, "sasl.login.class", "Java class"),
        ({"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.1"}, "ssl.enabled.protocols", "TLSv1.2"),
        ({"security.protocol": "SSL", "ssl.cipher.suites": "TLS_NONE"}, "ssl.cipher.suites", "OpenSSL"),
        ({"security.protocol": "SSL", "ssl.engine.factory.class": "com.example.Tls"}, "ssl.engine", "Java class"),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "/nowhere"},
            "ssl.truststore.location",
            "No such file",
        ),
        ({"security.protocol": "SSL", "ssl.keystore.location": "/nowhere"}, "ssl.keystore.location", "No such file"),
    ],
)
def test_what_cannot_be_done_is_an_error_with_its_key_and_advice(
    settings: dict[str, str], key: str, advice: str
) -> None:
    with pytest.raises(ClientSettingError, match=advice) as raised:
        kafka_python_settings(BROKERS | settings)
    assert raised.value.key.startswith(key)


def test_kerberos_without_its_library_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ClientSettingError, match="pip install gssapi"):
        kafka_python_settings(SASL | {"sasl.mechanism": "GSSAPI"})


def test_missing_brokers_are_named() -> None:
    with pytest.raises(ClientSettingError, match="missing"):
        kafka_python_settings({})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("cececece00000002", "it is a JCEKS store.*keytool -importkeystore .* -srcstoretype JCEKS"),
        ("0000000200000014", "it is a BKS store.*keytool -importkeystore .* -srcstoretype BKS"),
        ("feedfeed00000003" + 24 * "00", "version 3 of JKS"),
        ("feedfeed00000002", "the file is truncated"),
        (b"-----BEGIN CERTIFICATE-----".hex(), "it is a PEM file; set ssl.truststore.type=PEM"),
        ("123456", "not a PKCS#12 or JKS store, or ssl.truststore.password is wrong"),
    ],
)
def test_a_store_that_cannot_be_read_is_refused_with_advice(tmp_path: Path, content: str, message: str) -> None:
    store = tmp_path / "store.jks"
    store.write_bytes(bytes.fromhex(content))
    with pytest.raises(ClientSettingError, match=message):
        kafka_python_settings(BROKERS | {"security.protocol": "SSL", "ssl.truststore.location": str(store)})


def test_host_names_are_checked_unless_switched_off() -> None:
    tls = BROKERS | {"security.protocol": "SSL"}
    context: Callable[[dict[str, str]], Any] = lambda more: kafka_python_settings(tls | more)["ssl_context"]  # noqa: E731
    assert context({}).check_hostname
    assert context({}).minimum_version == ssl.TLSVersion.TLSv1_2
    assert not context({"ssl.endpoint.identification.algorithm": ""}).check_hostname
    assert context({"ssl.enabled.protocols": "TLSv1.3"}).minimum_version == ssl.TLSVersion.TLSv1_3
