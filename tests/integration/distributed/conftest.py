"""Pools of workers for tests."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from connect.kafka.broker import Broker

from .pool import Pool


@pytest.fixture
def pool_at(tmp_path: Path) -> Iterator[Callable[[str], Pool]]:
    """Makes a pool at these brokers. All of its workers end with the test."""
    pools: list[Pool] = []

    def make(bootstrap: str) -> Pool:
        pools.append(Pool(f"connect-pool-{uuid.uuid4().hex[:8]}", tmp_path, bootstrap))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture
def pool(broker: Broker, pool_at: Callable[[str], Pool]) -> Pool:
    """A pool of its own, without workers yet, at the session's broker."""
    return pool_at(broker.bootstrap_servers)


@pytest.fixture(scope="session")
def two(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool of two workers that many tests share. Nobody ends its workers; connectors have names of their own."""
    made = Pool(f"connect-pool-{uuid.uuid4().hex[:8]}", tmp_path_factory.mktemp("two"), broker.bootstrap_servers)
    try:
        made.start(2)
        yield made
    finally:
        made.close()


@pytest.fixture
def name() -> str:
    """A name that no other connector has."""
    return f"c{uuid.uuid4().hex[:8]}"
