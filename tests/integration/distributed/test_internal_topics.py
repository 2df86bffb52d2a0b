"""The three topics that a worker keeps all in: it makes them as they must be, and refuses those that would forget."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .pool import TOPICS, Pool, PoolWorker, steady

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.conftest import StrictBroker

#: What is wrong with which topic, and what the worker says of it.
REFUSED: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "config that is deleted in time": (
        {"config": {"config": {"cleanup.policy": "delete"}}},
        {},
        "-config has cleanup.policy=delete",
    ),
    "offsets that are deleted in time": (
        {"offset": {"config": {"cleanup.policy": "compact,delete"}}},
        {},
        "-offset has cleanup.policy=compact,delete",
    ),
    "states that are deleted in time": (
        {"status": {"config": {"cleanup.policy": "delete"}}},
        {},
        "-status has cleanup.policy=delete",
    ),
    "config in three partitions": (
        {"config": {"partitions": 3, "config": {"cleanup.policy": "compact"}}},
        {},
        "-config has 3 partitions, and must have 1",
    ),
    "more copies than brokers": ({}, {"status.storage.replication.factor": "2"}, "Lower its replication factor (2)"),
}


@pytest.fixture(scope="module")
def refused(strict_broker: StrictBroker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, PoolWorker]:
    """A worker for each case, started all at once."""
    from tests.integration.conftest import create_topic

    workers = {}
    for case, (topics, settings, _) in REFUSED.items():
        group = f"connect-pool-{uuid.uuid4().hex[:8]}"
        pool = Pool(group, tmp_path_factory.mktemp("refused"), strict_broker.bootstrap_servers)
        for what, shape in topics.items():
            create_topic(strict_broker.bootstrap_servers, f"{group}-{what}", **shape)
        workers[case] = PoolWorker(pool.folder, pool.settings | settings).start()
    return workers


@pytest.mark.parametrize("case", REFUSED)
def test_a_worker_does_not_start_on_topics_that_would_lose_what_it_keeps(
    refused: dict[str, PoolWorker], case: str
) -> None:
    worker = refused[case]
    assert worker.process is not None
    assert worker.process.wait(60) not in (0, None)
    errors = [line for line in worker.log.splitlines() if REFUSED[case][2] in line]
    assert errors, worker.log
    assert "Traceback" not in worker.log


def test_what_is_missing_is_made_as_it_must_be(
    strict_broker: StrictBroker, pool_at: Callable[[str], Pool], tmp_path: Path
) -> None:
    """Though the brokers make no topics by themselves. What a user wants of a topic is heard, but for its clean-up."""
    from tests.integration.conftest import create_topic

    pool = pool_at(strict_broker.bootstrap_servers)
    pool.settings |= {
        "config.storage.segment.bytes": "2000000",
        "offset.storage.cleanup.policy": "delete",
        "status.storage.partitions": "2",
    }
    # Made by hand, by somebody who knows how.
    create_topic(pool.bootstrap, f"{pool.name}-offset", 7, {"cleanup.policy": "compact"})
    (worker,) = pool.start(1)
    worker.create("s", steady(tmp_path))
    pool.until(lambda: worker.runs("s", 1), "it runs")
    made = {what: shape(pool.bootstrap, f"{pool.name}-{what}") for what in TOPICS}
    assert {what: partitions for what, (partitions, _) in made.items()} == {"config": 1, "offset": 7, "status": 2}
    assert all(settings["cleanup.policy"].value == "compact" for _, settings in made.values())
    assert made["config"][1]["segment.bytes"].value == "2000000"


def shape(servers: str, topic: str) -> tuple[int, Any]:
    """How many partitions a topic has, and its settings."""
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

    admin = AdminClient({"bootstrap.servers": servers})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    settings = admin.describe_configs([resource])[resource].result(30)
    return len(admin.list_topics(topic, timeout=30).topics[topic].partitions), settings
