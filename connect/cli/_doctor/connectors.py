"""Connectors: what their own plug-ins, converters and transformations say of their files, as when they are created."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from connect.cli._doctor.files import told
from connect.cli._doctor.finding import Finding, error, note, ok
from connect.cli._doctor.subject import Subject
from connect.cli._exit import INVALID
from connect.cli._problems import Problems
from connect.cli._rest import DEFAULT
from connect.cli._worker_files import WorkerFile, take_validation
from connect.errors import ConnectError
from connect.herder import checks
from connect.herder.membership import Alone
from connect.herder.worker import Worker
from connect.storage import MemoryOffsetStore, MemoryStatusStore
from connect.storage.config_log import MemoryConfigLog
from connect.worker.processes import start_server


def check(subject: Subject) -> Iterator[Finding]:
    """Validate each file in the process of its plug-in, which a worker would do as well."""
    if not subject.connectors:
        return
    if subject.worker is None:
        advice = "Give the worker's file as well: its converters and plug-ins belong to them."
        yield note("connectors", "they are not validated without a worker's file.", advice)
        return
    start_server()
    yield from _validated(subject, subject.worker)


def _validated(subject: Subject, file: WorkerFile) -> Iterator[Finding]:
    raw = {**file.raw, "listeners": DEFAULT}  # where it would listen is no matter here, and may be written wrongly
    alone = Alone(MemoryConfigLog())
    worker = Worker(raw, file.config, file.resolver, MemoryOffsetStore(), MemoryStatusStore(), alone)
    with closing(worker.hosts):
        try:
            policy = checks.load_policy(worker.plugins, file.raw)
        except ConnectError as problem:
            key = "connector.client.config.override.policy"
            yield error(subject.where(key), str(problem), "Name a policy that there is.", INVALID)
            return
        for connector in subject.connectors:
            problems = Problems(subject.problems.files)
            validation = checks.validate(worker, policy, connector.config)
            take_validation(connector, file, validation, problems)
            yield from told(problems)
            if validation.ok:
                yield ok(connector.path, f"connector {connector.name} is valid.")
