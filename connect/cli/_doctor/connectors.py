"""Connectors: their files validated by their own plug-ins, converters and transformations, as when they are created."""

from __future__ import annotations

from collections.abc import Iterator

from connect.cli._doctor.files import told
from connect.cli._doctor.finding import Finding, error, note, ok
from connect.cli._doctor.subject import Subject
from connect.cli._exit import INVALID
from connect.cli._problems import Problems
from connect.cli._validation import Validator, validator
from connect.cli._worker_files import WorkerFile, take_validation
from connect.errors import ConnectError


def check(subject: Subject) -> Iterator[Finding]:
    """Validate each file in the process of its plug-in, as a worker would."""
    if not subject.connectors:
        return
    if subject.worker is None:
        advice = "Give the worker's file as well: its converters and plug-ins belong to them."
        yield note("connectors", "they are not validated without a worker's file.", advice)
        return
    try:
        with validator(subject.worker) as validating:
            yield from _validated(subject, subject.worker, validating)
    except ConnectError as problem:
        key = "connector.client.config.override.policy"
        yield error(subject.where(key), str(problem), "Name a policy that there is.", INVALID)


def _validated(subject: Subject, worker: WorkerFile, validating: Validator) -> Iterator[Finding]:
    for connector in subject.connectors:
        problems = Problems(subject.problems.files)
        validation = validating.validate(connector.config)
        take_validation(connector, worker, validation, problems)
        yield from told(problems)
        if validation.ok:
            yield ok(connector.path, f"connector {connector.name} is valid.")
