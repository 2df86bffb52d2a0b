"""Delta tables against models: whatever the order of events, rows are what a dict or a counter says."""

import datetime as dt
import shutil
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from connect import FencedError, Schema, SinkBatch, SinkRecord, TopicPartition, Values
from connect.data.schema import INT64, OPTIONAL_STRING
from connect.testing import SinkRun
from spark_sink.delta.table import Table
from spark_sink.delta.writer import Writer
from spark_sink.sink.connector import SparkSinkConnector
from spark_sink.table_settings import TableOptions
from tests.support.partial_rows import VersionsModel, change

PLACE = TopicPartition("test", 0)


class Owners(RuleBasedStateMachine):
    """Tasks that own a partition one after another, of which the earlier ones do not know that they were replaced."""

    @initialize()
    def a_table(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.uri = str(self.folder / "orders")
        self.options = TableOptions.parse({"name": "sink", "table": self.uri, "flush.size": "1"})
        self.owners: list[tuple[Writer, list[int]]] = []  # each with the offset where it goes on
        self.newest: Writer | None = None  # who claimed the partition, and nobody has since

    @rule()
    def somebody_takes_over(self) -> None:
        writer = Writer(Table(self.uri, "sink", {}), self.options)
        position = 0
        self.newest = None
        if writer.table.look():
            writer.table.claim([PLACE])
            position = writer.table.offset(PLACE) or 0
            self.newest = writer
        else:
            writer.table.expect_nobody([PLACE])
        self.owners.append((writer, [position]))

    @precondition(lambda self: getattr(self, "owners", None))
    @rule(data=st.data(), records=st.integers(1, 3), new_column=st.booleans())
    def somebody_takes_records(self, data: st.DataObject, records: int, new_column: bool) -> None:
        writer, position = data.draw(st.sampled_from(self.owners))
        offsets = range(position[0], position[0] + records)
        rows = [{"id": n, f"c{n % 3}": n} if new_column else {"id": n} for n in offsets]
        part, mismatches = writer.prepare(SinkBatch("test", Values(rows), offsets=offsets))
        assert not mismatches
        writer.waiting.add(part)
        position[0] += records

    @precondition(lambda self: getattr(self, "owners", None))
    @rule(data=st.data())
    def somebody_writes(self, data: st.DataObject) -> None:
        writer, position = data.draw(st.sampled_from(self.owners))
        try:
            written = writer.flush({PLACE: position[0]})
        except FencedError:
            assert writer is not self.newest
            writer.waiting.clear()
        else:
            assert not written or self.newest in {None, writer}, "a late write was taken"

    @invariant()
    def every_record_below_the_offset_is_one_row(self) -> None:
        if not hasattr(self, "uri") or not DeltaTable.is_deltatable(self.uri):
            return
        table = DeltaTable(self.uri)
        ids = sorted(row["id"] for row in table.to_pyarrow_table(columns=["id"]).to_pylist())
        assert ids == list(range(table.transaction_version("connect/sink/test-0") or 0))

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)


TestOwners = Owners.TestCase
TestOwners.settings = settings(
    max_examples=25, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)

_CHANGES = st.lists(
    st.tuples(
        st.integers(0, 4), st.none() | st.fixed_dictionaries({}, optional={"n": st.integers(0, 9), "t": st.text()})
    ),
    min_size=1,
    max_size=12,
)
_BATCHES = st.lists(st.tuples(_CHANGES, st.sampled_from(["commit", "crash", "go on"])), min_size=1, max_size=5)


@settings(max_examples=25, deadline=None)
@given(_BATCHES)
def test_upserts_are_what_a_dict_would_be(batches: list[tuple[list[tuple[int, Any]], str]]) -> None:
    folder = tempfile.mkdtemp()
    model: dict[int, Any] = {}
    config = {"name": "sink", "engine": "worker", "table": f"{folder}/t", "mode": "upsert", "pk.fields": "id"}
    run = SinkRun(SparkSinkConnector, config, timeout=60).start()
    try:
        run.put(SinkRecord("test", {"n": 0, "t": ""}, None, -1))  # so that there is a table with its columns
        model[-1] = {"n": 0, "t": ""}
        run.commit()
        for changes, then in batches:
            run.put(*(SinkRecord("test", value, None, key) for key, value in changes))
            for key, value in changes:
                model.pop(key, None)
                if value is not None:
                    model[key] = {"n": None, "t": None} | value
            if then == "commit":
                run.commit()
            elif then == "crash":
                run.crash()
                run.restart()
        run.commit()
        found = DeltaTable(f"{folder}/t").to_pyarrow_table().to_pylist()
        assert sorted(found, key=lambda row: row["id"]) == [{**model[key], "id": key} for key in sorted(model)]
    finally:
        run.crash()
        shutil.rmtree(folder)


_KEY = Schema.struct({"id": INT64})
_COLUMNS = ("a", "b", "c")
_PARTS = st.lists(
    st.tuples(st.integers(0, 2), st.none() | st.tuples(st.integers(0, 3), st.sets(st.sampled_from(_COLUMNS)))),
    min_size=1,
    max_size=15,
)


@settings(max_examples=40, deadline=None)
@given(_PARTS, st.lists(st.integers(1, 15), max_size=4), st.booleans(), st.booleans())
def test_parts_of_rows_are_put_together_whatever_the_commits(
    changes: list[tuple[int, Any]], commits: list[int], soft: bool, ordered: bool
) -> None:
    """Records have some of the columns, as their schemas say; `n` says which of two is newer, if rows have an order."""
    folder = tempfile.mkdtemp()
    model: dict[int, dict[str, Any]] = {}
    config = {"name": "sink", "engine": "worker", "table": f"{folder}/t", "mode": "upsert"}
    config |= {"delete.mode": "soft", "delete.column": "gone"} if soft else {}
    config |= {"merge.sequence.by": "n"} if ordered else {}
    run = SinkRun(SparkSinkConnector, config, timeout=60).start()
    try:
        first = {"id": -1, "n": 0, **dict.fromkeys(_COLUMNS, "")}
        run.put(SinkRecord("test", first, _schema(first), {"id": -1}, _KEY))
        model[-1] = {**first, "gone": False}
        run.commit()
        for offset, (key, what) in enumerate(changes, 1):
            value = None
            if what is not None:
                value = {"id": key, "n": what[0], **{name: f"{name}{offset}" for name in what[1]}}
            run.put(SinkRecord("test", value, value and _schema(value), {"id": key}, _KEY, 0, offset))
            change(model, key, value, _COLUMNS, soft=soft, ordered=ordered)
            if offset in commits:
                run.commit()
        run.commit()
        found = DeltaTable(f"{folder}/t").to_pyarrow_table().to_pylist()
        wanted = [{k: v for k, v in model[key].items() if soft or k != "gone"} for key in sorted(model)]
        assert sorted(found, key=lambda row: row["id"]) == wanted
    finally:
        run.crash()
        shutil.rmtree(folder)


@settings(max_examples=40, deadline=None)
@given(_PARTS, st.lists(st.integers(1, 15), max_size=4))
def test_versions_have_what_the_ones_before_them_say(changes: list[tuple[int, Any]], commits: list[int]) -> None:
    """Records come in the order of their times; some have the time of the one before."""
    folder = tempfile.mkdtemp()
    config = {"name": "sink", "engine": "worker", "table": f"{folder}/t", "mode": "upsert", "scd.type": "2"}
    run = SinkRun(SparkSinkConnector, config, timeout=60).start()
    model = VersionsModel(_COLUMNS)
    at, deleted = 0, True
    try:
        for offset, (key, what) in enumerate([(-1, (0, set(_COLUMNS))), *changes]):
            value = None
            if what is not None:
                value = {"id": key, "n": offset, **{name: f"{name}{offset}" for name in what[1]}}
            at += value is None or deleted or what[0] > 0
            deleted = value is None
            run.put(SinkRecord("test", value, value and _schema(value), {"id": key}, _KEY, 0, offset, timestamp=at))
            model.change(key, value, dt.datetime.fromtimestamp(at / 1000, dt.UTC))
            if not offset or offset in commits:
                run.commit()
        run.commit()
        found = DeltaTable(f"{folder}/t").to_pyarrow_table().drop_columns("_timestamp")
        ordered = sorted(found.to_pylist(), key=lambda row: (row["id"], row["valid_from"]))
        assert ordered == model.rows(found.column_names)
    finally:
        run.crash()
        shutil.rmtree(folder)


def _schema(value: dict[str, Any]) -> Schema:
    return Schema.struct({name: OPTIONAL_STRING if name in _COLUMNS else INT64 for name in value})
