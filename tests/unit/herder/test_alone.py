"""A worker that is alone owns what is configured, from the moment that it is."""

import math

import pytest

from connect.group import Work
from connect.herder.membership import Alone
from connect.storage.config_log import MemoryConfigLog


@pytest.mark.promise("P4")
def test_it_owns_connectors_when_they_are_written_and_tasks_when_they_are_committed() -> None:
    log = MemoryConfigLog()
    alone = Alone(log)
    assert alone.owned == Work()
    log.put_connector("a", {})
    assert alone.owned == Work.of(["a"])
    log.put_tasks("a", [{}, {}])
    assert alone.owned == Work.of(["a"], [("a", 0), ("a", 1)])
    log.put_tasks("a", [{}])
    assert alone.owned == Work.of(["a"], [("a", 0)])
    log.remove_connector("a")
    assert alone.owned == Work()


def test_it_leads_for_ever() -> None:
    alone = Alone(MemoryConfigLog())
    assert alone.role.leader
    assert alone.role.generation == 0
    assert alone.live()
    assert alone.live_until() == math.inf
