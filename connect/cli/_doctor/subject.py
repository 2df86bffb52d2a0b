"""What is checked: a worker's file and the files of connectors; without files the machine alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from connect.cli import _secrets
from connect.cli._problems import Problems
from connect.cli._worker_files import WorkerFile, is_distributed, read_any_worker, read_connectors
from connect.settings.connector_files import ConnectorFile


@dataclass(frozen=True)
class Subject:
    """What the checks read.

    Attributes:
        path: of the worker's file, as the user named it; None without one.
        worker: its content; None without a file, or where it cannot be read.
        connectors: those that can be read.
        problems: errors of reading the files.
        timeout: seconds for each response over a network.
        debug: whether the trace of a check that fails unexpectedly is shown.
    """

    path: str | None
    worker: WorkerFile | None = field(repr=False)
    connectors: Sequence[ConnectorFile] = field(repr=False)
    problems: Problems
    timeout: float
    debug: bool = False

    @property
    def distributed(self) -> bool:
        """Whether the file is for a worker of a pool."""
        return self.worker is not None and is_distributed(self.worker.written)

    @property
    def raw(self) -> dict[str, str]:
        """The worker's properties, secrets filled in."""
        return {} if self.worker is None else self.worker.raw

    @cached_property
    def configs(self) -> dict[str, dict[str, str]]:
        """The connectors' configurations by their names, secrets filled in as far as possible."""
        if self.worker is None:
            return {file.name: file.config for file in self.connectors}
        found = {file.name: self.worker.resolver.resolve(file.config).usable() for file in self.connectors}
        for resolved in found.values():
            _secrets.remember(resolved.values, resolved.secret_keys)
        return {name: resolved.values for name, resolved in found.items()}

    def where(self, key: str) -> str:
        """The position of a key of the worker's."""
        return str(self.worker.where(key)) if self.worker is not None else key


def read_subject(path: str | None, connectors: Sequence[str], timeout: float, *, debug: bool = False) -> Subject:
    """Read the files. Their errors are among the `problems`."""
    problems = Problems([*([path] if path else []), *connectors])
    worker = None
    if path is not None:
        worker = read_any_worker(path, problems)
    files = read_connectors(connectors, problems)
    for config in (worker.raw if worker is not None else {}, *(file.config for file in files)):
        _secrets.remember(config)
    return Subject(path, worker, files, problems, timeout, debug)
