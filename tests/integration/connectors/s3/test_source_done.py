"""What becomes of objects that were read: only once their positions are stored, and only of the very ones."""

from typing import Any

import pytest

from connect import ConnectError
from tests.integration.connectors.s3.between import Between
from tests.integration.connectors.s3.source_runs import lines, numbers, source_run
from tests.servers.s3 import S3Bucket, S3Proxy


@pytest.mark.promise("P2")
def test_deleted_after_the_position_is_stored_and_not_before(s3_bucket: S3Bucket) -> None:
    for number in range(20):
        s3_bucket.put(f"in/{number:02}", lines([number]))
    with source_run(s3_bucket, aws__s3__prefix="in/", done__action="delete") as run:
        run.hold()
        run.poll_until(20)
        for _ in range(3):
            run.poll()
        assert len(s3_bucket.keys()) == 20
        run.acknowledge()
        while s3_bucket.keys():
            run.poll()
        assert numbers(run) == list(range(20))
        assert run.metric("s3_objects_done_total") == 20
        # Nothing is remembered of what is gone, and so a name that comes late is read wherever it stands.
        s3_bucket.put("in/00", lines([100]))
        run.poll_until(21)
        run.acknowledge()
        while s3_bucket.keys():
            run.poll()


@pytest.mark.promise("P2")
def test_an_object_whose_records_are_given_in_portions_waits_for_the_last(s3_bucket: S3Bucket) -> None:
    s3_bucket.put("a", lines(range(10)))
    with source_run(s3_bucket, done__action="delete", max__poll__records="3") as run:
        run.poll()
        run.hold()
        run.poll_until(10)
        for _ in range(3):
            run.poll()
        assert s3_bucket.keys() == ["a"]
        run.acknowledge()
        while s3_bucket.keys():
            run.poll()


@pytest.mark.promise("P2", "P10")
def test_what_a_task_left_undone_when_it_died_is_done_by_the_next(s3_bucket: S3Bucket) -> None:
    for number in range(20):
        s3_bucket.put(f"in/{number:02}", lines([number]))
    with source_run(s3_bucket, aws__s3__prefix="in/") as run:
        run.poll_until(20)
        offsets = run.offsets
        run.crash()
    s3_bucket.put("in/99", lines([99]))
    with source_run(s3_bucket, aws__s3__prefix="in/", done__action="delete", offsets=offsets) as run:
        while s3_bucket.keys():
            run.poll()
        assert numbers(run) == [99]


@pytest.mark.parametrize("bucket", ["", "its own"])
def test_moved_with_what_they_are(s3_bucket: S3Bucket, bucket: str) -> None:
    s3_bucket.put("in/a", lines([1]), ContentType="application/x-ndjson", Metadata={"of": "tests"})
    s3_bucket.put("in/b", lines([2]))
    config = {"done__action": "move", "done__prefix": "done/", "done__bucket": bucket and s3_bucket.name}
    with source_run(s3_bucket, **config) as run:
        run.poll_until(2)
        while s3_bucket.keys() != ["done/in/a", "done/in/b"]:
            run.poll()
        for _ in range(5):
            run.poll()
        assert numbers(run) == [1, 2]
    moved = s3_bucket.client.head_object(Bucket=s3_bucket.name, Key="done/in/a")
    assert (moved["ContentType"], moved["Metadata"]) == ("application/x-ndjson", {"of": "tests"})
    assert s3_bucket.get("done/in/b") == lines([2])


def test_an_object_that_was_written_anew_since_is_not_deleted_unread(
    s3_bucket: S3Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    s3_bucket.put("a", lines([1]))
    with source_run(s3_bucket, done__action="delete") as run:
        run.hold()
        run.poll_until(1)
        s3_bucket.put("a", lines([2]))
        run.acknowledge()
        run.poll_until(2)
        while s3_bucket.keys():
            run.poll()
        assert numbers(run) == [1, 2]
    assert "was replaced since it was read" in caplog.text


@pytest.mark.slow
def test_a_store_that_takes_no_change_fails_the_task_and_one_that_is_away_is_waited_for(cannot_have: Any) -> None:
    server = S3Proxy()
    try:
        bucket = server.bucket("read-only")
        bucket.put("a", lines([1]))
        with Between(server.port) as between:
            config = {"done__action": "delete", "s3__part__retries": "0", "store__url": between.url}
            with source_run(bucket, **config) as run:
                run.hold()
                run.poll_until(1)
                between.refusing = True
                server.kill()
                run.acknowledge()
                run.poll()
                between.refusing = False
                server.start(read_only=True)
                with pytest.raises(ConnectError, match="a in bucket read-only.*The store does not support this"):
                    run.poll_until(2)
    finally:
        server.close()


@pytest.mark.slow
def test_tagged_beside_the_tags_that_they_have(s3_gateway: Any) -> None:
    bucket = s3_gateway.bucket()
    bucket.put("a", lines([1]), Tagging="owner=me")
    bucket.put("b", lines([2]))

    def tags(key: str) -> list[tuple[str, str]]:
        found = bucket.client.get_object_tagging(Bucket=bucket.name, Key=key)["TagSet"]
        return sorted((each["Key"], each["Value"]) for each in found)

    with source_run(bucket, done__action="tag", done__tag="state=read") as run:
        run.poll_until(2)
        while run.metric("s3_objects_done_total") < 2:
            run.poll()
        assert (tags("a"), tags("b")) == ([("owner", "me"), ("state", "read")], [("state", "read")])
        run.restart()
        run.poll_all()
        assert len(run.records) == 2
