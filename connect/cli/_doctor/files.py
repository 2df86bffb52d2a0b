"""The files: whether a worker would accept them, by the same code that reads them when it starts."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final

from connect.cli._doctor.finding import Finding, Level, note, of_message, ok
from connect.cli._doctor.subject import Subject
from connect.cli._exit import INVALID
from connect.cli._pool_worker import check_pool_worker, converters, own_client
from connect.cli._problems import Problem, Problems
from connect.cli._worker_files import WorkerFile
from connect.kafka.clients.java_rules import ClientSettingError
from connect.kafka.clients.settings import Kind, task_client_settings

_CLIENTS: Final[tuple[Kind, ...]] = ("producer", "consumer", "admin")
_ADVICE: Final = "Correct this line."
_MISSING: Final = "is required"


def check(subject: Subject) -> Iterator[Finding]:
    """Errors of the files themselves: lines, keys, values, variables, settings of clients."""
    problems = Problems(subject.problems.files)
    if subject.worker is not None:
        check_worker(subject.worker, problems, distributed=subject.distributed)
    yield from told(subject.problems)
    yield from told(problems, but={each.about for each in subject.problems.each_error()})
    if subject.worker is not None:
        mode = "distributed" if subject.distributed else "standalone"
        yield ok(subject.worker.written.name, f"is read as the file of a {mode} worker: {len(subject.raw)} keys.")
    elif subject.path is None:
        yield note("the worker's file", "none is given: only the machine is looked at.", "Name one to look at more.")
    for file in subject.connectors:
        yield ok(file.path, f"is read as connector {file.name}: {len(file.config)} keys.")


def check_worker(worker: WorkerFile, problems: Problems, *, distributed: bool) -> None:
    """What a worker checks after reading its file, before it opens connections."""
    if distributed:
        check_pool_worker(worker, problems)
    else:
        for key, message in (*converters(worker), *own_client(worker)):
            problems.error(worker.where(key), message, key=key)
    for kind in _CLIENTS:
        try:
            found = task_client_settings(kind, worker.raw, {"name": "doctor"})
        except ClientSettingError as error:
            problems.error(worker.where(error.key), error.message, key=error.key)
        else:
            for said in found.warnings:
                key, _, message = said.partition(": ")
                problems.warn(worker.where(key), message, key=key)


def told(problems: Problems, but: Container[str] = ()) -> Iterator[Finding]:
    """These problems as findings, except errors of keys that others have reported."""
    for problem in problems.each_error():
        if problem.about in but:
            continue
        advice = "Add the key." if problem.message.startswith(_MISSING) else _ADVICE
        yield of_message(Level.ERROR, problem.place, _text(problem), advice, INVALID)
    for problem in problems.each_warning():
        yield of_message(Level.WARNING, problem.place, _text(problem), _ADVICE)


def _text(problem: Problem) -> str:
    return f"{problem.about}: {problem.message}" if problem.about else problem.message
