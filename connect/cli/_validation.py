"""Validation of connectors without a worker: as when they are created, in the processes of their plug-ins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from connect.cli._rest import DEFAULT
from connect.cli._worker_files import WorkerFile
from connect.herder import checks
from connect.herder.membership import Alone
from connect.herder.worker import Worker
from connect.pipeline.findings import Validation
from connect.plugins import Plugins
from connect.storage import MemoryOffsetStore, MemoryStatusStore
from connect.storage.config_log import MemoryConfigLog
from connect.worker.processes import start_server


class Validator:
    """Validates configurations for a worker that is not started.

    Attributes:
        plugins: those that the worker would have.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._policy = checks.load_policy(worker.plugins, worker.raw)
        self.plugins: Plugins = worker.plugins

    def validate(self, config: Mapping[str, str]) -> Validation:
        """As `PUT /connector-plugins/{plugin}/config/validate`. Variables of config providers are filled in."""
        return checks.validate(self._worker, self._policy, config)


@contextmanager
def validator(file: WorkerFile) -> Iterator[Validator]:
    """Create one for a worker's file; its processes end with the block.

    Raises:
        ConnectError: connector.client.config.override.policy names no policy.
    """
    start_server()
    raw = {**file.raw, "listeners": DEFAULT}  # where it would listen does not matter here, and may be wrong
    alone = Alone(MemoryConfigLog())
    worker = Worker(raw, file.config, file.resolver, MemoryOffsetStore(), MemoryStatusStore(), alone)
    with closing(worker.hosts):
        yield Validator(worker)
