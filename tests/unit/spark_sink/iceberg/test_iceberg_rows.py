"""Which columns records become, how tables change, how they are partitioned, and where records go."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg import types as iceberg
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import Table as IcebergTable

from connect import ConnectError, Schema
from connect.data import logical
from connect.data.schema import FLOAT64, INT8, INT32, INT64, STRING
from connect.errors import SchemaError
from connect.testing import SinkRun

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]
Opened = Callable[..., IcebergTable]

TOLERANT = {"errors.tolerance": "all", "errors.log.enable": "true"}
EVOLVES = {"iceberg.tables.evolve-schema-enabled": "true"}
UTC = dt.UTC
MOMENT = dt.datetime(2026, 11, 28, 9, 30, 15, 123000, UTC)

ALL_TYPES = Schema.struct(
    {
        "tiny": INT8,
        "int": INT32.as_optional(),
        "long": INT64,
        "float": FLOAT64,
        "text": STRING,
        "date": logical.DATE,
        "time": logical.TIME.as_optional(),
        "at": logical.TIMESTAMP,
        "price": logical.decimal(2).replace(parameters={"scale": "2", "connect.decimal.precision": "10"}),
        "uuid": STRING.replace(name="uuid"),
        "inner": Schema.struct({"at": logical.TIME.as_optional(), "name": STRING.as_optional()}, optional=True),
        "list": Schema.array(logical.TIME.as_optional(), optional=True),
        "map": Schema.map(STRING, logical.TIME.as_optional(), optional=True),
        "structs": Schema.array(Schema.struct({"x": INT32, "u": STRING.replace(name="uuid")}), optional=True),
    }
)
TEN = dt.time(10, 0, 0, 5000)
FULL = {
    "tiny": 1,
    "int": 2,
    "long": 3,
    "float": 0.5,
    "text": "x",
    "date": dt.date(2026, 11, 28),
    "time": TEN,
    "at": MOMENT,
    "price": Decimal("12.50"),
    "uuid": "00000000-0000-0000-0000-00000000002a",
    "inner": {"at": TEN, "name": None},
    "list": [TEN, None],
    "map": {"a": TEN, "b": None},
    "structs": [{"x": 1, "u": "00000000-0000-0000-0000-00000000002b"}],
}
SPARSE = FULL | {"int": None, "time": None, "inner": None, "list": None, "map": None, "structs": None}


def kinds(table: IcebergTable) -> dict[str, str]:
    return {f.name: f"{f.field_type}{'' if f.optional else ' required'}" for f in table.schema().fields}


class TestTypes:
    def test_of_records_with_a_schema(self, run: Run, rows: Rows, table: Opened) -> None:
        orders = run()
        orders.put(FULL, SPARSE, schema=ALL_TYPES)
        orders.commit()
        assert kinds(table()) == {
            "tiny": "int required",
            "int": "int",
            "long": "long required",
            "float": "double required",
            "text": "string required",
            "date": "date required",
            "time": "time",
            "at": "timestamptz required",
            "price": "decimal(10, 2) required",
            "uuid": "uuid required",
            "inner": "struct<15: at: optional time, 16: name: optional string>",
            "list": "list<time>",
            "map": "map<string, time>",
            "structs": "list<struct<21: x: required int, 22: u: required uuid>>",
        }
        full, sparse = sorted(rows(), key=lambda row: row["int"] is None)
        assert (full["time"], full["inner"]["at"], full["list"], dict(full["map"])) == (
            TEN,
            TEN,
            [TEN, None],
            {"a": TEN, "b": None},
        )
        assert (str(full["uuid"]), full["price"], full["at"], full["date"]) == (
            FULL["uuid"],
            Decimal("12.50"),
            MOMENT,
            dt.date(2026, 11, 28),
        )
        assert (sparse["time"], sparse["inner"], sparse["list"], sparse["map"]) == (None, None, None, None)

    def test_of_records_without_one(self, run: Run, rows: Rows, table: Opened) -> None:
        orders = run()
        orders.put({"id": 1, "price": 1.5, "tags": ["a"], "inner": {"x": True}, "nothing": None, "empty": []})
        orders.commit()
        assert {name: kind.partition("<")[0] for name, kind in kinds(table()).items()} == {
            "id": "long",
            "price": "double",
            "tags": "list",
            "inner": "struct",
        }
        assert rows() == [{"id": 1, "price": 1.5, "tags": ["a"], "inner": {"x": True}}]

    def test_all_columns_may_be_optional(self, run: Run, table: Opened) -> None:
        orders = run(more={"iceberg.tables.schema-force-optional": "true"})
        orders.put({"id": 1}, schema=Schema.struct({"id": INT32}))
        orders.commit()
        assert kinds(table()) == {"id": "int"}


EXISTING = IcebergSchema(
    iceberg.NestedField(1, "id", iceberg.IntegerType()),
    iceberg.NestedField(2, "ts", iceberg.TimestampType()),
    iceberg.NestedField(3, "tz", iceberg.TimestamptzType()),
    iceberg.NestedField(4, "day", iceberg.DateType()),
    iceberg.NestedField(5, "price", iceberg.DecimalType(10, 2)),
    iceberg.NestedField(6, "payload", iceberg.StringType()),
    iceberg.NestedField(7, "ok", iceberg.BooleanType()),
    iceberg.NestedField(8, "raw", iceberg.FixedType(3)),
    iceberg.NestedField(9, "key", iceberg.UUIDType()),
    iceberg.NestedField(10, "time", iceberg.TimeType()),
)


class TestExistingTables:
    def test_json_becomes_what_the_columns_are(self, run: Run, rows: Rows, catalog: Catalog) -> None:
        catalog.create_table("shop.orders", EXISTING)
        orders = run()
        for _ in range(2):
            orders.put(
                {
                    "id": "7",
                    "ts": "2026-11-28T09:30:15",
                    "tz": 1_000,
                    "day": "2026-11-28",
                    "price": "12.5",
                    "payload": {"a": [1]},
                    "ok": "true",
                    "raw": "AAEC",
                    "key": "00000000-0000-0000-0000-00000000002a",
                    "time": "10:00:00.005",
                    "more": "is left out",
                }
            )
        orders.commit()
        first, second = rows()
        assert first == second
        assert {name: str(value) if name == "key" else value for name, value in first.items()} == {
            "id": 7,
            "ts": dt.datetime(2026, 11, 28, 9, 30, 15),  # noqa: DTZ001 - as the column has it
            "tz": dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
            "day": dt.date(2026, 11, 28),
            "price": Decimal("12.50"),
            "payload": '{"a":[1]}',
            "ok": True,
            "raw": b"\0\1\2",
            "key": "00000000-0000-0000-0000-00000000002a",
            "time": TEN,
        }

    @pytest.mark.parametrize(
        ("wrong", "why"),
        [
            ({"id": 1.5}, '"id"'),
            ({"id": "x"}, '"id"'),
            ({"id": "2026_01"}, '"id"'),
            ({"price": "2_0"}, '"price"'),
            ({"day": "soon"}, '"day"'),
            ({"ok": "maybe"}, '"ok"'),
        ],
    )
    def test_what_cannot_become_so_does_not_fit(
        self, run: Run, rows: Rows, catalog: Catalog, wrong: dict[str, Any], why: str
    ) -> None:
        catalog.create_table("shop.orders", EXISTING)
        orders = run()
        with pytest.raises(SchemaError, match=why):
            orders.put({"id": 1}, wrong)

    @pytest.mark.parametrize("wrong", [{"key": "no uuid"}, {"raw": "AAECAw=="}])
    def test_nor_does_what_only_the_column_refuses(
        self, run: Run, rows: Rows, catalog: Catalog, wrong: dict[str, Any]
    ) -> None:
        catalog.create_table("shop.orders", EXISTING)
        orders = run(more=TOLERANT)
        orders.put({"id": 1}, wrong, {"id": 2})
        orders.commit()
        assert [row["id"] for row in rows()] == [1, 2]
        assert len(orders.errant) == 1

    def test_a_table_that_is_missing_and_not_to_be_created_is_an_error(self, run: Run) -> None:
        orders = run(more={"iceberg.tables.auto-create-enabled": "false"})
        with pytest.raises(
            Exception, match=r"Table shop.orders does not exist, and iceberg.tables.auto-create-enabled"
        ):
            orders.put({"id": 1})


class TestEvolution:
    def test_adds_widens_and_makes_optional(self, run: Run, rows: Rows, table: Opened) -> None:
        orders = run(more=EVOLVES)
        narrow = Schema.struct({"id": INT32, "in": Schema.struct({"a": INT32})})
        orders.put({"id": 1, "in": {"a": 1}}, schema=narrow)
        orders.commit()
        wide = Schema.struct(
            {
                "id": INT64.as_optional(),
                "in": Schema.struct({"a": INT64, "b": Schema.array(STRING)}),
                "new": logical.DATE.as_optional(),
            }
        )
        orders.put(
            {"id": 1 << 40, "in": {"a": 1 << 40, "b": ["x"]}, "new": None},
            {"id": None, "in": {"a": 2, "b": []}, "new": dt.date(2026, 1, 1)},
            schema=wide,
        )
        orders.put({"id": 2, "in": {"a": 2}}, schema=narrow)
        orders.commit()
        assert kinds(table())["id"] == "long"
        assert {row["id"] for row in rows()} == {1, 1 << 40, None, 2}
        assert [row["in"]["b"] for row in rows() if row["id"] == 1 << 40] == [["x"]]
        assert len(table().snapshots()) == 2

    def test_is_off_by_default_and_more_fields_are_left_out(self, run: Run, rows: Rows, table: Opened) -> None:
        orders = run()
        orders.put({"id": 1})
        orders.commit()
        orders.put({"id": 2, "more": "x"})
        orders.commit()
        assert rows() == [{"id": 1}, {"id": 2}]

    def test_a_change_that_iceberg_does_not_know_makes_a_record_unfit(self, run: Run, rows: Rows) -> None:
        orders = run(more={**EVOLVES, **TOLERANT})
        orders.put({"id": 1}, schema=Schema.struct({"id": INT32}))
        orders.commit()
        orders.put({"id": 1.5}, {"id": 2.0}, schema=Schema.struct({"id": FLOAT64}))
        orders.commit()
        assert rows() == [{"id": 1}, {"id": 2}]
        assert "Iceberg does not make that of int32" in str(orders.errant[0][1])

    def test_of_another_writer_is_followed(self, run: Run, rows: Rows, table: Opened) -> None:
        orders = run(more=EVOLVES)
        orders.put({"id": 1})
        orders.commit()
        with table().update_schema() as update:
            update.add_column("theirs", iceberg.StringType())
        orders.put({"id": 2, "ours": 1})
        orders.commit()
        orders.put({"id": 3, "theirs": "x"})
        orders.commit()
        assert [(r["id"], r["theirs"], r["ours"]) for r in rows()] == [(1, None, None), (2, None, 1), (3, "x", None)]

    def test_a_field_without_a_name_has_no_column(self, run: Run, rows: Rows) -> None:
        orders = run(iceberg__tables__evolve_schema_enabled="true", errors__tolerance="all", errors__log__enable="true")
        orders.put({"id": 1}, {"id": 2, "": "x"}, {"id": 3})
        orders.commit()
        assert rows() == [{"id": 1}, {"id": 3}]

    def test_names_differ_in_case_or_not(self, run: Run, rows: Rows) -> None:
        orders = run(more={**EVOLVES, "iceberg.tables.schema-case-insensitive": "true"})
        orders.put({"Id": 1})
        orders.put({"ID": 2})
        orders.commit()
        assert rows() == [{"Id": 1}, {"Id": 2}]


class TestPartitions:
    def test_of_all_transforms(self, run: Run, rows: Rows, table: Opened) -> None:
        written = "c, year(at), bucket(id, 4), truncate(name, 2)"
        orders = run(more={"iceberg.tables.default-partition-by": written, **EVOLVES})
        schema = Schema.struct({"id": INT64, "c": STRING, "at": logical.TIMESTAMP, "name": STRING.as_optional()})
        values = [
            {
                "id": n,
                "c": "de" if n % 2 else "fr",
                "at": MOMENT + dt.timedelta(days=200 * n),
                "name": "abc" if n else None,
            }
            for n in range(8)
        ]
        orders.put(*values, schema=schema)
        orders.commit()
        orders.put(*values, schema=schema)
        orders.commit()
        names = [(f.name, str(f.transform)) for f in table().spec().fields]
        assert names == [
            ("c", "identity"),
            ("at_year", "year"),
            ("id_bucket", "bucket[4]"),
            ("name_trunc", "truncate[2]"),
        ]
        assert len(rows()) == 16
        only = table().scan("c = 'de' and id = 3")
        assert len(only.to_arrow()) == 2
        assert len(list(only.plan_files())) < len(list(table().scan().plan_files()))

    @pytest.mark.parametrize("written", ["month(at)", "days(at)", "hour(at)"])
    def test_of_time(self, run: Run, rows: Rows, table: Opened, written: str) -> None:
        orders = run(more={"iceberg.table.shop.orders.partition-by": written})
        orders.put({"at": MOMENT}, {"at": MOMENT}, schema=Schema.struct({"at": logical.TIMESTAMP}))
        orders.commit()
        assert len(rows()) == 2
        assert len(table().spec().fields) == 1

    @pytest.mark.parametrize(
        ("written", "why"),
        [("nowhere", "the first records have no such field. They have id"), ("day(id)", "is of type long")],
    )
    def test_that_cannot_be_are_an_error(self, run: Run, written: str, why: str) -> None:
        orders = run(more={"iceberg.tables.default-partition-by": written})
        with pytest.raises(ConnectError, match=why):
            orders.put({"id": 1})


class TestRoutes:
    def test_to_all_tables(self, run: Run, rows: Rows) -> None:
        orders = run(more={"iceberg.tables": "shop.a,shop.b"})
        orders.put({"id": 1})
        orders.commit()
        assert rows("shop.a") == rows("shop.b") == [{"id": 1}]

    def test_by_a_field(self, run: Run, rows: Rows) -> None:
        orders = run(
            more={
                "iceberg.tables": "shop.a,shop.b",
                "iceberg.tables.route-field": "in.type",
                "iceberg.table.shop.a.route-regex": "list|both",
                "iceberg.table.shop.b.route-regex": "(?i)CREATE|both",
            }
        )
        orders.put(*({"id": n, "in": {"type": t}} for n, t in enumerate(["list", "create", "both", "other", "xlist"])))
        orders.put({"id": 9}, None)
        orders.commit()
        assert [row["id"] for row in rows("shop.a")] == [0, 2]
        assert [row["id"] for row in rows("shop.b")] == [1, 2]
        assert orders.committed

    def test_to_the_table_that_a_record_names(self, run: Run, rows: Rows, catalog: Catalog) -> None:
        dynamic = {"iceberg.tables": "", "iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "t"}
        orders = run(more={**dynamic, **TOLERANT})
        orders.put({"t": "Shop.A", "id": 1}, {"t": "new.b", "id": 2}, {"t": "../x.y", "id": 3}, {"id": 4}, {"t": "x"})
        orders.commit()
        assert [row["id"] for row in rows("shop.a")] == [1]
        assert [row["id"] for row in rows("new.b")] == [2]
        assert len(orders.errant) == 2

    def test_a_named_table_that_does_not_exist_gets_nothing(
        self, run: Run, rows: Rows, caplog: pytest.LogCaptureFixture
    ) -> None:
        dynamic = {"iceberg.tables": "", "iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "t"}
        orders = run(more={**dynamic, "iceberg.tables.auto-create-enabled": "false"})
        orders.put({"t": "shop.a", "id": 1}, {"t": "shop.a", "id": 2})
        orders.commit()
        assert not rows("shop.a")
        assert caplog.text.count("its records are left out") == 1

    def test_to_a_branch(self, run: Run, rows: Rows, table: Opened) -> None:
        orders = run()
        orders.put({"id": 1})
        orders.commit()
        orders.crash()
        staged = run(more={"name": "staged", "iceberg.tables.default-commit-branch": "staging"})
        staged.put({"id": 2})
        staged.commit()
        assert rows() == [{"id": 1}]
        assert rows(branch="staging") == [{"id": 1}, {"id": 2}]
        assert table().properties["connect.offsets.staged@staging.test-0"] == "1/1"

    def test_to_a_branch_of_a_new_table(self, run: Run, rows: Rows) -> None:
        staged = run(more={"iceberg.tables.default-commit-branch": "staging"})
        staged.put({"id": 2})
        staged.commit()
        assert rows() == []
        assert rows(branch="staging") == [{"id": 2}]


class TestProperties:
    def test_of_new_tables_and_of_what_is_written(self, run: Run, table: Opened) -> None:
        orders = run(
            more={
                "iceberg.tables.auto-create-props.owner": "shop",
                "iceberg.tables.write-props.write.parquet.compression-codec": "snappy",
            }
        )
        orders.put({"id": 1})
        orders.commit()
        assert table().properties["owner"] == "shop"
        assert "write.parquet.compression-codec" not in table().properties
        (task,) = table().scan().plan_files()
        path = Path(task.file.file_path.removeprefix("file://"))
        assert pq.read_metadata(path).row_group(0).column(0).compression == "SNAPPY"


def test_a_table_is_told_in_the_log(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        orders = run()
        orders.put({"id": 1})
        orders.commit()
    assert "Table shop.orders is created." in caplog.text
    assert "wrote 1 rows to table shop.orders in" in caplog.text
