"""What the Delta sink says when it cannot write: what, where, and what to do."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from connect import ConfigError, ConnectError, RetriableError
from connect.testing import SinkRun
from spark_sink.delta.maintenance import Maintenance
from spark_sink.delta.problems import table_error
from spark_sink.sink.connector import SparkSinkConnector
from spark_sink.table_settings import TableOptions
from tests.support.waiting import until

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def unprivileged(lake: Path) -> Iterator[Callable[[], None]]:
    """Makes this process a user that may read the lake and not write there, also where the tests run as root."""
    user = os.geteuid()

    def become() -> None:
        for parent in (*lake.parents, lake):
            if parent.stat().st_uid == user and str(parent).startswith("/tmp/"):
                parent.chmod(0o755)
        if user == 0:
            os.seteuid(65534)
        else:
            folders_to(0o555)

    def folders_to(mode: int) -> None:
        for folder in (lake, *(each for each in lake.rglob("*") if each.is_dir())):
            folder.chmod(mode)

    yield become
    os.seteuid(user)
    folders_to(0o700)


def test_a_folder_that_may_not_be_written(run: Run, lake: Path, unprivileged: Callable[[], None]) -> None:
    lake.mkdir()
    orders = run()
    orders.put({"id": 1})
    unprivileged()
    with pytest.raises(ConnectError, match=r"Table .*/lake/orders could not be created: access was denied\. Give this"):
        orders.commit()


def test_a_table_that_may_not_be_written_any_more(run: Run, lake: Path, unprivileged: Callable[[], None]) -> None:
    orders = run()
    orders.put({"id": 1})
    orders.commit()
    orders.put({"id": 2})
    unprivileged()
    with pytest.raises(ConnectError, match=r"could not be written: access was denied"):
        orders.commit()


def test_a_path_through_a_file(run: Run, lake: Path) -> None:
    lake.write_text("no folder")
    orders = run()
    orders.put({"id": 1})
    with pytest.raises(
        ConnectError, match=r"could not be created: part of the path is not a folder. Check the key table"
    ):
        orders.commit()


def test_an_unknown_storage(run: Run) -> None:
    with pytest.raises(ConnectError, match=r'"foo" is not a supported storage. Write a path, or s3://'):
        run(table="foo://lake/orders")


@pytest.mark.parametrize("topic", ["../elsewhere", "2024/x", ".."])
def test_a_topic_that_a_transformation_made_leads_into_no_other_folder(run: Run, lake: Path, topic: str) -> None:
    routed = {"transforms": "to", "transforms__to__type": "RegexRouter", "transforms__to__regex": ".*"}
    orders = run(table=f"{lake}/in/${{topic}}", **routed, transforms__to__replacement=topic)
    with pytest.raises(ConnectError, match="its topic cannot be part of a table's name"):
        orders.put({"id": 1})
    orders.crash()
    assert not list(lake.rglob("_delta_log"))


def test_a_table_that_must_be_there(run: Run) -> None:
    orders = run(auto__create="false")
    with pytest.raises(ConnectError, match="does not exist, and auto.create=false. Create it, or set auto.create=true"):
        orders.put({"id": 1})


def test_a_partition_column_that_records_do_not_have(run: Run) -> None:
    orders = run(partition__by="country")
    orders.put({"id": 1})
    with pytest.raises(ConnectError, match='is to be partitioned by "country", and the first records have no such'):
        orders.commit()


def test_a_table_with_column_mapping(run: Run, lake: Path) -> None:
    mapping = {"delta.columnMapping.mode": "name"}
    DeltaTable.create(lake / "orders", pa.schema([("id", pa.int64())]), configuration=mapping)
    with pytest.raises(ConnectError, match=r"has column mapping \(name\), which the deltalake package cannot write"):
        run()


def test_a_property_that_deltalake_does_not_know_how_to_keep(run: Run) -> None:
    orders = run(**{"table.property.delta.enableTypeWidening": "true"})
    orders.put({"id": 1})
    with pytest.raises(ConnectError, match=r"could not be created: .*enableTypeWidening"):
        orders.commit()


def test_a_server_that_is_away_is_waited_for_and_secrets_are_kept(run: Run) -> None:
    keys = {
        "storage.aws_endpoint_url": "http://127.0.0.1:9",
        "storage.aws_allow_http": "true",
        "storage.aws_access_key_id": "an-id",
        "storage.aws_secret_access_key": "very-secret",
        "storage.aws_region": "x",
        "storage.max_retries": "0",
        "storage.retry_timeout": "100ms",
    }
    with pytest.raises(
        RetriableError, match=r"Table s3://lake/orders could not be opened: .*Generic S3 error.*127.0.0.1:9"
    ) as raised:
        run(table="s3://lake/orders", **keys)
    assert "very-secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("said", "told", "passes"),
    [
        ("Generic LocalFileSystem error: x: No space left on device (os error 28)", "No space left", True),
        ("Upload aborted: Read-only file system (os error 30)", "its file system is read-only", False),
        ("Generic S3 error\n ↳ Server returned 503: SlowDown", "Generic S3 error: Server returned 503", True),
        ("Generic S3 error\n ↳ Client error with status 403 Forbidden", "access was denied", False),
        ("Kernel: The table needs the table feature typeWidening", "engine=spark may", False),
        ("Invariant violated: id > 5\nPreview of invalid data:\n| 2 |", "Invariant violated: id > 5.", False),
        ("", "no reason was given.", False),
    ],
)
def test_one_line_each(said: str, told: str, passes: bool) -> None:
    error = table_error(OSError(said), "/lake/orders", "be written")
    assert told in str(error)
    assert str(error).startswith("Table /lake/orders could not be written: ")
    assert "\n" not in str(error)
    assert isinstance(error, RetriableError) is passes


@pytest.mark.parametrize(
    ("keys", "at_fault"),
    [
        ({"format": "parquet"}, "format"),
        ({"table": "shop.orders"}, "table"),
        ({"column.mapping": "name"}, "column.mapping"),
        ({"cluster.by": "id"}, "cluster.by"),
        ({"trigger": "available_now"}, "trigger"),
        ({"errors.deadletter.table": "/lake/dead", "errors.tolerance": "all"}, "errors.deadletter.table"),
    ],
)
def test_what_needs_spark_is_said_before_anything_starts(keys: dict[str, str], at_fault: str) -> None:
    config = {"name": "s", "engine": "worker", "table": "/lake/orders", **keys}
    wrong = {value.name: value.errors for value in SparkSinkConnector().validate(config) if value.errors}
    assert list(wrong) == [at_fault]
    assert any("engine=" in message for message in wrong[at_fault])


def test_quarantine_needs_no_table_of_dead_letters_without_spark() -> None:
    config = {"engine": "worker", "table": "/lake/orders", "schema.evolution.on.mismatch": "quarantine"}
    assert not [value for value in SparkSinkConnector().validate(config) if value.errors]


def test_keys_of_other_engines_are_typed(run: Run) -> None:
    with pytest.raises(ConfigError, match="flush.bytes"):
        run(flush__bytes="5")


def test_files_are_joined_and_deleted_on_schedule(run: Run, lake: Path, rows: Rows) -> None:
    orders = run(
        compaction__interval__ms="1",
        vacuum__interval__ms="1",
        vacuum__retention__hours="0",
        **{"spark.databricks.delta.retentionDurationCheck.enabled": "false"},
    )
    for n in range(4):
        orders.put({"id": n})
        orders.commit()
        care = orders.task._maintenance  # type: ignore[attr-defined]
        assert isinstance(care, Maintenance)
        care.join(30)
    assert [row["id"] for row in rows()] == [0, 1, 2, 3]
    assert len(list((lake / "orders").glob("*.parquet"))) < 4


def test_care_that_fails_harms_nobody(lake: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_deltalake(lake / "orders", pa.table({"id": [1]}))
    care = Maintenance({}, TableOptions.parse({"compaction.interval.ms": "1"}))
    care.after_commit(str(lake / "orders"))
    until(lambda: care._schedule.due(str(lake / "orders")))
    (lake / "orders" / "_delta_log" / f"{0:020d}.json").write_text("broken")
    care.after_commit(str(lake / "orders"))
    care.join(30)
    assert "Maintenance of table" in caplog.text
    assert not any(thread.name == "table-care" for thread in threading.enumerate())
