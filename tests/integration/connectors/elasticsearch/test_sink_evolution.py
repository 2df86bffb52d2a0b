"""Records against the mapping of their index, on real clusters: added to, left out, refused, left to the cluster."""

from typing import Any

import pytest

from connect import ConnectError, Schema, Type, schema
from tests.integration.connectors.elasticsearch.sink_fixtures import Target, target

__all__ = ["target"]

OLD = Schema.struct({"id": schema.INT32, "name": schema.STRING})
TOLERANT = {"errors.tolerance": "all", "errors.log.enable": "true"}
QUARANTINE = {**TOLERANT, "schema.evolution.on.mismatch": "quarantine"}
#: By what is wrong with a record: its schema, its value, and what is said.
UNFIT = {
    "new": (Schema.struct({"id": schema.INT32, "new": schema.STRING}), {"id": 2, "new": "x"}, 'no field "new"'),
    "wide": (Schema.struct({"id": schema.INT64}), {"id": 2**40}, "its value does not fit"),
    "text": (Schema.struct({"id": schema.STRING}), {"id": "2"}, "is of type string"),
    "inner": (
        Schema.struct({"id": schema.INT32, "at": Schema.struct({"more": schema.INT32})}),
        {"id": 2, "at": {"more": 1}},
        'no field "at"',
    ),
}


def mapped(target: Target) -> dict[str, Any]:
    """The type of each field of the index."""
    found = target.server.request("GET", f"/{target.topic}/_mapping")[target.topic]["mappings"]["properties"]
    return {name: field.get("type", "object") for name, field in found.items()}


def make_index(target: Target) -> None:
    """The index as records of OLD make it, with one document."""
    with target.run() as sink:
        sink.put(target.record({"id": 0, "name": "a"}, "0", OLD))
        sink.commit()
    assert mapped(target) == {"id": "integer", "name": "text"}


@pytest.mark.parametrize("wrong", UNFIT)
def test_a_record_that_does_not_fit_goes_where_on_mismatch_says(target: Target, wrong: str) -> None:
    other, value, why = UNFIT[wrong]
    make_index(target)
    records = [target.record(value, "1", other), target.record({"id": 3, "name": "c"}, "2", OLD)]
    with target.run(**QUARANTINE) as sink:
        sink.put(*records)
        sink.commit()
        ((bad, error),) = sink.errant
    assert (bad.original_offset, why in str(error)) == (0, True), error
    with pytest.raises(ConnectError, match=why):  # noqa: SIM117
        with target.run(**TOLERANT, **{"schema.evolution.on.mismatch": "fail"}) as sink:
            sink.put(*records)
    assert set(target.documents()) == {"0", "2"}
    assert mapped(target) == {"id": "integer", "name": "text"}


def test_what_is_not_written_is_the_clusters_matter_by_default(target: Target) -> None:
    make_index(target)
    with target.run() as sink:
        sink.put(target.record({"id": 1, "new": "x"}, "1", UNFIT["new"][0]))
        sink.put(target.record({"id": "2"}, "2", UNFIT["text"][0]))
        sink.commit()
    assert set(target.documents()) == {"0", "1", "2"}
    assert mapped(target)["new"] == "text"


def test_a_new_field_is_mapped_by_its_schema_before_the_cluster_guesses(target: Target) -> None:
    make_index(target)
    inner = Schema.struct({"small": schema.INT16, "day": schema.OPTIONAL_STRING})
    newer = Schema.struct({"id": schema.INT32, "size": Schema(Type.INT8), "at": inner})
    newest = Schema.struct({"id": schema.INT32, "at": Schema.struct({"small": schema.INT16, "ratio": schema.FLOAT32})})
    with target.run(**QUARANTINE, **{"schema.evolution": "add"}) as sink:
        sink.put(
            target.record({"id": 1, "size": 3, "at": {"small": 5, "day": "today"}}, "1", newer),
            target.record({"id": 2, "at": {"small": 1, "ratio": 0.5}}, "2", newest),
            target.record({"id": "none"}, "3", UNFIT["text"][0]),
        )
        sink.commit()
        assert [record.original_offset for record, _ in sink.errant] == [2]
    assert mapped(target) == {"id": "integer", "name": "text", "size": "byte", "at": "object"}
    found = target.server.request("GET", f"/{target.topic}/_mapping")[target.topic]["mappings"]["properties"]
    types = {name: field["type"] for name, field in found["at"]["properties"].items()}
    assert types == {"small": "short", "day": "text", "ratio": "float"}
    assert target.documents()["2"] == {"id": 2, "at": {"small": 1, "ratio": 0.5}}


def test_unknown_fields_are_left_out_where_that_is_said(target: Target) -> None:
    make_index(target)
    newer = Schema.struct({"id": schema.INT32, "new": schema.STRING, "name": schema.OPTIONAL_STRING})
    with target.run(**{"schema.evolution.unknown.fields": "ignore", "schema.evolution.on.mismatch": "fail"}) as sink:
        sink.put(target.record({"id": 1, "new": "x", "name": "b"}, "1", newer), target.record({"free": True}, "2"))
        sink.commit()
    assert target.documents()["1"] == {"id": 1, "name": "b"}
    assert target.documents()["2"] == {"free": True}  # without a schema nothing is compared


def test_a_field_that_somebody_else_added_is_found(target: Target) -> None:
    make_index(target)
    other, value, _ = UNFIT["new"]
    with target.run(**QUARANTINE) as sink:
        sink.put(target.record({"id": 1, "name": "b"}, "1", OLD))
        target.server.request("PUT", f"/{target.topic}/_mapping", {"properties": {"new": {"type": "keyword"}}})
        sink.put(target.record(value, "2", other))
        sink.commit()
        assert sink.errant == []
    assert target.documents()["2"] == value
