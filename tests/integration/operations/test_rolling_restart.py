"""An update of the Helm chart's workers, one after the other: nobody's tasks move, and each starts once more."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from pathlib import Path

import pytest

from connect.kafka.broker.embedded import Broker
from connect.settings import properties
from tests.integration.distributed.pool import PLUGINS, TOPICS, Pool, steady
from tests.support.chart import objects

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

TASKS = 6


def test_workers_that_are_updated_one_by_one_keep_their_work(broker: Broker, tmp_path: Path) -> None:
    made = objects("least")
    stateful = made["StatefulSet", "pool"]["spec"]
    written = dict(properties.loads(made["ConfigMap", "pool"]["data"]["worker.properties"]))
    # A pod keeps its name; here a worker keeps its port. All else is the chart's, also what it leaves unset.
    del written["listeners"], written["rest.advertised.host.name"]
    name = f"rolling-{uuid.uuid4().hex[:8]}"
    pool = Pool(name, tmp_path, broker.bootstrap_servers)
    here = {f"{what}.storage.topic": f"{name}-{what}" for what in TOPICS}
    here |= {f"{what}.storage.replication.factor": "1" for what in TOPICS}
    pool.settings = {**written, **here, "bootstrap.servers": broker.bootstrap_servers, "group.id": name}
    pool.settings |= {"plugin.path": str(PLUGINS)}
    starts = tmp_path / "starts"

    def counted() -> Counter[str]:
        return Counter(line.split()[0] for line in starts.read_text().splitlines())

    try:
        pool.start(stateful["replicas"])
        pool.workers[0].create("s", steady(tmp_path, TASKS, starts=str(starts)))
        pool.until(lambda: pool.shared(1, TASKS), "the workers share it")
        owners, before = pool.owners(), counted()
        for worker in pool.workers:
            assert worker.stop(within=stateful["template"]["spec"]["terminationGracePeriodSeconds"]) == 0
            worker.start()
            pool.until(worker.ready, "it answers again")
            # As the StatefulSet does, before the next one.
            time.sleep(stateful["minReadySeconds"])
            assert pool.owners() == owners
        assert counted() == {task: count + 1 for task, count in before.items()}
    finally:
        pool.close()
