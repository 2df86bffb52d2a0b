"""TLS between workers, by the settings of their own https listeners (KIP-208)."""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from connect.errors import ConfigError
from connect.kafka.clients.settings import ClientSettingError
from connect.kafka.clients.tls import client_tls_context
from connect.settings.raw import prefixed

log = logging.getLogger("connect.rest")

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


class RenewedContext:
    """A context that is made again when one of its stores has changed: certificates are renewed while workers run.

    While a store cannot be read, as it may be half written, what was read before stays in effect. Safe to use from many
    threads.

    Args:
        make: makes it. Raises ConfigError.
        settings: its ssl.* settings, which name the stores.

    Raises:
        ConfigError: of `make`, the first time.
    """

    def __init__(self, make: Callable[[], ssl.SSLContext], settings: Mapping[str, str]) -> None:
        named = (settings.get(f"ssl.{which}.location") for which in ("keystore", "truststore"))
        self._stores = [Path(location) for location in named if location]
        self._make = make
        self._lock = threading.Lock()
        self._stamp = self._look()
        self._context = make()

    def current(self) -> ssl.SSLContext:
        """For the next connection."""
        with self._lock:
            stamp = self._look()  # before they are read: what changes meanwhile is read again
            if stamp != self._stamp:
                self._stamp = stamp
                self._renew()
            return self._context

    def _renew(self) -> None:
        try:
            self._context = self._make()
        except ConfigError as error:
            log.error("%s The certificates that were read before stay in effect.", error)
        else:
            log.info("Certificates have changed, and were read again: %s.", ", ".join(map(str, self._stores)))

    def _look(self) -> list[tuple[int, ...]]:
        return [_stamp(store) for store in self._stores]


def _stamp(store: Path) -> tuple[int, ...]:
    try:
        found = store.stat()
    except OSError:  # which says who reads it
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def renewed_peer_context(raw: Mapping[str, str]) -> RenewedContext:
    """The same as `peer_context`, also of stores that change. Raises ConfigError."""
    settings, _ = tls_settings(raw)
    return RenewedContext(lambda: peer_context(raw), settings)
