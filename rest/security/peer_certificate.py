"""Hands the certificate of a TLS client to the application; uvicorn itself does not."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

#: In the scope of a request: what `ssl.SSLObject.getpeercert` gives, where the client showed a certificate that the
#: listener's trust store vouches for. No header can set it.
CERTIFICATE: Final = "connect.certificate"


def with_certificates(protocol: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
    """One of uvicorn's HTTP protocols, extended. Each of its instances serves one connection with its `app`."""

    class WithCertificate(protocol):  # type: ignore[misc, valid-type]  # which class it is depends on what is installed
        app: ASGIApp

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            tls = transport.get_extra_info("ssl_object")
            certificate = tls.getpeercert() if isinstance(tls, ssl.SSLObject) else None
            if certificate:
                self.app = _Known(self.app, certificate)

    return WithCertificate


class _Known:
    def __init__(self, app: ASGIApp, certificate: Any) -> None:
        self._app = app
        self._certificate = certificate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, CERTIFICATE: self._certificate}, receive, send)
