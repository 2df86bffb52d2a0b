"""A broker with one listener for TLS and SASL, beside the plain one; certificates made for it; users alice and bob."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
    serialize_key_and_certificates,
)
from cryptography.x509.oid import NameOID

from connect.kafka.broker.embedded import ensure_running
from connect.ports import free_port

PASSWORD = "of the stores"
JAAS = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class SecureBroker:
    """Where it listens with TLS and SASL, and with TLS where clients need a certificate.

    The folder of stores: trust.pem, trust.p12, client.pem, client.p12.
    """

    bootstrap_servers: str
    mutual: str
    stores: Path

    def settings(self, mechanism: str, user: str, password: str, **more: str) -> dict[str, str]:
        """A worker's settings for it. Underscores in further ones stand for dots."""
        module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{JAAS}.{module} required username="{user}" password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.stores / "trust.pem"),
            **{key.replace("_", "."): value for key, value in more.items()},
        }


def start_secure_broker(data: Path, stores: Path) -> SecureBroker:
    """Start one; whoever does stops it by its folder of data."""
    stores.mkdir()
    _make_stores(stores)
    plain, secure, mutual, controller = (free_port() for _ in range(4))
    listener = "listener.name.secure"
    clients = f"PLAINTEXT://127.0.0.1:{plain},SECURE://127.0.0.1:{secure},MUTUAL://127.0.0.1:{mutual}"
    running = ensure_running(
        data,
        port=plain,
        settings={
            "listeners": f"{clients},CONTROLLER://127.0.0.1:{controller}",
            # The same key once more, and the last one counts: the embedded broker finds its port by the first.
            "advertised\\.listeners": clients,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL,MUTUAL:SSL",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(stores / "broker.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(stores / "trust.pem"),
            f"{listener}.ssl.client.auth": "requested",
            "listener.name.mutual.ssl.client.auth": "required",
            f"{listener}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            f"{listener}.plain.sasl.jaas.config": f'{JAAS}.plain.PlainLoginModule required user_alice="wonder";',
            f"{listener}.scram-sha-512.sasl.jaas.config": f"{JAAS}.scram.ScramLoginModule required;",
        },
    )
    admin = AdminClient({"bootstrap.servers": running.bootstrap_servers})
    bob = UserScramCredentialUpsertion("bob", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"builder")
    admin.alter_user_scram_credentials([bob])["bob"].result(30)
    return SecureBroker(f"127.0.0.1:{secure}", f"127.0.0.1:{mutual}", stores)


def _make_stores(folder: Path) -> None:
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("the authority", authority_key.public_key(), "the authority", authority_key)
    (folder / "trust.pem").write_bytes(authority.public_bytes(Encoding.PEM))
    encryption = BestAvailableEncryption(PASSWORD.encode())
    trusted = [PKCS12Certificate(authority, b"authority")]
    (folder / "trust.p12").write_bytes(serialize_java_truststore(trusted, encryption))
    for name in ("broker", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(name, key.public_key(), "the authority", authority_key)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / f"{name}.pem").write_bytes(private + certificate.public_bytes(Encoding.PEM))
        store = serialize_key_and_certificates(name.encode(), key, certificate, [authority], encryption)
        (folder / f"{name}.p12").write_bytes(store)


def _certificate(
    name: str, key: ec.EllipticCurvePublicKey, issuer: str, issuer_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    today = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=1))
        .not_valid_after(today + dt.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=name == issuer, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
