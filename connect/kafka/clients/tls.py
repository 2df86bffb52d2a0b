"""TLS contexts for Python's own sockets, from Java's ssl.* settings: PEM files, PKCS#12 and JKS stores.

https://kafka.apache.org/documentation/#security_ssl (KIP-651 for PEM)
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping

from connect.kafka.clients.java_rules import ClientSettingError, listed
from connect.kafka.clients.stores import is_pem, read_store

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def client_tls_context(java: Mapping[str, str]) -> ssl.SSLContext:
    """The context for connecting to brokers, or to other servers.

    Raises:
        ClientSettingError: a store cannot be read, or a setting requests what cannot be done here.
    """
    if java.get("ssl.engine.factory.class"):
        raise ClientSettingError("ssl.engine.factory.class", "a Java class cannot do TLS here; leave it out")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = bool(java.get("ssl.endpoint.identification.algorithm", "https").strip())
    _versions(context, java)
    _cipher_suites(context, java)
    _trust(context, java)
    _identity(context, java)
    return context


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
    _cipher_suites(context, java)
    _identity(context, java)
    wanted = java.get("ssl.client.auth", "none").strip().lower()
    if wanted not in _CLIENT_AUTH:
        raise ClientSettingError("ssl.client.auth", f'"{wanted}" is not one of {", ".join(_CLIENT_AUTH)}')
    if wanted != "none":
        _trust(context, java)
    context.verify_mode = _CLIENT_AUTH[wanted]
    return context


def _versions(context: ssl.SSLContext, java: Mapping[str, str]) -> None:
    names = listed(java.get("ssl.enabled.protocols", "")) or list(_VERSIONS)
    if unknown := [name for name in names if name not in _VERSIONS]:
        raise ClientSettingError("ssl.enabled.protocols", f"{unknown[0]} is not known here; there are TLSv1.2, TLSv1.3")
    context.minimum_version = min(_VERSIONS[name] for name in names)
    context.maximum_version = max(_VERSIONS[name] for name in names)


def _cipher_suites(context: ssl.SSLContext, java: Mapping[str, str]) -> None:
    """Those of TLS 1.2: Python leaves the suites of TLS 1.3 to OpenSSL."""
    if suites := listed(java.get("ssl.cipher.suites", "")):
        try:
            context.set_ciphers(":".join(suites))
        except ssl.SSLError as error:
            raise ClientSettingError("ssl.cipher.suites", "write OpenSSL's names (`openssl ciphers -v`)") from error


def _trust(context: ssl.SSLContext, java: Mapping[str, str]) -> None:
    key = "ssl.truststore.location"
    try:
        if certificates := java.get("ssl.truststore.certificates"):
            key = "ssl.truststore.certificates"
            context.load_verify_locations(cadata=certificates)
        elif not java.get(key):
            context.load_default_certs()
        elif is_pem(java, "truststore"):
            context.load_verify_locations(cafile=java[key])
        else:
            context.load_verify_locations(cadata=read_store(java, "truststore").trusted)
    except (OSError, ssl.SSLError) as error:
        raise ClientSettingError(key, f"no certificates can be read from it: {_reason(error)}") from error


def _identity(context: ssl.SSLContext, java: Mapping[str, str]) -> None:
    """The client's own certificate and key, if it has any."""
    location = "ssl.keystore.location"
    password = java.get("ssl.key.password")
    try:
        if chain := java.get("ssl.keystore.certificate.chain"):
            location = "ssl.keystore.certificate.chain"
            _load_chain(context, f"{java.get('ssl.keystore.key', '')}\n{chain}", password)
        elif not java.get(location):
            return
        elif is_pem(java, "keystore"):
            context.load_cert_chain(java[location], password=password or _refuse_to_ask)
        else:
            store = read_store(java, "keystore")
            _load_chain(context, store.private + store.chain, None)
    except (OSError, ssl.SSLError) as error:
        raise ClientSettingError(
            location, f"no certificate with its key can be read from it: {_reason(error)}"
        ) from error


def _load_chain(context: ssl.SSLContext, pem: str, password: str | None) -> None:
    """Python's interface to OpenSSL reads a key only from a file: this one lies in memory, of this process alone."""
    with os.fdopen(os.memfd_create("key"), "w") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", password=password or _refuse_to_ask)


def _refuse_to_ask() -> str:
    raise ClientSettingError("ssl.key.password", "the private key is encrypted, and there is no password for it")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
