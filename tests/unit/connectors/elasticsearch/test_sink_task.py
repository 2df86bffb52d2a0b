"""The sink's task, with answers in place of a cluster's."""

import threading
from collections.abc import Callable
from typing import ClassVar

import orjson
import pytest

from connect import ConnectError, DataError, Schema, SinkRecord, TopicPartition, schema
from connect.testing import SinkRun
from connectors.elasticsearch.sink import ElasticsearchSinkConnector

Answers = Callable[[str, str], object]


class Link:
    """Answers requests as a function says: by method and path."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def send(self, method: str, target: str, body: bytes | None, *_: object) -> bytes:
        return orjson.dumps(self._answers(method, target.partition("?")[0]))

    def close(self) -> None:
        pass


def sink(monkeypatch: pytest.MonkeyPatch, answers: Answers, *, partitions: int = 1, **config: str) -> SinkRun:
    monkeypatch.setattr("connectors.elasticsearch.cluster.client._link", lambda _: Link(answers))
    given = {key.replace("_", "."): value for key, value in config.items()}
    given = {"connection.url": "http://h:1", "key.ignore": "true", **given}
    return SinkRun(ElasticsearchSinkConnector, given, partitions=partitions)


def test_a_record_that_does_not_fit_is_reported_once_where_a_request_for_another_index_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failures = [ConnectionError("away")] * 2

    def answers(method: str, path: str) -> object:
        if path == "/b" and failures:
            raise failures.pop()
        if path == "/_bulk":
            return {"errors": False}
        return {"a": {"mappings": {"properties": {"n": {"type": "long"}}}}}

    policy = {"schema_evolution": "none", "schema_evolution_on_mismatch": "quarantine"}
    with sink(monkeypatch, answers, topics="a,b", errors_tolerance="all", errors_log_enable="true", **policy) as run:
        wrong = SinkRecord("a", {"n": "x"}, Schema.struct({"n": schema.STRING}))
        run.put(wrong, SinkRecord("b", {"n": 1}, Schema.struct({"n": schema.INT64})))
        run.commit()
        assert (run.retries, [record.topic for record, _ in run.errant]) == (2, ["a"])


@pytest.mark.promise("P5")
@pytest.mark.parametrize("policy", [True, False])
def test_the_error_policy_has_what_drop_invalid_message_leaves_out(
    monkeypatch: pytest.MonkeyPatch, policy: bool
) -> None:
    config = {"errors_tolerance": "all", "errors_log_enable": "true"} if policy else {}
    with sink(monkeypatch, lambda *_: {"errors": False}, drop_invalid_message="true", **config) as run:
        run.put([1], {"n": 2})
        run.commit()
        assert [record.original_offset for record, _ in run.errant] == ([0] if policy else [])
        assert run.committed == {TopicPartition("test", 0): 2}


@pytest.mark.parametrize(
    ("current", "lost", "written"), [(0, True, 1), (7, True, 0), (0, False, 0)], ids=["its own", "newer", "earlier"]
)
def test_what_a_request_wrote_whose_answer_was_lost_is_no_conflict(
    monkeypatch: pytest.MonkeyPatch, current: int, lost: bool, written: int
) -> None:
    failures = [ConnectionError("reset by peer")] if lost else []
    reason = f"[k]: version conflict, current version [{current}] is higher or equal to the one provided [0]"
    error = {"type": "version_conflict_engine_exception", "reason": reason}

    def answers(method: str, path: str) -> object:
        if path == "/_bulk" and failures:
            raise failures.pop()
        return {"errors": True, "items": [{"index": {"status": 409, "error": error}}]} if path == "/_bulk" else {}

    policy = {"errors_tolerance": "all", "errors_log_enable": "true", "behavior_on_version_conflict": "report"}
    with sink(monkeypatch, answers, key_ignore="false", retry_backoff_ms="0", **policy) as run:
        run.put({"n": 1}, key="k")
        run.commit()
        run.put_nothing()
        assert run.metric("elasticsearch_records_written_total") == written
        assert len(run.errant) == 1 - written


@pytest.mark.promise("P1", "P5")
def test_what_waits_keeps_its_index_when_other_partitions_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is named by a field that documents lack."""
    going = threading.Event()

    def answers(method: str, path: str) -> object:
        if path == "/_bulk":
            assert going.wait(20)
            return {"errors": False}
        return {"t-acme": {"mappings": {"properties": {"n": {"type": "long"}}}}}

    names = {
        "topics": "t",
        "index_name_format": "${topic}-${value.tenant}",
        "schema_evolution_unknown_fields": "ignore",
    }
    one_by_one = {"batch_size": "1", "max_in_flight_requests": "1"}
    policy = {"errors_tolerance": "all", "errors_log_enable": "true"}
    kind = Schema.struct({"n": schema.INT64, "tenant": schema.STRING})
    with sink(monkeypatch, answers, partitions=2, **names, **one_by_one, **policy) as run:
        run.put(*(SinkRecord("t", {"n": n, "tenant": "acme"}, kind, partition=n % 2) for n in range(6)))
        run.lose(TopicPartition("t", 0))
        going.set()
        run.commit()
        assert (run.committed, run.errant) == ({TopicPartition("t", 1): 3}, [])
        assert run.metric("elasticsearch_records_written_total") in (3, 4)  # one of the other may be on its way


def test_a_null_is_ignored_where_the_value_would_say_its_index(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"index_name_format": "${value.tenant}", "behavior_on_null_values": "ignore"}
    with sink(monkeypatch, lambda *_: {"errors": False}, **config) as run:
        run.put(None, key="k")
        run.commit()
        assert run.errant == []


@pytest.mark.parametrize(
    ("config", "value", "key", "why"),
    [
        ({"index_name_format": "${value.at}"}, {"at": "a b"}, "k", "an index cannot be called 'a b': ' ' is not"),
        ({"index_name_format": "${value.at}"}, {"at": "\ud800"}, "k", r"'\ud800' is not allowed"),
        ({"index_name_format": "${topic}#1"}, {"at": 1}, "k", "'test#1': '#' is not allowed"),
        ({"key_ignore": "false"}, {"at": 1}, "\ud800", "a lone surrogate"),
        ({}, {"at": "\ud800"}, "k", "It cannot be written"),
    ],
)
def test_what_can_be_no_document_goes_to_the_error_policy_and_others_arrive(
    monkeypatch: pytest.MonkeyPatch, config: dict[str, str], value: object, key: str, why: str
) -> None:
    policy = {"errors_tolerance": "all", "errors_log_enable": "true"}
    with sink(monkeypatch, lambda *_: {"errors": False}, **policy, **config) as run:
        run.put({"at": "good"}, key="good")
        run.put(value, key=key)
        run.commit()
        assert why in str(run.errant[-1][1])
        good = 0 if "topic" in config.get("index_name_format", "") else 1
        assert run.metric("elasticsearch_records_written_total") == good


def test_a_schema_that_makes_no_mapping_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(Exception):
        status_code = 400
        info: ClassVar = {"error": {"type": "illegal_argument_exception", "reason": "field name cannot be empty"}}

    def answers(method: str, path: str) -> object:
        if method == "PUT":
            raise Refused
        return {"test": {"mappings": {}}}

    with sink(monkeypatch, answers) as run, pytest.raises(ConnectError, match="schema of the topic test: 400.*empty"):
        run.put(SinkRecord("test", {"": 1}, Schema.struct({"": schema.INT64})))


def test_a_topic_without_a_resource_is_told_which_key_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    mapped = {"external_resource_usage": "INDEX", "topic_to_external_resource_mapping": "other:things"}
    there = {"indices": [{"name": "things"}]}
    wrong = pytest.raises(DataError, match="the topic test: add it to topic.to.external.resource.mapping")
    with sink(monkeypatch, lambda *_: there, **mapped) as run, wrong:
        run.put({"n": 1})
