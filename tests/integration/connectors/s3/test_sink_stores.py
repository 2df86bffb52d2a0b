"""What a store does to the sink, and the sink to a store: slowness, refusals, tags, keys of one's own."""

import random
import time
from pathlib import Path

import pytest

from connect import ConnectError
from connect.testing import SinkRun
from connectors.objects.sink.task import ObjectSinkTask
from tests.integration.connectors.s3.between import Between
from tests.integration.connectors.s3.sink_runs import PLACE, await_committed, numbers, sink_run
from tests.servers.s3 import S3Bucket, S3Server
from tests.support.waiting import until


def rows(count: int, start: int = 0) -> list[dict[str, int]]:
    return [{"n": n} for n in range(start, start + count)]


@pytest.mark.slow
@pytest.mark.promise("P1", "P7")
def test_a_slow_store_stops_consumption_and_memory_does_not_grow(
    s3_bucket: S3Bucket, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    config = {"flush.size": "1000", "s3.memory.bytes": str(16 << 20), "s3.spill.dir": str(tmp_path), "max.retries": "1"}
    with Between(s3_bucket.server.port) as slow:
        slow.takes_per_s = 8 << 20
        with sink_run(s3_bucket, {**config, "store.url": slow.url}, batch_rows=500, timeout=60) as run:
            task = run.task
            assert isinstance(task, ObjectSinkTask)
            for start in range(0, 40_000, 1000):  # 40 MB
                run.put(*({"n": n, "text": f"{chance.random()}" * 55} for n in range(start, start + 1000)))
                # A batch is taken whole, and what is being sent is there twice for a moment.
                assert task._files.memory.used < 24 << 20
            slow.takes_per_s = None
            await_committed(run, 40_000)
    assert numbers(s3_bucket) == list(range(40_000))


@pytest.mark.promise("P1")
def test_answers_that_are_cut_off_repeat_nothing(s3_bucket: S3Bucket) -> None:
    """The store has written, and nobody was told."""
    with Between(s3_bucket.server.port) as between:
        config = {"flush.size": "2", "store.url": between.url, "s3.part.retries": "2", "s3.retry.backoff.ms": "1"}
        with sink_run(s3_bucket, config) as run:
            run.put(*rows(2))
            await_committed(run, 2)
            between.cut_after = [1, 1]  # the next two answers
            run.put(*rows(2, 2))
            await_committed(run, 4)
    assert numbers(s3_bucket) == list(range(4))
    assert len(s3_bucket.keys()) == 2


@pytest.mark.slow
def test_tags_of_an_object_tell_what_it_holds(s3_gateway: S3Server) -> None:
    bucket = s3_gateway.bucket()
    config = {"flush.size": "3", "s3.object.tagging": "true", "s3.object.tagging.key.value.pairs": "team:data,cost:7"}
    with sink_run(bucket, config) as run:
        run.put(*rows(3))
        await_committed(run, 3)
    (key,) = bucket.keys()
    tags = bucket.client.get_object_tagging(Bucket=bucket.name, Key=key)["TagSet"]
    found = {tag["Key"]: tag["Value"] for tag in tags}
    assert found == {"team": "data", "cost": "7", "startOffset": "0", "endOffset": "2", "recordCount": "3"}


def test_tags_that_a_store_does_not_know_fail_the_task_only_if_they_must(s3_bucket: S3Bucket) -> None:
    config = {"flush.size": "3", "s3.object.tagging": "true"}
    with sink_run(s3_bucket, config) as run:
        run.put(*rows(3))
        await_committed(run, 3)
    with sink_run(s3_bucket, {**config, "s3.object.behavior.on.tagging.error": "fail", "topics.dir": "x"}) as run:
        run.put(*rows(3))
        with pytest.raises(ConnectError, match="NotImplemented"):
            put_nothing_for_long(run)
        assert not run.committed.get(PLACE)


def put_nothing_for_long(run: SinkRun) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        run.put_nothing()


@pytest.mark.slow
@pytest.mark.promise("P1", "P9")
def test_a_store_that_only_reads_fails_the_task_and_nothing_is_committed(s3_gateway: S3Server) -> None:
    bucket = s3_gateway.bucket()
    s3_gateway.kill()
    s3_gateway.start(read_only=True)
    try:
        with sink_run(bucket, {"flush.size": "1"}) as run:
            run.put(*rows(1))
            with pytest.raises(ConnectError, match="AccessDenied.*Check the permissions"):
                put_nothing_for_long(run)
        assert not run.committed.get(PLACE)
    finally:
        s3_gateway.kill()
        s3_gateway.start()


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_versions_of_a_bucket_show_that_nothing_was_written_twice(s3_gateway: S3Server) -> None:
    bucket = s3_gateway.bucket()
    bucket.client.put_bucket_versioning(Bucket=bucket.name, VersioningConfiguration={"Status": "Enabled"})
    run = sink_run(bucket, {"flush.size": "3"}).start()
    run.broker_takes_commits = False
    run.put(*rows(6))
    until(lambda: len(bucket.keys()) >= 2, 30)
    run.crash()
    run.broker_takes_commits = True
    run.restart()
    run.deliver()
    await_committed(run, 6)
    run.stop()
    versions = bucket.client.list_object_versions(Bucket=bucket.name)["Versions"]
    assert [each["Key"] for each in versions] == bucket.keys()
