"""Java's settings of a client, as arguments for kafka-python; and a connected client of it.

kafka-python does what confluent-kafka cannot: membership of a Connect group, and some requests to the brokers.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import socket
import ssl
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from connect.errors import ConnectError
from connect.kafka.clients.errors import NotLetInError
from connect.kafka.clients.java_rules import ClientSettingError, Computed, listed, whole_number
from connect.kafka.clients.kafka_python_defects import fix
from connect.kafka.clients.security_keys import SECURITY
from connect.kafka.clients.tls import client_tls_context

if TYPE_CHECKING:
    from kafka.net.compat import KafkaNetClient

# Java's names, kafka-python's, and what holds where the worker's file is silent. Its own longest pause of 30 s between
# two tries to connect makes a member miss its session after a restart of the broker.
_NUMBERS: Final[Mapping[str, tuple[str, int]]] = {
    "request.timeout.ms": ("request_timeout_ms", 40_000),
    "retry.backoff.ms": ("retry_backoff_ms", 100),
    "reconnect.backoff.ms": ("reconnect_backoff_ms", 50),
    "reconnect.backoff.max.ms": ("reconnect_backoff_max_ms", 1_000),
    "metadata.max.age.ms": ("metadata_max_age_ms", 300_000),
    "connections.max.idle.ms": ("connections_max_idle_ms", 540_000),
    "socket.connection.setup.timeout.ms": ("socket_connection_setup_timeout_ms", 10_000),
    "socket.connection.setup.timeout.max.ms": ("socket_connection_setup_timeout_max_ms", 30_000),
}
_BUFFERS: Final = {"send.buffer.bytes": socket.SO_SNDBUF, "receive.buffer.bytes": socket.SO_RCVBUF}
# Java's class that logs in, by mechanism.
_PASSWORD_MECHANISMS: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_NAMES: Final = re.compile(r"^((\[Error \d+\]|\w+Error:) )*")  # before what a broker said
_RETRY: Final = 0.25  # seconds between two tries to connect


def _worth_telling(record: logging.LogRecord) -> bool:
    """Drops single failed tries to connect, several a second at ERROR: the caller that waits reports what is wrong."""
    return logging.getLogger(record.name).isEnabledFor(logging.DEBUG)


for _name in ("kafka.net.manager", "kafka.net.connection", "kafka.net.transport", "kafka.protocol.parser"):
    logging.getLogger(_name).addFilter(_worth_telling)


def kafka_python_settings(java: Mapping[str, str]) -> dict[str, Any]:
    """The arguments for kafka-python's clients: addresses, times, TLS and SASL. Other keys are ignored.

    The result contains passwords, and a TLS context in memory.

    Raises:
        ClientSettingError: a setting is wrong, or requests what kafka-python cannot do.
    """
    protocol = java.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}:
        raise ClientSettingError(
            "security.protocol", f'"{protocol}" is none; write PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL'
        )
    if "bootstrap.servers" not in java:
        raise ClientSettingError("bootstrap.servers", "it is missing; write host:port of one or more brokers")
    settings: dict[str, Any] = {
        "bootstrap_servers": listed(java["bootstrap.servers"]),
        "security_protocol": protocol,
        "client_dns_lookup": java.get("client.dns.lookup", "use_all_dns_ips"),
        "socket_options": [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
    }
    if java.get("client.id"):
        settings["client_id"] = java["client.id"]
    for key, (name, default) in _NUMBERS.items():
        settings[name] = whole_number(key, java[key]) if key in java else default
    for key, option in _BUFFERS.items():
        if key in java and whole_number(key, java[key]) > 0:
            settings["socket_options"].append((socket.SOL_SOCKET, option, whole_number(key, java[key])))
    if protocol.endswith("SSL"):
        settings["ssl_context"] = client_tls_context(java)
    if protocol.startswith("SASL"):
        settings |= _sasl(java)
    return settings


def _sasl(java: Mapping[str, str]) -> dict[str, Any]:
    mechanism = java.get("sasl.mechanism", "GSSAPI").strip().upper()
    for key in ("sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class"):
        if java.get(key):
            raise ClientSettingError(key, "a Java class cannot log in here; leave it out")
    rule = SECURITY["sasl.jaas.config"]
    assert isinstance(rule, Computed)
    login = rule.entries("sasl.jaas.config", java["sasl.jaas.config"], java) if java.get("sasl.jaas.config") else {}
    if mechanism in _PASSWORD_MECHANISMS:
        if not {"sasl.username", "sasl.password"} <= login.keys():
            raise ClientSettingError(
                "sasl.jaas.config",
                f"{mechanism} needs a user and a password: "
                f'{_PASSWORD_MECHANISMS[mechanism]} required username="..." password="...";',
            )
        return {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": login["sasl.username"],
            "sasl_plain_password": login["sasl.password"],
        }
    if mechanism == "OAUTHBEARER":
        from connect.kafka.clients.oauth import TokenFromUrl

        return {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": TokenFromUrl({**login, **java})}
    if mechanism == "GSSAPI":
        if importlib.util.find_spec("gssapi") is None:
            raise ClientSettingError(
                "sasl.mechanism", "GSSAPI (Kerberos, the default) needs a library: pip install gssapi; or use SCRAM"
            )
        service = java.get("sasl.kerberos.service.name") or login.get("sasl.kerberos.service.name", "kafka")
        return {"sasl_mechanism": mechanism, "sasl_kerberos_service_name": service}
    raise ClientSettingError(
        "sasl.mechanism",
        f'"{mechanism}" is not known here; there are {", ".join(_PASSWORD_MECHANISMS)}, OAUTHBEARER and GSSAPI',
    )


def connected_client(settings: Mapping[str, Any], timeout: float) -> KafkaNetClient:
    """A client whose network thread runs and that knows the brokers.

    Raises:
        ConnectError: within `timeout` seconds no broker answered.
        NotLetInError: at once; a broker refused the login, or has a certificate that is not trusted.
    """
    from kafka.errors import KafkaError
    from kafka.net.compat import KafkaNetClient

    fix()
    client = KafkaNetClient(**settings)
    client._net.start()
    try:
        client._net.run(_probe, client, settings, time.monotonic() + timeout)
        client._manager.bootstrap(timeout * 1000)
    except KafkaError as error:
        client.close()
        raise _unreachable(settings, error) from error
    except BaseException:
        client.close()
        raise
    return client


async def _probe(client: KafkaNetClient, settings: Mapping[str, Any], deadline: float) -> None:
    """Log in at any broker. kafka-python itself would hide why that fails behind a timeout."""
    from kafka.errors import KafkaError, NodeNotReadyError

    manager = client._manager
    problem: Exception | None = None
    while True:
        for broker in manager.cluster.bootstrap_brokers():
            try:
                connection = manager.get_connection(
                    broker.node_id, timeout_ms=max(deadline - time.monotonic(), 0.001) * 1000
                )
                await connection
            except NodeNotReadyError as error:  # not yet tried again: the reason stands
                problem = problem or error
            except KafkaError as error:
                problem = error
                _raise_if_final(settings, error)
            else:
                connection.close()
                return
        if time.monotonic() > deadline:
            raise _unreachable(settings, problem) from problem
        await client._net.sleep(_RETRY)


def _raise_if_final(settings: Mapping[str, Any], error: Exception) -> None:
    """Raise errors that a retry does not fix."""
    from kafka import errors

    where = ", ".join(settings["bootstrap_servers"])
    if isinstance(error, errors.SaslAuthenticationFailedError):
        key = "sasl.jaas.config"
        problem = f"The brokers at {where} refuse the login by {settings['sasl_mechanism']}: {_said(error)}."
        advice = f"Check user and password in {key}."
    elif isinstance(error, errors.UnsupportedSaslMechanismError | errors.IllegalSaslStateError):
        key = "sasl.mechanism"
        problem = f"The brokers at {where} refuse {settings['sasl_mechanism']}: {_said(error)}."
        advice = f"Set {key} to one they have."
    elif isinstance(error.__context__, ssl.SSLCertVerificationError):
        key = "ssl.truststore.location"
        why = f"certificate verify failed ({error.__context__.verify_message})"
        problem = f"The certificate of the brokers at {where} is not trusted: {why}."
        advice = f"Put the certificate of its authority into the trust store ({key})."
    else:
        return
    raise NotLetInError(f"{problem} {advice}", key) from error


def _unreachable(settings: Mapping[str, Any], error: Exception | None) -> ConnectError:
    where = ", ".join(settings["bootstrap_servers"])
    return ConnectError(
        f"No broker answers at {where} ({_said(error)}). Check bootstrap.servers and security.protocol "
        f"({settings['security_protocol']}), and that the brokers run."
    )


def _said(error: Exception | None) -> str:
    return _NAMES.sub("", " ".join(str(error).split())) or type(error).__name__
