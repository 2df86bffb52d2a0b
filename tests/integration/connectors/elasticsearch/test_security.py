"""TLS, logins and privileges, on an Elasticsearch that has them."""

from collections.abc import Iterator

import pytest

from connect import ConfigError, ConnectError
from connect.testing import SinkRun
from connectors.elasticsearch.cluster import Cluster, OpenSearchOptions, failure
from connectors.elasticsearch.sink import ElasticsearchSinkConnector
from tests.servers.elasticsearch_secure import PASSWORD, READER, STORE_PASSWORD, USER, SecureElasticsearch
from tests.servers.http_gate import HttpGate

pytestmark = pytest.mark.slow

LOGIN = {"connection.username": USER, "connection.password": PASSWORD}
TLS = "elastic.https.ssl."


@pytest.fixture(scope="module")
def server(cannot_have) -> Iterator[SecureElasticsearch]:
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound

    try:
        started = SecureElasticsearch()
    except (JarsUnavailable, JavaNotFound) as error:
        cannot_have("Elasticsearch", error)
    yield started
    started.close()


@pytest.fixture
def pem(server: SecureElasticsearch) -> dict[str, str]:
    return {f"{TLS}truststore.type": "PEM", f"{TLS}truststore.location": str(server.authority)}


def written(server: SecureElasticsearch, config: dict[str, str]) -> bool:
    """Whether a document comes through."""
    given = {"connection.url": server.url, "key.ignore": "true", "max.retries": "1", "retry.backoff.ms": "1", **config}
    server.drop("test")
    sink = SinkRun(ElasticsearchSinkConnector, given, timeout=30).start()
    sink.put({"n": 1})
    sink.commit()
    return server.documents("test") == {"test+0+0": {"n": 1}}


def test_a_pem_file_says_whom_to_trust(server: SecureElasticsearch, pem: dict[str, str]) -> None:
    assert written(server, {**LOGIN, **pem, "elastic.security.protocol": "SSL"})


def test_a_store_says_whom_to_trust(server: SecureElasticsearch) -> None:
    store = {f"{TLS}truststore.location": str(server.store), f"{TLS}truststore.password": STORE_PASSWORD}
    assert written(server, {**LOGIN, **store, f"{TLS}truststore.type": "PKCS12"})
    with pytest.raises(ConfigError, match=r"elastic\.https\.ssl\.truststore\..* wrong") as raised:
        written(server, {**LOGIN, **store, f"{TLS}truststore.password": "hush"})
    assert "hush" not in str(raised.value)


def test_a_certificate_that_is_not_trusted_is_said(server: SecureElasticsearch) -> None:
    with pytest.raises(ConnectError, match=r"TLS failed: certificate verify failed.* Check the ssl\.\* keys"):
        written(server, LOGIN)


def test_the_client_of_opensearch_speaks_tls_as_well(server: SecureElasticsearch) -> None:
    """Against this server, as the build of OpenSearch has no security: what is tested is the client's side."""

    def version(**tls: str) -> str:
        config = {"connection.url": server.url, **LOGIN, **{key.replace("_", "."): value for key, value in tls.items()}}
        cluster = Cluster(OpenSearchOptions.parse(config))
        try:
            return cluster.version()
        finally:
            cluster.close()

    assert version(ssl_truststore_type="PEM", ssl_truststore_location=str(server.authority)).startswith("8.")
    of_aivens = {"connection_ssl_truststore_type": "PEM", "connection_ssl_truststore_location": str(server.authority)}
    assert version(**of_aivens).startswith("8.")
    assert version(trust_all_certificates="true").startswith("8.")
    with pytest.raises(Exception, match="certificate verify failed") as raised:
        version()
    assert failure(raised.value).sentence.startswith("TLS failed: certificate verify failed")


def test_https_goes_through_a_proxy(server: SecureElasticsearch, pem: dict[str, str]) -> None:
    with HttpGate(server.url) as gate:
        proxy = {"proxy.host": "127.0.0.1", "proxy.port": str(gate.port)}
        login = {"proxy.username": "me", "proxy.password": "hush"}
        assert written(server, {**LOGIN, **pem, **proxy, **login})
        assert {headers["proxy-authorization"] for headers in gate.seen} == {"Basic bWU6aHVzaA=="}
        with pytest.raises(ConnectError, match="certificate verify failed"):
            written(server, {**LOGIN, **proxy})


def test_http_where_https_is_spoken_is_said(server: SecureElasticsearch) -> None:
    with pytest.raises(ConnectError, match="cannot be reached"):
        written(server, {**LOGIN, "connection.url": server.url.replace("https", "http")})


@pytest.mark.parametrize(
    "login",
    [{**LOGIN, "connection.password": "hush"}, {"connection.api.key": "aHVzaDpodXNo"}, {}],
    ids=["password", "API key", "none"],
)
def test_who_is_not_known_is_told_at_once(
    server: SecureElasticsearch, pem: dict[str, str], login: dict[str, str]
) -> None:
    with pytest.raises(ConnectError, match=r"401 security_exception: .*Check connection\.username") as raised:
        written(server, {**login, **pem})
    assert "hush" not in str(raised.value)
    assert "aHVzaDpodXNo" not in str(raised.value)


def test_a_privilege_that_is_missing_is_named(server: SecureElasticsearch, pem: dict[str, str]) -> None:
    with pytest.raises(ConnectError, match=r"403 security_exception: .*unauthorized for user \[reader\].*grant it"):
        written(server, {**LOGIN, "connection.username": READER, **pem})
