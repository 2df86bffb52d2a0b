"""The client of a schema registry at a real one: what is asked and remembered, logins, TLS, several addresses."""

import base64
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connect.converters.registry import (
    Reference,
    RegistryClient,
    RegistryNotFound,
    RegistryOptions,
    RegistryRefused,
    RegistrySchema,
    RegistryUnavailable,
)
from connect.errors import ConfigError, DataError, RetriableError
from connect.ports import free_port
from tests.integration.group.secure_broker import PASSWORD
from tests.support.java import to_jks

from .front import Front, running

ServerTls = Callable[[bool], ssl.SSLContext]

INNER = RegistrySchema("AVRO", '{"type":"record","name":"Inner","namespace":"x","fields":[{"name":"i","type":"int"}]}')
SECRET = "of alice"


def client_of(url: str, **settings: str) -> RegistryClient:
    """Underscores in settings stand for dots; pauses are short."""
    given = {key.replace("_", "."): value for key, value in settings.items()}
    raw = {"schema.registry.url": url, "retries.wait.ms": "10", "max.retries": "1", **given}
    return RegistryOptions.parse(raw).client()


def outer(subject: str) -> RegistrySchema:
    text = '{"type":"record","name":"Outer","namespace":"x","fields":[{"name":"a","type":"x.Inner"}]}'
    return RegistrySchema("AVRO", text, (Reference("x.Inner", subject, 1),))


def test_what_was_registered_is_found_by_id_version_and_content(registry: str, topic: str) -> None:
    client = client_of(registry)
    first = client.register(topic, INNER)
    found = client.lookup(topic, INNER)
    assert (found.id, found.version, found.schema) == (first, 1, INNER)
    assert client.latest(topic) == client.version(topic, 1) == found
    assert client.schema_by_id(first.number) == client_of(registry).schema_by_id(first.number, topic) == INNER


def test_what_a_schema_uses_comes_before_it(registry: str, topic: str) -> None:
    client = client_of(registry)
    client.register(f"{topic}-inner", INNER)
    client.register(f"{topic}-outer", outer(f"{topic}-inner"))
    uses = RegistrySchema(
        "AVRO",
        '{"type":"record","name":"Top","namespace":"x","fields":[{"name":"o","type":"x.Outer"}]}',
        (Reference("x.Outer", f"{topic}-outer", 1),),
    )
    number = client.register(topic, uses).number
    found = client_of(registry).referenced(client_of(registry).schema_by_id(number))
    assert list(found) == ["x.Inner", "x.Outer"]
    assert found["x.Inner"] == INNER


def test_each_thing_is_asked_for_once(registry: str, topic: str) -> None:
    with running(Front(registry)) as front:
        client = client_of(front.url)
        for _ in range(3):
            number = client.register(topic, INNER).number
            client.schema_by_id(number)
            client.lookup(topic, INNER)
            client.latest(topic)
            client.version(topic, 1)
        assert len(front.seen) == len(set(front.seen)) == 5


def test_the_latest_version_is_asked_for_again_after_its_time(registry: str, topic: str) -> None:
    with running(Front(registry)) as front:
        client = client_of(front.url, latest_cache_ttl_sec="0")
        client.register(topic, INNER)
        client.latest(topic)
        client.latest(topic)
        assert front.seen.count(f"GET /subjects/{topic}/versions/latest") == 2


def test_what_is_not_there_or_not_valid_is_an_error_of_the_record(registry: str, topic: str) -> None:
    client = client_of(registry)
    with pytest.raises(RegistryNotFound, match="40403"):
        client.schema_by_id(987654)
    with pytest.raises(RegistryNotFound, match=rf"{topic}.*40401"):
        client.latest(topic)
    with pytest.raises(RegistryRefused, match="42201"):
        client.register(topic, RegistrySchema("AVRO", '{"type":"recor"}'))
    assert issubclass(RegistryRefused, DataError)


def test_an_address_that_is_no_registry_is_said_to_be_wrong(registry: str) -> None:
    with pytest.raises(ConfigError, match="not a schema registry.*Is a path missing"):
        client_of(registry.partition("/apis")[0]).latest("x")


def test_a_registry_that_is_down_is_asked_again_later(registry: str, topic: str) -> None:
    port = free_port()
    client = client_of(f"http://127.0.0.1:{port}")
    with pytest.raises(RegistryUnavailable, match="Connection refused") as raised:
        client.register(topic, INNER)
    assert isinstance(raised.value, RetriableError)
    with running(Front(registry), port=port):
        assert once_it_answers(lambda: client.register(topic, INNER)).number > 0


def test_a_registry_that_is_busy_is_tried_again(registry: str, topic: str) -> None:
    with running(Front(registry, failures=2)) as front:
        assert client_of(front.url, max_retries="2").register(topic, INNER).number > 0
        front.failures = 5
        with pytest.raises(RegistryUnavailable, match="503"):
            client_of(front.url).register(topic, INNER)


def test_the_next_address_is_asked_when_one_does_not_answer_and_stays_the_first(registry: str, topic: str) -> None:
    with running(Front(registry)) as front:
        with running(Front(registry)) as first:
            client = client_of(f"{first.url},{front.url}")
            client.register(topic, INNER)
            assert (len(first.seen), len(front.seen)) == (1, 0)
        client.lookup(topic, INNER)
        assert len(front.seen) == 1
        with running(Front(registry), port=int(first.url.rpartition(":")[2])):
            client.latest(topic)
        assert len(front.seen) == 2


@pytest.mark.parametrize(
    "settings",
    [
        {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": f"alice:{SECRET}"},
        {"basic_auth_credentials_source": "USER_INFO", "schema_registry_basic_auth_user_info": f"alice:{SECRET}"},
        {
            "basic_auth_credentials_source": "SASL_INHERIT",
            "sasl_jaas_config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="alice" password="{SECRET}";',
        },
    ],
    ids=["USER_INFO", "USER_INFO with the prefix", "SASL_INHERIT"],
)
def test_a_login_is_shown(registry: str, topic: str, settings: dict[str, str]) -> None:
    wanted = "Basic " + base64.b64encode(f"alice:{SECRET}".encode()).decode()
    with running(Front(registry, authorization=wanted)) as front:
        assert client_of(front.url, **settings).register(topic, INNER).number > 0


def test_a_login_may_stand_in_the_address(registry: str, topic: str) -> None:
    wanted = "Basic " + base64.b64encode(b"alice:p/w@1").decode()
    with running(Front(registry, authorization=wanted)) as front:
        url = front.url.replace("//", "//alice:p%2Fw%401@")
        assert client_of(url).register(topic, INNER).number > 0


def test_a_token_is_shown(registry: str, topic: str) -> None:
    with running(Front(registry, authorization=f"Bearer {SECRET}")) as front:
        settings = {"bearer_auth_credentials_source": "STATIC_TOKEN", "bearer_auth_token": SECRET}
        assert client_of(front.url, **settings).register(topic, INNER).number > 0


def test_a_login_that_is_refused_is_an_error_of_the_configuration_that_shows_nothing_of_it(registry: str) -> None:
    with running(Front(registry, authorization="Basic other")) as front:
        url = front.url.replace("//", f"//alice:{SECRET.replace(' ', '%20')}@")
        with pytest.raises(ConfigError, match=r"refuses the login \(401\).*basic.auth.user.info") as raised:
            client_of(url).latest("x")
    assert "alice" not in str(raised.value)


@pytest.mark.parametrize("kind", ["PEM", "PKCS12", "JKS"])
def test_tls_with_a_client_certificate_from_stores_as_java_has_them(
    registry: str,
    topic: str,
    stores: Path,
    server_tls: ServerTls,
    kind: str,
    keytool: Callable[..., str],
) -> None:
    ending = {"PEM": "pem", "PKCS12": "p12", "JKS": "jks"}[kind]
    if kind == "JKS":
        to_jks(keytool, stores, ("trust", "client"), PASSWORD)
    tls = {
        **{f"schema_registry_ssl_{which}_type": kind for which in ("truststore", "keystore")},
        "schema_registry_ssl_truststore_location": str(stores / f"trust.{ending}"),
        "schema_registry_ssl_keystore_location": str(stores / f"client.{ending}"),
        **(
            {f"schema_registry_ssl_{which}_password": PASSWORD for which in ("truststore", "keystore")}
            if kind != "PEM"
            else {}
        ),
    }
    with running(Front(registry), server_tls(True)) as front:
        assert client_of(front.url, **tls).register(topic, INNER).number > 0


def test_tls_that_is_not_trusted_says_which_key_to_set(registry: str, stores: Path, server_tls: ServerTls) -> None:
    with (
        running(Front(registry), server_tls(False)) as front,
        pytest.raises(ConfigError, match=r"schema\.registry\.ssl\.truststore\.location.*not trusted"),
    ):
        client_of(front.url).latest("x")


def test_a_missing_client_certificate_says_which_key_to_set(registry: str, stores: Path, server_tls: ServerTls) -> None:
    trust = {
        "schema_registry_ssl_truststore_type": "PEM",
        "schema_registry_ssl_truststore_location": str(stores / "trust.pem"),
    }
    with (
        running(Front(registry), server_tls(True)) as front,
        pytest.raises(ConfigError, match=r"schema\.registry\.ssl\.keystore\.location"),
    ):
        client_of(front.url, **trust).latest("x")


def test_a_proxy_is_asked_for_the_registry(registry: str, topic: str) -> None:
    with running(Front("")) as proxy:  # a request to a proxy names the whole address
        host, _, port = proxy.url.removeprefix("http://").partition(":")
        client = client_of(registry, proxy_host=host, proxy_port=port)
        assert client.register(topic, INNER).number > 0
        assert proxy.seen == [f"POST {registry}/subjects/{topic}/versions"]


def test_schemas_are_found_by_guid(registry: str, topic: str) -> None:
    with running(Front(registry, guids=True)) as front:
        found = client_of(front.url).register(topic, INNER)
        assert found.guid == front.guid(found.number)
        assert client_of(front.url).schema_by_guid(front.guid(found.number)) == INNER
    with pytest.raises(RegistryNotFound, match="knows no schema by a GUID"):
        client_of(registry).schema_by_guid(front.guid(1))


def once_it_answers(ask: Callable[[], Any]) -> Any:
    """What it gives, as soon as the registry is not held to be down any more."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return ask()
        except RegistryUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
