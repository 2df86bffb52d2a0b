"""Objects of a real store become records: formats, names, orders, memory."""

import gzip
import io
import shutil
import tracemalloc
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.s3.bucket import Bucket
from connectors.s3.source import keys
from connectors.s3.source.lanes import Lanes
from connectors.s3.source.layout import Layout
from connectors.s3.source.store import Store
from connectors.s3.source.walk import Share, Walk
from tests.integration.connectors.s3.between import Between
from tests.integration.connectors.s3.source_runs import lines, numbers, source_run
from tests.servers.s3 import S3Bucket


def _parquet(count: int, width: int = 1, **more: Any) -> bytes:
    file = io.BytesIO()
    texts = [f"{n:x>{width}}" for n in range(count)]
    pq.write_table(pa.table({"n": pa.array(range(count)), "text": texts}), file, compression="none", **more)
    return file.getvalue()


@pytest.mark.quick
def test_small_and_large_objects_of_several_formats(s3_bucket: S3Bucket) -> None:
    s3_bucket.put("a/1.jsonl", lines(range(10)))
    s3_bucket.put("a/2.jsonl.gz", gzip.compress(lines(range(10, 40_000), width=50)))
    s3_bucket.put("a/3.jsonl", b"")
    s3_bucket.put("a/4 ü+.jsonl", lines([40_000]))
    s3_bucket.put("a/folder/", b"")
    s3_bucket.put("b/1.jsonl", lines([7]))
    with source_run(s3_bucket, aws__s3__prefix="a/") as run:
        run.poll_until(40_001)
        assert numbers(run) == list(range(40_001))
        assert run.metric("s3_objects_read_total") == 4
        assert run.metric("s3_records_read_total") == 40_001
        assert {record.topic for record in run.records} == {"t"}
        s3_bucket.put("a/5.jsonl", lines([40_001]))
        run.poll_until(40_002)


@pytest.mark.slow
def test_parquet_is_read_in_parts_of_the_object(s3_bucket: S3Bucket) -> None:
    content = _parquet(100_000, width=200, row_group_size=20_000)
    s3_bucket.put("large.parquet", content)
    s3_bucket.put("small.parquet", _parquet(10))
    with Between(s3_bucket.server.port) as between:
        with source_run(s3_bucket, input__format="parquet", store__url=between.url) as run:
            run.poll_until(100_010)
            assert numbers(run) == [*range(100_000), *range(10)]
            offset = next(r.source_offset for r in run.records if r.value["n"] == 89_999)
            partition = run.records[0].source_partition
        passed = between.passed
        assert len(content) * 0.9 < passed < len(content) * 1.2
        with source_run(
            s3_bucket,
            input__format="parquet",
            store__url=between.url,
            object__shares="16",
            offsets=[(partition, offset)],
        ) as run:
            run.poll_until(10_010)
        assert between.passed - passed < len(content) * 0.4, "row groups that were read are not asked for again"


@pytest.mark.slow
def test_memory_is_bounded_whatever_the_size_of_an_object(s3_bucket: S3Bucket) -> None:
    s3_bucket.put("large.jsonl.gz", gzip.compress(lines(range(300_000), width=300), 1))
    with source_run(s3_bucket, input__format="text") as run:
        run.poll_until(1)
        run.hold()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        task = run.task
        count, batch = 0, task.poll()
        while batch is not None and len(batch):
            count += len(batch)
            batch = task.poll()
        most = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
    assert count > 200_000
    assert most < 16 << 20


def test_names_of_a_sink_give_topic_and_partition_back(s3_bucket: S3Bucket) -> None:
    for topic in ("orders", "re.turns"):
        for partition in range(2):
            for offset in (0, 100):
                name = f"topics/{topic}/partition={partition}/{topic}+{partition}+{offset:010}.json"
                s3_bucket.put(name, lines(range(offset, offset + 3)))
                s3_bucket.put(name.replace(".json", ".keys.json"), b'"k"\n')
    with source_run(s3_bucket, mode="RESTORE_BACKUP") as run:
        run.poll_until(24)
        assert len(run.poll_all()) == 24
        found: dict[Any, list[int]] = {}
        for record in run.records:
            found.setdefault((record.topic, record.partition), []).append(record.value["n"])
        assert found == {(t, p): [0, 1, 2, 100, 101, 102] for t in ("orders", "re.turns") for p in range(2)}
        assert len(run.offsets) == 4
        s3_bucket.put("topics/orders/partition=0/orders+0+0000000200.json", lines([200]))
        run.restart()
        run.poll_until(25)
        assert run.records[-1].value["n"] == 200


def test_by_time_and_with_the_name_as_the_key(s3_bucket: S3Bucket) -> None:
    s3_bucket.put("b", lines([1]))
    with source_run(s3_bucket, object__order="time", record__key="object") as run:
        run.poll_until(1)
        s3_bucket.put("a", lines([2]))
        run.poll_until(2)
        s3_bucket.put("b", lines([3]))
        run.poll_until(3)
        assert [(record.key, record.value["n"]) for record in run.poll_all()] == [("b", 1), ("a", 2), ("b", 3)]


@pytest.mark.slow
def test_more_tasks_and_fewer_go_on_where_others_were(s3_bucket: S3Bucket) -> None:
    for number in range(30):
        s3_bucket.put(f"{number:03}", lines([number]))
    offsets: Any = ()
    for turn, tasks in enumerate(("1", "3", "2")):
        with source_run(s3_bucket, offsets=offsets, tasks__max=tasks) as run:
            wanted = 30 if not turn else 5
            run.poll_until(wanted)
            assert len(run.poll_all()) == wanted
            offsets = run.offsets
        for number in range(5):
            s3_bucket.put(f"{turn + 1}{number:02}", lines([number]))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_thousand_names_are_listed_by_pages_and_only_once(s3_gateway: Any) -> None:
    bucket = s3_gateway.bucket()
    folder = s3_gateway.data / bucket.name / "logs"
    folder.mkdir()
    for number in range(100_000):
        (folder / f"{number:06}").write_bytes(b"x")
    with Between(s3_gateway.port) as between:
        config = {**bucket.config, "store.url": between.url, "topic": "t", "aws.s3.prefix": "logs/"}
        parsed = keys.S3SourceOptions.parse(config)
        store = Store(Bucket(parsed, config))
        stored: dict[str, Any] = {}

        def walk() -> Walk:
            lanes = Lanes(lambda asked: [stored.get(each["share"]) for each in asked], 64, False, "")
            return Walk(store, Layout(parsed), Share(0, 1, 16, False), lanes, bucket.name)

        first = walk()
        first.begin()
        read = []
        while not first.over:
            first.step()
            while (chosen := first.take()) is not None:
                read.append(chosen.found.key)
                chosen.lane.finish(chosen.found)
                stored[chosen.lane.partition["share"]] = chosen.lane.offset()
        assert read == [f"logs/{number:06}" for number in range(100_000)]
        assert 100 <= between.count("GET", "list-type=2") <= 101
        between.requests.clear()
        for again in (first, walk()):
            again.begin()
            while not again.over:
                again.step()
                assert again.take() is None
        assert between.count("GET", "list-type=2") <= 6
    shutil.rmtree(folder)  # the server's end does not wait for so many files to go
