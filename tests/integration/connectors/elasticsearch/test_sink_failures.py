"""What goes wrong: refused documents and versions, nodes, networks, full queues. Nothing is lost (P1, P5, P7)."""

import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from connect import ConnectError, DataError, Header, Headers, RetriableError, SinkRecord, TopicPartition
from connect.ports import free_port
from connect.testing import SinkRun
from tests.integration.connectors.elasticsearch.sink_fixtures import Target, only_elasticsearch, target
from tests.servers.elasticsearch import ElasticsearchServer
from tests.servers.http_gate import Answer, HttpGate, said
from tests.servers.opensearch import OpenSearchServer
from tests.support.waiting import until

__all__ = ["only_elasticsearch", "target"]

pytestmark = pytest.mark.slow

POLICY = {"errors.tolerance": "all", "errors.log.enable": "true"}


@pytest.fixture
def gate(only_elasticsearch: Target) -> Iterator[HttpGate]:
    with HttpGate(only_elasticsearch.server.url) as opened:
        yield opened


def numbers(target: Target, count: int, start: int = 0) -> list[SinkRecord]:
    return [target.record({"n": n}, str(n)) for n in range(start, start + count)]


def typed(target: Target) -> None:
    """An index that takes whole numbers only."""
    target.server.request("PUT", f"/{target.topic}", {"mappings": {"properties": {"n": {"type": "integer"}}}})


@pytest.mark.promise("P5")
@pytest.mark.parametrize("behavior", ["default", "report", "ignore", "warn"])
def test_a_document_that_is_refused_costs_no_other(target: Target, behavior: str) -> None:
    typed(target)
    with target.run(behavior_on_malformed_documents=behavior, **POLICY) as sink:
        sink.put(target.record({"n": 1}, "1"), target.record({"n": "x"}, "2"), target.record({"n": 3}, "3"))
        sink.commit()
        assert sorted(target.documents()) == ["1", "3"]
        assert sink.committed == {next(iter(sink.committed)): 3}
        ((record, error),) = sink.errant
        assert record.original_offset == 1
        assert "failed to parse field [n] of type [integer]" in str(error)
        assert f"{target.topic}-0@1" in str(error)


@pytest.mark.promise("P8")
def test_what_is_said_of_a_document_quotes_nothing_of_it(target: Target) -> None:
    kinds = ("integer", "byte", "long", "float", "date", "boolean", "ip", "geo_point", "integer_range", "date_range")
    properties = {kind: {"type": kind} for kind in kinds} | {"object": {"properties": {"n": {"type": "long"}}}}
    target.server.request("PUT", f"/{target.topic}", {"mappings": {"properties": properties}})
    values = ["hush-98765", {"n": "hush"}, ["hush-98765"], 98765.5, 98765 * 10**20, "98765e400", True]
    documents = [{"first": "hush", name: value} for name in properties for value in values]
    with target.run(key_ignore="true", **POLICY) as sink:
        sink.put(*map(target.record, documents))
        sink.commit()
    said = [str(error) for _, error in sink.errant]
    assert len(said) > len(documents) / 2
    assert [each for each in said if "hush" in each or "98765" in each] == []


@pytest.mark.parametrize("config", [{"behavior_on_malformed_documents": "fail", **POLICY}, {}])
def test_a_document_that_is_refused_fails_the_task_where_nobody_wants_it(
    target: Target, config: dict[str, str]
) -> None:
    typed(target)
    sink = target.run(**config).start()
    sink.put(target.record({"n": 1}, "1"), target.record({"n": "x"}, "2"))
    with pytest.raises(DataError, match=rf"{target.topic}: {target.topic}-0@1: 400 .*failed to parse field"):
        sink.commit()
    assert sink.committed == {}


@pytest.mark.promise("P5")
def test_records_that_cannot_be_documents_are_found(target: Target) -> None:
    with target.run(**POLICY) as sink:
        sink.put(
            target.record({"n": 1}, "1"),
            target.record([1], "2"),
            target.record({"n": 3}, None),
            target.record("no json", "4"),
            target.record('{"n": 5}', "5"),
            target.record({"n": 6}, {"no": "id"}),
        )
        sink.commit()
        assert target.documents() == {"1": {"n": 1}, "5": {"n": 5}}
        assert [record.original_offset for record, _ in sink.errant] == [1, 2, 3, 5]
    with target.run(drop_invalid_message="true") as sink:
        sink.put(target.record([1], "2"))
        sink.commit()
        assert sink.committed


@pytest.mark.promise("P5")
def test_a_record_that_spoils_its_request_is_found(target: Target) -> None:
    """The clusters refuse the whole request then."""
    with target.run(external_version_header="v", **POLICY) as sink:

        def record(n: int, key: str, version: int = 1) -> SinkRecord:
            return target.record({"n": n}, key, headers=Headers([Header("v", version)]))

        sink.put(*(record(n, str(n)) for n in range(50)), record(50, "x" * 513), record(51, "51", -7), record(52, "52"))
        sink.commit()
        assert len(target.documents()) == 51
        assert [record.original_offset for record, _ in sink.errant] == [50, 51]
        assert "id" in str(sink.errant[0][1])
        assert "version" in str(sink.errant[1][1])


@pytest.mark.parametrize("behavior", ["ignore", "report", "fail"])
def test_an_older_version(target: Target, behavior: str) -> None:
    target.server.request("PUT", f"/{target.topic}/_doc/1?version=9&version_type=external", {"n": "newer"})
    with target.run(behavior_on_version_conflict=behavior, **POLICY) as sink:
        sink.put(target.record({"n": 1}, "1"), target.record({"n": 2}, "2"))
        if behavior == "fail":
            with pytest.raises(DataError, match="version conflict"):
                sink.commit()
        else:
            sink.commit()
            assert len(sink.errant) == (behavior == "report")
            assert target.documents() == {"1": {"n": "newer"}, "2": {"n": 2}}


def test_an_index_that_is_blocked_is_said(target: Target) -> None:
    target.server.request("PUT", f"/{target.topic}", {"settings": {"index.blocks.write": True}})
    sink = target.run().start()
    sink.put(*numbers(target, 2))
    with pytest.raises(ConnectError, match=r"403 cluster_block_exception: .*make room on its disks, or lift the block"):
        sink.commit()
    assert sink.committed == {}


def test_a_cluster_that_is_away_is_waited_for_and_then_said(target: Target) -> None:
    sink = target.run(connection_url=f"http://127.0.0.1:{free_port()}").start()
    with pytest.raises(ConnectError, match=r"cannot be reached: .*refused.* Given up after 2 retries"):
        sink.put(*numbers(target, 1))
    assert sink.retries == 2


@pytest.mark.promise("P1", "P10")
def test_a_node_that_dies_and_comes_back_has_everything() -> None:
    server = ElasticsearchServer()
    try:
        target = Target(server)
        with target.run(max_retries="60", retry_backoff_ms="100") as sink:
            sink.put(*numbers(target, 500))
            sink.commit()
            server.kill()
            starting = threading.Timer(0.5, server.start)
            starting.start()
            sink.put(*numbers(target, 500, 500))
            sink.commit()
            starting.join()
            assert server.count(target.topic) == 1000
    finally:
        server.close()


def once(answer: Callable[[Callable[[], Answer]], Answer], times: int = 1) -> Callable[..., Answer]:
    """A rule for the first bulk requests."""
    left = [times]

    def rule(_: str, path: str, body: bytes, forward: Callable[[], Answer]) -> Answer:
        if not path.startswith("/_bulk") or not left[0]:
            return forward()
        left[0] -= 1
        return answer(forward)

    return rule


def lose(forward: Callable[[], Answer]) -> Answer:
    forward()
    return Answer(0, b"", {})


@pytest.mark.promise("P1")
@pytest.mark.parametrize(
    "answer",
    [
        lambda _: said(429, "es_rejected_execution_exception", "queue capacity"),
        lambda _: said(503, "unavailable_shards_exception", "primary shard is not active"),
        lambda _: Answer(502, b"<html>Bad Gateway</html>", {"Content-Type": "text/html"}),
        lambda _: Answer(0, b"", {}),
        lose,
    ],
    ids=["429", "503", "502 of a proxy", "cut", "answer lost"],
)
@pytest.mark.parametrize("method", ["insert", "upsert"])
def test_what_passes_is_done_again(
    only_elasticsearch: Target, gate: HttpGate, answer: Callable[[Callable[[], Answer]], Answer], method: str
) -> None:
    target = only_elasticsearch
    gate.rule = once(answer, 2)
    with target.run(connection_url=gate.url, write_method=method) as sink:
        sink.put(*numbers(target, 100))
        sink.commit()
        assert target.documents() == {str(n): {"n": n} for n in range(100)}
        assert sink.metric("elasticsearch_errors_total") == 2


def test_what_does_not_pass_in_time_fails_the_task(only_elasticsearch: Target, gate: HttpGate) -> None:
    gate.rule = once(lambda _: said(429, "es_rejected_execution_exception", "queue capacity"), 99)
    sink = only_elasticsearch.run(connection_url=gate.url).start()
    sink.put(*numbers(only_elasticsearch, 10))
    with pytest.raises(ConnectError, match=r"429 es_rejected.*too much to do.* Given up after 2 retries"):
        sink.commit()
    assert sink.committed == {}


def test_single_documents_that_are_throttled_are_sent_again_in_the_order_of_their_keys(
    only_elasticsearch: Target, gate: HttpGate
) -> None:
    target = only_elasticsearch

    def rule(method: str, path: str, body: bytes, forward: Callable[[], Answer]) -> Answer:
        if not path.startswith("/_bulk") or len(bodies) > 2:
            return forward()
        bodies.append(body)  # every third is refused, without having been done
        lines = body.splitlines(keepends=True)
        pairs = [lines[at] + lines[at + 1] for at in range(0, len(lines), 2)]
        refused = {"update": {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "full"}}}
        done = {"update": {"status": 200}}
        kept = [pair for at, pair in enumerate(pairs) if at % 3]
        target.server.request("POST", "/_bulk", b"".join(kept))
        items = [done if at % 3 else refused for at in range(len(pairs))]
        answer = json.dumps({"errors": True, "items": items}).encode()
        return Answer(200, answer, {"Content-Type": "application/json", "X-Elastic-Product": "Elasticsearch"})

    bodies: list[bytes] = []
    gate.rule = rule
    with target.run(connection_url=gate.url, write_method="upsert", linger_ms="200") as sink:
        sink.put(*(target.record({"last": n, f"f{n}": n}, str(n % 4)) for n in range(40)))
        sink.commit()
        found = target.documents()
    assert {id_: document["last"] for id_, document in found.items()} == {str(n): 36 + n for n in range(4)}
    assert all(len(document) == 11 for document in found.values())


def test_what_is_too_large_for_the_cluster_is_sent_in_parts(only_elasticsearch: Target, gate: HttpGate) -> None:
    target = only_elasticsearch

    def rule(_: str, path: str, body: bytes, forward: Callable[[], Answer]) -> Answer:
        return Answer(413, b"", {}) if len(body) > 3000 else forward()

    gate.rule = rule
    with target.run(connection_url=gate.url, **POLICY) as sink:
        sink.put(*numbers(target, 200), target.record({"n": "x" * 5000}, "long"))
        sink.commit()
        assert len(target.documents()) == 200
        ((record, error),) = sink.errant
        assert record.key == "long"
        assert "413" in str(error)
        assert "bulk.size.bytes" in str(error)


@pytest.mark.promise("P7")
def test_a_slow_cluster_stops_consumption_and_loses_nothing(only_elasticsearch: Target, gate: HttpGate) -> None:
    target = only_elasticsearch
    going = threading.Event()

    def rule(_: str, path: str, body: bytes, forward: Callable[[], Answer]) -> Answer:
        if path.startswith("/_bulk"):
            going.wait()
        return forward()

    gate.rule = rule
    config = {"max_buffered_records": "300", "batch_size": "50", "read_timeout_ms": "60000"}
    with target.run(connection_url=gate.url, max_in_flight_requests="2", **config) as sink:
        sink.put(*numbers(target, 200))
        sink.put(*numbers(target, 200, 200))
        with pytest.raises(RetriableError, match="is slower than records come: 400 wait") as raised:
            refused(sink, numbers(target, 200, 400))
        assert "Elasticsearch at" in str(raised.value)
        going.set()
        sink.deliver()
        sink.commit()
        assert target.server.count(target.topic) == 600
        assert gate.most <= 2


def refused(sink: SinkRun, records: list[SinkRecord]) -> None:
    """Put records that are refused for now."""
    sink.put(*records, tries=1)
    assert sink.retries
    batch_refused = sink._tasks[0].task.refused
    assert batch_refused is not None
    raise batch_refused


def test_a_cluster_that_never_takes_records_fails_the_task_in_time(only_elasticsearch: Target, gate: HttpGate) -> None:
    ending = threading.Event()

    def rule(_: str, path: str, body: bytes, forward: Callable[[], Answer]) -> Answer:
        if path.startswith("/_bulk"):
            ending.wait(30)
        return forward()

    gate.rule = rule
    config = {"flush_timeout_ms": "500", "read_timeout_ms": "60000"}
    sink = only_elasticsearch.run(connection_url=gate.url, **config).start()
    began = time.monotonic()
    sink.put(*numbers(only_elasticsearch, 10))
    with pytest.raises(ConnectError, match=r"has not taken 10 records within 0.5 s \(flush.timeout.ms\)"):
        sink.commit()
    ending.set()
    assert time.monotonic() - began >= 0.5
    assert sink.committed == {}


def test_requests_go_through_a_proxy(only_elasticsearch: Target, gate: HttpGate) -> None:
    target = only_elasticsearch
    proxy = {"proxy_host": "127.0.0.1", "proxy_port": str(gate.port), "proxy_username": "me", "proxy_password": "hush"}
    with target.run(**proxy) as sink:
        sink.put(*numbers(target, 3))
        sink.commit()
        assert len(target.documents()) == 3
    assert len(gate.seen) >= 2
    assert all(headers["proxy-authorization"] == "Basic bWU6aHVzaA==" for headers in gate.seen)


def test_an_api_key_is_sent(only_elasticsearch: Target, gate: HttpGate) -> None:
    with only_elasticsearch.run(connection_url=gate.url, connection_api_key="aHVzaDpodXNo") as sink:
        sink.put(*numbers(only_elasticsearch, 3))
        sink.commit()
    assert {headers["authorization"] for headers in gate.seen} == {"ApiKey aHVzaDpodXNo"}


def test_requests_are_signed_for_amazon(opensearch: OpenSearchServer) -> None:
    target = Target(opensearch)
    aws = {"aws.region": "eu-central-1", "aws.access_key_id": "AKID", "aws.secret_access_key": "hush"}
    with HttpGate(opensearch.url) as gate, target.run(connection_url=gate.url, **aws) as sink:
        sink.put(*numbers(target, 3))
        sink.commit()
        assert len(target.documents()) == 3
        for headers in gate.seen:
            assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKID/")
            assert "/eu-central-1/es/aws4_request" in headers["authorization"]


@pytest.mark.parametrize("product", ["elasticsearch", "opensearch"])
def test_requests_may_be_compressed(request: pytest.FixtureRequest, product: str) -> None:
    target = Target(request.getfixturevalue(product))
    with (
        HttpGate(target.server.url) as gate,
        target.run(connection_url=gate.url, connection_compression="true") as sink,
    ):
        sink.put(*numbers(target, 300))
        sink.commit()
        assert target.server.count(target.topic) == 300
        assert any(headers.get("content-encoding") == "gzip" for headers in gate.seen)


def test_partitions_that_are_lost_take_what_waits_with_them(only_elasticsearch: Target, gate: HttpGate) -> None:
    target = only_elasticsearch
    going = threading.Event()

    def rule(_: str, path: str, body: bytes, forward: Callable[[], Answer]) -> Answer:
        if path.startswith("/_bulk"):
            going.wait(30)
        return forward()

    gate.rule = rule
    config = {"batch_size": "10", "max_in_flight_requests": "1", "read_timeout_ms": "60000"}
    with target.run(connection_url=gate.url, **config) as sink:
        sink.put(*numbers(target, 100))
        sink.lose(*list(sink._tasks[0].consumer.assignment))
        going.set()
        until(lambda: target.server.count(target.topic), 30)
    assert target.server.count(target.topic) == 10


def test_partitions_that_stay_keep_what_waits(only_elasticsearch: Target, gate: HttpGate) -> None:
    target = only_elasticsearch
    going = threading.Event()

    def rule(_: str, path: str, body: bytes, forward: Callable[[], Answer]) -> Answer:
        if path.startswith("/_bulk"):
            going.wait(30)
        return forward()

    gate.rule = rule
    config = {"batch_size": "10", "max_in_flight_requests": "1", "read_timeout_ms": "60000", "key_ignore": "true"}
    with target.run(2, connection_url=gate.url, **config) as sink:
        for n in range(50):
            sink.put({"n": n}, partition=0)
            sink.put({"n": n}, partition=1)
        sink.lose(TopicPartition(target.topic, 0))
        going.set()
        sink.commit()
        assert sink.committed == {TopicPartition(target.topic, 1): 50}
        found = list(target.documents())
        assert len([id_ for id_ in found if id_.startswith(f"{target.topic}+1+")]) == 50
        assert len(found) < 100


# Rounds are far enough from each other; of two requests within one the second may be within a millisecond, or not.
@pytest.mark.parametrize(("idle", "connections"), [("60000", range(1, 2)), ("1", range(3, 9))])
def test_connections_that_were_idle_for_long_are_made_anew(
    only_elasticsearch: Target, gate: HttpGate, idle: str, connections: range
) -> None:
    config = {"max_connection_idle_time_ms": idle, "max_in_flight_requests": "1", "schema_ignore": "true"}
    with only_elasticsearch.run(connection_url=gate.url, **config) as sink:
        for n in range(3):
            sink.put(*numbers(only_elasticsearch, 2, n))
            sink.commit()
            time.sleep(0.01)  # longer than the shorter of the two
    assert gate.connections in connections
