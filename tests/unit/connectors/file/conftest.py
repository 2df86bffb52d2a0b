"""Tasks with a context that answers from a dictionary."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from connect import TopicPartition
from connectors.file import FileStreamSinkTask, FileStreamSourceTask


class Context:
    connector = "files"
    task_id = 0

    def __init__(self, stored: Mapping[str | None, Mapping[str, Any]]) -> None:
        self.stored = stored
        self.reconfigurations = 0
        self.exit_stack = ExitStack()

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self.stored.get(partition["filename"])

    def offsets(self, partitions: list[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


@pytest.fixture
def context() -> type[Context]:
    return Context


@pytest.fixture
def source() -> Iterator[Callable[..., FileStreamSourceTask]]:
    """Starts a source task: source(file=..., **keys), with `stored` offsets by file."""
    started = []

    def start(
        file: object = None, *, stored: Mapping[str | None, Mapping[str, Any]] | None = None, **keys: str
    ) -> FileStreamSourceTask:
        task = FileStreamSourceTask()
        task.context = Context(stored or {})  # type: ignore[assignment]
        config = {name.replace("_", "."): value for name, value in keys.items()} | {"topic": "lines"}
        task.start(config if file is None else config | {"file": str(file)})
        started.append(task)
        return task

    yield start
    for task in started:
        task.stop()


@pytest.fixture
def sink() -> Iterator[Callable[..., FileStreamSinkTask]]:
    """Starts a sink task: sink(file=..., **keys). `task.context.exit_stack.close()` ends it, to start another one."""
    started = []

    def start(file: object = None, *, connector: str = "files", **keys: str) -> FileStreamSinkTask:
        task = FileStreamSinkTask()
        context = Context({})
        context.connector = connector
        task.context = context  # type: ignore[assignment]
        config = {name.replace("_", "."): value for name, value in keys.items()}
        started.append(task)
        task.start(config if file is None else config | {"file": str(file)})
        return task

    yield start
    for task in started:
        task.context.exit_stack.close()


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[None]:
    """A user that may not enter `tmp_path`, also where the tests run as root."""
    tmp_path.chmod(0)
    if (user := os.geteuid()) == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)
    tmp_path.chmod(0o700)


@pytest.fixture
def place() -> TopicPartition:
    return TopicPartition("lines", 0)
