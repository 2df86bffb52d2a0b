"""Merges with a sequence, without Spark: what comes late changes nothing; and which files a merge reads."""

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from connect import ConnectError, Schema, SinkRecord
from connect.data.schema import INT64, STRING
from connect.testing import SinkRun
from spark_sink.rows.newest import Batch

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]
Log = Callable[..., DeltaTable]


def record(key: Any, value: Any = None, at_ms: int = 0, partition: int = 0) -> SinkRecord:
    return SinkRecord("test", value, None, key, None, partition, timestamp=at_ms)


def of(id_: int, seq: Any, text: str = "") -> SinkRecord:
    return record({"id": id_}, {"id": id_, "seq": seq, "text": text})


class TestSequences:
    def test_a_late_record_changes_nothing_in_its_batch_and_in_later_ones(self, run: Run, rows: Rows) -> None:
        orders = run(mode="upsert", merge__sequence__by="SEQ")
        orders.put(of(1, 5, "new"), of(1, 3, "late"), of(2, 1, "a"))
        orders.commit()
        orders.put(of(1, 4, "later"), of(2, 1, "equal"), of(3, None, "no order"))
        orders.commit()
        orders.put(of(2, None, "null"), of(3, None, "null again"))
        orders.commit()
        assert rows() == [
            {"id": 1, "seq": 5, "text": "new"},
            {"id": 2, "seq": 1, "text": "equal"},
            {"id": 3, "seq": None, "text": "null again"},
        ]

    def test_the_first_column_that_differs_decides(self, run: Run, rows: Rows) -> None:
        schema = Schema.struct({"id": INT64, "a": INT64.as_optional(), "b": STRING.as_optional(), "text": STRING})
        orders = run(mode="upsert", pk__mode="record_value", pk__fields="id", merge__sequence__by="a,b")
        for a, b, text in (
            (1, "x", "first"),
            (1, None, "late"),
            (1, "y", "second"),
            (None, "z", "late"),
            (2, None, "third"),
            (1, "z", "late"),
        ):
            orders.put({"id": 1, "a": a, "b": b, "text": text}, schema=schema)
            orders.commit()
        assert rows() == [{"id": 1, "a": 2, "b": None, "text": "third"}]

    def test_a_deletion_takes_part_by_what_it_has(self, run: Run, rows: Rows) -> None:
        """With the record's timestamp as sequence a tombstone has one, too."""
        orders = run(mode="upsert", metadata__columns="timestamp", merge__sequence__by="_timestamp")
        orders.put(record({"id": 1}, {"x": "a"}, 20), record({"id": 1}, None, 10), record({"id": 2}, {"x": "b"}, 20))
        orders.commit()
        assert [row["id"] for row in rows()] == [1, 2]
        orders.put(record({"id": 1}, None, 19), record({"id": 2}, None, 21))
        orders.commit()
        orders.put(record({"id": 2}, {"x": "late, and nobody can know"}, 5))
        orders.commit()
        assert [(row["id"], row["x"]) for row in rows()] == [(1, "a"), (2, "late, and nobody can know")]

    def test_a_deletion_without_a_sequence_outdates_what_came_before_it(self, run: Run, rows: Rows) -> None:
        orders = run(mode="upsert", merge__sequence__by="seq")
        orders.put(of(1, 9), of(2, 9), of(3, 9), of(4, 9))
        orders.commit()
        gone = record({"id": 1}), record({"id": 2}), record({"id": 4})
        orders.put(*gone, of(1, 3, "after it"), of(3, 3, "late"), of(4, 12), of(4, 11, "late"))
        orders.commit()
        assert rows() == [
            {"id": 1, "seq": 3, "text": "after it"},
            {"id": 3, "seq": 9, "text": ""},
            {"id": 4, "seq": 12, "text": ""},
        ]

    def test_a_column_that_no_record_has_is_an_error(self, run: Run) -> None:
        orders = run(mode="upsert", merge__sequence__by="lsn")
        orders.put(of(1, 1))
        with pytest.raises(ConnectError, match='no column "lsn", which says whether a record is newer'):
            orders.commit()

    @pytest.mark.parametrize("seed", range(5))
    def test_whatever_the_batches_rows_are_those_of_a_dictionary(self, run: Run, rows: Rows, seed: int) -> None:
        """A deletion without a sequence forgets; a record is taken unless its sequence is smaller than the row's."""
        chosen = random.Random(seed)
        orders = run(mode="upsert", merge__sequence__by="a,b")
        model: dict[int, dict[str, Any]] = {0: {"a": 0, "b": 0, "n": -1}}
        orders.put(record({"id": 0}, model[0]))
        for n in range(120):
            id_ = chosen.randrange(6)
            value = {"a": chosen.choice([None, 1, 2, 3]), "b": chosen.choice([None, 1, 2]), "n": n}
            if chosen.random() < 0.2:
                orders.put(record({"id": id_}))
                model.pop(id_, None)
            else:
                orders.put(record({"id": id_}, value))
                if id_ not in model or _order(value) >= _order(model[id_]):
                    model[id_] = value
            if chosen.random() < 0.15:
                orders.commit()
        orders.commit()
        assert rows() == [{"id": id_, **model[id_]} for id_ in sorted(model)]


def _order(value: dict[str, Any]) -> list[tuple[bool, int]]:
    return [(value[name] is not None, value[name] or 0) for name in ("a", "b")]


class TestNewest:
    def test_equal_sequences_are_decided_by_offset_then_by_time(self) -> None:
        rows = pa.table({"k": [1, 1, 1, 2, 2], "seq": [7, 7, 7, 7, 8]})
        origins = pa.table(
            {
                "topic": pa.array([0, 0, 0, 0, 0], pa.int32()),
                "partition": pa.array([0, 0, 1, 0, 1], pa.int32()),
                "offset": [0, 1, 0, 2, 1],
                "timestamp": pa.array([90, 10, 20, 99, None], pa.int64()),
                "deleted": [False] * 5,
            }
        )
        assert Batch(rows, origins, ["k"], ["seq"]).newest().rows.to_pylist() == [2, 4]
        assert Batch(rows, origins, ["k"]).newest().rows.to_pylist() == [2, 3]


class TestPruning:
    def test_only_files_of_the_rows_partitions_are_read(self, run: Run, log: Log) -> None:
        orders = run(mode="upsert", pk__mode="record_value", pk__fields="day,id", partition__by="day")
        orders.put(*({"day": f"d{n % 5}", "id": n, "text": "a"} for n in range(50)))
        orders.commit()
        orders.put({"day": "d3", "id": 3, "text": "b"}, {"day": "d4", "id": 99, "text": "b"})
        orders.commit()
        metrics = log().history(1)[0]["operationMetrics"]
        assert metrics["num_target_files_skipped_during_scan"] >= 3, metrics

    def test_a_condition_of_the_users_prunes_as_well(self, run: Run, log: Log, rows: Rows) -> None:
        orders = run(mode="upsert", pk__fields="id", partition__by="Day", merge__condition="t.Day >= s.Day")
        for day in range(4):
            orders.put(record({"id": day}, {"Day": f"2026-01-0{day + 1}", "x": "a"}))
            orders.commit()
        orders.crash()
        orders.restart({"merge.condition": "t.Day >= '2026-01-04'"})
        orders.put(record({"id": 3}, {"Day": "2026-01-04", "x": "b"}))
        orders.commit()
        metrics = log().history(1)[0]["operationMetrics"]
        assert (metrics["num_target_files_scanned"], metrics["num_target_files_skipped_during_scan"]) == (1, 3)
        assert [row["x"] for row in rows()] == ["a", "a", "a", "b"]
