"""After which pauses Azure's client repeats a request."""

import pytest

from connectors.azure.keys import AzureBlobSinkOptions
from connectors.azure.store import _retry_policy


@pytest.mark.parametrize(
    ("keys", "most"),
    [
        ({}, [4, 8, 16]),
        ({"azblob.retry.backoff.ms": "100", "azblob.retry.max.backoff.ms": "300"}, [0.1, 0.2, 0.3]),
        ({"azblob.retry.type": "FIXED", "azblob.retry.backoff.ms": "100"}, [0.1, 0.1, 0.1]),
    ],
)
def test_the_first_pause_is_the_one_of_the_key(keys: dict[str, str], most: list[float]) -> None:
    policy = _retry_policy(AzureBlobSinkOptions.parse({"azblob.account.name": "a", **keys}))
    for number, longest in enumerate(most, 1):
        assert longest / 2 <= policy.get_backoff_time({"count": number}) <= longest
