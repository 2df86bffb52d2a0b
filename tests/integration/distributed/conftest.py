"""Pools of workers for tests."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import quote

import pytest

from connect.kafka.broker.embedded import Broker
from tests.servers.broker import a_broker

from .committed import Committed
from .pool import Pool, a_pool


@pytest.fixture
def pool_at(tmp_path: Path) -> Iterator[Callable[[str], Pool]]:
    """Makes a pool at these brokers. All of its workers end with the test."""
    with ExitStack() as pools:
        yield lambda bootstrap: pools.enter_context(a_pool(bootstrap, tmp_path))


@pytest.fixture
def pool(broker: Broker, pool_at: Callable[[str], Pool]) -> Pool:
    """A pool of its own, without workers yet, at the session's broker."""
    return pool_at(broker.bootstrap_servers)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Broker]:
    """One that a test may stop."""
    with a_broker(tmp_path / "broker") as running:
        yield running


@pytest.fixture(scope="session")
def shared_two(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """See `two`."""
    with a_pool(broker.bootstrap_servers, tmp_path_factory.mktemp("two"), 2) as made:
        yield made


@pytest.fixture
def two(shared_two: Pool) -> Iterator[Pool]:
    """A pool of two workers that many tests share. Nobody ends its workers; connectors have names of their own.

    What a test that fails leaves is deleted: other tests count on an even share of the work.
    """
    yield shared_two
    for name in shared_two.workers[0].get("/connectors") or ():
        shared_two.workers[0].do("DELETE", f"/connectors/{quote(name, safe='')}", or_gone=True)


@pytest.fixture
def committed(pool: Pool, new_topic: Callable[..., str]) -> Iterator[Callable[[str], Committed]]:
    """Makes a topic, and reads it."""
    with ExitStack() as stack:

        def make(topic: str) -> Committed:
            new_topic(name=topic)
            return stack.enter_context(closing(Committed(pool.bootstrap, topic)))

        yield make


@pytest.fixture
def name() -> str:
    """A name that no other connector has."""
    return f"c{uuid.uuid4().hex[:8]}"
