"""Objects, uploads and files of keys that the store has already, or has lost."""

import threading
from typing import Any

import pytest

from connect import (
    ConnectError,
    SinkRecord,
    schema,
)
from connectors.s3.sink.plan import S3SinkPlan
from tests.support.waiting import until
from tests.unit.connectors.objects.in_memory import ObjectRun


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"max.retries": "1000"}, True),
        ({"retry.backoff.ms": "1"}, True),
        ({"errors.tolerance": "all"}, True),
        ({"openlineage.integration.enabled": "true"}, True),
        ({"s3.upload.threads": "8"}, True),
        ({"flush.size": "101"}, False),
        ({"transforms": "t"}, False),
    ],
)
def test_what_cannot_change_where_files_end_may_change_between_a_crash_and_the_next_start(
    change: dict[str, str], same: bool
) -> None:
    config = {"s3.bucket.name": "b", "flush.size": "100"}
    before, after = (S3SinkPlan.parse(given).fingerprint for given in (config, {**config, **change}))
    assert (before == after) is same


@pytest.mark.promise("P10")
def test_keys_beside_an_object_that_is_there_are_not_replaced_by_fewer() -> None:
    """Of an earlier task, which died amid its uploads: its objects end elsewhere, as they end by commits."""
    keys = {"store.kafka.keys": "true", "keys.format.class": "string", "format.class": "string"}
    config = {**keys, "partitioner.class": "field", "partition.field.name": "f", "topics.dir": ""}
    records = [SinkRecord("test", {"f": f}, key=f"{f}{n}") for n, f in enumerate("aaacaaabbbb")]
    with ObjectRun(config) as run:
        run.put(*records)
        run.await_committed(len(records))
        whole = dict(run.store.objects)
    with ObjectRun(config) as run:
        run.store.objects.update({key: found for key, found in whole.items() if "f=c" not in key})
        for start, end in ((0, 7), (7, 9), (9, 11)):
            run.put(*records[start:end])
            run.commit()
        run.await_committed(len(records))
    assert {key: body for key, (body, _) in whole.items()} == run.contents
    assert run.contents["test/f=b/test+0+0000000007.keys.txt"] == b"b7\nb8\nb9\nb10\n"


def test_objects_of_many_keys_are_looked_for_side_by_side() -> None:
    """Each look is a request, and names by keys are as many as there are keys: one after another takes its time."""
    config = {"file.name.template": "{{topic}}-{{partition}}-{{key}}-{{start_offset}}", "s3.upload.threads": "4"}
    with ObjectRun(config) as run:
        together, look = threading.Barrier(4, timeout=30), run.store.last_offset
        looked: list[str] = []

        def looking(key: str, topic: str) -> int | None:
            together.wait()
            looked.append(key)
            return look(key, topic)

        run.store.last_offset = looking  # type: ignore[method-assign]
        run.put(*(SinkRecord("test", str(number), key=f"k{number}") for number in range(8)))
        run.await_committed(8)
    assert sorted(looked) == sorted(run.contents) == [f"test-0-k{number}-{number}" for number in range(8)]


@pytest.mark.promise("P1")
@pytest.mark.parametrize("sent", [6, 12], ids=["amid parts", "before the last"])
def test_an_upload_that_the_store_has_lost_begins_again(sent: int) -> None:
    """As where a rule of the bucket removes unfinished ones."""
    config = {"flush.size": "13", "s3.part.size": str(5 << 20), "format.class": "string", "retry.backoff.ms": "1"}
    texts = [f"{n:07}" * (1 << 17) for n in range(13)]
    with ObjectRun(config) as run:
        run.put(*texts[:sent], schema=schema.STRING)
        until(lambda: sum(map(len, run.store.parts.values())) == sent // 6)
        run.store.parts.clear()
        run.put(*texts[sent:], schema=schema.STRING)
        run.await_committed(13)
    assert run.contents == {"topics/test/partition=0/test+0+0000000000.txt": "".join(f"{t}\n" for t in texts).encode()}
    assert not run.store.parts


class Forgetful(dict[Any, Any]):
    """Has nothing of what it is given."""

    def __contains__(self, _: object) -> bool:
        return False


@pytest.mark.promise("P9")
def test_a_store_that_loses_every_upload_fails_the_task() -> None:
    config = {"flush.size": "9", "s3.part.size": str(5 << 20), "format.class": "string"}
    with ObjectRun({**config, "retry.backoff.ms": "1", "max.retries": "2"}) as run:
        run.store.parts = Forgetful()
        run.put(*("x" * (1 << 20) for _ in range(6)), schema=schema.STRING)
        with pytest.raises(ConnectError, match="no such upload.*after 2 retries"):
            run.await_committed(6)


@pytest.mark.promise("P3")
def test_keys_beside_the_object_of_a_successor_are_not_replaced_by_fewer() -> None:
    """Of a task that has lost the partition, and still holds some of its records."""
    config = {"store.kafka.keys": "true", "keys.format.class": "string", "format.class": "string"}
    records = [SinkRecord("test", f"v{n}", schema.STRING, f"k{n}", schema.STRING) for n in range(5)]
    with ObjectRun(config) as successor:
        successor.put(*records[:4])
        successor.await_committed(4)
    with ObjectRun(config) as run:
        run.put(*records[:2])
        run.store.objects.update(successor.store.objects)
        run.commit()
        run.put(*records[2:])
        run.await_committed(5)
    assert run.contents == {
        **successor.contents,
        "topics/test/partition=0/test+0+0000000004.keys.txt": b"k4\n",
        "topics/test/partition=0/test+0+0000000004.txt": b"v4\n",
    }


@pytest.mark.promise("P10")
def test_no_offset_within_a_file_that_was_open_is_committed_where_another_object_is_found() -> None:
    """A task that began there would find no object of that name, and write the rest of the file again."""
    config = {"partitioner.class": "field", "partition.field.name": "f", "format.class": "string"}
    records = [{"f": f, "n": n} for n, f in enumerate("aaababb")]
    with ObjectRun(config) as run:
        run.put(*records)
        run.await_committed(len(records))
        earlier = {key: found for key, found in run.store.objects.items() if "f=b" in key}  # and died before the other
    run = ObjectRun(config)
    run.store.objects.update(earlier)
    with run:
        run.put(*records[:2])  # begins the file of a
        run.put(*records[2:5])  # finds the object of b, which goes on behind these
        run.commit()
        run.crash()
        run.restart()
        run.put(*records[5:])
        run.await_committed(len(records))
    written = b"".join(run.contents.values()).decode().splitlines()
    assert sorted(written) == sorted(f"{{f={each['f']}, n={each['n']}}}" for each in records)
