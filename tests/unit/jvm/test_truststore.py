"""The machine's certificates in the form that Java reads."""

import datetime

import pytest

from connect.jvm.truststore import PASSWORD, jvm_options, truststore

x509 = pytest.importorskip("cryptography.x509")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)


def certificate(name: str) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding

    key = generate_private_key(SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, SHA256())
    )
    return built.public_bytes(Encoding.PEM)


@pytest.fixture
def bundle(tmp_path):
    """Two certificates, one of them twice, and one that cannot be read."""
    one, two = certificate("one"), certificate("two")
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    path = tmp_path / "bundle.pem"
    path.write_bytes(b"# ours\n" + one + two + broken + one)
    return path


def test_java_reads_each_certificate_of_the_bundle_once(bundle, keytool):
    listed = keytool("-list", "-keystore", truststore(bundle), "-storetype", "PKCS12", "-storepass", PASSWORD)
    assert listed.count("trustedCertEntry") == 2


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_a_bundle_that_the_machine_names_is_given_to_java(bundle, monkeypatch, variable):
    monkeypatch.setenv(variable, str(bundle))
    assert jvm_options()[0] == f"-Djavax.net.ssl.trustStore={truststore(bundle)}"


def test_a_changed_bundle_makes_another_store(bundle):
    before = truststore(bundle)
    bundle.write_bytes(bundle.read_bytes() + certificate("three"))
    assert truststore(bundle) != before


def test_without_a_bundle_java_keeps_its_own(tmp_path, monkeypatch):
    assert jvm_options() == []
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    assert jvm_options() == []
