"""TLS for listeners, from Java's settings: listeners.https.ssl.*, else the worker's ssl.*; PEM, PKCS#12 and JKS stores.

https://kafka.apache.org/documentation/#connectconfigs_listeners (KIP-208)
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from connect.errors import ConfigError
from connect.kafka.client_settings import ClientSettingError
from connect.kafka.tls import server_tls_context
from connect.peers.tls import tls_settings


def listener_context(raw: Mapping[str, str], prefix: str) -> ssl.SSLContext:
    """The context of the https listeners.

    Args:
        raw: the worker's properties.
        prefix: "listeners.https." or "admin.listeners.https.". Where a key begins with it, only such keys count.

    Raises:
        ConfigError: there is no certificate, or it cannot be read.
    """
    settings, shown = tls_settings(raw, prefix)
    try:
        return server_tls_context({**settings, "ssl.client.auth": client_auth(raw, prefix)})
    except ClientSettingError as error:
        raise ConfigError(shown + error.key, error.message) from error


def client_auth(raw: Mapping[str, str], prefix: str) -> str:
    """Whether clients are asked for a certificate: none, requested or required.

    ssl.client.authentication is how Confluent's servers spell the key.
    """
    settings, _ = tls_settings(raw, prefix)
    wanted = settings.get("ssl.client.auth") or settings.get("ssl.client.authentication") or "none"
    return wanted.strip().lower()
