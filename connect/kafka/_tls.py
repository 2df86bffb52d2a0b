"""A TLS context for Python's own sockets, from Java's ssl.* settings: stores of type PEM and PKCS#12.

https://kafka.apache.org/documentation/#security_ssl (KIP-651 for PEM)
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path

from connect.kafka._java_rules import ClientSettingError, listed

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_JKS_MAGIC = bytes.fromhex("feedfeed")


def tls_context(java: Mapping[str, str]) -> ssl.SSLContext:
    """The context for connections to brokers.

    Raises:
        ClientSettingError: a store cannot be read, or asks for what cannot be done here.
    """
    if java.get("ssl.engine.factory.class"):
        raise ClientSettingError("ssl.engine.factory.class", "a Java class cannot do TLS here; leave it out")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = bool(java.get("ssl.endpoint.identification.algorithm", "https").strip())
    _versions(context, java)
    if suites := listed(java.get("ssl.cipher.suites", "")):
        try:
            context.set_ciphers(":".join(suites))
        except ssl.SSLError as error:
            raise ClientSettingError("ssl.cipher.suites", "write OpenSSL's names (`openssl ciphers -v`)") from error
    _trust(context, java)
    _identity(context, java)
    return context


def _versions(context: ssl.SSLContext, java: Mapping[str, str]) -> None:
    names = listed(java.get("ssl.enabled.protocols", "")) or list(_VERSIONS)
    if unknown := [name for name in names if name not in _VERSIONS]:
        raise ClientSettingError("ssl.enabled.protocols", f"{unknown[0]} is not known here; there are TLSv1.2, TLSv1.3")
    context.minimum_version = min(_VERSIONS[name] for name in names)
    context.maximum_version = max(_VERSIONS[name] for name in names)


def _trust(context: ssl.SSLContext, java: Mapping[str, str]) -> None:
    key = "ssl.truststore.location"
    try:
        if certificates := java.get("ssl.truststore.certificates"):
            key = "ssl.truststore.certificates"
            context.load_verify_locations(cadata=certificates)
        elif not java.get(key):
            context.load_default_certs()
        elif _is_pem(java, "truststore"):
            context.load_verify_locations(cafile=java[key])
        else:
            _, _, trusted = _pkcs12(java, "truststore")
            context.load_verify_locations(cadata=trusted)
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
        elif _is_pem(java, "keystore"):
            context.load_cert_chain(java[location], password=password or _refuse_to_ask)
        else:
            private, own, _ = _pkcs12(java, "keystore")
            _load_chain(context, private + own, None)
    except (OSError, ssl.SSLError) as error:
        raise ClientSettingError(
            location, f"no certificate with its key can be read from it: {_reason(error)}"
        ) from error


def _load_chain(context: ssl.SSLContext, pem: str, password: str | None) -> None:
    """OpenSSL's interface in Python takes a key from a file only: one that nobody else can read, for a moment."""
    descriptor, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(pem)
        context.load_cert_chain(name, password=password or _refuse_to_ask)
    finally:
        Path(name).unlink()


def _refuse_to_ask() -> str:
    raise ClientSettingError("ssl.key.password", "the private key is encrypted, and there is no password for it")


def _is_pem(java: Mapping[str, str], store: str) -> bool:
    return java.get(f"ssl.{store}.type", "JKS").strip().upper() == "PEM"


def _pkcs12(java: Mapping[str, str], store: str) -> tuple[str, str, str]:
    """The private key, the chain of its certificate, and the other certificates of a store, as PEM.

    As in Java the type says little: what keytool writes since Java 9 is PKCS#12, also where the type says JKS.
    """
    key = f"ssl.{store}.location"
    data = Path(java[key]).read_bytes()
    if data.startswith(_JKS_MAGIC):
        raise ClientSettingError(
            key,
            "a JKS store cannot be read here; turn it into PKCS#12 with `keytool -importkeystore -srckeystore <store> "
            f"-destkeystore <store>.p12 -deststoretype PKCS12` and set ssl.{store}.type=PKCS12",
        )
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12
    except ImportError as error:
        raise ClientSettingError(key, "a PKCS#12 store needs: pip install cryptography; or use PEM") from error
    password = java.get(f"ssl.{store}.password")
    try:
        content = pkcs12.load_pkcs12(data, password.encode() if password else None)
    except ValueError as error:
        raise ClientSettingError(key, f"it is no PKCS#12 store, or ssl.{store}.password is wrong") from error
    others = "".join(each.certificate.public_bytes(Encoding.PEM).decode() for each in content.additional_certs)
    private = own = ""
    if content.key:
        private = content.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    if content.cert:
        own = content.cert.certificate.public_bytes(Encoding.PEM).decode() + others
    return private, own, others


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
