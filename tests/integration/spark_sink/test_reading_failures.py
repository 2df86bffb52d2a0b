"""Records that cannot become rows, met in Spark's executors: named, skipped, dead letters, rows of their own."""

import json
from pathlib import Path
from typing import Any

import pytest

from connect.data.record import TopicPartition
from connect.data.schema import INT64, OPTIONAL_STRING, Schema
from connect.pipeline.error_headers import ErrorContext
from spark_sink.error_translation import translate_error
from spark_sink.reading.plan import changed_at
from tests.integration.errors.conftest import all_of, produce
from tests.integration.worker.conftest import herd

from .readings import JSON, Readings

__all__ = ["all_of", "herd", "produce"]

IDS = Schema.struct({"id": INT64.as_optional()})
VALUES: list[Any] = [{"id": 1}, b"{bad", {"id": 3}, b"[worse", {"id": 5}]
ALL = {"errors.tolerance": "all"}
#: Named as the text of errors in Java names it.
SCHEMALESS = {"value.converter": JSON, "value.converter.schemas.enable": "false"}


@pytest.mark.promise("P5", "P9")
def test_an_error_that_is_not_tolerated_ends_the_query_and_names_the_record(readings: Readings, new_topic: Any) -> None:
    topic = new_topic()
    readings.produce(topic, VALUES)
    error = readings.start(readings.plan(topic, values=IDS)).error()
    cause = translate_error(error)
    assert f"record {topic}-0@1: value converter JsonConverter failed" in str(cause)
    assert "errors.tolerance" in str(cause)
    assert "\n" not in str(cause)


@pytest.mark.slow
@pytest.mark.promise("P5")
def test_records_that_fail_cost_no_other_and_are_rows_where_that_is_wished(readings: Readings, new_topic: Any) -> None:
    topic = new_topic()
    readings.produce(topic, VALUES, key=b"k", headers=[("h", b"\xff"), ("h", None)])
    shape = {"metadata": True, "failures": True}
    rows = readings.available(readings.plan(topic, values=IDS, shape=shape, config=ALL)).rows
    assert [row["_value"]["id"] for row in rows if row["_value"]] == [1, 3, 5]
    failed = [row for row in rows if row["_failure"]]
    assert [row["_origin"]["offset"] for row in failed] == [1, 3]
    assert [row["_value"] for row in failed] == [None, None]
    assert [row["_failure"]["value"] for row in failed] == [b"{bad", b"[worse"]
    failure = failed[0]["_failure"]
    assert failure["key"] == b"k"
    assert failure["headers"] == [{"key": "h", "value": b"\xff"}, {"key": "h", "value": None}]
    assert failure["stage"] == "VALUE_CONVERTER"
    assert failure["exception"] == "org.apache.kafka.connect.errors.DataException"
    assert "Traceback" in failure["trace"]


@pytest.mark.slow
@pytest.mark.promise("P5")
def test_records_that_fail_are_skipped_where_errors_are_tolerated(readings: Readings, new_topic: Any) -> None:
    topic = new_topic()
    readings.produce(topic, VALUES)
    assert [row["id"] for row in readings.values(readings.plan(topic, values=IDS, config=ALL))] == [1, 3, 5]


@pytest.mark.slow
@pytest.mark.promise("P1", "P5")
def test_dead_letters_are_those_of_the_worker_header_for_header(
    readings: Readings, new_topic: Any, herd: Any, produce: Any, all_of: Any, tmp_path: Path
) -> None:
    topic, theirs, ours = new_topic(), new_topic(), new_topic()
    headers = [("h", b"\xff"), ("h", None), ("", b"")]
    produce(topic, *[(b"k", v if isinstance(v, bytes) else json.dumps(v).encode()) for v in VALUES], headers=headers)

    def config(queue: str) -> dict[str, str]:
        return {
            **ALL,
            **SCHEMALESS,
            "errors.deadletterqueue.topic.name": queue,
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        }

    sink = {"name": "sink", "connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": topic}
    herd().run(**{key.replace(".", "__"): value for key, value in {**config(theirs), **sink}.items()})
    expected = all_of(theirs, 2)
    plan = readings.plan(topic, values=IDS, config={**config(ours), "name": "sink"})
    assert [row["id"] for row in readings.values(plan)] == [1, 3, 5]
    found = all_of(ours, 2)
    for our, their in zip(found, expected, strict=True):
        assert (our.key(), our.value(), our.timestamp()) == (their.key(), their.value(), their.timestamp())
        assert [key for key, _ in our.headers()] == [key for key, _ in their.headers()]
        (our_own, our_context), (their_own, their_context) = map(ErrorContext.split, (our.headers(), their.headers()))
        assert our_own == their_own == headers
        assert (our_context.stacktrace == "") == (their_context.stacktrace == "")
        assert {**vars_of(our_context), "stacktrace": ""} == {**vars_of(their_context), "stacktrace": ""}


def vars_of(context: ErrorContext) -> dict[str, Any]:
    return {name: getattr(context, name) for name in context.__dataclass_fields__}


@pytest.mark.promise("P9")
def test_a_schema_that_has_to_grow_is_told_through_spark_with_its_place(readings: Readings, new_topic: Any) -> None:
    topic = new_topic(partitions=2, name=f"{new_topic()}.a-1_b")
    readings.produce(topic, [{"id": n} for n in range(3)], 0)
    readings.produce(topic, [*({"id": n} for n in range(7)), {"id": 7, "new": "x"}], 1)
    error = readings.start(readings.plan(topic, values=IDS)).error()
    assert changed_at(error) == (TopicPartition(topic, 1), 7)
    grown = Schema.struct({"id": INT64.as_optional(), "new": OPTIONAL_STRING})
    values = readings.values(readings.plan(topic, values=grown))
    assert len(values) == 11
    assert {"id": 7, "new": "x"} in values
    assert {"id": 0, "new": None} in values


@pytest.mark.slow
@pytest.mark.promise("P5", "P9")
def test_a_record_that_fits_no_schema_ends_the_query_or_is_left_to_the_error_policy(
    readings: Readings, new_topic: Any
) -> None:
    topic = new_topic()
    readings.produce(topic, [{"id": 1}, {"id": "x"}, {"id": 3}])
    error = readings.start(readings.plan(topic, values=IDS, config=ALL), "fails").error()
    assert changed_at(error) is None
    assert f"The record {topic}-0@1 does not fit the table" in str(translate_error(error))
    quarantine = {**ALL, "schema.evolution.on.mismatch": "quarantine"}
    assert [row["id"] for row in readings.values(readings.plan(topic, values=IDS, config=quarantine))] == [1, 3]
