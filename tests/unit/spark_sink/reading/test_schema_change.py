"""A place that an executor tells its driver through Spark's error."""

import pickle

import pytest

from connect.data.record import TopicPartition
from spark_sink.reading.plan import SchemaChanged, changed_at


@pytest.mark.parametrize("topic", ["orders", "a-1", "a.b_c-2.3", "x-7-8"])
def test_a_place_comes_through_what_spark_says(topic):
    error = SchemaChanged(topic, 12, 3_000_000_000)
    said = (
        "[STREAM_FAILED] Query [id = 705b, runId = a5ad] terminated with exception: Job aborted due to stage failure:"
        f' Traceback (most recent call last):\n  File "executor.py", line 1\n{type(error).__module__}.SchemaChanged:'
        f" {error}\n\n\tat org.apache.spark.api.python.BasePythonRunner"
    )
    assert changed_at(RuntimeError(said)) == (TopicPartition(topic, 12), 3_000_000_000)


def test_other_errors_have_no_place():
    assert changed_at(RuntimeError("new fields at orders-0@3")) is None
    assert changed_at(RuntimeError("SchemaChanged")) is None


def test_it_travels():
    there = pickle.loads(pickle.dumps(SchemaChanged("t", 1, 2)))
    assert type(there) is SchemaChanged
    assert str(there) == "new fields at t-1@2"
