"""A table that exists gets the properties of the configuration."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from connect.errors import ConnectError
from connect.testing import SinkRun

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]
Log = Callable[..., DeltaTable]

FEED = "table.property.delta.enableChangeDataFeed"


@pytest.fixture
def orders(lake: Path) -> Path:
    """A table of somebody else's."""
    write_deltalake(
        lake / "orders", pa.table({"id": [0]}), configuration={"delta.logRetentionDuration": "interval 9 days"}
    )
    return lake / "orders"


def put(run: SinkRun, *ids: int) -> None:
    run.put(*({"id": n} for n in ids))
    run.commit()


def test_only_what_differs_is_written_once(
    orders: Path, run: Run, rows: Rows, log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    keys = {FEED: "true", "table.property.delta.logRetentionDuration": "interval 9 days"}
    sink = run(mode="upsert", pk__mode="record_value", pk__fields="id", **keys)
    with caplog.at_level(logging.INFO, "spark_sink.delta.changes"):
        put(sink, 0, 1)
        put(sink, 2)
        sink.restart()
        put(sink, 3)
    operations = [commit["operation"] for commit in log().history()]
    assert operations.count("SET TBLPROPERTIES") == 1
    assert "delta.enableChangeDataFeed=true (before: not set)" in caplog.text
    assert "logRetentionDuration" not in caplog.text
    assert "need more from now on: reader 1, writer 4 (before: reader 1, writer 2)" in caplog.text
    assert [row["id"] for row in rows()] == [0, 1, 2, 3]
    assert list((orders / "_change_data").rglob("*.parquet")), "changes are kept from then on"


def test_what_somebody_sets_while_the_task_runs_stays_until_it_starts_again(orders: Path, run: Run, log: Log) -> None:
    name, wanted, theirs = "delta.logRetentionDuration", "interval 9 days", "interval 5 days"
    sink = run(**{f"table.property.{name}": wanted})
    put(sink, 1)
    log().alter.set_table_properties({name: theirs})
    put(sink, 2)
    assert log().metadata().configuration[name] == theirs
    sink.restart()
    put(sink, 3)
    assert log().metadata().configuration[name] == wanted


def test_a_new_table_has_them_from_the_beginning(run: Run, log: Log) -> None:
    put(run(**{FEED: "true", "table.property.owner": "shop"}), 1)
    before = log().version()
    put(run(**{FEED: "true", "table.property.owner": "shop"}), 2)
    assert log().metadata().configuration == {"delta.enableChangeDataFeed": "true", "owner": "shop"}
    operations = [commit["operation"] for commit in log().history() if commit["version"] > before]
    assert "SET TBLPROPERTIES" not in operations


def test_properties_of_the_users_own_are_set_too(orders: Path, run: Run, log: Log) -> None:
    put(run(**{FEED: "true", "table.property.owner": "shop"}), 1)
    assert log().metadata().configuration["owner"] == "shop"


def test_a_table_may_have_deletion_vectors(orders: Path, run: Run, log: Log) -> None:
    sink = run(mode="upsert", pk__mode="record_value", pk__fields="id", **{f"{FEED[:21]}enableDeletionVectors": "true"})
    put(sink, 0, 1)
    put(sink, 0, 2)
    assert "deletionVectors" in (log().protocol().reader_features or [])


def test_what_deltalake_cannot_keep_is_refused_and_says_who_can(orders: Path, run: Run) -> None:
    sink = run(**{"table.property.delta.enableRowTracking": "true", FEED: "true"})
    sink.put({"id": 1})
    words = r"delta\.enableRowTracking.* cannot be set for a table that exists: .*engine=spark"
    with pytest.raises(ConnectError, match=words):
        sink.commit()


def test_somebody_who_changes_the_table_meanwhile_is_in_the_way_once(
    orders: Path, run: Run, rows: Rows, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deltalake.table import TableAlterer

    real: Any = TableAlterer.set_table_properties

    def late(self: Any, *what: Any, **more: Any) -> None:
        monkeypatch.undo()
        DeltaTable(orders).alter.set_table_properties({"owner": "somebody"}, raise_if_not_exists=False)
        real(self, *what, **more)

    monkeypatch.setattr(TableAlterer, "set_table_properties", late)
    put(run(**{FEED: "true"}), 1)
    assert log().metadata().configuration == {
        "delta.enableChangeDataFeed": "true",
        "delta.logRetentionDuration": "interval 9 days",
        "owner": "somebody",
    }
    assert [row["id"] for row in rows()] == [0, 1]
