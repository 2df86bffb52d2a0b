"""After which pauses the client of Google's storage repeats a request."""

import pytest

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
