"""Stores that Java's keytool wrote, read without Java, and opened by both client libraries and by listeners."""

import base64
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key

from connect.kafka.clients.java_rules import ClientSettingError
from connect.kafka.clients.jks import JksError, WrongPassword, read_jks
from connect.kafka.clients.settings import client_settings
from connect.kafka.clients.stores import read_store
from connect.kafka.clients.tls import client_tls_context, server_tls_context

STORE, KEY = "store-secret", "other-secret-ß"


@pytest.fixture(scope="session")
def stores(keytool: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """keys.jks with two keys and a certificate, one-password.jks, trust.jks, named.jks (PKCS#12 inside), old.jceks."""
    folder = tmp_path_factory.mktemp("stores")

    def make(store: str, alias: str, kind: str, algorithm: str, key: str = KEY) -> None:
        keytool(
            *("-genkeypair", "-keystore", folder / store, "-storetype", kind, "-alias", alias, "-dname", f"CN={alias}"),
            *("-keyalg", algorithm, "-validity", "2", "-ext", "san=ip:127.0.0.1", "-storepass", STORE, "-keypass", key),
        )

    make("keys.jks", "first", "JKS", "RSA")
    make("keys.jks", "zweiter schlüssel", "JKS", "EC")
    make("one-password.jks", "one", "JKS", "EC", STORE)
    make("named.jks", "inside", "PKCS12", "EC", STORE)
    make("old.jceks", "old", "JCEKS", "EC", STORE)
    keytool(
        *("-exportcert", "-keystore", folder / "keys.jks", "-alias", "first", "-storepass", STORE),
        *("-file", folder / "first.der"),
    )
    for store in ("keys.jks", "trust.jks"):
        keytool(
            *("-importcert", "-noprompt", "-keystore", folder / store, "-storetype", "JKS", "-alias", "trusted"),
            *("-file", folder / "first.der", "-storepass", STORE),
        )
    return folder


def settings(stores: Path, keystore: str = "keys.jks", **changes: str) -> dict[str, str]:
    return {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SSL",
        "ssl.truststore.location": str(stores / "trust.jks"),
        "ssl.truststore.password": STORE,
        "ssl.keystore.location": str(stores / keystore),
        "ssl.keystore.password": STORE,
        "ssl.key.password": KEY,
        **{key.replace("_", "."): value for key, value in changes.items()},
    }


def test_all_entries_are_read_and_keys_fit_their_certificates(stores):
    store = read_jks((stores / "keys.jks").read_bytes(), STORE)
    assert [key.alias for key in sorted(store.keys, key=lambda key: key.alias)] == ["first", "zweiter schlüssel"]
    for key in store.keys:
        private = load_der_private_key(key.private_key(KEY), None)
        public = x509.load_der_x509_certificate(key.chain[0]).public_key()
        raw = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        assert private.public_key().public_bytes(*raw) == public.public_bytes(*raw)
    assert store.trusted == {"trusted": (stores / "first.der").read_bytes()}


def test_wrong_passwords_are_told_apart_and_not_shown(stores):
    data = (stores / "keys.jks").read_bytes()
    with pytest.raises(WrongPassword, match="of the store is wrong, or the file was changed"):
        read_jks(data, "no")
    key = read_jks(data, None).keys[0]
    with pytest.raises(WrongPassword, match=f'of the key "{key.alias}" is wrong'):
        key.private_key(STORE)
    assert "_encrypted" not in repr(key)


@pytest.mark.parametrize("at", [9, 100, -30])
def test_a_store_that_was_changed_is_noticed(stores, at):
    data = bytearray((stores / "keys.jks").read_bytes())
    data[at] ^= 1
    with pytest.raises(JksError):
        read_jks(bytes(data), STORE)


def test_a_store_that_is_cut_off_anywhere_is_an_error_and_nothing_else(stores):
    data = (stores / "keys.jks").read_bytes()
    for length in range(0, len(data), 7):
        with pytest.raises(JksError):
            read_jks(data[:length], STORE)


@pytest.mark.parametrize("keystore", ["keys.jks", "one-password.jks", "named.jks"])
@pytest.mark.parametrize("type_", ["JKS", "PKCS12"])
def test_stores_open_in_both_libraries_and_listeners_whatever_their_type_says(stores, keystore, type_):
    java = settings(stores, keystore, ssl_keystore_type=type_, ssl_truststore_type=type_)
    if keystore != "keys.jks":
        del java["ssl.key.password"]
    Producer({**client_settings("producer", java).librdkafka, "log_level": 0})
    context = client_tls_context(java)
    assert context.cert_store_stats()["x509"] == 1
    server_tls_context(java | {"ssl.client.auth": "required"})


def test_what_is_handed_on_is_the_key_with_its_chain(stores):
    store = read_store(settings(stores, "one-password.jks", ssl_key_password=""), "keystore")
    assert (
        ssl.PEM_cert_to_DER_cert(store.chain)
        == read_jks((stores / "one-password.jks").read_bytes(), None).keys[0].chain[0]
    )
    body = "".join(store.private.split("\n")[1:-2])
    load_der_private_key(base64.b64decode(body), None)
    assert body not in repr(store)


def test_the_certificate_of_a_key_in_a_trust_store_is_trusted_as_in_java(stores):
    store = read_store({"ssl.truststore.location": str(stores / "one-password.jks")}, "truststore")
    assert ssl.PEM_cert_to_DER_cert(store.trusted)
    assert store.private == ""


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"ssl_keystore_password": "no"}, "ssl.keystore.password", "of the store is wrong"),
        ({"ssl_truststore_password": "no"}, "ssl.truststore.password", "of the store is wrong"),
        ({"ssl_key_password": "no"}, "ssl.key.password", "of the key .* is wrong"),
        ({"ssl_key_password": ""}, "ssl.keystore.password", "set ssl.key.password if the key has one of its own"),
        ({"ssl_keystore_location": "old.jceks"}, "ssl.keystore.location", "JCEKS"),
    ],
)
def test_what_is_wrong_with_a_store_is_said_with_its_key(stores, changes, key, message):
    java = settings(stores, **changes)
    if changes.get("ssl_keystore_location"):
        java["ssl.keystore.location"] = str(stores / changes["ssl_keystore_location"])
    for use in (lambda: client_settings("producer", java), lambda: client_tls_context(java)):
        with pytest.raises(ClientSettingError, match=message) as raised:
            use()
        assert raised.value.key == key
        assert STORE not in str(raised.value)
        assert KEY not in str(raised.value)
