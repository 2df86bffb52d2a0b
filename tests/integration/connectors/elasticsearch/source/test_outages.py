"""A cluster that goes away, refuses, or is slow: what to do is said, nothing is lost, and nothing comes twice."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from connect import ConnectError, RetriableError
from connect.ports import free_port
from connect.testing import SourceRun
from connectors.elasticsearch.source import ElasticsearchSourceConnector
from tests.integration.connectors.elasticsearch.source.conftest import Index, NewIndex, numbers
from tests.integration.connectors.elasticsearch.source.gate import Gate
from tests.servers.elasticsearch import ElasticsearchServer

pytestmark = pytest.mark.slow

TOO_MUCH = {"error": {"type": "es_rejected_execution_exception", "reason": "queue is full"}, "status": 429}


@pytest.fixture
def index(new_elasticsearch_index: NewIndex) -> Index:
    return new_elasticsearch_index(shards=1)


@pytest.fixture
def gate(index: Index) -> Iterator[Gate]:
    """In front of the index: what reads it goes through."""
    made = Gate(index.server)
    index.url = made.url
    yield made
    made.close()


def _fails(run: SourceRun, seconds: float = 30) -> ConnectError:
    """What the task fails with."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            run.poll()
        except ConnectError as error:
            return error
    raise AssertionError(f"it did not fail within {seconds:g} s")


@pytest.mark.promise("P1")
def test_a_cluster_that_is_killed_in_the_middle_costs_no_document(elasticsearch: Any) -> None:
    server = ElasticsearchServer()
    try:
        index = Index(server, n="long")
        index.numbered(0, 3000, text="x" * 500)
        server.request("POST", f"/{index.name}/_flush")
        with index.run(batch_max_rows="100", retry_backoff_ms="10", max_retries="1000", timeout=90) as run:
            run.poll_until(500)
            server.kill()
            for _ in range(5):
                run.poll()
            seen = len(run.records)
            assert seen < 3000
            assert run.metric("elasticsearch_errors_total") > 0
            server.start()
            run.poll_until(3000)
            run.poll_all()
            assert numbers(run) == list(range(3000))
            server.stop()
            run.poll()
            server.start()
            index.numbered(3000, 1)
            run.poll_until(3001)
    finally:
        server.close()


@pytest.mark.parametrize("more", [{}, {"incrementing_field_name": "n"}], ids=["numbers of shards", "field"])
def test_a_view_that_is_lost_is_opened_again_where_reading_is(new_index: NewIndex, more: dict[str, str]) -> None:
    index = new_index(n="long")
    index.numbered(0, 1000)
    with index.run(batch_max_rows="100", retry_backoff_ms="1", **more) as run:
        run.poll_until(300)
        view = run.task._reading[3]._view  # type: ignore[attr-defined]
        run.task._cluster.close_point_in_time(view)  # type: ignore[attr-defined]
        run.poll_until(1000)
        run.poll_all()
        assert numbers(run) == list(range(1000))


def test_an_index_that_is_deleted_while_it_is_read_fails_nothing(new_index: NewIndex) -> None:
    index = new_index()
    other = f"{index.name}-2"
    index.make(1, other)
    index.numbered(0, 1000)
    index.put(((f"o{n}", {"n": n}) for n in range(1000, 1010)), name=other)
    with index.run(batch_max_rows="10", retry_backoff_ms="1") as run:
        run.poll_until(30)
        index.server.drop(index.name)
        index.put([("late", {"n": 1010})], name=other)
        deadline = time.monotonic() + 30
        while 1010 not in numbers(run):
            assert time.monotonic() < deadline
            run.poll()
        assert [n for n in numbers(run) if n >= 1000] == list(range(1000, 1011))


def test_what_the_cluster_puts_off_is_asked_for_again(index: Index, gate: Gate) -> None:
    index.numbered(0, 300)
    turn = iter(range(10**6))
    gate.instead = lambda method, path: (429, TOO_MUCH) if next(turn) % 5 == 1 else None
    with index.run(batch_max_rows="50", retry_backoff_ms="1", max_retries="100", timeout=90) as run:
        run.poll_until(300)
        assert numbers(run) == list(range(300))
        assert run.metric("elasticsearch_errors_total") > 1


def test_after_as_many_tries_as_are_allowed_the_task_fails(index: Index, gate: Gate) -> None:
    index.numbered(0, 10)
    with index.run(retry_backoff_ms="1", max_retries="2") as run:
        run.poll_until(10)
        gate.instead = lambda method, path: (429, TOO_MUCH)
        error = _fails(run)
    assert f"Elasticsearch at {gate.url}: 429" in str(error)
    assert "Given up after 2 retries (max.retries)." in str(error)
    assert "\n" not in str(error)


def test_answers_in_part_are_none(index: Index, gate: Gate) -> None:
    index.numbered(0, 100)
    turn = iter(range(10**6))

    def change(path: str, answer: Any) -> Any:
        if path == "/_search" and next(turn) % 2:
            answer["_shards"]["failed"] = 1
            del answer["hits"]["hits"][1:]
        return answer

    gate.change = change
    with index.run(batch_max_rows="10", retry_backoff_ms="1", max_retries="100", timeout=60) as run:
        run.poll_until(100)
        assert numbers(run) == list(range(100))


def test_a_copy_that_was_not_refreshed_is_not_read(index: Index, gate: Gate) -> None:
    index.numbered(0, 10)
    refreshed = iter([1, 0])

    def change(path: str, answer: Any) -> Any:
        if "_refresh" in path:
            answer["_shards"]["failed"] = next(refreshed, 0)
        return answer

    gate.change = change
    with index.run(retry_backoff_ms="1") as run:
        run.poll()
        assert not any("_search" in path or "_pit" in path for path in gate.asked)
        run.poll_until(10)
        assert run.metric("elasticsearch_errors_total") == 1


def test_wrong_credentials(index: Index, gate: Gate) -> None:
    gate.user = ("reader", "right-one")
    index.numbered(0, 5)
    login = {"connection_username": "reader", "retry_backoff_ms": "1"}
    with index.run(connection_password="right-one", **login) as run:
        run.poll_until(5)
        gate.user = ("reader", "changed")
        index.numbered(5, 1)
        error = _fails(run)
    said = str(error)
    assert "401 security_exception: unable to authenticate user" in said
    assert "Check connection.username and connection.password" in said
    assert "right-one" not in said
    with pytest.raises(ConnectError, match="cannot be listed: 401") as raised:
        index.run(connection_password="right-one", **login).start()
    assert not isinstance(raised.value, RetriableError)


def test_a_privilege_that_is_missing(index: Index, gate: Gate) -> None:
    index.numbered(0, 5)
    reason = "action [indices:admin/refresh] is unauthorized for user [reader]"
    refusal = {"error": {"type": "security_exception", "reason": reason}, "status": 403}
    gate.instead = lambda method, path: (403, refusal) if "_refresh" in path else None
    with index.run() as run:
        error = _fails(run)
    assert f"{reason}. This user lacks a privilege: grant it. Or set refresh=false." in str(error)


def test_a_cluster_that_is_away_at_the_start(index: Index) -> None:
    config = {**index.config(), "connection.url": f"http://127.0.0.1:{free_port()}"}
    with pytest.raises(RetriableError, match="cannot be listed: It cannot be reached: .*Connection refused"):
        SourceRun(ElasticsearchSourceConnector, config).start()


def test_a_slow_cluster_is_waited_for_and_does_not_hold_up_the_end(index: Index, gate: Gate) -> None:
    index.numbered(0, 100)
    with index.run(batch_max_rows="40") as run:
        run.poll_until(1)
        gate.seconds = 2.5
        began = time.monotonic()
        while len(run.records) < 100:
            turn = time.monotonic()
            run.poll()
            assert time.monotonic() - turn < 10
            assert time.monotonic() - began < 60
        index.numbered(100, 1)
        run.begin_poll()
    gate.seconds = 0.0


@pytest.mark.parametrize("kind", ["text"])
def test_a_field_that_has_no_order(index: Index, kind: str) -> None:
    index.put([("a", {"n": 1, "name": "x"})])
    with index.run(incrementing_field_name="name") as run:
        assert "incrementing.field.name must be a date, a number or a keyword" in str(_fails(run))


def test_an_index_that_lacks_the_field_is_told_once(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    def told() -> int:
        return sum(f'The index {index.name} has no field "level"' in line for line in caplog.messages)

    index.put([("a", {"n": 1})])
    with index.run(incrementing_field_name="level") as run:
        until = time.monotonic() + 30
        while not told() and time.monotonic() < until:
            run.poll()
        index.put([("b", {"n": 2})])
        run.poll()
        index.put([("c", {"n": 3, "level": 1})])
        run.poll_until(1)
        assert [record.value["n"] for record in run.records] == [3]
    assert told() == 1


def test_an_index_without_source(index: Index) -> None:
    bare = f"{index.name}-bare"
    index.beside.add(bare)
    index.server.request("PUT", f"/{bare}", {"mappings": {"_source": {"enabled": False}}})
    index.put([("a", {"n": 1})], name=bare)
    with index.run() as run:
        assert f'index {bare}, shard 0: document "a" has no _source' in str(_fails(run))
