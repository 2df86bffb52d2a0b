"""Change events as rows, deletions and positions."""

import base64
import datetime as dt
from typing import Any

import pytest

from connect import SinkBatch, Values
from connect.data.column import Plain
from connect.data.schema import INT32, INT64, OPTIONAL_STRING, STRING, Schema, Type
from connect.data.struct_columns import StructColumns
from spark_sink.cdc import CHANGE, ChangeEvents, position, taken_apart
from tests.support.change_events import KEY, MYSQL, POSTGRESQL, SCHEMA_CHANGE, UNAVAILABLE, of_mysql, of_postgresql

OLD = {"id": 1, "text": "old", "n": 1}
NEW = {"id": 1, "text": "new", "n": None}
WHEN = dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)
EVENTS = [
    of_postgresql("r", None, OLD, 7),
    of_postgresql("u", OLD, NEW, 8),
    of_postgresql("d", {"id": 1, "text": None, "n": None}, None, 9),
    of_postgresql("c", None, OLD, None),
]


UNSENT = Schema.struct(
    {
        "id": INT64,
        "binary": Schema(Type.BYTES, optional=True),
        "texts": Schema.array(OPTIONAL_STRING).as_optional(),
        "ids": Schema.array(OPTIONAL_STRING).as_optional(),
        "numbers": Schema.array(INT32).as_optional(),
        "pairs": Schema.map(STRING, OPTIONAL_STRING).as_optional(),
    }
).as_optional()


def changed(*values: Any, schema: Any = None, columns: bool = False, keys: tuple[str, ...] = (), **how: Any) -> Any:
    held = Values(list(values), schema)
    if columns:
        held = StructColumns(schema, [[value[field.name] for value in values] for field in schema.fields])
        if columns == "arrow":
            held = StructColumns(schema, held.columns)
    batch = SinkBatch("t", held, keys=Values([{"id": 1}] * len(values), KEY), offsets=range(len(values)))
    return ChangeEvents("at", "when", keys, **how).changed(batch)


@pytest.mark.parametrize(
    ("schema", "columns"), [(None, False), (POSTGRESQL, False), (POSTGRESQL, True), (POSTGRESQL, "arrow")]
)
def test_each_event_is_its_row_or_a_deletion(schema: Any, columns: Any) -> None:
    found = changed(*EVENTS, schema=schema, columns=columns)
    assert not found.problems
    batch, gone, _ = taken_apart(found.batch)
    rows = batch.values.to_list()
    assert gone == {2}
    assert rows[0] == OLD | {"at": "00000000000000000007", "when": WHEN}
    assert rows[1] == NEW | {"at": "00000000000000000008", "when": WHEN}
    assert (rows[2].get("id"), rows[2].get("text"), rows[2]["at"]) == (None, None, "00000000000000000009")
    assert rows[3] == OLD | {"at": None, "when": WHEN}
    assert [row[CHANGE] for row in found.batch.values] == ["", "", "d", ""]
    if schema is not None:
        (kind,) = set(batch.values.schemas)
        assert [(field.name, field.schema.optional) for field in kind.fields] == [
            ("id", True),
            ("text", True),
            ("n", True),
            ("at", True),
            ("when", True),
        ]


@pytest.mark.parametrize("schema", [None, POSTGRESQL])
def test_a_key_of_fields_is_made_of_the_row_before_where_it_is_deleted(schema: Any) -> None:
    found = changed(*EVENTS, schema=schema, keys=("id", "text"))
    keys = [{"id": 1, "text": text} for text in ("old", "new", None, "old")]
    assert found.batch.keys.to_list() == keys


def test_a_key_that_the_row_does_not_have_is_a_problem() -> None:
    found = changed(EVENTS[0], schema=POSTGRESQL, keys=("nr",))
    assert 'no field "nr"' in found.problems[0]


def test_what_is_about_no_row_is_left_out_and_what_is_no_event_is_a_problem() -> None:
    message = {"op": "m", "source": {"lsn": 1}, "message": {"prefix": "x"}}
    truncated = of_postgresql("t", None, None, 5)
    found = changed(None, EVENTS[0], message, truncated, {"id": 1}, "text", {"op": {"c": 1}})
    assert [row["id"] for row in found.batch.values] == [1]
    assert found.batch.offsets.to_list() == [1]
    assert sorted(found.problems) == [3, 4, 5, 6]
    assert "cdc.truncate=ignore" in found.problems[3]
    assert "not a change event" in found.problems[4]
    assert sorted(changed(EVENTS[0], truncated, fails_on_truncate=False).problems) == []
    other = changed({"ddl": "DROP TABLE t", "silent": False}, schema=SCHEMA_CHANGE)
    assert len(other.batch) == 0
    assert "not a change event" in other.problems[0]


def test_batches_of_several_schemas_keep_their_order() -> None:
    values = [EVENTS[0], of_mysql("c", None, NEW, "binlog.000002", 4), None, EVENTS[2], OLD]
    held = Values(values, Plain([POSTGRESQL, MYSQL, None, POSTGRESQL, None]))
    found = ChangeEvents("at", "when").changed(SinkBatch("t", held, offsets=range(5)))
    assert [row["at"] for row in found.batch.values] == [
        "00000000000000000007",
        "binlog.000002:00000000000000000004:00000000000000000000",
        "00000000000000000009",
    ]
    assert list(found.problems) == [4]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"lsn": 99}, {"lsn": 100}),
        ({"lsn": 9, "ts_ms": 99}, {"lsn": 10, "ts_ms": 1}),
        ({"file": "binlog.000009", "pos": 999, "row": 1}, {"file": "binlog.000010", "pos": 4, "row": 0}),
        ({"file": "b.1", "pos": 99, "row": 1}, {"file": "b.1", "pos": 100, "row": 0}),
        ({"file": "b.1", "pos": 99, "row": 9}, {"file": "b.1", "pos": 99, "row": 10}),
        (
            {"commit_lsn": "00000025:00000d98:00a2", "change_lsn": "00000025:00000d98:0001", "event_serial_no": 2},
            {"commit_lsn": "00000025:00000d98:00a2", "change_lsn": "00000025:00000d98:0002", "event_serial_no": 1},
        ),
        ({"scn": "999"}, {"scn": "1000"}),
        ({"ts_ms": 1000, "ord": 9}, {"ts_ms": 1000, "ord": 10}),
    ],
)
def test_positions_sort_as_the_log_does(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    before, after = position(earlier), position(later)
    assert before is not None
    assert after is not None
    assert before < after


def test_without_a_source_there_is_no_position() -> None:
    assert position(None) is None
    assert position({"connector": "x"}) is None
    assert position({"connector": "postgresql", "lsn": None, "ts_ms": 5}) is None, (
        "moments are not compared with places"
    )


@pytest.mark.parametrize("how", ["columns", "values", "schemaless"])
def test_the_placeholder_in_each_of_its_forms(how: str) -> None:
    binary = UNAVAILABLE.encode()
    sent = {"id": 1, "binary": b"x", "texts": ["a"], "ids": [], "numbers": [1], "pairs": {"a": "b"}}
    # Java: UUID.nameUUIDFromBytes("__debezium_unavailable_value".getBytes())
    identity = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"
    not_sent = {
        "id": 2,
        "binary": base64.b64encode(binary).decode() if how == "schemaless" else binary,
        "texts": [UNAVAILABLE],
        "ids": [identity],
        "numbers": list(binary),
        "pairs": {UNAVAILABLE: UNAVAILABLE},
    }
    schema = Schema.struct({"before": UNSENT, "after": UNSENT, "op": STRING})
    events = [{"before": None, "after": row, "op": "u"} for row in (sent, not_sent)]
    given = None if how == "schemaless" else schema
    found = changed(*events, schema=given, columns=how == "columns", placeholder=UNAVAILABLE)
    batch, gone, unsent = taken_apart(found.batch)
    assert not gone
    assert unsent == {1: {"binary", "texts", "ids", "numbers", "pairs"}}
    rows = [{name: row[name] for name in sent} for row in batch.values.to_list()]
    assert rows == [sent, {"id": 2, **dict.fromkeys(list(sent)[1:])}]


@pytest.mark.parametrize(
    ("schema", "columns"), [(None, False), (POSTGRESQL, False), (POSTGRESQL, True), (POSTGRESQL, "arrow")]
)
def test_texts_that_are_there_stay(schema: Any, columns: Any) -> None:
    rows = [{"id": n, "text": text, "n": 1} for n, text in enumerate(["a", UNAVAILABLE, None, f"{UNAVAILABLE}2"])]
    events = [of_postgresql("u", None, row, 5) for row in rows]
    found = changed(*events, schema=schema, columns=columns, placeholder=UNAVAILABLE)
    batch, _, unsent = taken_apart(found.batch)
    assert unsent == {1: {"text"}}
    assert [row["text"] for row in batch.values.to_list()] == ["a", None, None, f"{UNAVAILABLE}2"]
