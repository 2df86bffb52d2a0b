"""A server of X's API for each test, and runs of the source against it in memory."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from connect.testing import SourceRun
from connectors.twitter import TwitterSourceConnector
from tests.servers.twitter import TOKEN, TwitterServer

Run = Callable[..., SourceRun]


@pytest.fixture
def x() -> Iterator[TwitterServer]:
    server = TwitterServer()
    yield server
    server.close()


@pytest.fixture
def run(x: TwitterServer) -> Run:
    """Makes a run: `run(twitter_mode="search")`, with `_` for `.`; it waits for nothing longer than it has to."""
    quick = {
        "topic": "posts",
        "twitter.base.url": x.url,
        "twitter.bearer.token": TOKEN,
        "twitter.rules": "#kafka",
        "twitter.poll.interval.ms": "20",
        "twitter.backfill.settle.ms": "50",
        "twitter.backoff.network.ms": "20",
        "twitter.backoff.http.ms": "20",
        "twitter.backoff.rate.limit.ms": "20",
        "queue.empty.ms": "20",
    }

    def make(offsets: Any = (), timeout: float = 20.0, **config: str) -> SourceRun:
        told = {key.replace("_", "."): value for key, value in config.items()}
        return SourceRun(TwitterSourceConnector, {**quick, **told}, offsets=offsets, timeout=timeout)

    return make


@pytest.fixture
def poll_until() -> Callable[..., None]:
    """Polls until something holds."""

    def until(run: SourceRun, holds: Callable[[], Any], what: str = "it comes about") -> None:
        deadline = time.monotonic() + 20
        while not holds():
            assert time.monotonic() < deadline, f"not in 20 s: {what}"
            run.poll()

    return until


@pytest.fixture
def texts() -> Callable[[SourceRun], list[str]]:
    """What the posts say that came, in order."""
    return lambda run: [record.value["text"] for record in run.records]
