"""Restarts by itself: what has to hold until they happen, and who can call them off."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from connect.herder.automatic_restarts import AutomaticRestarts
from connect.herder.restart_policy import RestartPolicy
from connect.pipeline.error_kinds import ErrorKind
from connect.storage import ConnectorStatus, MemoryStatusStore, RestartNote, State, TaskStatus

PATIENCE = 20.0


class World:
    """A connector `c` with one task, which fails when told to. Turns are taken by hand."""

    def __init__(self, policy: RestartPolicy) -> None:
        self.policy = policy
        self.statuses = MemoryStatusStore()
        self.wanted: Any = {"a": "1"}
        self.is_live = True
        self.turns: list[Callable[[], None]] = []
        self.came = threading.Semaphore(0)
        self.restarted: list[tuple[str, int | None]] = []
        self.restarts = AutomaticRestarts(
            self.statuses,
            "me:1",
            policy=lambda name: self.policy,
            wanted=lambda name, number: self.wanted,
            live=lambda: self.is_live,
            submit=self._submit,
            restart=lambda name, number: self.restarted.append((name, number)),
        )

    def _submit(self, name: str, what: str, work: Callable[[], None]) -> None:
        self.turns.append(work)
        self.came.release()

    def fail(self, number: int | None = 0, kind: ErrorKind = ErrorKind.CRASH) -> None:
        def tell(note: RestartNote | None) -> None:
            if number is None:
                self.statuses.put(ConnectorStatus("c", State.FAILED, "me:1", "trace", restart=note))
            else:
                self.statuses.put(TaskStatus("c", number, State.FAILED, "me:1", "trace", restart=note))

        self.restarts.failed("c", number, kind, tell)

    def note(self) -> RestartNote | None:
        return self.statuses.tasks("c")[0].restart

    def told(self) -> RestartNote:
        note = self.note()
        assert note is not None
        return note

    def turn(self) -> None:
        """Wait until a restart is due, and let it have its turn."""
        assert self.came.acquire(timeout=PATIENCE)
        self.turns.pop(0)()

    def nothing_more(self) -> bool:
        """Whether no restart comes any more: one that is known to come later has come."""
        self.fail(number=99)
        assert self.came.acquire(timeout=PATIENCE)
        found = len(self.turns)
        self.turns.clear()
        return found == 1


@pytest.fixture
def world() -> Iterator[World]:
    made = World(RestartPolicy(initial_delay=0.01, multiplier=1.0, jitter=0.0))
    yield made
    made.restarts.close()


@pytest.mark.parametrize("number", [None, 0])
def test_what_failed_is_restarted_after_a_pause_and_says_so_until_then(world: World, number: int | None) -> None:
    began = time.time()
    world.fail(number)
    if number is not None:
        note = world.told()
        assert (note.kind, note.restarts) == ("crash", 0)
        assert note.at_ms is not None
        assert note.at_ms >= began * 1000
    assert world.restarted == []
    world.turn()
    assert world.restarted == [("c", number)]


def test_restarts_are_counted_and_end_with_the_budget(world: World) -> None:
    world.policy = RestartPolicy(initial_delay=0.001, jitter=0.0, max_restarts=3)
    for count in range(3):
        world.fail()
        assert world.told().restarts == count
        world.turn()
    world.fail()
    note = world.note()
    assert note == RestartNote(
        "crash", 3, None, "3 restarts within 1 day are all that restart.policy.max.restarts allows"
    )
    assert world.nothing_more()


@pytest.mark.parametrize("kind", [ErrorKind.CONFIGURATION, ErrorKind.RECORD])
def test_what_does_not_pass_is_told_why(world: World, kind: ErrorKind) -> None:
    world.fail(kind=kind)
    note = world.told()
    assert note.at_ms is None
    assert note.why
    assert world.nothing_more()


def test_where_it_is_off_nothing_is_told(world: World) -> None:
    world.policy = RestartPolicy(on=False)
    world.fail()
    assert world.note() is None


def change_wish(world: World) -> None:
    world.wanted = {"a": "2"}


def give_away(world: World) -> None:
    world.wanted = None


def restart_by_hand(world: World) -> None:
    world.statuses.put(TaskStatus("c", 0, State.RUNNING, "me:1"))


def fail_elsewhere(world: World) -> None:
    world.statuses.put(TaskStatus("c", 0, State.FAILED, "other:1"))


@pytest.mark.promise("P3", "P4")
@pytest.mark.parametrize("change", [change_wish, give_away, restart_by_hand, fail_elsewhere])
def test_all_is_looked_at_again_in_its_turn(world: World, change: Callable[[World], None]) -> None:
    world.fail()
    assert world.came.acquire(timeout=PATIENCE)
    change(world)
    world.turns.pop()()
    assert world.restarted == []


@pytest.mark.parametrize(
    "cancel",
    [
        lambda restarts: restarts.cancel("c", 0),
        lambda restarts: restarts.cancel_all("c"),
        lambda restarts: restarts.forget([("c", 0)]),
    ],
    ids=["task", "connector", "given away"],
)
@pytest.mark.parametrize("late", [False, True])
def test_it_can_be_called_off_until_its_turn(
    world: World, cancel: Callable[[AutomaticRestarts], None], late: bool
) -> None:
    world.fail()
    if late:
        assert world.came.acquire(timeout=PATIENCE)
    cancel(world.restarts)
    for turn in world.turns:
        turn()
    assert world.restarted == []


def test_who_calls_it_off_sees_no_next_restart_and_begins_afresh(world: World) -> None:
    world.policy = RestartPolicy(initial_delay=0.001, jitter=0.0, max_restarts=1)
    world.fail()
    world.turn()
    world.fail()
    assert world.told().at_ms is None
    world.restarts.cancel("c", 0)
    world.fail()
    assert world.told().at_ms is not None
    world.restarts.cancel_all("c")
    assert world.note() is None
    assert world.statuses.tasks("c")[0].state is State.FAILED


def test_the_others_of_a_connector_are_left_alone(world: World) -> None:
    world.fail(0)
    world.fail(1)
    world.restarts.cancel("c", 0)
    world.turn()
    if not world.restarted:  # the first one had come before it was called off
        world.turn()
    assert world.restarted == [("c", 1)]


@pytest.mark.promise("P3")
def test_who_is_not_in_its_group_waits_until_it_is_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connect.herder.automatic_restarts._NOT_SURE_S", 0.01)
    world.is_live = False
    world.fail()
    world.turn()
    world.turn()
    assert world.restarted == []
    world.is_live = True
    while not world.restarted:
        world.turn()
    assert world.restarted == [("c", 0)]


def test_many_fail_at_once_on_many_threads(world: World) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(world.fail, range(200)))
    for _ in range(200):
        world.turn()
    assert sorted(world.restarted) == [("c", number) for number in range(200)]
