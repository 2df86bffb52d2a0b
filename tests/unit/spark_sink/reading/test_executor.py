"""The executors' side of reading: records through converters and transformations into columns, and those that fail."""

import datetime as dt
from typing import Any

import pytest

from connect.data.schema import INT64, OPTIONAL_STRING, Schema
from connect.data.schema import STRING as TEXT
from connect.delivery import error_outputs
from connect.errors import SchemaError
from connect.pipeline import RecordError
from connect.pipeline.dead_letters import EncodedRecord
from spark_sink.reading import executor
from spark_sink.reading.plan import RowShape, SchemaChanged

from .conftest import JSON, STRING

ID = RowShape(Schema.struct({"id": INT64.as_optional()}))
ALL = {"errors_tolerance": "all"}
CAST = "org.apache.kafka.connect.transforms.Cast$Value"
QUARANTINE = {"schema_evolution_on_mismatch": "quarantine"}


def struct(**fields: Schema) -> RowShape:
    return RowShape(Schema.struct({name: schema.as_optional() for name, schema in fields.items()}))


def test_raw_records_lie_in_columns_as_they_lie_in_kafka(in_executor):
    headers = [None, [], [("a", b"1"), ("a", None)], None]
    found = in_executor.rows([b"x", None, b"", b"\xff"], keys=[b"k", None, b"", None], headers=headers)
    common = {"topic": "t", "partition": 3, "timestamp_type": "CreateTime"}
    assert found == [
        {**common, "offset": 0, "timestamp": 1_700_000_000_000, "key": b"k", "value": b"x", "headers": None},
        {**common, "offset": 1, "timestamp": 1_700_000_000_001, "key": None, "value": None, "headers": None},
        {**common, "offset": 2, "timestamp": 1_700_000_000_002, "key": b"", "value": b"",
         "headers": [{"key": "a", "value": b"1"}, {"key": "a", "value": None}]},
        {**common, "offset": 3, "timestamp": 1_700_000_000_003, "key": None, "value": b"\xff", "headers": None},
    ]  # fmt: skip


def test_values_are_rows_and_tombstones_are_null(in_executor):
    assert in_executor.rows([{"id": 1}, None, {"id": None}, {}], ID) == [
        {"_value": {"id": 1}}, {"_value": None}, {"_value": {"id": None}}, {"_value": {"id": None}}
    ]  # fmt: skip


def test_what_is_said_of_a_failed_record_has_no_secret(in_executor):
    cast = {"transforms": "c", "transforms_c_type": CAST, "transforms_c_spec": "n:int32"}
    shape = RowShape(ID.values, failures=True)
    (found,) = in_executor.rows([{"n": "of-s3cr3t-kind"}], shape, **ALL, **cast, ssl_key_password="s3cr3t")
    failure = found["_failure"]
    assert "of-[hidden]-kind" in failure["message"]
    assert "s3cr3t" not in failure["message"] + failure["trace"]


def test_transformations_have_run_and_drop_what_they_drop(in_executor):
    found = in_executor.rows(
        [{"id": 1, "secret": "x"}, None, {"id": 3}],
        struct(number=INT64, where=TEXT),
        transforms="rename,where,drop",
        transforms_rename_type="org.apache.kafka.connect.transforms.ReplaceField$Value",
        transforms_rename_exclude="secret",
        transforms_rename_renames="id:number",
        transforms_where_type="org.apache.kafka.connect.transforms.InsertField$Value",
        transforms_where_topic_field="where",
        transforms_drop_type="org.apache.kafka.connect.transforms.Filter",
        transforms_drop_predicate="tombstone",
        predicates="tombstone",
        predicates_tombstone_type="org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
    )
    assert found == [{"_value": {"number": 1, "where": "t"}}, {"_value": {"number": 3, "where": "t"}}]


def test_metadata_is_that_of_the_record_after_transformations_and_its_origin_where_it_was_read(in_executor):
    shape = RowShape(ID.values, metadata=True)
    (row,) = in_executor.rows(
        [{"id": 1}],
        shape,
        transforms="route",
        transforms_route_type="org.apache.kafka.connect.transforms.RegexRouter",
        transforms_route_regex="(.*)",
        transforms_route_replacement="$1-routed",
    )
    assert row == {
        "_topic": "t-routed",
        "_partition": 3,
        "_offset": 0,
        "_timestamp": dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC),
        "_origin": {"topic": "t", "partition": 3, "offset": 0},
        "_value": {"id": 1},
    }


def test_keys_are_rows_of_their_own(in_executor):
    shape = RowShape(ID.values, keys=Schema.struct({"name": OPTIONAL_STRING}), wrap_key="name")
    found = in_executor.rows([{"id": 1}, None], shape, keys=[b"a", None])
    assert found == [{"_key": {"name": "a"}, "_value": {"id": 1}}, {"_key": None, "_value": None}]


def test_values_that_are_no_structs_are_in_the_column_that_is_named_for_them(in_executor):
    shape = RowShape(Schema.struct({"line": OPTIONAL_STRING}), wrap="line")
    found = in_executor.rows([b"a", b"", None], shape, value_converter=STRING)
    assert found == [{"_value": {"line": "a"}}, {"_value": {"line": ""}}, {"_value": None}]


@pytest.mark.promise("P5")
def test_a_record_that_fails_is_named_where_errors_are_not_tolerated(in_executor):
    with pytest.raises(RecordError, match=r"^record t-3@2: value converter JsonConverter failed: .*errors\.tolerance"):
        in_executor.rows([{"id": 1}, {"id": 2}, b"{", {"id": 4}], ID)


@pytest.mark.promise("P5")
def test_records_that_fail_cost_no_other_where_errors_are_tolerated(in_executor):
    found = in_executor.rows([{"id": 1}, b"{", {"id": 3}, b"[", {"id": 5}], ID, **ALL)
    assert [row["_value"]["id"] for row in found] == [1, 3, 5]


@pytest.mark.promise("P5")
def test_records_that_fail_are_rows_where_that_is_wished(in_executor):
    shape = RowShape(ID.values, metadata=True, failures=True)
    headers = [None, [("h", b"1")], None]
    values, keys = [{"id": 1}, b"{", {"id": 3}], [None, b"k", None]
    found = in_executor.rows(values, shape, keys=keys, headers=headers, **ALL)
    assert [row["_value"] for row in found] == [{"id": 1}, {"id": 3}, None]
    assert [row["_failure"] for row in found[:2]] == [None, None]
    failed, failure = found[2], found[2]["_failure"]
    assert failed["_origin"] == {"topic": "t", "partition": 3, "offset": 1}
    assert (failed["_topic"], failed["_partition"], failed["_offset"]) == ("t", 3, 1)
    assert failed["_timestamp"] == dt.datetime(2023, 11, 14, 22, 13, 20, 1000, tzinfo=dt.UTC)
    assert failure["stage"] == "VALUE_CONVERTER"
    assert failure["class"] == "org.apache.kafka.connect.json.JsonConverter"
    assert failure["exception"] == "org.apache.kafka.connect.errors.DataException"
    assert failure["message"]
    assert "Traceback" in failure["trace"]
    assert (failure["key"], failure["value"], failure["headers"]) == (b"k", b"{", [{"key": "h", "value": b"1"}])


def test_each_record_that_fails_is_one_row(in_executor):
    values: list[Any] = [b"{", *({"id": n} for n in range(1, 25_000)), b"{"]
    found = in_executor.rows(values, RowShape(ID.values, failures=True), **ALL)
    assert [row["_origin"]["offset"] for row in found if row["_failure"]] == [0, 25_000]
    assert len(found) == 25_001


def test_where_records_that_fail_are_rows_errors_that_are_not_tolerated_end_the_task_all_the_same(in_executor):
    with pytest.raises(RecordError, match="t-3@1"):
        in_executor.rows([{"id": 1}, b"{"], RowShape(ID.values, failures=True))


@pytest.mark.parametrize(
    ("values", "offset"),
    [
        ([{"id": 1}, {"id": 2, "new": "x"}, {"id": 3, "newer": 1}], 1),
        ([{"id": 1}, {"id": 2}, {"id": 3.5}], 2),  # a wider type
        ([{"id": "no number"}, {"id": 2, "new": "x"}], 1),  # behind one that no schema holds
    ],
)
def test_a_schema_that_has_to_grow_is_told_with_the_first_record_that_needs_it(in_executor, values, offset):
    with pytest.raises(SchemaChanged, match=f"^new fields at t-3@{offset}$"):
        in_executor.rows(values, ID, **ALL, **QUARANTINE)


def test_keys_that_do_not_fit_are_looked_at_as_values_are(in_executor):
    shape = RowShape(ID.values, keys=Schema.struct({"a": INT64.as_optional()}), wrap_key="key")
    how = {"key_converter": JSON, "key_converter_schemas_enable": "false"}
    values = [{"id": 1}, {"id": 2}]
    with pytest.raises(SchemaChanged, match="t-3@1"):
        in_executor.rows(values, shape, keys=[b'{"a": 1}', b'{"a": 1, "b": 2}'], **how)
    with pytest.raises(SchemaError, match=r"record t-3@1 does not fit the table: .*a"):
        in_executor.rows(values, shape, keys=[b'{"a": 1}', b'{"a": "x"}'], **how)
    found = in_executor.rows(values, shape, keys=[b'{"a": 1}', b'{"a": "x"}'], **how, **ALL, **QUARANTINE)
    assert found == [{"_key": {"a": 1}, "_value": {"id": 1}}]


@pytest.mark.promise("P5")
def test_a_record_that_fits_no_schema_is_named_and_the_way_out(in_executor):
    with pytest.raises(
        SchemaError, match=r'^The record t-3@1 does not fit the table: [^:]*"?id.*schema\.evolution\.on\.mismatch'
    ):
        in_executor.rows([{"id": 1}, {"id": "x"}], ID, **ALL)


@pytest.mark.promise("P5")
def test_records_that_fit_no_schema_are_left_to_the_error_policy_where_that_is_wished(in_executor):
    values: list[Any] = [{"id": 1}, {"id": "x"}, None, {"id": 4}, {"id": [1]}]
    found = in_executor.rows(values, ID, **ALL, **QUARANTINE)
    assert [row["_value"] for row in found] == [{"id": 1}, None, {"id": 4}]
    with pytest.raises(RecordError, match=r"record t-3@1: task put SparkSink failed: .*does not fit the table"):
        in_executor.rows(values, ID, **QUARANTINE)
    shape = RowShape(ID.values, failures=True)
    found = in_executor.rows(values, shape, **ALL, **QUARANTINE)
    failed = [(row["_origin"]["offset"], row["_failure"]) for row in found if row["_failure"]]
    assert [(offset, f["stage"], f["value"]) for offset, f in failed] == [
        (1, "TASK_PUT", b'{"id": "x"}'), (4, "TASK_PUT", b'{"id": [1]}')
    ]  # fmt: skip


def test_thousands_of_records_that_fit_no_schema_are_no_trouble(in_executor):
    values = [{"id": n if n % 2 else "x"} for n in range(5000)]
    found = in_executor.rows(values, ID, **ALL, **QUARANTINE)
    assert [row["_value"]["id"] for row in found] == list(range(1, 5000, 2))


def test_a_schema_that_would_not_grow_starts_no_query_anew(in_executor, monkeypatch):
    """Whatever `rows_of` refuses that `schema_of` sees no need for: the query would start over forever."""
    from spark_sink.reading import columns

    monkeypatch.setattr(columns, "schema_of", lambda values, schema, wrap: schema)
    with pytest.raises(SchemaError, match="t-3@0 does not fit"):
        in_executor.rows([{"id": "x"}], ID)


def test_dead_letters_are_acknowledged_before_the_range_is_done(in_executor, monkeypatch):
    said: list[Any] = []

    class Topics:
        def __init__(self, make_producer: Any, keep_going: Any, refused: Any) -> None:
            pass

        def send(self, topic: str, letter: EncodedRecord) -> None:
            said.append((topic, letter.value))

        def settle(self) -> None:
            said.append("settled")

        def close(self) -> None:
            said.append("closed")

    monkeypatch.setattr(error_outputs, "ErrorTopics", Topics)
    values = [{"id": 1}, b"{", {"id": 3}, {"id": "x"}]
    batches = in_executor.batches(values, ID, errors_deadletterqueue_topic_name="dead", **ALL, **QUARANTINE)
    assert len(next(batches)) == 2
    assert "settled" not in said
    assert list(batches) == []
    assert said == [("dead", b"{"), ("dead", b'{"id": "x"}'), "settled"]


def test_clients_and_chains_are_kept_for_the_next_range_of_the_same_plan(in_executor):
    in_executor.rows([{"id": 1}], ID)
    plan, first = in_executor.plan, in_executor.partition
    kept = executor._readings[plan.id]
    in_executor.rows([{"id": 2}], ID, plan=plan)
    assert executor._readings == {plan.id: kept}
    others = []
    for _ in range(4):
        in_executor.rows([{"id": 1}], ID)
        others.append(in_executor.plan.id)
    assert list(executor._readings) == others
    assert first.closed


def test_a_transformation_remembers_no_record_of_a_range_before(in_executor):
    once = {"transforms": "once", "transforms_once_type": "Deduplicate", "transforms_once_fields": "id"}
    assert in_executor.rows([{"id": 1}, {"id": 2}, {"id": 1}], ID, **once) == [
        {"_value": {"id": 1}}, {"_value": {"id": 2}}
    ]  # fmt: skip
    again = in_executor.rows([{"id": 3}, {"id": 1}], ID, plan=in_executor.plan)
    assert again == [{"_value": {"id": 3}}, {"_value": {"id": 1}}]
    assert in_executor.partition.closed


def test_nothing_is_kept_of_a_reading_that_failed(in_executor):
    batches = in_executor.batches([{"id": n} for n in range(25_000)], ID)
    in_executor.partition.fails_at = 15_000
    assert len(next(batches)) > 0
    with pytest.raises(ValueError, match="the disk is gone"):
        list(batches)
    assert executor._readings == {}
    assert in_executor.partition.closed


def test_nothing_is_kept_of_a_reading_that_is_left_in_the_middle(in_executor):
    batches = in_executor.batches([{"id": n} for n in range(25_000)], ID)
    next(batches)
    batches.close()
    assert executor._readings == {}
    assert in_executor.partition.closed


def test_a_plug_in_that_cannot_close_does_not_keep_the_client_open(in_executor, monkeypatch, caplog):
    in_executor.rows([{"id": 1}], ID)
    (kept,) = executor._readings.values()
    order: list[str] = []

    def refuse() -> None:
        order.append("chain")
        raise OSError("still busy")

    monkeypatch.setattr(kept._chain, "close", refuse)
    monkeypatch.setattr(kept._failures, "close", lambda: order.append("failures"))
    kept.close()
    assert order == ["chain", "failures"]
    assert in_executor.partition.closed
    assert "still busy" in caplog.text
