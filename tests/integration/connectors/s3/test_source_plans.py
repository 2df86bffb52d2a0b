"""A real store's objects are planned by one instance and read by others, between runs of the worker's own engine."""

from collections import Counter
from typing import Any

import pytest

from connectors.s3.source import S3SourceConnector
from tests.integration.connectors.s3.source_runs import lines, numbers, source_run
from tests.servers.s3 import S3Bucket
from tests.support.read_plans import Planner


def _planner(bucket: S3Bucket, offsets: Any = (), **more: str) -> Planner:
    config = {
        **bucket.config,
        "topic": "t",
        "input.format": "jsonl",
        "s3.poll.interval.ms": "10",
        "max.poll.records": "2000",
        **{name.replace("__", "."): value for name, value in more.items()},
    }
    connector = S3SourceConnector()
    connector.start(config)
    (task,) = connector.task_configs(1)
    return Planner(connector, task, offsets)


@pytest.mark.quick
def test_planned_amid_an_object_that_was_polled_and_polled_again(s3_bucket: S3Bucket) -> None:
    s3_bucket.put("0 ü+", lines(range(40_000), width=500))
    for number in range(20):
        s3_bucket.put(f"in/{number:02}", lines(range(40_000 + 10 * number, 40_010 + 10 * number)))
    with source_run(s3_bucket, max__poll__records="2000") as run:
        for _ in range(3):
            run.poll()
        found = numbers(run)
        offsets: Any = run.offsets
    assert any("object" in offset for _, offset in offsets)
    with _planner(s3_bucket, offsets) as planner:
        read = planner.carry_out(4)
        assert read is not None
        assert len(read.records) > 1
        found += [record.value["n"] for records in read.records for record in records]
        assert planner.carry_out(4) is None
        offsets = planner.stored.all("c")
    assert Counter(found) == Counter(range(40_200))
    s3_bucket.put("in/20", lines([40_200]))
    with source_run(s3_bucket, offsets=offsets) as run:
        run.poll_until(1)
        assert [record.value["n"] for record in run.poll_all()] == [40_200]


@pytest.mark.promise("P2")
def test_deleted_when_the_plan_is_carried_out(s3_bucket: S3Bucket) -> None:
    for number in range(5):
        s3_bucket.put(f"{number}", lines([number]))
    with _planner(s3_bucket, done__action="delete") as planner:
        read = planner.carry_out()
        assert read is not None
        assert len(s3_bucket.keys()) == 5
        while s3_bucket.keys():
            assert planner.carry_out() is None
