"""Requests to a cluster, without one."""

from typing import Any

import pytest

from connect import ConnectError
from connect.http import basic
from connectors.elasticsearch.cluster import Cluster, ElasticsearchOptions, OpenSearchOptions
from connectors.elasticsearch.cluster.keys import ProductOptions
from tests.servers.rest_api import Answer, rest_api


def cluster(answer: bytes) -> Cluster:
    """One that answers so."""
    made = Cluster(OpenSearchOptions.parse({"connection.url": "http://nobody.invalid:9200"}))

    class Link:
        def send(self, *_: Any) -> bytes:
            return answer

        def close(self) -> None:
            pass

    made._link = Link()
    return made


def test_a_bulk_request_has_succeeded_where_the_answer_says_so() -> None:
    assert cluster(b'{"errors":false}').bulk(b"x\n") == []
    assert cluster(b'{ "errors": false }').bulk(b"x\n") == []
    failed = [{"index": {"status": 429, "error": {"type": "x"}}}]
    assert cluster(b'{"errors":true,"items":[{"index":{"status":429,"error":{"type":"x"}}}]}').bulk(b"x\n") == failed


@pytest.mark.promise("P1")
@pytest.mark.parametrize(
    "answer", [b"", b"<html>", b"{}", b'{"message":"try again later"}', b"[]", b"null", b'{"errors":true}']
)
def test_any_other_answer_to_a_bulk_request_is_no_success(answer: bytes) -> None:
    """Of a gateway in front of the cluster."""
    with pytest.raises(ConnectError, match="does not say whether it succeeded"):
        cluster(answer).bulk(b"x\n")


@pytest.mark.parametrize("password", ["pässwörd", "пароль"])
@pytest.mark.parametrize("options", [OpenSearchOptions, ElasticsearchOptions])
def test_a_password_may_have_any_letters(options: type[ProductOptions], password: str) -> None:
    with rest_api() as server:
        server.script = [Answer(200, {"X-Elastic-Product": "Elasticsearch"}, b"{}")]
        login = {"connection.username": "me", "connection.password": password}
        made = Cluster(options.parse({"connection.url": server.url, **login}))
        made.request("GET", "/")
        made.close()
        assert server.requests[0].headers["authorization"] == basic(f"me:{password}")
