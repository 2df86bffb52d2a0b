"""How a stopped connector's offsets are changed while it and others are changed, too."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from connect.herder.current_operations import CurrentOperations
from connect.herder.errors import BadRequestError
from connect.herder.leader import Leader
from connect.herder.membership import Alone
from connect.herder.pool import Pool
from connect.herder.worker_herder import WorkerHerder
from connect.storage.config_log import MemoryConfigLog
from connect.worker.background import KeyedQueues, finished


class Changing:
    """A leader that writes one change at a time, as into a topic, and a connector that takes its time."""

    def __init__(self) -> None:
        self.log = MemoryConfigLog()
        self.log.writers = 1
        for name in ("a", "b"):
            self.log.put_connector(name, {})
            self.log.put_stop(name)
        worker: Any = SimpleNamespace(config={}, plugins=None)
        pool = Pool(worker, self.log, Alone(self.log), CurrentOperations())
        self.leader = Leader(pool)
        self.asked, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        self.did: list[str] = []
        self.herder: Any = SimpleNamespace(
            worker=worker,
            _pool=pool,
            _leader=self.leader,
            _checks=KeyedQueues(2),
            _assigned=SimpleNamespace(settled=lambda _: finished(None)),
        )

    def prepare(self, config: Mapping[str, str]) -> Callable[[], str]:
        self.did.append(f"ask {dict(config).get('key', '')}")
        self.asked.release()
        assert self.go_on.acquire(timeout=20)

        def change() -> str:
            self.did.append("change")
            return "done"

        return change

    def begin(self) -> Future[str]:
        changed = WorkerHerder._change_offsets(self.herder, "a", self.prepare)
        assert self.asked.acquire(timeout=20)
        return changed


@pytest.fixture
def changing() -> Changing:
    return Changing()


@pytest.mark.promise("P6")
def test_others_are_changed_while_a_connector_is_asked(changing: Changing) -> None:
    changed = changing.begin()
    changing.leader.submit("b", "resuming b", lambda: changing.log.put_target("b", "STARTED")).result(5)
    changing.go_on.release()
    assert changed.result(20) == "done"
    assert changing.did == ["ask ", "change"]


def test_one_that_is_resumed_while_it_is_asked_keeps_its_offsets(changing: Changing) -> None:
    changed = changing.begin()
    changing.leader.submit("a", "resuming a", lambda: changing.log.put_target("a", "STARTED")).result(5)
    changing.go_on.release()
    with pytest.raises(BadRequestError, match="must be in the STOPPED state"):
        changed.result(20)
    assert changing.did == ["ask "]


def test_one_that_ran_or_was_changed_while_it_was_asked_is_asked_again(changing: Changing) -> None:
    changed = changing.begin()
    changing.log.put_connector("a", {"key": "new"})
    changing.go_on.release()
    assert changing.asked.acquire(timeout=20)
    changing.log.put_target("a", "STARTED")
    changing.log.put_tasks("a", [{}])
    changing.log.put_stop("a")
    changing.go_on.release(2)
    assert changed.result(20) == "done"
    assert changing.did == ["ask ", "ask new", "ask new", "change"]
