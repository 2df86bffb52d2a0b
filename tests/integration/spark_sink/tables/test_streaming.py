"""A real streaming query, in Spark itself and over Spark Connect, that is made to do a batch again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from connect.errors import SchemaError
from spark_sink.error_translation import translate_error
from spark_sink.session import open_session
from spark_sink.tables.hook import hooked
from tests.integration.spark_sink.tables.conftest import Tables

VALUE = {"id": pa.int64(), "text": pa.string()}
KEY = {"id": pa.int64()}


class Query:
    """A query that reads files, each a batch."""

    def __init__(self, tables: Any) -> None:
        self._tables = tables
        self._in = tables.folder / "in"
        self._checkpoint = tables.folder / "checkpoint"
        self._in.mkdir()
        self._schema: Any = None

    def add(self, records: list[dict[str, Any]]) -> None:
        """One more batch."""
        rows = self._tables.rows(VALUE, records, KEY)
        self._schema = self._schema or self._tables.batch(VALUE, records, KEY).schema
        pa.parquet.write_table(rows, self._in / f"{len(list(self._in.iterdir())):03}.parquet")

    def run(self, writer: Callable[[Any, int], None]) -> None:
        """Until all batches are written."""
        reader = self._tables.spark.readStream.schema(self._schema).option("maxFilesPerTrigger", 1)
        query = (
            reader.parquet(str(self._in))
            .writeStream.foreachBatch(writer)
            .option("checkpointLocation", str(self._checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination(120)
            if query.exception() is not None:
                raise query.exception()
            assert not query.isActive
        finally:
            query.stop()

    def forget(self, batch: int) -> None:
        """Have a batch done again: the query was killed between the table's commit and its own."""
        commits = self._checkpoint / "commits"
        assert (commits / str(batch)).exists()
        for file in commits.glob(f"*{batch}*"):
            file.unlink()


@pytest.fixture
def remote(connect_server: Any, no_shared_spark: None, tmp_path: Path) -> Iterator[Tables]:
    """Tables over Spark Connect."""
    session = open_session({"spark.remote": connect_server.url}, "tests")
    try:
        yield Tables(session.spark, tmp_path)
    finally:
        session.close()


def _record(id_: int, text: str | None, offset: int) -> dict[str, Any]:
    return {"key": {"id": id_}, "value": None if text is None else {"id": id_, "text": text}, "offset": offset}


def _appended_once(tables: Any) -> None:
    query = Query(tables)
    query.add([_record(1, "a", 0), _record(2, "b", 1)])
    query.run(tables.writer())
    query.add([_record(3, "c", 2)])
    query.forget(0)
    query.run(tables.writer())
    query.forget(1)
    query.run(tables.writer())
    assert [row["id"] for row in tables.read()] == [1, 2, 3]


def _upserted_once(tables: Any) -> None:
    query = Query(tables)
    query.add([_record(1, "a", 0), _record(2, "b", 1)])
    query.add([_record(1, "c", 2), _record(2, None, 3)])
    keys = {"mode": "upsert", "errors.deadletter.table": tables.path("dead"), "errors.tolerance": "all"}
    query.run(tables.writer(**keys))
    query.forget(1)
    query.run(tables.writer(**keys))
    assert tables.read() == [{"id": 1, "text": "c"}]
    assert tables.operations().count("MERGE") == 2
    assert tables.spark.conf.get("spark.databricks.delta.write.txnAppId", None) is None


@pytest.mark.slow
def _says_what_does_not_fit(tables: Any) -> None:
    tables.spark.sql(f"CREATE TABLE delta.`{tables.path()}` (id string) USING delta")
    query = Query(tables)
    query.add([_record(1, "a", 7)])
    with pytest.raises(Exception, match="is of type string, and the value") as raised:
        query.run(tables.writer())
    cause = translate_error(raised.value)
    assert isinstance(cause, SchemaError)
    assert str(cause).startswith(
        'Topic t, partition 0, offset 7: It does not fit the table. The column "id" is of type'
    )
    assert "\n" not in str(cause)


@pytest.mark.slow
def test_the_error_of_a_query_names_the_record_that_does_not_fit(tables: Any) -> None:
    _says_what_does_not_fit(tables)


@pytest.mark.slow
def test_over_spark_connect_the_error_names_the_record_that_does_not_fit(remote: Any) -> None:
    _says_what_does_not_fit(remote)


@pytest.mark.promise("P10")
def test_a_query_that_does_a_batch_again_appends_it_once(tables: Any) -> None:
    _appended_once(tables)


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_a_query_that_does_a_batch_again_upserts_it_once(tables: Any) -> None:
    _upserted_once(tables)


@pytest.mark.slow
def test_a_query_without_transactions_would_append_it_twice(tables: Any) -> None:
    query = Query(tables)
    query.add([_record(1, "a", 0)])
    query.run(tables.writer())
    query.forget(0)
    query.run(tables.writer("another/application"))
    assert [row["id"] for row in tables.read()] == [1, 1]


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_over_spark_connect_a_batch_is_appended_once(remote: Any) -> None:
    _appended_once(remote)


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_over_spark_connect_a_batch_is_upserted_once(remote: Any) -> None:
    _upserted_once(remote)


@pytest.mark.slow
def test_over_spark_connect_a_function_of_the_users_takes_batches(remote: Any) -> None:
    """Python's process beside the server imports it by its name."""
    plugin = remote.folder / "plugins" / "mine"
    plugin.mkdir(parents=True)
    code = "def take(rows, batch, context):\n    context.write(rows.where('_value.id > 1'))\n"
    (plugin / "remote_batches.py").write_text(code)
    query = Query(remote)
    query.add([_record(1, "a", 0), _record(2, "b", 1)])
    query.run(hooked(remote.writer(foreach__batch="remote_batches:take"), [str(plugin.parent)]))
    assert remote.read() == [{"id": 2, "text": "b"}]


@pytest.mark.slow
def test_over_spark_connect_a_merges_transaction_is_in_no_session_of_others(
    remote: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All queries of a client are in one session there: another one's rows must not pass for this one's."""
    from pyspark.sql.connect.conf import RuntimeConf

    told: list[tuple[str, str]] = []
    original = RuntimeConf.set

    def spied(self: Any, key: str, value: Any) -> None:
        told.append((self._client._session_id, key))
        original(self, key, value)

    monkeypatch.setattr(RuntimeConf, "set", spied)
    remote.writer(mode="upsert")(remote.batch(VALUE, [_record(1, "a", 0)], KEY), 0)
    transactions = [session for session, key in told if key.startswith("spark.databricks.delta.write.txn")]
    assert len(transactions) == 2
    assert remote.spark.session_id not in transactions


@pytest.mark.slow
def test_over_spark_connect_tables_are_made_changed_and_looked_after(remote: Any) -> None:
    keys = {
        "cluster.by": "id",
        "compaction.interval.ms": "1",
        "vacuum.interval.ms": "1",
        "errors.deadletter.table": remote.path("dead"),
        "errors.tolerance": "all",
        "schema.evolution.on.mismatch": "quarantine",
    }
    writer = remote.writer(**keys)
    Path(remote.path()).mkdir()
    writer(remote.batch(VALUE, [_record(1, "a", 0)]), 0)
    writer.maintenance.join(60)
    more = {**VALUE, "more": pa.list_(pa.struct([("x", pa.int32())]))}
    writer(remote.batch(more, [{"value": {"id": 2, "text": "b", "more": [{"x": 1}]}}]), 1)
    writer.maintenance.join(60)
    misfit = {"id": pa.string(), "text": pa.string()}
    for _ in range(2):
        writer(remote.batch(misfit, [{"value": {"id": "x", "text": "c"}}, {"value": {"id": None, "text": "d"}}]), 2)
    assert remote.read() == [
        {"id": 1, "text": "a", "more": None},
        {"id": 2, "text": "b", "more": [{"x": 1}]},
        {"id": None, "text": "d", "more": None},
    ]
    assert [row["offset"] for row in remote.read("dead")] == [0]
    assert {"OPTIMIZE", "VACUUM END"} <= set(remote.operations())
    with pytest.raises(SchemaError, match="partition 0, offset 0: .*is of type bigint"):
        remote.writer("b")(remote.batch(misfit, [{"value": {"id": "x", "text": "c"}}]), 0)


@pytest.mark.slow
def test_over_spark_connect_partitions_are_replaced(remote: Any) -> None:
    writer = remote.writer(mode="overwrite", partition__by="text")
    for number, id_ in ((0, 1), (1, 2), (1, 3), (0, 4)):
        writer(remote.batch(VALUE, [_record(id_, "a", 0)]), number)
    assert remote.read() == [{"id": 2, "text": "a"}]
