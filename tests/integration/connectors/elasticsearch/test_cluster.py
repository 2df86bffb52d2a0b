"""Requests to real clusters, and what their errors are said to mean."""

import pytest

from connect.ports import free_port
from connectors.elasticsearch.cluster import (
    Cluster,
    ElasticsearchOptions,
    OpenSearchOptions,
    failure,
    item_failure,
)
from tests.servers.elasticsearch import ElasticsearchServer
from tests.servers.opensearch import OpenSearchServer
from tests.servers.search_server import SearchServer

pytestmark = pytest.mark.slow

Keys = ElasticsearchOptions | OpenSearchOptions


@pytest.fixture(params=["elasticsearch", "opensearch"])
def server(request: pytest.FixtureRequest) -> SearchServer:
    found: SearchServer = request.getfixturevalue(request.param)
    return found


def keys_of(server: SearchServer) -> type[Keys]:
    return OpenSearchOptions if isinstance(server, OpenSearchServer) else ElasticsearchOptions


def cluster(options: type[Keys], url: str, **config: str) -> Cluster:
    keys = {name.replace("_", "."): value for name, value in config.items()}
    return Cluster(options.parse({"connection.url": url, **keys}))


@pytest.mark.parametrize("compression", ["false", "true"])
def test_documents_are_written_and_found(server: SearchServer, compression: str):
    asked = cluster(keys_of(server), server.url, connection_compression=compression)
    body = b"".join(b'{"index":{"_index":"notes","_id":"%d"}}\n{"n":%d}\n' % (n, n) for n in range(5))
    try:
        assert asked.bulk(body, params={"refresh": "true"}) == []
        hits = asked.search({"query": {"term": {"n": 3}}}, index="notes")["hits"]["hits"]
        assert [hit["_source"] for hit in hits] == [{"n": 3}]
        point = asked.open_point_in_time("notes")
        seen = asked.search({"pit": {"id": point, "keep_alive": "1m"}, "sort": ["_doc"], "size": 10})
        assert {hit["_id"] for hit in seen["hits"]["hits"]} == {"0", "1", "2", "3", "4"}
        asked.close_point_in_time(point)
        assert asked.exists("/notes")
        assert not asked.exists("/nothing")
        assert asked.version()[0] in "289"
    finally:
        asked.close()
        server.drop("notes")


def test_items_that_fail_say_which_and_why(server: SearchServer):
    asked = cluster(keys_of(server), server.url)
    server.request("PUT", "/typed", {"mappings": {"properties": {"n": {"type": "integer"}}}})
    lines = b'{"index":{"_index":"typed","_id":"1"}}\n{"n":1}\n{"index":{"_index":"typed","_id":"2"}}\n{"n":"x"}\n'
    try:
        good, bad = asked.bulk(lines)
    finally:
        asked.close()
        server.drop("typed")
    assert good["index"] == {"status": 201}
    found = item_failure(bad["index"]["status"], bad["index"]["error"])
    assert (found.kind, found.passing) == ("malformed", False)
    assert "failed to parse field [n] of type [integer]" in found.sentence


def test_what_is_not_there_is_missing(server: SearchServer):
    asked = cluster(keys_of(server), server.url)
    with pytest.raises(Exception, match=r"404|index_not_found|NotFound") as raised:
        asked.search({}, index="nothing")
    asked.close()
    found = failure(raised.value)
    assert (found.kind, found.passing) == ("missing", False)
    assert "no such index [nothing]" in found.sentence


@pytest.mark.parametrize("options", [ElasticsearchOptions, OpenSearchOptions])
def test_a_cluster_that_is_away_may_come_back(options: type[Keys]):
    asked = cluster(options, f"http://127.0.0.1:{free_port()}")
    with pytest.raises(Exception, match=r"(?i)connection") as raised:
        asked.bulk(b'{"index":{"_index":"a"}}\n{}\n')
    asked.close()
    found = failure(raised.value)
    assert (found.kind, found.passing) == ("unreachable", True)
    assert found.sentence == (
        "It cannot be reached: [Errno 111] Connection refused. Check connection.url and the network."
    )


def test_elasticsearch_is_told_from_others(opensearch: OpenSearchServer):
    asked = cluster(ElasticsearchOptions, opensearch.url)
    with pytest.raises(Exception, match="not Elasticsearch") as raised:
        asked.version()
    asked.close()
    assert failure(raised.value) == (
        "refused",
        False,
        "It answers, and is not Elasticsearch. For OpenSearch there is OpenSearchSinkConnector.",
    )


def test_a_node_that_is_away_is_passed_over(elasticsearch: ElasticsearchServer):
    asked = cluster(ElasticsearchOptions, f"http://127.0.0.1:{free_port()},{elasticsearch.url}")
    outcomes = []
    for _ in range(6):
        try:
            outcomes.append(asked.version()[:2])
        except Exception as error:
            outcomes.append(failure(error).kind)
    asked.close()
    assert outcomes.count("unreachable") <= 1
    assert outcomes.count("8.") >= 5
