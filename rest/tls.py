"""TLS for listeners, from Java's settings: listeners.https.ssl.*, else ssl.* of the worker; PEM and PKCS#12 stores.

https://kafka.apache.org/documentation/#connectconfigs_listeners (KIP-208)
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from connect.errors import ConfigError
from connect.kafka.client_settings import ClientSettingError
from connect.kafka.server_tls import server_tls_context


def listener_context(raw: Mapping[str, str], prefix: str) -> ssl.SSLContext:
    """The context of the https listeners.

    Args:
        raw: the worker's properties.
        prefix: "listeners.https." or "admin.listeners.https.". Where a key begins with it, only such keys count.

    Raises:
        ConfigError: there is no certificate, or it cannot be read.
    """
    own = {key.removeprefix(prefix): value for key, value in raw.items() if key.startswith(prefix)}
    settings = own or {key: value for key, value in raw.items() if key.startswith("ssl.")}
    shown = prefix if own else ""
    try:
        return server_tls_context(settings)
    except ClientSettingError as error:
        raise ConfigError(shown + error.key, error.message) from error
