"""How far a source on Spark is, from what Spark says of its batches."""

from typing import Any

import pytest

from connect.telemetry.metrics import Registry
from spark_sink.query.progress import rows_in
from spark_sink.source.delta_task import offset_of
from spark_sink.source.tally import Tally
from spark_sink.source.task import SourceProgress
from spark_sink.source.writing import Written


def report(batch: int, rows: int, *, written: bool = True, **more: Any) -> dict[str, Any]:
    """What Spark says, as Spark Connect says it: without a sum of the rows."""
    return {
        "runId": "r",
        "timestamp": f"2024-01-01T00:00:{batch:02}Z",
        "batchId": batch,
        "batchDuration": 5,
        "durationMs": {"triggerExecution": 5} | ({"addBatch": 4} if written else {}),
        "stateOperators": [],
        "sources": [{"numInputRows": rows, "endOffset": f'{{"reservoirVersion": {batch}, "index": -1}}'}],
        "numInputRows": None,
        **more,
    }


class Query:
    """What is looked at of a StreamingQuery."""

    def __init__(self, *reports: dict[str, Any]) -> None:
        self.recentProgress = list(reports)


def test_batches_are_counted_once_and_idle_moments_write_none() -> None:
    tally = Tally()
    progress = SourceProgress("query", Registry().labelled(), tally, counted=True)
    progress.take(Query(report(0, 3), report(1, 2)))
    progress.take(Query(report(0, 3), report(1, 2), report(2, 0, written=False)))
    tally.add([Written(0, 3, 2, 1, topics=("a",)), Written(1, 2, 2, 0, topics=("b",))])
    progress.take(Query())
    assert (progress.rows, progress.written, progress.errors, progress.batch) == (5, 4, 1, 1)
    assert progress.topics == {"a", "b"}
    assert progress.lag == -1


def test_over_spark_connect_written_is_what_was_read() -> None:
    progress = SourceProgress("query", Registry().labelled(), Tally(), counted=False)
    progress.take(Query(report(0, 3)))
    assert progress.written == 3
    assert rows_in(report(0, 3)) == 3


@pytest.mark.parametrize(
    ("version", "index", "starting", "changes", "expected"),
    [
        (12, -1, False, True, {"version": 12}),
        (12, -100, False, True, {"version": 12}),
        (12, 0, False, True, {"version": 13}),  # a version's changes are never cut
        (12, 3, False, False, {"version": 12, "file": 3}),
        (12, -1, "false", False, {"version": 12}),
        (11, 40, True, True, {"snapshot": 11, "file": 40}),
        (11, 40, "true", False, {"snapshot": 11, "file": 40}),
    ],
)
def test_a_position_of_delta_as_an_offset(
    version: int, index: int, starting: Any, changes: bool, expected: dict[str, Any]
) -> None:
    found = {"reservoirVersion": version, "index": index, "isStartingVersion": starting}
    assert offset_of(found, changes=changes) == expected
