"""Updates by script and pipelines that change documents, on OpenSearch 3: this build has painless and processors."""

from collections.abc import Callable, Iterator

import pytest

from connect import DataError
from tests.integration.connectors.elasticsearch.sink_fixtures import Target
from tests.servers.http_gate import Answer, HttpGate, said
from tests.servers.opensearch import OpenSearch3Server

pytestmark = pytest.mark.slow

ADD = "ctx._source.total = (ctx._source.total == null ? 0 : ctx._source.total) + params.doc.n"


@pytest.fixture(scope="module")
def server(cannot_have) -> Iterator[OpenSearch3Server]:
    from connect.jvm.jars import JarsUnavailable
    from connect.jvm.java import JavaNotFound

    try:
        started = OpenSearch3Server()
    except (JarsUnavailable, JavaNotFound) as error:
        cannot_have("OpenSearch 3", error)
    yield started
    started.close()


@pytest.fixture
def target(server: OpenSearch3Server) -> Iterator[Target]:
    found = Target(server)
    yield found
    server.drop(f"{found.topic}*")


def test_a_script_changes_documents_and_makes_those_that_are_missing(target: Target) -> None:
    config = {"write_method": "script", "script_source": ADD, "script_upsert": "script", "batch_size": "3"}
    with target.run(**config) as sink:
        sink.put(*(target.record({"n": n}, str(n % 2)) for n in range(20)))
        sink.commit()
        assert target.documents() == {"0": {"total": 90}, "1": {"total": 100}}


@pytest.mark.parametrize(("upsert", "found"), [("document", {"n": 5}), ("none", None)])
def test_a_document_that_is_missing(target: Target, upsert: str, found: object) -> None:
    target.server.request("PUT", f"/{target.topic}/_doc/a", {"total": 1})
    with target.run(write_method="script", script_source=ADD, script_upsert=upsert) as sink:
        sink.put(target.record({"n": 2}, "a"), target.record({"n": 5}, "b"))
        sink.commit()
        documents = target.documents()
    assert documents["a"] == {"total": 3}
    assert documents.get("b") == found


def test_a_script_may_be_stored_in_the_cluster(target: Target) -> None:
    target.server.request("PUT", "/_scripts/add", {"script": {"lang": "painless", "source": ADD}})
    with target.run(write_method="script", script_id="add", script_upsert="script") as sink:
        sink.put(target.record({"n": 2}, "a"), target.record({"n": 5}, "a"))
        sink.commit()
        assert target.documents() == {"a": {"total": 7}}


def test_a_script_that_fails_is_told_with_its_reason(target: Target) -> None:
    policy = {"errors.tolerance": "all", "errors.log.enable": "true"}
    config = {"write_method": "script", "script_source": ADD, "script_upsert": "script"}
    with target.run(**config, **policy) as sink:
        sink.put(target.record({"n": 2}, "a"), target.record({"m": 1}, "b"), target.record({"n": 3}, "a"))
        sink.commit()
        assert target.documents() == {"a": {"total": 5}}
        ((record, error),) = sink.errant
        assert record.key == "b"
        assert isinstance(error, DataError)
        assert "failed to execute script" in str(error)


def test_scripts_that_were_not_run_are_run_once(target: Target) -> None:
    """A request that the cluster refuses as a whole is made again; what a script did is not done twice by that."""
    left = [2]

    def rule(_: str, path: str, body: bytes, forward: Callable[[], Answer]) -> Answer:
        if path.startswith("/_bulk") and left[0]:
            left[0] -= 1
            return said(429, "rejected_execution_exception", "full")
        return forward()

    config = {"write_method": "script", "script_source": ADD, "script_upsert": "script"}
    with HttpGate(target.server.url) as gate:
        gate.rule = rule
        with target.run(connection_url=gate.url, **config) as sink:
            sink.put(*(target.record({"n": 1}, "a") for _ in range(30)))
            sink.commit()
            assert target.documents() == {"a": {"total": 30}}


def test_a_pipeline_changes_documents_and_may_refuse_one(target: Target) -> None:
    processors = [
        {"set": {"field": "seen", "value": True}},
        {"fail": {"if": "ctx.n > 1", "message": "too many"}},
    ]
    target.server.request("PUT", f"/_ingest/pipeline/{target.topic}", {"processors": processors})
    policy = {"errors.tolerance": "all", "errors.log.enable": "true"}
    with target.run(pipeline=target.topic, **policy) as sink:
        sink.put(target.record({"n": 1}, "a"), target.record({"n": 2}, "b"))
        sink.commit()
        assert target.documents() == {"a": {"n": 1, "seen": True}}
        ((record, error),) = sink.errant
        assert record.key == "b"
        assert "too many" in str(error)
