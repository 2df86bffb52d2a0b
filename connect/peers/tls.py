"""TLS between workers, by the settings of their own https listeners (KIP-208)."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from connect.errors import ConfigError
from connect.kafka.clients.settings import ClientSettingError
from connect.kafka.clients.tls import client_tls_context
from connect.settings.raw import prefixed

LISTENERS = "listeners.https."


def tls_settings(raw: Mapping[str, str], prefix: str = LISTENERS) -> tuple[dict[str, str], str]:
    """The ssl.* settings of https listeners, and the prefix of their keys in the worker's file.

    Those with the prefix, such as "listeners.https."; where there are none, those of the worker itself.
    """
    own = prefixed(raw, prefix)
    if own:
        return own, prefix
    return {key: value for key, value in raw.items() if key.startswith("ssl.")}, ""


def peer_context(raw: Mapping[str, str]) -> ssl.SSLContext:
    """The context of requests to other workers: with the listeners' trust store and certificate.

    Raises:
        ConfigError: a store cannot be read.
    """
    settings, shown = tls_settings(raw)
    try:
        return client_tls_context(settings)
    except ClientSettingError as error:
        raise ConfigError(shown + error.key, error.message) from error
