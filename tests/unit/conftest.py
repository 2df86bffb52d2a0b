"""What unit tests of several rooms share."""

import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest


class Clock:
    """A clock that stands until a test moves it."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def authority(tmp_path: Path) -> tuple[str, ssl.SSLContext]:
    """An authority and its certificate for 127.0.0.1: the authority's file, and the server's side of it.

    Neither names the issuer's key, and the authority's limits are not critical: so is what many made for themselves.
    Java takes it.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.datetime.now(datetime.UTC)

    def signed(name: str, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType) -> bytes:
        subject, issuer = (x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, each)]) for each in (name, "ca"))
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(extension, critical=False)
            .sign(issuers_key, hashes.SHA256())
        )
        return made.public_bytes(serialization.Encoding.PEM)

    issuers_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    ca, server = tmp_path / "ca.pem", tmp_path / "server.pem"
    ca.write_bytes(signed("ca", issuers_key, x509.BasicConstraints(ca=True, path_length=None)))
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    server.write_bytes(signed("worker", key, address) + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server)
    return str(ca), context
