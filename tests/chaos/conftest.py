"""What all chaos tests share."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from . import topic
from .worker import Worker, running

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

StartWorker = Callable[..., Worker]

_topics = count(1)


@pytest.fixture
def chance(seed: int, request: pytest.FixtureRequest) -> random.Random:
    """The chance of one test: its own, whatever ran before it. A failure shows the seed."""
    request.node.add_report_section("setup", "seed", f"pytest --randomly-seed={seed} {request.node.nodeid}")
    return random.Random(f"{seed} {request.node.nodeid}")


@pytest.fixture
def start_worker(tmp_path: Path, broker: "Broker") -> Iterator[StartWorker]:
    """Starts a worker in the test's folder; ends it, and whatever it started, with the test."""
    with ExitStack() as stack:

        def start(bootstrap: str | None = None, **properties: str) -> Worker:
            made = Worker(tmp_path, bootstrap or broker.bootstrap_servers, **properties)
            return stack.enter_context(running(made))

        yield start


@pytest.fixture
def new_topic(broker: "Broker") -> Callable[..., str]:
    """Creates a topic of the test's own."""

    def make(partitions: int = 1) -> str:
        name = f"chaos-{next(_topics)}"
        topic.create(broker.bootstrap_servers, name, partitions)
        return name

    return make


#: What measures time, memory or a pool of workers, which others on the machine would disturb.
ALONE = ("test_hanging.py", "test_pool.py", "test_soak.py", "test_suite.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have these run on a machine that does nothing else."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name in ALONE:
            item.add_marker("alone")
