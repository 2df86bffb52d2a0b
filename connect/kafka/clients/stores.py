"""Key and trust stores by Java's keys ssl.keystore.* and ssl.truststore.*, in memory, as PEM.

As in Java a store's type says little: what keytool writes since Java 9 is PKCS#12, also where the type says JKS, and
either is read where the type says the other. https://kafka.apache.org/documentation/#security_ssl
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from connect.kafka.clients import jks
from connect.kafka.clients.java_rules import ClientSettingError
from connect.settings.regular_files import MOST_OF_A_STORE, UnfitFileError, read_regular

Which = Literal["keystore", "truststore"]

_JCEKS = bytes.fromhex("cececece")
_BKS = (bytes.fromhex("00000001"), bytes.fromhex("00000002"))
_CONVERT = (
    "turn it into PKCS#12 with `keytool -importkeystore -srckeystore <store> -srcstoretype {} -destkeystore <store>.p12"
    " -deststoretype PKCS12`"
)


@dataclass(frozen=True)
class Store:
    """The content of a store, as PEM.

    Attributes:
        private: the private key, not encrypted; empty where the store has none.
        chain: its certificates, its own first.
        trusted: certificates that are trusted.
    """

    private: str = field(repr=False)
    chain: str
    trusted: str


def store_type(java: Mapping[str, str], which: Which) -> str:
    """The type in the settings: JKS by default."""
    return java.get(f"ssl.{which}.type", "JKS").strip().upper()


def is_pem(java: Mapping[str, str], which: Which) -> bool:
    """Whether it is a PEM file, which OpenSSL reads itself."""
    return store_type(java, which) == "PEM"


def is_pkcs12(java: Mapping[str, str], which: Which) -> bool:
    """Whether a store that is not a PEM file is PKCS#12. Raises as `read_store`."""
    return not _content(java, which).startswith(jks.MAGIC)


def read_store(java: Mapping[str, str], which: Which) -> Store:
    """Read a store that is not a PEM file.

    Of several private keys the first counts. As in Java's key stores the key has the store's password unless it has one
    of its own, and the own certificate of a key in a trust store is trusted.

    Raises:
        ClientSettingError: it cannot be read: the password is wrong, or it is of another kind.
    """
    data = _content(java, which)
    password = java.get(f"ssl.{which}.password")
    return (_from_jks if data.startswith(jks.MAGIC) else _from_pkcs12)(data, java, which, password)


def _content(java: Mapping[str, str], which: Which) -> bytes:
    key = f"ssl.{which}.location"
    try:
        data = read_regular(Path(java[key]), MOST_OF_A_STORE)
    except UnfitFileError as error:
        raise ClientSettingError(key, f"the store {error}") from error
    except OSError as error:
        raise ClientSettingError(key, f"the store cannot be read: {error.strerror}") from error
    if data.startswith(_JCEKS):
        raise ClientSettingError(key, f"it is a JCEKS store, which cannot be read here; {_CONVERT.format('JCEKS')}")
    if data.startswith(_BKS):
        raise ClientSettingError(key, f"it is a BKS store, which cannot be read here; {_CONVERT.format('BKS')}")
    if data.lstrip().startswith(b"-----BEGIN"):
        raise ClientSettingError(key, f"it is a PEM file; set ssl.{which}.type=PEM")
    return data


def _from_jks(data: bytes, java: Mapping[str, str], which: Which, password: str | None) -> Store:
    location = f"ssl.{which}.location"
    try:
        store = jks.read_jks(data, password or None)
    except jks.WrongPassword as error:
        raise ClientSettingError(f"ssl.{which}.password", str(error)) from error
    except jks.JksError as error:
        raise ClientSettingError(location, str(error)) from error
    trusted = [*store.trusted.values(), *(key.chain[0] for key in store.keys if key.chain)]
    if which == "truststore" or not store.keys:
        return Store("", "", _certificates(trusted))
    own = bool(java.get("ssl.key.password"))
    of_key = "ssl.key.password" if own else "ssl.keystore.password"
    if not java.get(of_key):
        raise ClientSettingError(of_key, "the private key is encrypted, and there is no password for it")
    try:
        private = store.keys[0].private_key(java[of_key])
    except jks.WrongPassword as error:
        advice = "" if own else "; set ssl.key.password if the key has one of its own"
        raise ClientSettingError(of_key, f"{error}{advice}") from error
    except jks.JksError as error:
        raise ClientSettingError(location, str(error)) from error
    return Store(_pem("PRIVATE KEY", private), _certificates(store.keys[0].chain), _certificates(trusted))


def _from_pkcs12(data: bytes, java: Mapping[str, str], which: Which, password: str | None) -> Store:
    location = f"ssl.{which}.location"
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12
    except ImportError as error:
        raise ClientSettingError(location, "a PKCS#12 store needs: pip install cryptography; or use PEM") from error
    try:
        content = pkcs12.load_pkcs12(data, password.encode() if password else None)
    except ValueError as error:
        raise ClientSettingError(
            location, f"it is not a PKCS#12 or JKS store, or ssl.{which}.password is wrong"
        ) from error
    others = "".join(each.certificate.public_bytes(Encoding.PEM).decode() for each in content.additional_certs)
    private = own = ""
    if content.key:
        private = content.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    if content.cert:
        own = content.cert.certificate.public_bytes(Encoding.PEM).decode() + others
    return Store(private, own, others)


def _certificates(der: Iterable[bytes]) -> str:
    return "".join(ssl.DER_cert_to_PEM_cert(one) for one in der)


def _pem(label: str, der: bytes) -> str:
    text = base64.encodebytes(der).decode().replace("\n", "")
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])
