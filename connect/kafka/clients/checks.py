"""Errors of a client's settings that would show only when the client is created: its stores, its login."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from connect.kafka.clients.java_rules import ClientSettingError
from connect.kafka.clients.tls import client_tls_context


def check_client(java: Mapping[str, str]) -> None:
    """Read the stores, and check that the client library supports the login. Sends nothing to brokers.

    Args:
        java: a client's settings, under Java's keys.

    Raises:
        ClientSettingError: the client cannot be created.
    """
    protocol = java.get("security.protocol", "").strip().upper()
    if protocol.endswith("SSL"):
        client_tls_context(java)
    if protocol.startswith("SASL") and not {"sasl.mechanisms", "sasl.username"} & java.keys():
        mechanism = java.get("sasl.mechanism", "GSSAPI").strip().upper()
        if mechanism == "GSSAPI" and not _has_kerberos():
            default = "" if "sasl.mechanism" in java else ", which it is where it is not set,"
            raise ClientSettingError(
                "sasl.mechanism",
                f"GSSAPI (Kerberos){default} is not in the client library that pip installs. Use SCRAM, PLAIN or "
                "OAUTHBEARER, or install confluent-kafka from its source, with libsasl2",
            )


@cache
def _has_kerberos() -> bool:
    from confluent_kafka import KafkaException, Producer

    try:
        Producer({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI", "log_level": 0})
    except KafkaException:
        return False
    return True
