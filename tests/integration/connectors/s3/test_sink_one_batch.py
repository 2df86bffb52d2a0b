"""The sink as Spark runs it, without Spark: a task lives for one batch, which is durable at its end."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connect.delivery import sink
from connectors.objects.sink import task as s3_task
from spark_sink.connector_sink import progress_files, resources
from spark_sink.connector_sink.plan import WritePlan
from spark_sink.connector_sink.progress_files import Done, Span, Tally
from spark_sink.connector_sink.write import write
from tests.integration.connectors.s3.between import Between
from tests.integration.connectors.s3.sink_runs import QUICK, json_lines, numbers
from tests.servers.s3 import S3Bucket
from tests.support.waiting import until
from tests.unit.spark_sink.connector_sink.raw import rows

WORKER = {
    "bootstrap.servers": "localhost:1",  # nothing here asks it
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    yield
    while resources._kept:
        resources._kept.popitem()[1].close()


def batch(numbers: Sequence[int]) -> pa.RecordBatch:
    """Records of partition 0, each at the offset of its number."""
    return rows(*({"n": n, "c": n % 2} for n in numbers), topic="test", offset=list(numbers))


def written(bucket: S3Bucket, rows: Iterable[pa.RecordBatch], config: Mapping[str, str], **more: Any) -> Done:
    whole = {"name": "objects", "topics": "test", **bucket.config, **QUICK, **config}
    plan = WritePlan("objects", "connectors.s3.sink.task:S3SinkTask", None, whole, whole, WORKER, **more)
    return write(plan, 0, rows)


def contents(bucket: S3Bucket) -> list[list[int]]:
    """The numbers in each object, in the order of their keys."""
    return [[record["n"] for record in json_lines(bucket, key)] for key in bucket.keys()]  # noqa: SIM118


@pytest.mark.quick
@pytest.mark.promise("P1")
@pytest.mark.parametrize(
    ("rules", "objects"),
    [
        ({"flush.size": "4"}, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], [10, 11, 12]]),
        ({"flush.size": "1000"}, [list(range(10)), [10, 11, 12]]),
        ({"rotate.schedule.interval.ms": "86400000"}, [list(range(10)), [10, 11, 12]]),
        ({"rotate.interval.ms": "86400000"}, [list(range(10)), [10, 11, 12]]),
        ({"file.max.bytes": "1000000"}, [list(range(10)), [10, 11, 12]]),
    ],
    ids=["a few records", "many records", "the clock", "the records' time", "bytes"],
)
def test_no_record_is_kept_back_for_the_next_batch(
    s3_bucket: S3Bucket, rules: Mapping[str, str], objects: list[list[int]]
) -> None:
    done = written(s3_bucket, [batch(range(6)), batch(range(6, 10))], rules, flush_within=0.0)
    assert (done.spans, done.tally) == ((Span("test", 0, 0, 10, 10),), Tally(read=10, written=10))
    assert "s3_records_written_total" in done.measured
    written(s3_bucket, [batch(range(10, 13))], rules, flush_within=0.0)
    assert contents(s3_bucket) == objects
    assert s3_bucket.uploads() == []


@pytest.mark.promise("P10")
def test_a_batch_that_comes_again_is_found_in_the_objects_that_are_there(s3_bucket: S3Bucket) -> None:
    rules = {"flush.size": "4"}
    written(s3_bucket, [batch(range(6))], rules)  # all that an earlier attempt came to
    before = s3_bucket.keys()
    for _ in range(2):
        written(s3_bucket, [batch(range(10))], rules)
        assert contents(s3_bucket) == [[0, 1, 2, 3], [4, 5], [6, 7, 8, 9]]
    assert s3_bucket.keys()[:2] == before


@pytest.mark.promise("P10")
def test_what_an_earlier_attempt_wrote_into_one_folder_only_is_found_behind_what_is_new(s3_bucket: S3Bucket) -> None:
    rules = {"flush.size": "2", "partitioner.class": "field", "partition.field.name": "c"}
    written(s3_bucket, [batch([5, 7])], rules)
    there = len(s3_bucket.keys())

    def in_turn() -> Iterator[pa.RecordBatch]:
        yield batch([0, 2])
        until(lambda: len(s3_bucket.keys()) > there)
        yield batch([4, 5, 7])

    written(s3_bucket, in_turn(), rules)
    assert numbers(s3_bucket) == [0, 2, 4, 5, 7]


def test_a_batch_that_ends_within_an_object_that_is_there_is_done(s3_bucket: S3Bucket) -> None:
    """Of a checkpoint that was lost: batches are cut elsewhere now."""
    written(s3_bucket, [batch(range(6))], {"flush.size": "100"})
    written(s3_bucket, [batch(range(4))], {"flush.size": "100"}, flush_within=0.0)
    assert numbers(s3_bucket) == list(range(6))


@pytest.mark.promise("P1")
def test_a_store_that_is_away_at_the_end_of_a_batch_is_waited_for(s3_bucket: S3Bucket, tmp_path: Path) -> None:
    with Between(s3_bucket.server.port) as between:
        between.refusing = True
        config = {"flush.size": "100", "store.url": between.url, "retry.backoff.ms": "20", "max.retries": "1000"}
        more = {"flush_within": 0.0, "progress_folder": str(tmp_path)}
        writing = threading.Thread(target=written, args=(s3_bucket, [batch(range(10))], config), kwargs=more)
        writing.start()
        until(lambda: "(Retry 3 of 1000.)" in progress_files.read(str(tmp_path)).waiting)
        between.refusing = False
        writing.join(60)
    assert numbers(s3_bucket) == list(range(10))


def test_uploads_that_take_long_are_waited_for(s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_task, "_COMMIT_S", 0.0)
    monkeypatch.setattr(sink, "_RETRY_S", 0.01)
    with Between(s3_bucket.server.port) as between:
        between.takes_per_s = 4000
        config = {"flush.size": "100", "store.url": between.url}
        written(s3_bucket, [batch(range(10))], config, flush_within=0.0)
    assert numbers(s3_bucket) == list(range(10))
