"""Configurations of Aiven's sink work as they are."""

import gzip
import io
import itertools
import json

import pyarrow.parquet as pq
import pytest

from connect import SinkRecord, schema
from connect.data.headers import Header
from tests.integration.connectors.s3.sink_runs import await_committed, await_objects, sink_run
from tests.servers.s3 import ACCESS_KEY, SECRET_KEY, S3Bucket


def aivens(bucket: S3Bucket, **more: str) -> dict[str, str]:
    """As their documentation writes it."""
    return {
        "connector.class": "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector",
        "aws.access.key.id": ACCESS_KEY,
        "aws.secret.access.key": SECRET_KEY,
        "aws.s3.bucket.name": bucket.name,
        "aws.s3.endpoint": bucket.server.endpoint,
        "aws.s3.region": "us-east-1",
        "aws.s3.prefix": "in/",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


class _Only:
    """A bucket whose keys are those of the test alone."""

    config: dict[str, str] = {}  # noqa: RUF012


def run(config: dict[str, str], **more: int):
    return sink_run(_Only(), config, **more)  # type: ignore[arg-type]


def rec(n: int, **more: object) -> SinkRecord:
    return SinkRecord("test", f"v{n}", schema.STRING, f"k{n}", schema.STRING, 0, 0, 1000 * n + n, **more)  # type: ignore[arg-type]


def test_the_defaults_are_values_in_base64_in_gzip_at_each_commit(s3_bucket: S3Bucket) -> None:
    with run(aivens(s3_bucket)) as running:
        running.put(rec(0), rec(1))
        running.commit()
        running.put(rec(2))
        await_committed(running, 3)
    assert s3_bucket.keys() == ["in/test-0-0.gz", "in/test-0-2.gz"]
    assert gzip.decompress(s3_bucket.get("in/test-0-0.gz")) == b"djA=\ndjE=\n"


def test_fields_in_csv(s3_bucket: S3Bucket) -> None:
    config = aivens(
        s3_bucket,
        format_output_fields="key,value,offset,timestamp,headers",
        format_output_fields_value_encoding="none",
        file_compression_type="none",
        file_max_records="2",
    )
    with run(config) as running:
        running.put(rec(0, headers=(Header("h", b"x", schema.BYTES),)), rec(1), rec(2))
        await_committed(running, 3)
    assert s3_bucket.keys() == ["in/test-0-0", "in/test-0-2"]
    assert s3_bucket.get("in/test-0-0") == b"azA=,v0,0,0,aA==:eA==;\nazE=,v1,1,1001,\n"


#: What Aiven's sink 3.4 makes of 170 records: files end when they have file.max.records, and at the worker's commits.
RECORDED = [
    ("0", [], [170]),
    ("0", [10], [10, 160]),
    ("0", [60, 110], [60, 50, 60]),
    ("30", [], [30, 30, 30, 30, 30, 20]),
    ("32", [10], [10, 32, 32, 32, 32, 32]),
    ("30", [70, 120], [30, 30, 10, 30, 20, 30, 20]),
]


@pytest.mark.parametrize(("most", "commits", "objects"), RECORDED)
def test_files_end_by_their_records_and_at_the_worker_s_commits_and_at_nothing_else(
    s3_bucket: S3Bucket, most: str, commits: list[int], objects: list[int]
) -> None:
    config = aivens(s3_bucket, file_max_records=most, file_compression_type="none")
    ends = list(itertools.accumulate(objects))
    with run(config, batch_rows=10) as running:
        # The worker's time is over while a batch is under way: it commits behind that one, and others follow at once.
        for first, end in itertools.pairwise([0, *(commit - 10 for commit in commits), 170]):
            running.put(*[rec(n) for n in range(first, end)])
            await_objects(running, s3_bucket, sum(at <= end for at in ends[:-1]))
            running.put_nothing()  # that they are durable is noted, and ends nothing
            running.task.context.request_commit()
    found = {int(key.rpartition("-")[2]): len(s3_bucket.get(key).splitlines()) for key in s3_bucket.keys()}  # noqa: SIM118
    assert [found[first] for first in sorted(found)] == objects


@pytest.mark.parametrize("envelope", ["true", "false"])
def test_json_with_and_without_an_envelope(s3_bucket: S3Bucket, envelope: str) -> None:
    config = aivens(s3_bucket, format_output_type="jsonl", format_output_envelope=envelope)
    with run(config) as running:
        running.put({"a": 1}, {"a": 2})
        await_committed(running, 2)
    (key,) = s3_bucket.keys()
    found = [json.loads(line) for line in gzip.decompress(s3_bucket.get(key)).splitlines()]
    assert found == ([{"value": {"a": 1}}, {"value": {"a": 2}}] if envelope == "true" else [{"a": 1}, {"a": 2}])


def test_parquet_of_fields(s3_bucket: S3Bucket) -> None:
    config = aivens(s3_bucket, format_output_type="parquet", format_output_fields="key,value,offset")
    with run(config) as running:
        running.put(rec(0), rec(1))
        await_committed(running, 2)
    (key,) = s3_bucket.keys()
    assert key == "in/test-0-0"
    found = pq.read_table(io.BytesIO(s3_bucket.get(key))).to_pylist()
    assert found == [{"key": f"k{n}", "value": f"v{n}", "offset": n} for n in range(2)]


def test_an_object_for_each_key_has_its_last_record(s3_bucket: S3Bucket) -> None:
    config = aivens(
        s3_bucket,
        file_name_template="{{key}}",
        file_compression_type="none",
        format_output_fields_value_encoding="none",
    )
    with run(config) as running:
        for n, key in enumerate("aab"):
            running.put(f"v{n}", key=key, schema=schema.STRING)
        await_committed(running, 3)
        running.put("newer", key="a", schema=schema.STRING)
        await_committed(running, 4)
    assert {key: s3_bucket.get(key) for key in s3_bucket.keys()} == {"in/a": b"newer\n", "in/b": b"v2\n"}  # noqa: SIM118
