"""Records that cannot be written become rows of a table of their own, each once, and cost no other record."""

import json
from typing import Any

import pyarrow as pa
import pytest

VALUE = {"id": pa.int64(), "text": pa.string()}
FAILURE = {
    "stage": "VALUE_CONVERTER",
    "class": "connect.converters.JsonConverter",
    "exception": "connect.errors.DataError",
    "message": "no JSON",
    "trace": "Traceback ...",
    "key": b"k",
    "value": b"{",
    "headers": [{"key": "h", "value": b"1"}],
}


def writer(tables: Any, app_id: str = "connect/c/000001-aa/q", **keys: str) -> Any:
    keys = {"errors.deadletter.table": tables.path("dead"), "errors.tolerance": "all", **keys}
    return tables.writer(app_id, **keys)


def places(tables: Any) -> list[tuple[str, int, int]]:
    return [(row["topic"], row["partition"], row["offset"]) for row in tables.read("dead")]


@pytest.mark.promise("P5", "P10")
def test_what_was_given_up_is_a_row_of_the_other_table(tables: Any) -> None:
    records = [
        {"value": {"id": 1, "text": "a"}},
        {"value": None, "failure": FAILURE, "topic": "t", "partition": 2, "offset": 7},
        {"value": None},
    ]
    batch = tables.batch(VALUE, records)
    writer(tables)(batch, 0)
    writer(tables)(batch, 0)
    assert tables.read() == [{"id": 1, "text": "a"}]
    (dead,) = tables.read("dead")
    assert {name: dead[name] for name in FAILURE} == FAILURE
    assert (dead["connector"], dead["application"], dead["batch"]) == ("c", "connect/c/000001-aa/q", 0)
    assert (dead["topic"], dead["partition"], dead["offset"]) == ("t", 2, 7)
    assert dead["timestamp"] is not None


@pytest.mark.slow
def test_the_table_is_made_when_something_is_to_be_in_it(tables: Any, simple: Any) -> None:
    writer(tables)(tables.batch(VALUE, simple((1, "a"))), 0)
    assert not (tables.folder / "dead").exists()


@pytest.mark.slow
def test_a_batch_of_failures_alone_is_no_loss(tables: Any) -> None:
    batch = tables.batch(VALUE, [{"value": None, "failure": FAILURE}])
    writer(tables, table=tables.path("${topic}"))(batch, 0)
    assert places(tables) == [("t", 0, 0)]


@pytest.mark.slow
@pytest.mark.promise("P5", "P10")
def test_records_that_do_not_fit_are_quarantined(tables: Any, simple: Any) -> None:
    tables.writer()(tables.batch(VALUE, simple((1, "a"))), 0)
    quarantining = writer(tables, schema__evolution__on__mismatch="quarantine", schema__evolution="none")
    kinds = {"id": pa.string(), "text": pa.string(), "more": pa.int64()}
    records = [
        {"value": {"id": None, "text": "fits", "more": None}},
        {"value": {"id": "x", "text": "b", "more": None}},
        {"value": {"id": None, "text": "c", "more": 5}},
        {"value": None, "failure": FAILURE},
    ]
    for _ in range(2):
        quarantining(tables.batch(kinds, records), 1)
    assert tables.read() == [{"id": 1, "text": "a"}, {"id": None, "text": "fits"}]
    dead = tables.read("dead")
    assert [(row["offset"], row["stage"]) for row in dead] == [
        (1, "TASK_PUT"),
        (2, "TASK_PUT"),
        (3, "VALUE_CONVERTER"),
    ]
    assert json.loads(dead[0]["value"]) == {"id": "x", "text": "b"}
    assert 'The column "id" is of type bigint, and the value is of type string.' in dead[0]["message"]
    assert 'no column "more"' in dead[1]["message"]


@pytest.mark.slow
def test_without_quarantine_a_record_that_does_not_fit_is_an_error(tables: Any, simple: Any) -> None:
    tables.writer()(tables.batch(VALUE, simple((1, "a"))), 0)
    with pytest.raises(Exception, match="Allow more with schema.evolution"):
        writer(tables)(tables.batch({"id": pa.string()}, [{"value": {"id": "x"}}]), 1)


@pytest.mark.slow
def test_keys_with_null_and_records_without_a_table_are_dead_letters(tables: Any) -> None:
    key = {"id": pa.int64()}
    records = [
        {"key": {"id": 1}, "value": {"id": 1, "text": "de"}},
        {"key": None, "value": {"id": 2, "text": "de"}},
        {"key": {"id": 3}, "value": {"id": 3, "text": "../.."}},
        {"key": {"id": 4}, "value": {"id": 4, "text": None}},
    ]
    upserting = writer(tables, mode="upsert", table=tables.path("in_${field}"), table__field="text")
    for _ in range(2):
        upserting(tables.batch(VALUE, records, key), 0)
    assert tables.read("in_de") == [{"id": 1, "text": "de"}]
    assert places(tables) == [("t", 0, 1), ("t", 0, 2), ("t", 0, 3)]


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_a_batch_that_comes_again_to_a_stricter_table_loses_nothing(tables: Any) -> None:
    """The dead letters of the first time are written, the rows are not; then the table is replaced by another."""
    path = tables.path()
    tables.spark.sql(f"CREATE TABLE delta.`{path}` (id bigint, text string) USING delta")
    kinds = {"id": pa.string(), "text": pa.string()}
    records = [{"value": {"id": "x", "text": None}}, {"value": {"id": None, "text": "y"}}]
    quarantining = writer(tables, schema__evolution__on__mismatch="quarantine", schema__evolution="none")
    failing = writer(tables, schema__evolution__on__mismatch="quarantine", schema__evolution="none")
    failing._transaction = lambda *_: (_ for _ in ()).throw(OSError("killed"))
    with pytest.raises(OSError, match="killed"):
        failing(tables.batch(kinds, records), 0)
    assert places(tables) == [("t", 0, 0)]
    theirs = tables.spark.sql("SELECT CAST(NULL AS bigint) AS id, 1 AS text LIMIT 0")
    theirs.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    quarantining(tables.batch(kinds, records), 0)
    assert tables.read() == []
    assert places(tables) == [("t", 0, 0), ("t", 0, 1)]
