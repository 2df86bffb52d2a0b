from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from connect.kafka.broker.embedded import Broker

from .members import Group


@pytest.fixture
def group_at() -> Iterator[Callable[[str], Group]]:
    """Makes a group at these brokers; all its members leave at the end."""
    groups: list[Group] = []

    def make(bootstrap_servers: str) -> Group:
        groups.append(Group(bootstrap_servers))
        return groups[-1]

    yield make
    for group in groups:
        group.leave()


@pytest.fixture
def group(broker: Broker, group_at: Callable[[str], Group]) -> Group:
    """A group of its own at the session's broker."""
    return group_at(broker.bootstrap_servers)
