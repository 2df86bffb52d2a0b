"""A query that meets new fields restarts with them, as long as a look at the records shows them."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from connect.data.record import TopicPartition
from connect.data.schema import INT64, OPTIONAL_STRING, Schema
from connect.telemetry.metrics import Registry
from spark_sink.query.progress import QueryProgress
from spark_sink.query.sink_task import SinkQuery
from spark_sink.query.table_task import TableTask
from spark_sink.reading.sample import Sample

CHANGED = RuntimeError("spark_sink.reading.plan.SchemaChanged: new fields at t-0@5")
SAMPLE = Sample(Schema.struct({"n": INT64.as_optional()}), None, 10.0, 3)


def test_new_fields_that_no_look_shows_restart_nothing() -> None:
    task: Any = TableTask()
    query = SinkQuery("all", ["t"], QueryProgress("all", Registry().labelled()))
    shown: list[Sample] = []

    def look(positions: Any, known: Sample, keep_going: Any, rows: int, first: TopicPartition) -> Sample:
        assert (positions[first], first) == (5, TopicPartition("t", 0))
        return shown.pop()

    task._samplers = {"all": SimpleNamespace(look=look)}
    query.sample = SAMPLE
    wider = Schema.struct({"n": INT64.as_optional(), "more": OPTIONAL_STRING})
    shown.append(replace(SAMPLE, values=wider, records=4))
    assert task.recover(query, CHANGED)
    shown.append(replace(SAMPLE, values=wider, records=8))
    assert not task.recover(query, CHANGED)
