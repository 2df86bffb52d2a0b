"""What a worker does about a change of the configurations."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from connect.herder.config_follower import ConfigFollower
from connect.herder.config_recorder import NoRecorder
from connect.herder.current_operations import CurrentOperations
from connect.herder.membership import Alone
from connect.herder.pool import Pool
from connect.storage.config_log import MemoryConfigLog
from connect.storage.config_state import task_records


class Following:
    """A worker that is alone, and follows at once; what it does with its connector is noted."""

    def __init__(self) -> None:
        self.log, self.did = MemoryConfigLog(), list[str]()
        worker: Any = SimpleNamespace(
            connectors=SimpleNamespace(get=lambda _: self, stop=lambda _: None),
            tasks=SimpleNamespace(pause=lambda _, paused: None),
        )
        pool = Pool(worker, self.log, Alone(self.log), CurrentOperations())
        assigned: Any = SimpleNamespace(
            restarts=SimpleNamespace(cancel_all=lambda _: None),
            queue=SimpleNamespace(submit=self.submit),
            run_connector=lambda name: self.did.append("start"),
            run_tasks=lambda name: self.did.append("run tasks"),
            publish_tasks=lambda name: self.did.append("cut"),
            keep_tasks=lambda name: self.did.append("look"),
            withdraw_tasks=lambda _: None,
        )
        states: Any = SimpleNamespace(put=lambda *_: None)
        self.log.start(ConfigFollower(pool, states, assigned, NoRecorder()).follow)

    @staticmethod
    def submit(_: str, __: str, work: Callable[[], None]) -> None:
        work()


@pytest.fixture
def following() -> Following:
    made = Following()
    made.log.put_connector("a", {})
    made.log.put_tasks("a", [{}])
    made.did.clear()
    return made


def test_tasks_are_cut_again_when_some_of_a_set_are_missing(following: Following) -> None:
    [_, commit] = task_records("a", [{}])
    following.log._write([commit])  # by a leader that was thought lost; its tasks were written before others
    assert following.did == ["run tasks", "cut", "look"]


def test_a_connector_that_is_paused_gets_back_the_tasks_that_a_stop_took(following: Following) -> None:
    following.log.put_target("a", "PAUSED")
    assert following.did == []
    following.log.put_stop("a")
    following.did.clear()
    following.log.put_target("a", "PAUSED")
    assert following.did == ["cut"]
