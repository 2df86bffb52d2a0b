"""Elasticsearch with security: TLS and users with passwords. This build cannot make API keys, only refuse them."""

import base64
import datetime as dt
import hashlib
import ipaddress
import os
import shutil
import ssl
import urllib.request
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.servers.elasticsearch import ElasticsearchServer
from tests.servers.own_process import not_root

USER = "tester"
PASSWORD = "of-the-tester"
#: A user who may look, and nothing else.
READER = "reader"
STORE_PASSWORD = "of-the-store"
_ROUNDS = 10_000


class SecureElasticsearch(ElasticsearchServer):
    """See `ElasticsearchServer`. Speaks https only, with a certificate for 127.0.0.1.

    Attributes:
        authority: a PEM file with the certificate that is to be trusted.
        store: the same as PKCS#12, with `STORE_PASSWORD`.
    """

    def __init__(self) -> None:
        super().__init__(
            **{
                "xpack.security.enabled": "true",
                "xpack.security.http.ssl.enabled": "true",
                "xpack.security.http.ssl.key": "http.key",
                "xpack.security.http.ssl.certificate": "http.crt",
                "xpack.security.authc.api_key.enabled": "true",
            }
        )

    @property
    def url(self) -> str:
        return super().url.replace("http:", "https:")

    @property
    def authority(self) -> Path:
        return self.folder / "config" / "authority.pem"

    @property
    def store(self) -> Path:
        return self.folder / "config" / "authority.p12"

    def open(self, request: urllib.request.Request) -> Any:
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        request.add_header("Authorization", f"Basic {login}")
        return urllib.request.urlopen(request, timeout=60, context=ssl.create_default_context(cafile=self.authority))

    def _initialise(self) -> None:
        super()._initialise()
        config = self.folder / "config"
        (config / "users").write_text("".join(f"{user}:{_hash(PASSWORD)}\n" for user in (USER, READER)))
        (config / "users_roles").write_text(f"superuser:{USER}\nviewing:{READER}\n")
        (config / "roles.yml").write_text(
            "viewing:\n  cluster: [monitor]\n"
            "  indices:\n  - names: ['*']\n    privileges: [read, view_index_metadata]\n"
        )
        self._make_certificates(config)
        if as_user := not_root():
            for path in config.iterdir():
                shutil.chown(path, as_user["user"], as_user["group"])

    def _make_certificates(self, config: Path) -> None:
        authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority of a test")])
        authority = _certificate(issuer, issuer, authority_key, authority_key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        node = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "node")])
        own = _certificate(node, issuer, key, authority_key).add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        signed = authority.sign(authority_key, hashes.SHA256())
        pem = serialization.Encoding.PEM
        self.authority.write_bytes(signed.public_bytes(pem))
        (config / "http.crt").write_bytes(own.sign(authority_key, hashes.SHA256()).public_bytes(pem))
        (config / "http.key").write_bytes(
            key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        from cryptography.hazmat.primitives.serialization import pkcs12

        self.store.write_bytes(
            pkcs12.serialize_java_truststore(
                [pkcs12.PKCS12Certificate(signed, b"authority")],
                serialization.BestAvailableEncryption(STORE_PASSWORD.encode()),
            )
        )


def _certificate(name: x509.Name, issuer: x509.Name, key: Any, authority_key: Any) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
    )


def _hash(password: str) -> str:
    """As the users file of Elasticsearch has it."""
    salt = os.urandom(32)
    made = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ROUNDS, 32)
    return f"{{PBKDF2}}{_ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(made).decode()}"
