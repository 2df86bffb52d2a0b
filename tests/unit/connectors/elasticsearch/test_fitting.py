"""Records and the mapping of their index, without a cluster."""

from typing import Any

import pytest

from connect import Schema, SinkBatch, SinkRecord, schema
from connectors.elasticsearch.sink.fitting import Fitting
from connectors.elasticsearch.sink.keys import ElasticsearchSinkOptions


class Cluster:
    """Has one index, whose mapping is asked for."""

    def __init__(self, properties: dict[str, Any]) -> None:
        self._properties = properties
        self.changes: list[Any] = []

    def request(self, method: str, path: str, body: Any = None) -> Any:
        if method == "PUT":
            self.changes.append(body)
        return {"t": {"mappings": {"properties": self._properties}}}


@pytest.mark.parametrize(
    "policy",
    [
        {"schema.evolution": "none", "schema.evolution.unknown.fields": "ignore"},
        {"schema.evolution": "none", "schema.evolution.on.mismatch": "fail"},
        {"schema.evolution": "add"},
    ],
    ids=["ignore", "fail", "add"],
)
def test_a_field_whose_name_has_dots_is_the_one_within(policy: dict[str, str]) -> None:
    text = {"type": "text"}
    cluster: Any = Cluster({"a": {"properties": {"b": {"properties": {"c": text}}}}, "d.e": text})
    fitting = Fitting(ElasticsearchSinkOptions.parse({"connection.url": "http://h:1", **policy}), cluster)
    struct = Schema.struct(dict.fromkeys(("a.b.c", "d.e"), schema.OPTIONAL_STRING))
    value = {"a.b.c": "x", "d.e": "y"}
    batch = SinkBatch.of([SinkRecord("t", value, struct, offset=0)])
    for _ in range(2):
        assert fitting.fitted("t", "t", batch).settle(None).values.to_list() == [value]
    assert cluster.changes == []
