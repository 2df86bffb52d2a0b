"""How often, and after which pauses, boto3's client repeats a request."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import botocore.endpoint
import pytest
from botocore.exceptions import ClientError

from connectors.s3.bucket import Bucket, BucketOptions


@pytest.fixture
def busy() -> Iterator[tuple[str, list[str]]]:
    """The address of a store that has too much to do, and its requests."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("keys", "least", "most"),
    [
        ({}, [0.1, 0.2, 0.4], [0.2, 0.4, 0.8]),
        (
            {"s3.part.retries": "4", "s3.retry.backoff.ms": "6000", "s3.retry.backoff.max.ms": "10000"},
            [3, 5, 5, 5],
            [6, 10, 10, 10],
        ),
        ({"s3.part.retries": "0"}, [], []),
    ],
)
def test_requests_are_repeated_as_the_keys_say(
    busy: tuple[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    keys: dict[str, str],
    least: list[float],
    most: list[float],
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(botocore.endpoint, "time", SimpleNamespace(sleep=pauses.append))
    url, asked = busy
    access = {"aws.access.key.id": "a", "aws.secret.access.key": "b"}
    config = {"s3.bucket.name": "b", "store.url": url, **access, **keys}
    bucket = Bucket(BucketOptions.parse(config), config)
    with pytest.raises(ClientError):
        bucket.request("head_object", Key="k")
    bucket.close()
    assert len(asked) == len(most) + 1
    assert all(low <= pause <= high for low, pause, high in zip(least, pauses, most, strict=True))
