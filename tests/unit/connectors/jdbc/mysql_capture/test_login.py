"""What a server is logged in to with."""

from __future__ import annotations

import datetime as dt
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from connect import ConfigError
from connectors.jdbc.mysql_capture.login import connection_options

_KEYS = {"database.hostname": "db", "database.user": "me", "database.server.id": "7", "topic.prefix": "shop"}


@pytest.fixture
def client(tmp_path: Path) -> dict[str, str]:
    """A certificate and its key, which has a password."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = dt.datetime.now(dt.UTC)
    certificate = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    certificate = certificate.serial_number(1).not_valid_before(now).not_valid_after(now + dt.timedelta(days=1))
    made = certificate.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    (tmp_path / "cert.pem").write_bytes(made)
    secret = serialization.BestAvailableEncryption(b"of-the-key")
    written = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret)
    (tmp_path / "key.pem").write_bytes(written)
    return {"database.ssl.cert": str(tmp_path / "cert.pem"), "database.ssl.key": str(tmp_path / "key.pem")}


@pytest.mark.parametrize(
    ("mode", "verifies", "names"),
    [
        ("preferred", False, False),
        ("required", False, False),
        ("verify_ca", True, False),
        ("verify_identity", True, True),
    ],
)
def test_tls_is_as_its_mode_says(mode: str, verifies: bool, names: bool) -> None:
    options = connection_options({**_KEYS, "database.ssl.mode": mode})
    context = options["ssl"]
    assert (context.verify_mode == ssl.CERT_REQUIRED, context.check_hostname) == (verifies, names)
    assert options["tls_required"] is (mode != "preferred")


def test_without_tls_there_is_none() -> None:
    options = connection_options({**_KEYS, "database.ssl.mode": "disabled"})
    assert options["ssl_disabled"]
    assert "ssl" not in options


def test_the_key_of_a_certificate_may_have_a_password(client: dict[str, str]) -> None:
    connection_options({**_KEYS, **client, "database.ssl.key.password": "of-the-key"})
    for wrong in ({}, {"database.ssl.key.password": "another-secret"}):  # nobody is asked on the terminal
        with pytest.raises(ConfigError, match="files for TLS cannot be read") as refused:
            connection_options({**_KEYS, **client, **wrong})
        assert "secret" not in str(refused.value)


def test_a_password_is_what_it_is_in_utf_8() -> None:
    assert connection_options({**_KEYS, "database.password": "größe€"})["password"] == "größe€".encode()
