"""Batches that are merged into Delta tables: the newest record of each key is its row."""

import datetime
import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from connect.errors import ConfigError, SchemaError
from spark_sink.tables import upsert
from tests.support.partial_rows import VersionsModel, change

VALUE = {"id": pa.int64(), "text": pa.string()}
KEY = {"id": pa.int64()}


def record(id_: int | None, text: str | None = None, **more: Any) -> dict[str, Any]:
    """Of a key; a tombstone without a text."""
    return {"key": {"id": id_}, "value": None if text is None else {"id": id_, "text": text}, **more}


@pytest.mark.promise("P10")
def test_the_newest_record_of_a_key_is_its_row(tables: Any) -> None:
    writer = tables.writer(mode="upsert")
    first = tables.batch(VALUE, [record(1, "a"), record(2, "b"), record(1, "c"), record(3, "d"), record(3)], KEY)
    second = tables.batch(VALUE, [record(2), record(1, "e"), record(1), record(1, "f"), record(9)], KEY)
    writer(first, 0)
    assert tables.read() == [{"id": 1, "text": "c"}, {"id": 2, "text": "b"}]
    writer(second, 1)
    writer(second, 1)  # again
    writer(first, 0)  # late, by somebody who was thought dead
    assert tables.read() == [{"id": 1, "text": "f"}]
    assert tables.operations() == ["CREATE TABLE", "MERGE", "MERGE"]


@pytest.mark.slow
def test_without_transactions_a_late_batch_would_undo_a_newer_one(tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    merge: Any = upsert.merge
    monkeypatch.setattr(upsert, "merge", lambda *a: merge(*a[:3], replace(a[3], app_id=f"{random.random()}")))
    writer = tables.writer(mode="upsert")
    for number, text in ((0, "a"), (1, "b"), (0, "a")):
        writer(tables.batch(VALUE, [record(1, text)], KEY), number)
    assert tables.read() == [{"id": 1, "text": "a"}]


@pytest.mark.slow
def test_a_merges_transaction_is_not_left_to_others_in_the_session(tables: Any) -> None:
    tables.writer(mode="upsert")(tables.batch(VALUE, [record(1, "a")], KEY), 0)
    assert tables.spark.conf.get("spark.databricks.delta.write.txnAppId", None) is None
    assert tables.spark.conf.get("spark.databricks.delta.write.txnVersion", None) is None
    assert not [view for view in tables.spark.catalog.listTables() if view.name.startswith("connect_")]


@pytest.mark.slow
@pytest.mark.promise("P10")
@pytest.mark.parametrize("seed", [1, 2])
def test_upserts_and_deletes_are_what_a_dictionary_makes_of_them(tables: Any, seed: int) -> None:
    chosen = random.Random(seed)
    model: dict[tuple[int, str], dict[str, Any]] = {}
    key = {"a": pa.int32(), "b": pa.string()}
    value = {"a": pa.int32(), "b": pa.string(), "n": pa.int64(), "more": pa.struct([("x", pa.float64())])}
    offsets = [0, 0, 0]
    writer, batches = tables.writer(mode="upsert"), []
    for number in range(8):
        records = []
        for _ in range(chosen.randrange(1, 40)):
            a, b = chosen.randrange(4), chosen.choice(["x", "y", "it's `b`"])
            place = (a + len(b)) % 3  # a key has one partition
            row = {"a": a, "b": b, "n": chosen.randrange(1000), "more": chosen.choice([None, {"x": chosen.random()}])}
            tombstone = chosen.random() < 0.3
            records.append({"key": {"a": a, "b": b}, "value": None if tombstone else row, "partition": place})
            records[-1]["offset"], offsets[place] = offsets[place], offsets[place] + chosen.choice([1, 1, 3])
            if tombstone:
                model.pop((a, b), None)
            else:
                model[a, b] = row
        chosen.shuffle(records)  # executors hand over partitions in any order
        batches.append(tables.batch(value, records, key))
        writer(batches[-1], number)
        if chosen.random() < 0.4:
            tables.writer(mode="upsert")(batches[chosen.randrange(number + 1)], chosen.randrange(number + 1))
        assert tables.read() == sorted(model.values(), key=repr), f"after batch {number}"


@pytest.mark.slow
def test_the_newest_of_several_topics_is_told_by_time(tables: Any) -> None:
    def at(second: int) -> datetime.datetime:
        return datetime.datetime(2026, 1, 1, 0, 0, second, tzinfo=datetime.UTC)

    records = [
        record(1, "new", topic="a", offset=5, time=at(9)),
        record(1, "old", topic="b", offset=99, time=at(8)),
        # Within a partition offsets count, whatever clocks said.
        record(2, "later", topic="a", offset=7, time=at(1)),
        record(2, "earlier", topic="a", offset=6, time=at(9)),
    ]
    tables.writer(mode="upsert")(tables.batch(VALUE, records, KEY), 0)
    assert tables.read() == [{"id": 1, "text": "new"}, {"id": 2, "text": "later"}]


@pytest.mark.slow
def test_tombstones_are_left_out_if_they_may_not_delete(tables: Any) -> None:
    writer = tables.writer(mode="upsert", delete__enabled="false")
    writer(tables.batch(VALUE, [record(1, "a"), record(2, "b"), record(1)], KEY), 0)
    writer(tables.batch(VALUE, [record(2)], KEY), 1)
    assert tables.read() == [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]


def test_a_record_without_a_schema_is_the_whole_row_and_one_with_a_schema_what_it_has(tables: Any) -> None:
    wide = {**VALUE, "More": pa.string()}
    writer = tables.writer(mode="upsert")
    for number in range(4):
        writer(
            tables.batch(wide, [{**record(number, "a"), "value": {"id": number, "text": "a", "More": "m"}}], KEY),
            number,
        )
    tables.writer(mode="upsert")(tables.batch(VALUE, [record(0, "whole", whole=True), record(1, "part")], KEY), 4)
    later = [
        {"key": {"id": 2}, "value": {"id": 2, "text": "lacks"}, "lacks": ["more"]},
        {"key": {"id": 3}, "value": {"id": 3, "text": "has", "More": "n"}},
    ]
    writer(tables.batch(wide, later, KEY), 5)
    assert [(row["id"], row["text"], row["More"]) for row in tables.read()] == [
        (0, "whole", None),
        (1, "part", "m"),
        (2, "lacks", "m"),
        (3, "has", "n"),
    ]


@pytest.mark.slow
def test_the_key_may_be_in_the_value(tables: Any) -> None:
    writer = tables.writer(mode="upsert", pk__mode="record_value", pk__fields="ID")
    writer(tables.batch(VALUE, [record(1, "a"), record(1, "b"), record(7)]), 0)
    assert tables.read() == [{"id": 1, "text": "b"}]


@pytest.mark.slow
def test_a_key_that_is_no_struct_gets_a_column(tables: Any) -> None:
    writer = tables.writer(mode="upsert", pk__fields="user")
    for number, text in enumerate("ab"):
        records = [{"key": {"user": "u1"}, "value": {"text": text}}]
        writer(tables.batch({"text": pa.string()}, records, {"user": pa.string()}), number)
    assert tables.read() == [{"text": "b", "user": "u1"}]


@pytest.mark.slow
def test_a_table_of_keys_alone_is_a_set(tables: Any) -> None:
    writer = tables.writer(mode="upsert")
    writer(tables.batch({"id": pa.int64()}, [record(1, ""), record(2, ""), record(1)], KEY), 0)
    assert tables.read() == [{"id": 2}]


def test_a_key_with_null_is_refused(tables: Any) -> None:
    with pytest.raises(SchemaError, match='Topic t, partition 0, offset 1: The column "id" of its key is null'):
        tables.writer(mode="upsert")(tables.batch(VALUE, [record(1, "a"), record(None, "b")], KEY), 0)


def test_a_key_that_is_missing_is_named(tables: Any) -> None:
    with pytest.raises(ConfigError, match='pk.fields.*"nr" is not a field of the key, which has: id'):
        tables.writer(mode="upsert", pk__fields="nr")(tables.batch(VALUE, [record(1, "a")], KEY), 0)


@pytest.mark.slow
def test_columns_of_others_are_left_as_they_are(tables: Any) -> None:
    tables.spark.sql(f"CREATE TABLE delta.`{tables.path()}` (theirs int, Text string, id bigint) USING delta")
    tables.spark.sql(f"INSERT INTO delta.`{tables.path()}` VALUES (5, 'old', 1)")
    tables.writer(mode="upsert")(tables.batch(VALUE, [record(1, "a"), record(2, "b")], KEY), 0)
    assert tables.read() == [{"theirs": 5, "Text": "a", "id": 1}, {"theirs": None, "Text": "b", "id": 2}]


@pytest.mark.slow
@pytest.mark.promise("P10")
@pytest.mark.parametrize("sequence", [{}, {"merge__sequence__by": "text"}], ids=["order of topics", "sequence"])
def test_of_a_deleted_row_nothing_is_left_though_its_key_comes_again(tables: Any, sequence: dict[str, str]) -> None:
    tables.spark.sql(f"CREATE TABLE delta.`{tables.path()}` (theirs int, text string, id bigint) USING delta")
    tables.spark.sql(f"INSERT INTO delta.`{tables.path()}` VALUES (5, 'a', 1), (6, 'a', 2), (7, 'a', 3)")
    records = [record(1), record(1, "b"), record(2, "b"), record(3, "b"), record(3), record(3, "c")]
    tables.writer(mode="upsert", **sequence)(tables.batch(VALUE, records, KEY), 0)
    assert tables.read() == [
        {"theirs": 6, "text": "b", "id": 2},
        {"theirs": None, "text": "b", "id": 1},
        {"theirs": None, "text": "c", "id": 3},
    ]


@pytest.mark.slow
def test_a_deletion_that_comes_late_takes_nothing_from_a_row(tables: Any) -> None:
    columns = "theirs int, text string, id bigint, _source_position string"
    tables.spark.sql(f"CREATE TABLE delta.`{tables.path()}` ({columns}) USING delta")
    tables.spark.sql(f"INSERT INTO delta.`{tables.path()}` VALUES (5, 'a', 1, '5'), (6, 'a', 2, '1')")
    kinds = {**VALUE, "_source_position": pa.string(), "_connect_change": pa.string()}
    events = [
        {"key": {"id": id_}, "value": {"id": id_, "text": text, "_source_position": at, "_connect_change": change}}
        for id_ in (1, 2)
        for at, text, change in (("3", None, "d"), ("7", "b", ""))
    ]
    tables.writer(mode="upsert", cdc__format="debezium")(tables.batch(kinds, events, KEY), 0)
    found = [(row["theirs"], row["text"], row["id"], row["_source_position"]) for row in tables.read()]
    assert found == [(5, "b", 1, "7"), (None, "b", 2, "7")]


@pytest.mark.slow
def test_new_fields_of_records_become_columns(tables: Any) -> None:
    writer = tables.writer(mode="upsert", metadata__columns="offset")
    writer(tables.batch(VALUE, [record(1, "a"), record(2, "b")], KEY), 0)
    more = {"id": 1, "text": "c", "more": [{"x": 1}]}
    wider = {**VALUE, "more": pa.list_(pa.struct([("x", pa.int64())]))}
    writer(tables.batch(wider, [{"key": {"id": 1}, "value": more}], KEY), 1)
    assert tables.read() == [{**more, "_offset": 0}, {"id": 2, "text": "b", "more": None, "_offset": 1}]


@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize("ordered", [False, True], ids=["order of topics", "sequence"])
def test_parts_of_rows_are_put_together(tables: Any, seed: int, soft: bool, ordered: bool) -> None:
    """Records that have some of the columns, many of a key in a batch: as if each was merged by itself."""
    dice = random.Random(seed)
    kinds = {"id": pa.int64(), "n": pa.int64(), **dict.fromkeys("abc", pa.string())}
    how = {"delete__mode": "soft", "delete__column": "gone"} if soft else {}
    writer = tables.writer(mode="upsert", **how, **({"merge__sequence__by": "n"} if ordered else {}))
    model: dict[int, dict[str, Any]] = {}
    offset = 0
    for number in range(3):
        records = []
        for _ in range(40):
            offset += 1
            key, value = dice.randint(1, 8), None
            if dice.random() < 0.85:
                names = dice.sample("abc", dice.randint(0, 3))
                value = {"id": key, "n": dice.randint(1, 9), **{name: f"{name}{offset}" for name in names}}
            change(model, key, value, "abc", soft=soft, ordered=ordered)
            lacks = [name for name in "abc" if value is not None and name not in value] or None
            records.append({"key": {"id": key}, "value": value, "lacks": lacks, "offset": offset})
        writer(tables.batch(kinds, records, KEY), number)
    wanted = [{k: v for k, v in row.items() if soft or k != "gone"} for row in model.values()]
    assert tables.read() == sorted(wanted, key=repr)


@pytest.mark.parametrize("some", [False, True], ids=["lacked by all", "lacked by some"])
def test_versions_have_what_the_ones_before_them_say(tables: Any, seed: int, *, some: bool) -> None:
    """Records that have some of the columns, or a batch without one of the table's."""
    dice = random.Random(seed)
    writer = tables.writer(mode="upsert", scd__type="2")
    model = VersionsModel("abc")
    at, offset = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), 0
    for number in range(4):
        columns = "ac" if number == 2 and not some else "abc"
        records = []
        for key in [*range(8), *(dice.randrange(8) for _ in range(30))]:
            at, offset = at + datetime.timedelta(milliseconds=1), offset + 1
            value = None
            if number == 0 or dice.random() < 0.85:
                names = dice.sample(columns, dice.randint(0, 3)) if some and number else columns
                value = {"id": key, "n": offset, **{name: f"{name}{offset}" for name in names}}
            model.change(key, value, at)
            records.append({"key": {"id": key}, "value": value, "offset": offset, "time": at})
            if some:
                records[-1]["lacks"] = [name for name in columns if value is not None and name not in value] or None
        kinds = {"id": pa.int64(), "n": pa.int64(), **dict.fromkeys(columns, pa.string())}
        writer(tables.batch(kinds, records, KEY), number)
    found = sorted(tables.read(), key=lambda row: (row["id"], row["valid_from"]))
    names = [name for name in found[0] if name != "_timestamp"]
    assert [{name: row[name] for name in names} for row in found] == model.rows(names)
