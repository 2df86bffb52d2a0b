"""The sink's task, with answers in place of a cluster's."""

from collections.abc import Callable

import orjson
import pytest

from connect import Schema, SinkRecord, schema
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


def sink(monkeypatch: pytest.MonkeyPatch, answers: Answers, **config: str) -> SinkRun:
    monkeypatch.setattr("connectors.elasticsearch.cluster.client._link", lambda _: Link(answers))
    given = {key.replace("_", "."): value for key, value in config.items()}
    return SinkRun(ElasticsearchSinkConnector, {"connection.url": "http://h:1", "key.ignore": "true", **given})


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
