"""The connections to one node, for either client: TLS from Java's keys, a proxy, no long idle connections."""

from __future__ import annotations

import logging
import time
from typing import Any

import urllib3
from urllib3.util import Timeout

from connect import ConfigError
from connect.http import basic
from connect.kafka.clients.tls import client_tls_context
from connectors.elasticsearch.cluster.keys import ProductOptions

log = logging.getLogger(__name__)


class Connections:
    """What both clients use as the pool of a node: `urlopen` and `close`. Thread-safe.

    Args:
        settings: of the cluster.
        scheme, host, port: of the node.

    Raises:
        ConfigError: a store of certificates cannot be read.
    """

    def __init__(self, settings: ProductOptions, scheme: str, host: str, port: int) -> None:
        self._settings = settings
        self._base = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        options: dict[str, Any] = {"maxsize": settings.connections, "block": False}
        if scheme == "https":
            options |= _tls(settings)
        self._pool: Any
        self._manager: urllib3.ProxyManager | None = None
        kinds = {
            "http": _pool(urllib3.HTTPConnectionPool, settings),
            "https": _pool(urllib3.HTTPSConnectionPool, settings),
        }
        if settings.proxy is None:
            self._pool = kinds[scheme](host, port, **options)
        else:
            # Not by urllib3, which knows no letters beyond Latin-1, and writes those in it as few servers read them.
            headers = {"proxy-authorization": basic(":".join(settings.proxy_user))} if settings.proxy_user else None
            self._manager = urllib3.ProxyManager(settings.proxy, proxy_headers=headers, **options)
            self._manager.pool_classes_by_scheme = kinds

    def urlopen(self, method: str, target: str, body: bytes | None = None, **options: Any) -> urllib3.BaseHTTPResponse:
        """One request. `timeout` is the time to wait for a response, in seconds."""
        answer_within = options.pop("timeout", None) or self._settings.read_timeout
        options["timeout"] = Timeout(connect=self._settings.connect_timeout, read=answer_within)
        if self._manager is None:
            answer: urllib3.BaseHTTPResponse = self._pool.urlopen(method, target, body=body, **options)
        else:
            answer = self._manager.urlopen(method, self._base + target, body=body, **options)
        if said := answer.headers.get("warning"):
            # The clients would make a Python warning of it; a log is where somebody sees it, and once is enough.
            answer.headers.discard("warning")
            _warn_once(said)
        return answer

    def close(self) -> None:
        """Close them all."""
        if self._manager is None:
            self._pool.close()
        else:
            self._manager.clear()


def _pool(kind: type[Any], settings: ProductOptions) -> type[Any]:
    """A pool that replaces connections that were idle for so long that a firewall may have dropped them."""

    class Fresh(kind):  # type: ignore[misc]
        def _put_conn(self, connection: Any) -> None:
            if connection is not None:
                connection.used = time.monotonic()
            super()._put_conn(connection)

        def _get_conn(self, timeout: float | None = None) -> Any:
            connection = super()._get_conn(timeout)
            if settings.idle and time.monotonic() - getattr(connection, "used", time.monotonic()) > settings.idle:
                connection.close()
            return connection

    return Fresh


def _tls(settings: ProductOptions) -> dict[str, Any]:
    try:
        context = client_tls_context(settings.tls)
    except ConfigError as error:
        raise ConfigError(settings.tls_prefix + error.key, error.message) from error
    if not settings.verify:
        import ssl

        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return {"ssl_context": context, "assert_hostname": None if context.check_hostname else False}


_said: set[str] = set()


def _warn_once(text: str) -> None:
    if text not in _said and len(_said) < 100:
        _said.add(text)
        log.warning("the cluster warns: %s", text)
