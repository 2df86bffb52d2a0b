"""A TLS context to be connected to, from Java's ssl.* settings: PEM files, PKCS#12 and JKS stores."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from connect.kafka._java_rules import ClientSettingError
from connect.kafka._tls import _identity, _trust, _versions

_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_tls_context(java: Mapping[str, str]) -> ssl.SSLContext:
    """The context of a listener. `ssl.client.auth` says whether clients must show a certificate.

    Raises:
        ClientSettingError: there is no certificate, or it cannot be read.
    """
    if not java.get("ssl.keystore.location") and not java.get("ssl.keystore.certificate.chain"):
        raise ClientSettingError(
            "ssl.keystore.location",
            "an https listener needs a certificate with its key; for a PEM file also set ssl.keystore.type=PEM",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _versions(context, java)
    _identity(context, java)
    wanted = java.get("ssl.client.auth", "none").strip().lower()
    if wanted not in _CLIENT_AUTH:
        raise ClientSettingError("ssl.client.auth", f'"{wanted}" is not one of {", ".join(_CLIENT_AUTH)}')
    if wanted != "none":
        _trust(context, java)
    context.verify_mode = _CLIENT_AUTH[wanted]
    return context
