"""What goes wrong with a store or an object is said, and nothing is lost or read twice."""

import gzip
import http.server
import random
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from connect import ConnectError, RetriableError
from connect.ports import free_port
from tests.integration.connectors.s3.between import Between
from tests.integration.connectors.s3.source_runs import lines, numbers, source_run
from tests.servers.s3 import S3Bucket, S3Proxy


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"aws__secret__access__key": "wrong-secret"}, "Check aws.secret.access.key"),
        ({"aws__access__key__id": "nobody"}, "Check aws.access.key.id"),
        ({"s3__bucket__name": "not-there"}, "Create the bucket, or check s3.bucket.name"),
    ],
)
def test_a_store_that_refuses_is_said(s3_bucket: S3Bucket, config: dict[str, str], said: str) -> None:
    run = source_run(s3_bucket, s3__part__retries="0", **config).start()
    with pytest.raises(ConnectError, match=said) as caught:
        run.poll()
    assert not isinstance(caught.value, RetriableError)
    assert "wrong-secret" not in str(caught.value)
    assert run.metric("s3_errors_total") == 1


def test_a_store_that_is_away_is_waited_for(s3_bucket: S3Bucket) -> None:
    s3_bucket.put("a", lines(range(5)))
    with Between(s3_bucket.server.port) as between:
        between.refusing = True
        config = {"store__url": between.url, "s3__part__retries": "0"}
        with source_run(s3_bucket, **config) as run:
            for _ in range(3):
                run.poll()
            assert run.records == []
            between.refusing = False
            run.poll_until(5)
            assert numbers(run) == list(range(5))
    nobody = f"http://127.0.0.1:{free_port()}"
    limited = source_run(s3_bucket, store__url=nobody, s3__part__retries="0", read__retry__timeout__ms="100").start()
    with pytest.raises(ConnectError, match="cannot be reached.*read.retry.timeout.ms"):
        limited.poll_until(1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jsonl", "gzip", "parquet"])
def test_connections_that_break_in_the_middle_of_an_object(s3_bucket: S3Bucket, kind: str, seed: int) -> None:
    content = lines(range(60_000), width=30)
    if kind == "gzip":
        content = gzip.compress(content, 1)
    elif kind == "parquet":
        import io

        import pyarrow as pa
        import pyarrow.parquet as pq

        file = io.BytesIO()
        pq.write_table(
            pa.table({"n": range(60_000)}), file, row_group_size=5000, compression="none", use_dictionary=False
        )
        content = file.getvalue()
    s3_bucket.put("large", content)
    chance = random.Random(seed)
    with Between(s3_bucket.server.port) as between:
        between.cut_after = [chance.randint(1000, len(content) // 2) for _ in range(12)]
        with source_run(
            s3_bucket, store__url=between.url, input__format="parquet" if kind == "parquet" else "jsonl"
        ) as run:
            run.poll_until(60_000)
            run.poll_all()
            assert numbers(run) == list(range(60_000))
            assert len(between.cut_after) < 12


def test_a_slow_store_slows_the_source_and_no_more(s3_bucket: S3Bucket) -> None:
    s3_bucket.put("large", lines(range(20_000), width=30))
    with Between(s3_bucket.server.port) as between:
        between.bytes_per_s = 2 << 20
        with source_run(s3_bucket, store__url=between.url) as run:
            run.poll_until(20_000)
            assert numbers(run) == list(range(20_000))


@pytest.mark.slow
def test_a_store_that_hangs_is_a_timeout_and_waited_for(cannot_have: Any) -> None:
    server = S3Proxy()
    try:
        bucket = server.bucket("hanging")
        bucket.put("a", lines([1]))
        config = {"s3__request__timeout__ms": "300", "s3__part__retries": "0"}
        with source_run(bucket, **config) as run:
            server.suspend()
            run.poll()
            assert run.records == []
            server.resume()
            run.poll_until(1)
    finally:
        server.resume()
        server.close()


def _damaged() -> bytes:
    packed = gzip.compress(lines(range(50_000), width=30), 1)
    return packed[: len(packed) // 2]


def test_an_object_that_was_cut_off_fails_the_task_with_what_is_whole_in_kafka(s3_bucket: S3Bucket) -> None:
    s3_bucket.put("a", lines([-1]))
    s3_bucket.put("b.gz", _damaged())
    s3_bucket.put("c", lines([-2]))
    run = source_run(s3_bucket, object__shares="1").start()
    with pytest.raises(
        ConnectError,
        match=r'Object "b.gz" of bucket .* gzip is cut off after \d+ bytes.* of its records were delivered',
    ):
        run.poll_until(50_003)
    found = numbers(run)
    assert found[0] == -1
    assert found[1:] == list(range(len(found) - 1))
    assert len(found) > 10_000
    ((_, offset),) = run.offsets
    assert (offset["object"], offset["record"]) == ("b.gz", len(found) - 1)


@pytest.mark.parametrize("how", ["log", "ignore", "tolerance"])
def test_bad_objects_and_bad_lines_are_left_out_if_so_asked(
    s3_bucket: S3Bucket, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    s3_bucket.put("a", b'{"n": 1, "x": ""}\n{"n": \n{"n": 2, "x": ""}\n')
    s3_bucket.put("b.gz", _damaged())
    s3_bucket.put("c", lines([-2]))
    asked = {"errors__tolerance": "all"} if how == "tolerance" else {"behavior__on__error": how}
    with source_run(s3_bucket, object__shares="1", **asked) as run:
        run.poll_until(3)
        while -2 not in numbers(run):
            run.poll()
        assert numbers(run)[:2] == [1, 2]
        assert run.metric("s3_bad_records_total") == 1
        assert run.metric("s3_bad_objects_total") == 1
        assert ('Skipped a record of object "a", record 1' in caplog.text) is (how != "ignore")
        assert ("b.gz" in caplog.text) is (how != "ignore")
        before = len(run.records)
        run.restart()
        assert len(run.poll_all()) == before


@pytest.mark.parametrize("asked", ["fail", "restart"])
def test_an_object_that_is_written_anew_while_it_is_read(s3_bucket: S3Bucket, asked: str) -> None:
    s3_bucket.put("a", lines(range(60_000), width=50))
    with source_run(s3_bucket, object__shares="1") as run:
        run.poll()
        read = len(run.records)
        assert 0 < read < 60_000
        offsets = run.offsets
    s3_bucket.put("a", lines(range(100)))
    with source_run(s3_bucket, object__shares="1", object__changed=asked, offsets=offsets) as run:
        if asked == "fail":
            with pytest.raises(
                ConnectError, match=rf'Object "a" of bucket .* after {read} of its records .* object.changed=restart'
            ):
                run.poll()
            return
        run.poll_until(100)
        assert numbers(run) == list(range(100))
        run.poll_all()
        run.restart()
        assert len(run.poll_all()) == 100


@pytest.mark.slow
def test_objects_that_are_gone_cost_nothing(s3_bucket: S3Bucket) -> None:
    for number in range(20):
        s3_bucket.put(f"{number:02}", lines(range(5)))
    s3_bucket.put("zz", lines(range(60_000), width=50))
    with source_run(s3_bucket, object__shares="1", max__poll__records="1") as run:
        run.poll()
        for number in range(3, 19):
            s3_bucket.delete(f"{number:02}")
        run.poll_until(20_000)
        s3_bucket.delete("zz")
        run.restart()
        run.poll_all()
        s3_bucket.put("zzz", lines([-1]))
        run.poll_until(len(run.records) + 1)
        assert numbers(run)[-1] == -1


class _Pages(http.server.BaseHTTPRequestHandler):
    """Lists as MinIO does: the last page but one says that there are more, and the last one has no Contents."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if "list-type=2" in self.path:
            first = "continuation-token" not in self.path and "start-after" not in self.path
            item = (
                "<Contents><Key>a</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag>"
                "<Size>18</Size></Contents>"
            )
            body = (
                '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                f"<IsTruncated>{str(first).lower()}</IsTruncated>{item if first else ''}"
                f"{'<NextContinuationToken>x</NextContinuationToken>' if first else ''}</ListBucketResult>"
            ).encode()
        else:
            body = lines([1])
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"e"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def pages() -> Iterator[str]:
    _Pages.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_last_page_without_contents_is_the_end(s3_bucket: S3Bucket, pages: str) -> None:
    with source_run(s3_bucket, store__url=pages) as run:
        run.poll_until(1)
        assert len(run.poll_all()) == 1
        for _ in range(3):
            run.poll()
        assert len(run.records) == 1
        assert any("continuation-token" in path for path in _Pages.asked)


class _Archive(_Pages):
    """Has an object that is in an archive."""

    def do_GET(self) -> None:
        if "list-type=2" in self.path:
            super().do_GET()
            return
        body = b"<Error><Code>InvalidObjectState</Code><Message>not valid for the storage class</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_an_object_in_an_archive_is_one_that_cannot_be_read(s3_bucket: S3Bucket) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Archive) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        with source_run(s3_bucket, store__url=url, behavior__on__error="ignore") as run:
            for _ in range(3):
                run.poll()
            assert run.metric("s3_bad_objects_total") == 1
        failing = source_run(s3_bucket, store__url=url).start()
        with pytest.raises(ConnectError, match='Object "a" of .* restore it first'):
            failing.poll()
        server.shutdown()
