"""The processes in which a worker runs Java."""

from __future__ import annotations

from contextlib import suppress

import psutil

from tests.integration.distributed.pool import PoolWorker


def jvms(worker: PoolWorker) -> list[psutil.Process]:
    """All that have libjvm loaded, the oldest first: the hosts of connectors, then tasks."""
    found = []
    for each in psutil.Process(worker.process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any("libjvm" in one.path for one in each.memory_maps()):
                found.append((each.create_time(), each))
    return [each for _, each in sorted(found, key=lambda one: one[0])]
