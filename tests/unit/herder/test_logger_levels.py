"""Levels of loggers that all workers set."""

from types import SimpleNamespace
from typing import Any

import pytest

from connect.herder.worker_herder import WorkerHerder
from connect.storage.config_log import MemoryConfigLog
from connect.storage.config_state import Event, LoggerChanged


def test_only_a_level_that_exists_is_written_for_all_workers() -> None:
    log, written = MemoryConfigLog(), list[Event]()
    log.start(written.append)
    herder: Any = SimpleNamespace(_pool=SimpleNamespace(log=log))
    with pytest.raises(ValueError, match="invalid log level 'LOUD'"):
        WorkerHerder.set_logger_level(herder, "connect.x", "LOUD", cluster=True)
    assert written == []
    assert WorkerHerder.set_logger_level(herder, "connect.x", "debug", cluster=True) == []
    assert written == [LoggerChanged("connect.x", "debug")]
