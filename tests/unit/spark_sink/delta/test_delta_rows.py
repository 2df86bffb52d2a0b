"""What rows a Delta table gets of which records."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from connect import ConnectError, Schema, SchemaError, SinkRecord, TopicPartition
from connect.data import logical
from connect.data.schema import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, OPTIONAL_STRING, STRING
from connect.testing import SinkRun

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]
Log = Callable[..., DeltaTable]

_QUARANTINE = {
    "schema.evolution.on.mismatch": "quarantine",
    "errors.tolerance": "all",
    "errors.log.enable": "true",
}
_NOON = dt.datetime(2024, 5, 6, 12, tzinfo=dt.UTC)


class TestAppend:
    def test_each_record_is_a_row_and_a_tombstone_is_none(self, run: Run, rows: Rows) -> None:
        orders = run()
        orders.put({"id": 1, "name": "a"}, None, {"id": 2})
        orders.commit()
        assert rows() == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
        assert orders.committed == {TopicPartition("test", 0): 3}
        assert orders.metric("delta_rows_total") == 2

    def test_every_type_of_connect_has_its_column(self, run: Run, rows: Rows, log: Log) -> None:
        value = {
            "i8": (INT8, -1),
            "i16": (INT16, 300),
            "i32": (INT32, 1 << 30),
            "i64": (INT64, 1 << 60),
            "f32": (FLOAT32, 0.5),
            "f64": (FLOAT64, 0.1),
            "b": (BOOLEAN, True),
            "s": (STRING, "ä"),
            "raw": (BYTES, b"\x00\xff"),
            "d": (logical.decimal(2), Decimal("12.30")),
            "day": (logical.DATE, _NOON.date()),
            "time": (logical.TIME, _NOON.time()),
            "at": (logical.TIMESTAMP, _NOON),
            "list": (Schema.array(Schema.struct({"x": INT32})), [{"x": 1}]),
            "map": (Schema.map(STRING, INT64), {"k": 1}),
            "in": (Schema.struct({"y": OPTIONAL_STRING}), {"y": None}),
        }
        schema = Schema.struct({name: kind for name, (kind, _) in value.items()})
        orders = run()
        orders.put({name: item for name, (_, item) in value.items()}, schema=schema)
        orders.commit()
        (row,) = rows()
        wanted = {name: item for name, (_, item) in value.items()} | {"time": 43_200_000, "map": [("k", 1)]}
        assert row == wanted
        columns = pa.schema(log().schema().to_arrow())
        assert columns.field("i8").type == pa.int8()
        assert columns.field("at").type == pa.timestamp("us", "UTC")
        assert columns.field("d").type == pa.decimal128(38, 2)
        # A second task reads the types back from the table: a Time is one still.
        orders.restart()
        orders.put({name: item for name, (_, item) in value.items()}, schema=schema)
        orders.commit()
        assert rows() == [wanted, wanted]
        assert log().version() == 3  # created, rows; taken over by the second task, rows

    def test_metadata_becomes_columns(self, run: Run, rows: Rows) -> None:
        orders = run(metadata__columns="topic,partition,offset:at,timestamp,key")
        orders.put(
            SinkRecord("test", {"id": 1}, None, "k", STRING, 0, 0, 1_714_996_800_000),
            SinkRecord("test", {"id": 2}, Schema.struct({"id": INT64}), None, STRING, 0),
        )
        orders.commit()
        meta = {"_topic": "test", "_partition": 0}
        assert rows() == [
            {**meta, "at": 0, "_timestamp": _NOON, "_key": "k", "id": 1},
            {**meta, "at": 1, "_timestamp": None, "_key": None, "id": 2},
        ]
        with pytest.raises(SchemaError, match='it has a field "at", which metadata.columns gives another meaning'):
            orders.put({"id": 3, "at": 5})

    def test_a_partitioned_table_is_created_as_told(self, run: Run, rows: Rows, log: Log, lake: Path) -> None:
        keys = {"table.property.delta.appendOnly": "true", "table.property.owner": "us"}
        orders = run(partition__by="country", **keys)
        orders.put({"id": 1, "country": "de"}, {"id": 2, "country": "fr"}, {"id": 3})
        orders.commit()
        assert log().metadata().partition_columns == ["country"]
        assert log().metadata().configuration["delta.appendOnly"] == "true"
        assert log().metadata().configuration["owner"] == "us"
        assert (lake / "orders" / "country=de").is_dir()
        assert [row["country"] for row in rows()] == ["de", "fr", None]

    def test_a_table_of_others_gets_rows_of_its_columns(self, run: Run, rows: Rows, lake: Path) -> None:
        there = pa.schema(
            [
                pa.field("id", pa.int32(), nullable=False),
                pa.field("price", pa.decimal128(10, 2)),
                pa.field("at", pa.timestamp("us")),
                pa.field("day", pa.date32()),
            ]
        )
        DeltaTable.create(lake / "orders", there)
        orders = run(schema__evolution="none")
        orders.put({"id": 1, "price": 5})
        schema = Schema.struct({"id": INT64, "price": logical.decimal(2), "at": logical.TIMESTAMP, "day": logical.DATE})
        orders.put({"id": 2, "price": Decimal("1.50"), "at": _NOON, "day": _NOON.date()}, schema=schema)
        orders.commit()
        assert rows() == [
            {"id": 1, "price": Decimal("5.00"), "at": None, "day": None},
            {"id": 2, "price": Decimal("1.50"), "at": _NOON.replace(tzinfo=None), "day": _NOON.date()},
        ]
        with pytest.raises(SchemaError, match="offset 2: The record does not fit the table"):
            orders.put({"id": 1 << 40})
        orders.crash()
        orders.restart(_QUARANTINE)
        orders.put({"id": "x"}, {"price": 1}, {"id": 3, "more": 1}, {"id": 3, "price": 1.5})
        assert len(orders.errant) == 5

    def test_values_that_are_no_structs_are_one_column(self, run: Run, rows: Rows) -> None:
        orders = run(metadata__columns="offset")
        orders.put("just text", None, schema=OPTIONAL_STRING)
        orders.put("more", {"id": 1})
        orders.commit()
        assert rows() == [
            {"value": None, "id": 1, "_offset": 3},
            {"value": "just text", "id": None, "_offset": 0},
            {"value": "more", "id": None, "_offset": 2},
        ]

    def test_nor_need_they_have_other_columns(self, run: Run, rows: Rows) -> None:
        orders = run()
        orders.put("just text", None, schema=OPTIONAL_STRING)
        orders.put("more", "less")
        orders.commit()
        assert rows() == [{"value": "just text"}, {"value": "less"}, {"value": "more"}]

    def test_a_record_of_nulls_makes_no_table(self, run: Run) -> None:
        with pytest.raises(SchemaError, match="none of its fields has a value that tells its type"):
            run().put({"a": None, "b": []})


class TestWhereRowsGo:
    def test_by_topic(self, run: Run, rows: Rows, lake: Path) -> None:
        orders = run(table=f"{lake}/raw_${{topic}}", topics="a,b")
        orders.put(SinkRecord("a", {"id": 1}), SinkRecord("b", {"id": 2}), SinkRecord("a", {"id": 3}))
        orders.commit()
        assert (rows("raw_a"), rows("raw_b")) == ([{"id": 1}, {"id": 3}], [{"id": 2}])

    def test_by_field(self, run: Run, rows: Rows, lake: Path) -> None:
        orders = run(table=f"{lake}/${{topic}}/${{field}}", table__field="to.country")
        schema = Schema.struct({"to": Schema.struct({"country": STRING})})
        orders.put({"to": {"country": "de"}}, {"to": {"country": "fr"}}, None)
        orders.put(*({"to": {"country": "de"}} for _ in range(150)), schema=schema)
        orders.commit()
        assert len(rows("test/de")) == 151
        assert rows("test/fr") == [{"to": {"country": "fr"}}]
        orders.restart(_QUARANTINE)
        orders.put({"to": {"country": True}}, {"to": {"country": 49}})
        orders.put(*({"to": {"country": wrong}} for wrong in ("..", "a/b", "", None, 1.5)), {"to": "x"}, "x")
        assert len(orders.errant) == 7
        assert all('its field "to.country" says which table it goes to' in str(error) for _, error in orders.errant)
        orders.commit()
        assert sorted(path.name for path in (lake / "test").iterdir()) == ["49", "de", "fr", "true"]


class TestEvolution:
    def test_new_fields_become_columns_in_structs_too(self, run: Run, rows: Rows) -> None:
        orders = run()
        orders.put({"id": 1, "in": {"a": 1}, "l": [{"a": 1}]})
        orders.commit()
        orders.put({"id": 2, "in": {"a": 2}, "l": []})
        orders.put({"id": 3, "in": {"a": 3, "b": "x"}, "l": [{"a": 1, "b": 2}], "new": {"deep": [1.5]}})
        orders.commit()
        assert rows() == [
            {"id": 1, "in": {"a": 1, "b": None}, "l": [{"a": 1, "b": None}], "new": None},
            {"id": 2, "in": {"a": 2, "b": None}, "l": [], "new": None},
            {"id": 3, "in": {"a": 3, "b": "x"}, "l": [{"a": 1, "b": 2}], "new": {"deep": [1.5]}},
        ]

    def test_a_table_that_is_not_made_yet_takes_any_type(self, run: Run, rows: Rows) -> None:
        orders = run(schema__evolution="none")
        orders.put({"id": 1})
        orders.put({"id": 1.5, "more": True})
        orders.commit()
        assert rows() == [{"id": 1.0, "more": None}, {"id": 1.5, "more": True}]

    def test_what_is_not_allowed_is_refused_or_ignored(
        self, run: Run, rows: Rows, caplog: pytest.LogCaptureFixture
    ) -> None:
        orders = run(schema__evolution="none")
        orders.put({"id": 1})
        orders.commit()
        with pytest.raises(SchemaError, match='The table has no field "new".*Allow more with schema.evolution'):
            orders.put({"id": 2, "new": 1})
        orders.crash()
        orders.restart({"schema.evolution.unknown.fields": "ignore"})
        orders.put({"id": 3, "new": None})
        orders.put({"ID": 4, "new": 7})
        orders.commit()
        assert rows() == [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]
        assert caplog.text.count("Fields that the table does not have are not written: new.") == 1

    def test_a_column_is_never_widened_and_it_says_who_can(self, run: Run) -> None:
        orders = run(schema__evolution="full")
        orders.put({"id": 1}, schema=Schema.struct({"id": INT32}))
        orders.commit()
        orders.put({"id": 5}, schema=Schema.struct({"id": INT64}))
        with pytest.raises(SchemaError, match="id would have to become int64, and engine=worker cannot widen columns"):
            orders.put({"id": 1 << 40}, schema=Schema.struct({"id": INT64}))

    def test_a_required_column_may_become_nullable(self, run: Run, rows: Rows, lake: Path) -> None:
        DeltaTable.create(lake / "orders", pa.schema([pa.field("id", pa.int64(), False), pa.field("x", pa.int64())]))
        orders = run(schema__evolution="add")
        with pytest.raises(SchemaError, match='The field "id" is null, and the table requires it'):
            orders.put({"x": 1})
        orders.crash()
        orders.restart({"schema.evolution": "nullable"})
        orders.put({"x": 2})
        orders.commit()
        assert rows() == [{"id": None, "x": 1}, {"id": None, "x": 2}]

    @pytest.mark.parametrize(
        ("value", "why"),
        [
            ({"a b": 1}, '"a b" cannot be a column'),
            ({"in": {"x": {"": 1}}}, '"" cannot be a column'),
            ({"ID": 1, "id": 2}, "does not tell upper from lower case"),
            ({"iD": 1, "ID": 2}, "does not tell upper from lower case"),
            ({"in": {"A": 1}}, "does not tell upper from lower case"),
            ({"l": [{"A": 1}]}, "does not tell upper from lower case"),
        ],
    )
    def test_names_that_delta_does_not_take_are_refused(self, run: Run, value: dict[str, Any], why: str) -> None:
        orders = run()
        orders.put({"id": 1, "in": {"a": 1}, "l": [{"a": 1}]})
        orders.commit()
        with pytest.raises(SchemaError, match=why):
            orders.put(value)

    def test_capitals_and_small_letters_are_the_same_column(self, run: Run, rows: Rows) -> None:
        orders = run()
        orders.put({"id": 1, "Name": "a"})
        schema = Schema.struct({"ID": INT64, "name": STRING, "new": STRING})
        orders.put(*({"ID": n, "name": "b", "new": "x"} for n in range(2, 5)), schema=schema)
        orders.put({"Id": 5, "NEW": "y"}, {"id": 6}, None)
        orders.commit()
        found = [(row["id"], row["Name"], row["new"]) for row in rows()]
        assert found == [(1, "a", None), (2, "b", "x"), (3, "b", "x"), (4, "b", "x"), (5, None, "y"), (6, None, None)]

    def test_records_that_do_not_fit_go_to_the_error_policy_alone(self, run: Run, rows: Rows) -> None:
        orders = run(schema__evolution__on__mismatch="quarantine", errors__tolerance="all", errors__log__enable="true")
        orders.put({"id": 1}, {"id": "x", "new": 1}, {"id": 2}, {1: 2}, {"id": [1]}, {"id": 3})
        orders.commit()
        assert rows() == [{"id": 1}, {"id": 2}, {"id": 3}]
        assert [record.original_offset for record, _ in orders.errant] == [1, 3, 4]
        assert orders.committed == {TopicPartition("test", 0): 6}

    def test_columns_that_another_writer_adds_meanwhile_are_kept(self, run: Run, rows: Rows, lake: Path) -> None:
        orders = run()
        orders.put({"id": 1})
        orders.commit()
        orders.put({"id": 2, "mine": 1})
        write_deltalake(lake / "orders", pa.table({"id": [3], "theirs": ["x"]}), mode="append", schema_mode="merge")
        orders.put({"id": 4, "mine": 2, "theirs": "y"})
        orders.commit()
        assert rows() == [
            {"id": 1, "theirs": None, "mine": None},
            {"id": 2, "theirs": None, "mine": 1},
            {"id": 3, "theirs": "x", "mine": None},
            {"id": 4, "theirs": "y", "mine": 2},
        ]

    def test_a_column_that_another_writer_makes_another_type_is_a_clear_error(self, run: Run, lake: Path) -> None:
        orders = run()
        orders.put({"id": 1})
        orders.commit()
        orders.put({"id": 2, "both": 1})
        write_deltalake(lake / "orders", pa.table({"id": [3], "both": ["x"]}), mode="append", schema_mode="merge")
        with pytest.raises(
            ConnectError,
            match='Another writer changed it, and rows that wait to be written do not fit it: The field "both"',
        ):
            orders.commit()


class TestUpsert:
    def test_the_newest_record_of_a_key_is_its_row(self, run: Run, rows: Rows) -> None:
        orders = run(mode="upsert", pk__fields="id")
        orders.put(*(SinkRecord("test", {"n": n}, None, key, None) for n, key in enumerate("abcab")))
        orders.commit()
        assert rows() == [{"id": "a", "n": 3}, {"id": "b", "n": 4}, {"id": "c", "n": 2}]
        orders.put(*(SinkRecord("test", value, None, key, None) for key, value in [("a", {"n": 9}), ("b", None)]))
        orders.put(*(SinkRecord("test", value, None, key, None) for key, value in [("d", None), ("a", {"n": 7})]))
        orders.commit()
        assert rows() == [{"id": "a", "n": 7}, {"id": "c", "n": 2}]

    def test_a_key_may_have_several_fields(self, run: Run, rows: Rows) -> None:
        key = Schema.struct({"a": INT32, "B": STRING, "rest": STRING})
        value = Schema.struct({"a": INT32, "n": INT64})
        orders = run(mode="upsert", pk__fields="a,B")
        for a, b, n in [(1, "x", 1), (1, "y", 2), (1, "x", 3)]:
            orders.put(SinkRecord("test", {"a": a, "n": n}, value, {"a": a, "B": b, "rest": "-"}, key))
        orders.commit()
        assert rows() == [{"a": 1, "B": "x", "n": 3}, {"a": 1, "B": "y", "n": 2}]
        orders.put(SinkRecord("test", None, None, {"a": 1, "B": "x", "rest": "-"}, key))
        orders.commit()
        orders.restart({"pk.fields": "A,b"})
        assert rows() == [{"a": 1, "n": 2, "B": "y"}]

    def test_all_fields_of_the_key_unless_some_are_named(self, run: Run, rows: Rows) -> None:
        orders = run(mode="upsert")
        for n in range(3):
            orders.put(SinkRecord("test", {"n": n}, None, {"k": 1, "l": "x"}, None))
        orders.commit()
        assert rows() == [{"k": 1, "l": "x", "n": 2}]

    def test_by_fields_of_the_value(self, run: Run, rows: Rows) -> None:
        orders = run(mode="upsert", pk__mode="record_value", pk__fields="id")
        orders.put({"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 1, "n": 3}, None)
        orders.commit()
        assert rows() == [{"id": 1, "n": 3}, {"id": 2, "n": 2}]
        with pytest.raises(SchemaError, match='its "id" is null, and that is part of its key'):
            orders.put({"id": None, "n": 3})

    def test_without_deletes_a_tombstone_is_left_out(self, run: Run, rows: Rows) -> None:
        orders = run(mode="upsert", pk__fields="id", delete__enabled="false")
        orders.put(SinkRecord("test", {"n": 1}, None, "a"), SinkRecord("test", None, None, "a"))
        orders.commit()
        assert rows() == [{"id": "a", "n": 1}]

    def test_a_record_needs_a_key(self, run: Run) -> None:
        with pytest.raises(SchemaError, match="mode=upsert needs a key"):
            run(mode="upsert", pk__fields="id").put({"n": 1})
        with pytest.raises(ConnectError, match='pk.fields.* names "b", and the records. keys have no such field'):
            run(mode="upsert", pk__fields="b").put({"n": 1}, key={"a": 1})

    def test_a_key_that_is_no_struct_is_the_column_key(self, run: Run, rows: Rows) -> None:
        orders = run(mode="upsert")
        orders.put({"n": 1}, {"n": 2}, key="a")
        orders.commit()
        assert rows() == [{"key": "a", "n": 2}]

    def test_between_partitions_the_later_record_is_the_newer_one(self, run: Run, rows: Rows) -> None:
        orders = run(mode="upsert", partitions=2)
        for n, partition, time in [(1, 0, 50), (2, 1, 40), (3, 1, None), (4, 0, 10)]:
            orders.put(SinkRecord("test", {"n": n}, None, "a", None, partition, 0, time))
        orders.commit()
        assert rows() == [{"key": "a", "n": 4}]  # the last of partition 0, for that of 1 has no time
        orders.put(SinkRecord("test", {"n": 5}, None, "a", None, 0, 0, 20))
        orders.put(SinkRecord("test", {"n": 6}, None, "a", None, 1, 0, 30))
        orders.put(SinkRecord("test", None, None, "b", None, 1, 0, 30))
        orders.put(SinkRecord("test", {"n": 7}, None, "a", None, 0, 0, 10))
        orders.commit()
        assert rows() == [{"key": "a", "n": 6}]

    def test_columns_that_a_schema_does_not_have_keep_what_is_in_them(self, run: Run, rows: Rows) -> None:
        orders = run(mode="upsert")
        orders.put({"n": 1, "more": "x"}, key="a")
        orders.commit()
        orders.put({"n": 2}, key="a", schema=Schema.struct({"n": INT64}))
        orders.commit()
        assert rows() == [{"key": "a", "n": 2, "more": "x"}]
        orders.put({"n": 3}, key="a")  # without a schema it is the whole row
        orders.commit()
        assert rows() == [{"key": "a", "n": 3, "more": None}]

    def test_new_columns_come_with_an_upsert_too(self, run: Run, rows: Rows) -> None:
        orders = run(mode="upsert", pk__fields="id")
        for value in ({"n": 1}, {"n": 2, "New": "x"}, {"New": "y"}):
            orders.put(value, key="a")
            orders.commit()
        assert rows() == [{"id": "a", "n": None, "New": "y"}]


class TestOverwrite:
    def test_a_batch_replaces_the_partitions_that_it_has_rows_of(self, run: Run, rows: Rows) -> None:
        orders = run(mode="overwrite", partition__by="c,d")
        day = _NOON.date()
        orders.put({"id": 1, "c": "it's", "d": day}, {"id": 2, "c": "x", "d": day}, {"id": 3, "d": day})
        orders.commit()
        orders.put({"id": 4, "c": "it's", "d": day}, {"id": 5, "d": day})
        orders.put({"id": 6, "c": "it's", "d": day + dt.timedelta(1)})
        orders.commit()
        assert [row["id"] for row in rows()] == [2, 4, 5, 6]

    def test_or_what_a_condition_says(self, run: Run, rows: Rows) -> None:
        orders = run(mode="overwrite", replace__where="id >= 10")
        orders.put({"id": 10}, {"id": 11})
        orders.commit()
        orders.put({"id": 12})
        orders.commit()
        assert rows() == [{"id": 12}]

    def test_a_table_without_partitions_needs_a_condition(self, run: Run, lake: Path) -> None:
        DeltaTable.create(lake / "orders", pa.schema([pa.field("id", pa.int64())]))
        orders = run(mode="overwrite", partition__by="id")
        orders.put({"id": 1})
        with pytest.raises(ConnectError, match="is not partitioned, and mode=overwrite replaces partitions"):
            orders.commit()


class TestWhatNoTableCanHold:
    """Such a record goes to the error policy; the others of its batch are written."""

    @pytest.mark.parametrize("declared", [True, False])
    def test_a_decimal_with_too_many_digits(
        self, run: Run, rows: Rows, declared: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        value = {"id": 2, "x": Decimal("0." + "1" * 40)}
        schema = Schema.struct({"id": INT64, "x": logical.decimal(40)}) if declared else None
        orders = run(**_QUARANTINE)
        orders.put({"id": 1}, SinkRecord("test", value, schema), {"id": 3, "y": "a"})
        orders.commit()
        assert rows() == [{"id": 1, "y": None}, {"id": 3, "y": "a"}]
        assert "record test-0@1: task put DeltaSinkTask failed: SchemaError: The record does not fit" in caplog.text

    def test_two_fields_that_differ_in_case_alone(self, run: Run, rows: Rows) -> None:
        orders = run(**_QUARANTINE)
        orders.put({"id": 1, "Ab": 1, "aB": 2}, {"id": 2, "Ab": 3}, {"id": 3, "aB": 4})
        orders.commit()
        assert rows() == [{"id": 2, "Ab": 3}, {"id": 3, "Ab": 4}]
