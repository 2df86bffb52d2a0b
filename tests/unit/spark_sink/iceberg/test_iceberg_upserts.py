"""iceberg.tables.upsert-mode-enabled: the newest record of a key is its row, in one snapshot."""

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table as IcebergTable

from connect import ConnectError, Schema, SchemaError
from connect.data import logical
from connect.data.schema import INT32, STRING, Type
from connect.testing import SinkRun
from spark_sink.iceberg import upsert

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]
Opened = Callable[..., IcebergTable]

UPSERT = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}
TOLERANT = {"errors.tolerance": "all", "errors.log.enable": "true"}


def test_the_newest_row_of_a_key_counts_in_one_snapshot(run: Run, rows: Rows, table: Opened) -> None:
    orders = run(more=UPSERT)
    orders.put({"id": 1, "n": 1}, {"id": 2, "n": 1}, {"id": 1, "n": 2})
    orders.commit()
    assert rows() == [{"id": 1, "n": 2}, {"id": 2, "n": 1}]
    orders.put({"id": 2, "n": 5}, {"id": 3, "n": 1})
    orders.commit()
    assert rows() == [{"id": 1, "n": 2}, {"id": 2, "n": 5}, {"id": 3, "n": 1}]
    assert len(table().snapshots()) == 2
    assert table().properties["connect.offsets.orders-sink.test-0"] == "5/1"


def test_a_record_without_a_value_deletes_by_its_key(run: Run, rows: Rows) -> None:
    orders = run(more=UPSERT)
    for key in (1, 2, 3):
        orders.put({"id": key, "n": 0})
    orders.commit()
    orders.put(None, key={"id": 1, "more": "x"})
    orders.put(None, key=2)
    orders.put({"id": 2, "n": 7})
    orders.put({"id": 4, "n": 1})
    orders.put(None, key=4)
    orders.put(None, key="17")
    orders.commit()
    assert rows() == [{"id": 2, "n": 7}, {"id": 3, "n": 0}]


def test_also_of_required_columns_and_in_the_order_of_the_topic(run: Run, rows: Rows) -> None:
    schema = Schema.struct({"id": INT32, "name": STRING})
    orders = run(more={**UPSERT, "iceberg.control.commit.interval-ms": "1500"})
    orders.put({"id": 1, "name": "a"}, schema=schema)
    orders.put(None, key=1)
    orders.put({"id": 1, "name": "b"}, {"id": 2, "name": "c"}, schema=schema)
    orders.put(None, key=2)
    until_written(orders)
    assert rows() == [{"id": 1, "name": "b"}]


def test_also_within_one_batch(run: Run, rows: Rows) -> None:
    orders = run(more=UPSERT)
    orders.put({"id": 1, "n": 1}, None, {"id": 1, "n": 2}, key=1)
    orders.put({"id": 2, "n": 1}, None, key=2)
    orders.commit()
    assert rows() == [{"id": 1, "n": 2}]


def until_written(orders: SinkRun) -> None:
    while not orders.committed:
        orders.put_nothing()
        orders.commit()


def test_a_deletion_whose_key_is_unknown_does_not_fit(run: Run, rows: Rows) -> None:
    orders = run(more={**UPSERT, **TOLERANT})
    orders.put({"id": 1})
    orders.put(None, key=None)
    orders.put(None, key={"other": 1})
    orders.put(None, key="x")
    orders.put({"id": None, "n": 1})
    orders.commit()
    assert [row["id"] for row in rows()] == [1]
    assert len(orders.errant) == 4


def test_deletions_of_a_table_that_does_not_exist_yet_do_nothing(run: Run, rows: Rows) -> None:
    orders = run(more=UPSERT)
    orders.put(None, key=1)
    orders.commit()
    orders.put({"id": 1})
    orders.commit()
    assert rows() == [{"id": 1}]


def test_a_field_says_what_is_deleted(run: Run, rows: Rows) -> None:
    orders = run(more={"iceberg.tables.default-id-columns": "id", "iceberg.tables.cdc-field": "_cdc.op"})
    orders.put({"id": 1, "_cdc": {"op": "I"}}, {"id": 2, "_cdc": {"op": "c"}})
    orders.put({"id": 1, "_cdc": {"op": "D"}}, {"id": 2, "_cdc": {"op": "U"}}, {"id": 3, "_cdc": {"op": "delete"}})
    orders.commit()
    assert rows() == [{"id": 2, "_cdc": {"op": "U"}}]


UNSENT = "__debezium_unavailable_value"


@pytest.mark.parametrize("at_once", [True, False], ids=["one batch", "batches"])
def test_what_the_database_did_not_send_stays(run: Run, rows: Rows, at_once: bool) -> None:
    orders = run(more={**UPSERT, "unavailable.value.placeholder": UNSENT})
    for value, key in (
        ({"id": 1, "text": "large", "n": 1}, None),
        ({"id": 1, "text": UNSENT, "n": 2}, None),
        ({"id": 2, "text": "old", "n": 3}, None),
        ({"id": 2, "text": UNSENT, "n": 4}, None),
        ({"id": 2, "text": "new", "n": 5}, None),
        ({"id": 2, "text": UNSENT, "n": 6}, None),
        ({"id": 3, "text": "gone", "n": 7}, None),
        (None, 3),
        ({"id": 3, "text": UNSENT, "n": 8}, None),
        ({"id": 4, "text": None, "n": 9}, None),
        ({"id": 4, "text": UNSENT, "n": 10}, None),
    ):
        orders.put(value, key=key)
        if not at_once:
            orders.commit()
    orders.commit()
    found = [(row["id"], row["text"], row["n"]) for row in rows()]
    assert sorted(found) == [(1, "large", 2), (2, "new", 6), (3, UNSENT, 8), (4, None, 10)]


def test_changes_without_large_values_are_what_a_dictionary_makes_of_them(run: Run, rows: Rows, seed: int) -> None:
    dice = random.Random(seed)
    orders = run(
        more={**UPSERT, "unavailable.value.placeholder": UNSENT, "iceberg.tables.schema-case-insensitive": "true"}
    )
    model: dict[int, dict[str, Any]] = {}
    orders.put({"id": 0, "A": "a", "b": "b", "n": 0})
    model[0] = {"id": 0, "A": "a", "b": "b", "n": 0}
    orders.commit()
    for number in range(1, 150):
        key = dice.randrange(12)
        if dice.random() < 0.15:
            orders.put(None, key=key)
            model.pop(key, None)
        else:
            spelled = dice.choice("Aa")
            value = {"id": key, spelled: dice.choice([UNSENT, f"a{number}"]), "b": dice.choice([UNSENT, f"b{number}"])}
            orders.put({**value, "n": number})
            row = {"id": key, "A": value[spelled], "b": value["b"], "n": number}
            old = model.get(key, row)
            model[key] = {name: old[name] if row[name] == UNSENT else row[name] for name in row}
        if dice.random() < 0.1:
            orders.commit()
    orders.commit()
    assert sorted(rows(), key=lambda row: row["id"]) == [model[key] for key in sorted(model)]


def test_keys_of_several_columns_and_all_types(run: Run, rows: Rows) -> None:
    names = ("id", "name", "day", "time", "price", "uuid", "at", "raw")
    orders = run(more={**UPSERT, "iceberg.table.shop.orders.id-columns": ", ".join(names)})
    schema = Schema.struct(
        {
            "id": INT32,
            "name": STRING,
            "day": logical.DATE,
            "time": logical.TIME,
            "price": logical.decimal(2),
            "uuid": STRING.replace(name="uuid"),
            "at": logical.TIMESTAMP,
            "raw": Schema(Type.BYTES),
            "n": INT32,
        }
    )
    key = {
        "id": 1,
        "name": "x",
        "day": dt.date(2026, 1, 1),
        "time": dt.time(1),
        "price": Decimal("1.50"),
        "uuid": "00000000-0000-0000-0000-00000000002a",
        "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        "raw": b"r",
    }
    orders.put({**key, "n": 1}, {**key, "id": 2, "n": 1}, schema=schema)
    orders.commit()
    orders.put({**key, "n": 2}, schema=schema)
    orders.commit()
    assert sorted((row["id"], row["n"]) for row in rows()) == [(1, 2), (2, 1)]


def test_only_files_that_may_have_the_keys_are_read_and_written_again(
    run: Run, rows: Rows, table: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = run(more=UPSERT)
    for first in (0, 100, 200):
        orders.put(*({"id": n, "n": 0} for n in range(first, first + 100)))
        orders.commit()
    before = {task.file.file_path for task in table().scan().plan_files()}
    read, real = list[str](), upsert._read

    def noted(table: Any, task: Any, *what: Any) -> Any:
        read.append(task.file.file_path)
        return real(table, task, *what)

    monkeypatch.setattr(upsert, "_read", noted)
    orders.put({"id": 150, "n": 1})
    orders.commit()
    assert len(set(read)) == 1
    after = {task.file.file_path for task in table().scan().plan_files()}
    assert len(before & after) == 2
    assert len(rows()) == 300


@pytest.mark.promise("P10")
def test_a_conflict_is_merged_with_what_the_other_wrote(
    run: Run, rows: Rows, table: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = run(more=UPSERT)
    orders.put({"id": 1, "n": 1})
    orders.commit()
    real = IcebergTable._do_commit

    def late(self: IcebergTable, *what: Any, **more: Any) -> None:
        monkeypatch.undo()
        theirs = table()
        theirs.append(theirs.scan().to_arrow())
        real(self, *what, **more)

    monkeypatch.setattr(IcebergTable, "_do_commit", late)
    orders.put({"id": 1, "n": 2})
    orders.commit()
    assert rows() == [{"id": 1, "n": 2}]


def test_a_table_without_the_column_is_an_error(run: Run) -> None:
    orders = run(more={**UPSERT, "iceberg.tables.default-id-columns": "key"})
    with pytest.raises(ConnectError, match='has no column "key", which the id columns name'):
        orders.put({"id": 1})


def test_a_key_that_holds_null_does_not_fit(run: Run) -> None:
    orders = run(more=UPSERT)
    with pytest.raises(SchemaError, match='its "id" is null, and that is part of its key'):
        orders.put({"id": 1}, {"id": None})


@pytest.mark.parametrize("seed", range(3))
def test_as_a_dict_would(run: Run, rows: Rows, catalog: Catalog, seed: int) -> None:
    chance, wanted = random.Random(seed), dict[int, int]()
    orders = run(more={**UPSERT, "iceberg.tables.default-partition-by": "bucket(id, 3)"})
    orders.put({"id": -1, "n": 0})
    wanted[-1] = 0
    for number in range(40):
        key = chance.randrange(12)
        if chance.random() < 0.3:
            orders.put(None, key=key)
            wanted.pop(key, None)
        else:
            orders.put({"id": key, "n": number})
            wanted[key] = number
        if chance.random() < 0.15:
            orders.commit()
        if chance.random() < 0.1:
            orders.crash()
            orders.restart()
    orders.commit()
    assert {row["id"]: row["n"] for row in rows()} == wanted
    assert len(rows()) == len(wanted)
