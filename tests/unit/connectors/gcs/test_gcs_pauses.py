"""After which pauses the client of Google's storage repeats a request."""

import pytest
from urllib3 import HTTPResponse

from connectors.gcs.client import _session
from connectors.gcs.keys import GcsSinkOptions


@pytest.mark.parametrize(
    ("keys", "most"),
    [
        ({}, [0.2, 0.4, 0.8]),
        ({"gcs.retry.backoff.ms": "1000", "gcs.retry.backoff.max.ms": "3000", "gcs.part.retries": "4"}, [1, 2, 3, 3]),
    ],
)
def test_the_first_pause_is_the_one_of_the_key(keys: dict[str, str], most: list[float]) -> None:
    none = {"gcs.bucket.name": "b", "gcs.credentials.default": "false"}
    session = _session(GcsSinkOptions.parse({**none, **keys}))
    retry = session.get_adapter("https://storage.googleapis.com").max_retries
    assert retry.total == len(most)
    for longest in most:
        retry = retry.increment("GET", "/", error=ConnectionResetError())
        assert longest / 2 <= retry.get_backoff_time() <= longest
    session.close()


def test_no_pause_is_longer_than_the_longest_whatever_a_server_asks_for() -> None:
    none = {"gcs.bucket.name": "b", "gcs.credentials.default": "false"}
    session = _session(GcsSinkOptions.parse({**none, "gcs.retry.backoff.max.ms": "3000"}))
    retry = session.get_adapter("https://storage.googleapis.com").max_retries
    answers = [HTTPResponse(headers=said) for said in ({"Retry-After": "3600"}, {"Retry-After": "1"}, {})]
    pauses = [retry.get_retry_after(answer) for answer in answers]
    assert pauses == [3, 1, None]
    session.close()
