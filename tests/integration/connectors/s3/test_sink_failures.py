"""What goes wrong: stores that refuse, hang, are away or slow; objects that are in the way; tasks that die."""

import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from connect import ConnectError, RetriableError, TopicPartition
from connect.ports import free_port
from connect.testing import SinkRun
from connectors.objects.sink.task import ObjectSinkTask
from tests.integration.connectors.s3.sink_runs import (
    PLACE,
    await_committed,
    await_objects,
    json_lines,
    numbers,
    put_for_long,
    sink_run,
    until_taken,
)
from tests.servers.s3 import S3Bucket, S3Proxy
from tests.support.waiting import until


def rows(count: int, start: int = 0) -> list[dict[str, int]]:
    return [{"n": n} for n in range(start, start + count)]


def await_error(bucket: S3Bucket, config: dict[str, str], match: str) -> None:
    """Records are put until the task fails as expected, and nothing was committed."""
    with sink_run(bucket, {"flush.size": "1", **config}) as run:
        with pytest.raises(ConnectError, match=match) as caught:
            put_for_long(run)
        assert not isinstance(caught.value, RetriableError)
    assert not any(run.committed.values())


@pytest.mark.promise("P1", "P9")
@pytest.mark.parametrize(
    ("config", "match"),
    [
        ({"aws.secret.access.key": "wrong"}, "SignatureDoesNotMatch.*Check aws.secret.access.key"),
        ({"aws.access.key.id": "nobody"}, "InvalidAccessKeyId.*Check aws.access.key.id"),
        ({"s3.bucket.name": "not-there"}, "NoSuchBucket.*Create the bucket"),
        (
            {"store.url": f"http://127.0.0.1:{free_port()}", "max.retries": "2"},
            "cannot be reached.*Given up after 2 retr",
        ),
        ({"s3.ssea.name": "AES256"}, "NotImplemented.*remove the key that asks for it"),
    ],
    ids=["secret", "key", "bucket", "host", "refused"],
)
def test_a_store_that_refuses_is_named_and_nothing_is_committed(
    s3_bucket: S3Bucket, config: dict[str, str], match: str
) -> None:
    await_error(s3_bucket, config, match)


class Rotating:
    """Hands out the secret of now."""

    secret = ""

    def configure(self, config: Mapping[str, str]) -> None:
        self._key = config["key"]

    def credentials(self) -> tuple[str, str, None]:
        return self._key, Rotating.secret, None


@pytest.mark.promise("P1", "P8")
def test_a_class_is_asked_anew_when_its_credentials_are_refused(
    s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rotating_secrets", sys.modules[__name__])
    Rotating.secret = "an-old-one"
    keys = {
        "s3.credentials.provider.class": "rotating_secrets:Rotating",
        "s3.credentials.provider.key": s3_bucket.config["aws.access.key.id"],
        "aws.access.key.id": "",
        "aws.secret.access.key": "",
    }
    with sink_run(s3_bucket, {"flush.size": "1", **keys}) as run:
        run.put({"n": 1}, tries=1)
        Rotating.secret = s3_bucket.config["aws.secret.access.key"]
        await_committed(run, 1)
    assert numbers(s3_bucket) == [1]


@pytest.fixture
def own_server() -> Iterator[S3Proxy]:
    """A server that the test may end."""
    server = S3Proxy()
    yield server
    server.close()


@pytest.mark.slow
@pytest.mark.promise("P1", "P7")
def test_a_store_that_goes_away_comes_back_and_misses_nothing(own_server: S3Proxy) -> None:
    bucket = own_server.bucket()
    with sink_run(bucket, {"flush.size": "10", "max.retries": "1000", "retry.backoff.ms": "20"}) as run:
        run.put(*rows(10))
        await_committed(run, 10)
        own_server.kill()
        end = 10
        while not run.retries:
            run.put({"n": end}, tries=1)
            end += 1
        assert run.committed == {PLACE: 10}
        own_server.start()
        until_taken(run)
        run.put(*rows(100 - end, end))
        await_committed(run, 100)
    assert numbers(bucket) == list(range(100))


def written(bucket: S3Bucket) -> dict[str, object]:
    """When each object was."""
    found = bucket.client.list_objects_v2(Bucket=bucket.name)["Contents"]
    return {each["Key"]: each["LastModified"] for each in found}


@pytest.mark.promise("P10")
def test_the_same_records_make_the_same_objects_again(s3_bucket: S3Bucket) -> None:
    run = sink_run(s3_bucket, {"flush.size": "3"})
    with run:
        run.broker_takes_commits = False
        run.put(*rows(8))
        assert len(await_objects(run, s3_bucket, 2)) == 2
        before = written(s3_bucket)
        run.crash()
        run.broker_takes_commits = True
        run.restart()
        run.deliver()
        await_committed(run, 6)
        run.put(*rows(1, 8))
        await_committed(run, 9)
    assert numbers(s3_bucket) == list(range(9))
    after = {key: moment for key, moment in written(s3_bucket).items() if key in before}
    assert after == before  # nothing was rewritten


@pytest.mark.promise("P10")
def test_behind_objects_that_end_elsewhere_it_goes_on_without_repeating(s3_bucket: S3Bucket) -> None:
    """Files that end with the clock, or at a commit, end elsewhere the next time."""
    run = sink_run(s3_bucket, {"topics.dir": "x"})  # nothing is set: they end at commits
    with run:
        run.broker_takes_commits = False
        run.put(*rows(5))
        run.commit()
        run.put(*rows(2, 5))
        run.commit()
        assert len(s3_bucket.keys()) == 2
        run.crash()
        run.broker_takes_commits = True
        run.restart()
        run.put(*rows(3, 7))  # and with them all that was not committed
        await_committed(run, 10)
    assert numbers(s3_bucket) == list(range(10))
    assert [len(json_lines(s3_bucket, key)) for key in s3_bucket.keys()] == [5, 2, 3]  # noqa: SIM118


@pytest.mark.promise("P3", "P10")
def test_a_zombie_cannot_replace_what_its_successor_wrote(s3_bucket: S3Bucket) -> None:
    zombie = sink_run(s3_bucket, {"flush.size": "4"}).start()
    zombie.put(*rows(3))
    successor = sink_run(s3_bucket, {"flush.size": "3"}).start()
    successor.put(*rows(3))
    await_committed(successor, 3)
    zombie.put(*rows(2, 3))  # its file of four begins where that of three does
    await_committed(zombie, 3)
    zombie.crash()
    successor.put(*rows(3, 3))
    await_committed(successor, 6)
    successor.stop()
    assert [len(json_lines(s3_bucket, key)) for key in s3_bucket.keys()][0] == 3  # noqa: SIM118, RUF015
    assert numbers(s3_bucket) == list(range(6))


@pytest.mark.promise("P10")
def test_no_offset_in_the_middle_of_an_object_that_is_there_is_committed(s3_bucket: S3Bucket) -> None:
    config = {"flush.size": "10", "rotate.schedule.interval.ms": "86400000"}  # with a clock files may end elsewhere
    earlier = sink_run(s3_bucket, config).start()
    earlier.put(*rows(10))
    await_objects(earlier, s3_bucket, 1)
    earlier.crash()
    run = sink_run(s3_bucket, config).start()
    for count in (4, 3):
        run.put(*rows(count, 0 if count == 4 else 4))  # of ten that are there
        run.commit()
        assert run.committed.get(PLACE, 0) == 0
        run.crash()
        run.restart()
    run.put(*rows(13, 7))
    await_committed(run, 20)
    run.stop()
    assert numbers(s3_bucket) == list(range(20))


@pytest.mark.promise("P1")
def test_what_is_set_back_at_a_commit_is_not_committed_by_it(s3_bucket: S3Bucket) -> None:
    with sink_run(s3_bucket, {"flush.size": "3"}) as other:
        other.put(*rows(3))
        await_committed(other, 3)
    with sink_run(s3_bucket, {"flush.size": "4"}) as run:
        run.put(*rows(6))
        deadline = time.monotonic() + 30
        while not run.metric("s3_errors_total"):  # the conflict, found by a commit
            assert time.monotonic() < deadline
            run.commit()
        assert [answer[PLACE] for _, answer in run.pre_commits] == [0] * len(run.pre_commits)
        run.put({"n": 6})
        await_committed(run, 7)
    assert numbers(s3_bucket) == list(range(7))


@pytest.mark.promise("P1")
def test_an_object_of_somebody_else_is_not_replaced(s3_bucket: S3Bucket) -> None:
    s3_bucket.put("topics/test/partition=0/test+0+0000000000.json", b"precious")
    await_error(s3_bucket, {}, "already exists .* does not say which records it holds")
    assert s3_bucket.get("topics/test/partition=0/test+0+0000000000.json") == b"precious"
    with sink_run(s3_bucket, {"flush.size": "1", "enable.conditional.writes": "false"}) as run:
        run.put({"n": 0})
        await_committed(run, 1)
    assert numbers(s3_bucket) == [0]


@pytest.mark.promise("P1")
def test_records_of_open_files_are_not_committed_and_come_again_after_a_stop(s3_bucket: S3Bucket) -> None:
    run = sink_run(s3_bucket, {"flush.size": "10"})
    with run:
        run.put(*rows(25))
        await_committed(run, 20)
        run.restart()
        run.put(*rows(5, 25))
        await_committed(run, 30)
    assert numbers(s3_bucket) == list(range(30))


def test_partitions_that_go_take_their_open_files_with_them(s3_bucket: S3Bucket) -> None:
    with sink_run(s3_bucket, {"flush.size": "3"}, partitions=2) as run:
        run.put(*rows(2), partition=1)
        run.lose(TopicPartition("test", 1))
        run.put(*rows(3))
        await_committed(run, 3)
    assert numbers(s3_bucket) == [0, 1, 2]


def test_uploads_that_were_left_are_aborted_at_the_start(s3_bucket: S3Bucket) -> None:
    for key in ("topics/test/partition=0/test+0+0000000000.json", "topics/test/partition=7/test+7+0.json", "mine"):
        s3_bucket.client.create_multipart_upload(Bucket=s3_bucket.name, Key=key)
    with sink_run(s3_bucket, {"flush.size": "3"}):
        assert sorted(s3_bucket.uploads()) == ["mine", "topics/test/partition=7/test+7+0.json"]


@pytest.mark.promise("P1")
def test_an_upload_that_somebody_else_aborts_begins_again(s3_bucket: S3Bucket) -> None:
    """A rule of the bucket, for example."""
    records = [{"n": n, "text": "x" * (1 << 20)} for n in range(12)]
    with sink_run(s3_bucket, {"flush.size": "12", "s3.part.size": str(5 << 20)}) as run:
        run.put(*records[:8])
        until(s3_bucket.uploads)
        s3_bucket.abort_uploads()
        run.put(*records[8:])
        await_committed(run, 12)
    assert numbers(s3_bucket) == list(range(12))
    assert not s3_bucket.uploads()


def fill(run: SinkRun) -> None:
    for start in range(0, 30_000, 2000):
        run.put(*({"n": n, "p": n % 9, "text": "x" * 1000} for n in range(start, start + 2000)))


@pytest.mark.promise("P1")
def test_a_disk_that_takes_nothing_fails_the_task_and_leaves_no_object_with_gaps(
    s3_bucket: S3Bucket, tmp_path: Path
) -> None:
    config = {
        "flush.size": "30000",
        "partitioner.class": "field",
        "partition.field.name": "p",
        "s3.memory.bytes": str(16 << 20),
        "s3.spill.dir": str(tmp_path / "missing"),
    }
    with sink_run(s3_bucket, config) as run:
        with pytest.raises(ConnectError, match="does not fit into memory .* cannot wait in .*/missing: No such file"):
            fill(run)
        assert not run.committed.get(PLACE)
    assert s3_bucket.keys() == []


@pytest.mark.slow
@pytest.mark.promise("P7")
def test_memory_is_bounded_over_all_open_files_and_small_ones_wait_on_the_disk(
    s3_bucket: S3Bucket, tmp_path: Path
) -> None:
    config = {
        "flush.size": "40000",
        "partitioner.class": "field",
        "partition.field.name": "p",
        "s3.memory.bytes": str(16 << 20),
        "s3.spill.dir": str(tmp_path),
    }
    with sink_run(s3_bucket, config, batch_rows=500) as run:
        task = run.task
        assert isinstance(task, ObjectSinkTask)
        text = "x" * 1000
        for start in range(0, 40_000, 2000):
            run.put(*({"n": n, "p": n % 40, "text": text} for n in range(start, start + 2000)))
        await_committed(run, 40_000)
        assert task._files.memory.most < 24 << 20  # 40 MB were open at a time
        assert task._files.spilled > 8 << 20
    assert len(s3_bucket.keys()) == 40
    assert numbers(s3_bucket) == list(range(40_000))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.promise("P7")
def test_so_do_the_compressors_of_more_files_than_fit(s3_bucket: S3Bucket, tmp_path: Path) -> None:
    config = {
        "flush.size": "6000",
        "partitioner.class": "field",
        "partition.field.name": "p",
        "s3.compression.type": "gzip",
        "s3.memory.bytes": str(16 << 20),  # room for 60 compressors
        "s3.spill.dir": str(tmp_path),
    }
    with sink_run(s3_bucket, config, batch_rows=500) as run:
        task = run.task
        assert isinstance(task, ObjectSinkTask)
        for start in range(0, 6000, 500):
            run.put(*({"n": n, "p": n % 150} for n in range(start, start + 500)))
        await_committed(run, 6000)
        assert task._files.memory.most < 24 << 20
    assert len(s3_bucket.keys()) == 150
    assert numbers(s3_bucket) == list(range(6000))
