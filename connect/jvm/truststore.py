"""The machine's certificates for a JVM that downloads.

Python's tools use a PEM bundle from REQUESTS_CA_BUNDLE or SSL_CERT_FILE; Java knows neither, and behind a company's
proxy it trusts nobody. A PKCS12 store made from the same bundle solves that.
"""

import hashlib
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from connect.jvm.cache import cache_path

# Java wants a password on a store; it protects nothing, the certificates are public.
PASSWORD = "changeit"  # noqa: S105
_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"


def jvm_options() -> list[str]:
    """The `-D` options that make a JVM trust what this machine's bundle trusts.

    Empty when no bundle is named, or when `cryptography`, which writes the store, is not installed.
    """
    bundle = _bundle()
    if bundle is None:
        return []
    try:
        store = truststore(bundle)
    except ImportError:
        return []
    return [
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=PKCS12",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    ]


def truststore(bundle: Path) -> Path:
    """A PKCS12 store with the certificates of a PEM bundle, cached under the bundle's hash."""
    pem = bundle.read_bytes()
    store = cache_path("truststores") / f"{hashlib.sha256(pem).hexdigest()[:16]}.p12"
    if not store.exists():
        store.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=store.parent, delete=False) as file:
            file.write(_pkcs12(pem))
        Path(file.name).replace(store)
    return store


def _bundle() -> Path | None:
    for variable in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        named = os.environ.get(variable)
        if named and Path(named).is_file():
            return Path(named)
    return None


def _pkcs12(pem: bytes) -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

    # A bundle may list a certificate twice; two entries of a store may not share a name.
    unique = {}
    with warnings.catch_warnings():
        # Old certificates break rules that came after them. They are the machine's choice, not ours to report.
        warnings.simplefilter("ignore")
        for block in _blocks(pem):
            try:
                certificate = x509.load_pem_x509_certificate(block)
            except ValueError:
                continue  # one that cannot be read is one less to trust
            unique[certificate.fingerprint(SHA256())] = certificate
    entries = [PKCS12Certificate(each, print_.hex().encode()) for print_, each in unique.items()]
    return serialize_java_truststore(entries, BestAvailableEncryption(PASSWORD.encode()))


def _blocks(pem: bytes) -> Iterator[bytes]:
    """Each certificate of a bundle, with its first and last line."""
    at = 0
    while (begin := pem.find(_BEGIN, at)) >= 0 and (end := pem.find(_END, begin + len(_BEGIN))) >= 0:
        at = end + len(_END)
        yield pem[begin:at]
