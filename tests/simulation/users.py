"""Users: they create, change, pause, stop, delete and restart connectors, and change offsets, at any worker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from connect.herder.model import OffsetEntry
from connect.storage.config_state import CONNECTOR, TARGET_STATE
from tests.simulation.programs import partition_of
from tests.simulation.scheduler import Violation
from tests.simulation.worker import SimulatedWorker, ask

if TYPE_CHECKING:
    from tests.simulation.world import World

NAMES: Final = ("a", "b", "c", "d")
_PAUSES_S: Final = (0.2, 0.6, 2.0)
_ANSWER_S: Final = 90.0
_LEADERS: Final = ("put", "pause", "resume", "stop", "delete", "restart", "alter", "reset")


class Users:
    """Acts at random moments, by what the interface of a worker offers."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._scheduler = world.scheduler
        self._version = 0
        self._over = False
        self._pause = world.scheduler.random.choice(_PAUSES_S)

    def begin(self) -> None:
        """Act from now on."""
        for _ in range(2):
            self._act("put")
        self._next()

    def end(self) -> None:
        """Begin nothing any more."""
        self._over = True

    def _next(self) -> None:
        self._scheduler.after(self._scheduler.random.expovariate(1 / self._pause), self._again)

    def _again(self) -> None:
        if not self._over:
            self._act()
            self._next()

    def _act(self, what: str | None = None) -> None:
        world, chance = self._world, self._scheduler.random
        ready = [worker for worker in world.workers.values() if worker.ready and not worker.machine.frozen]
        if not ready:
            if what is not None:
                self._scheduler.after(1.0, self._act, what)
            return
        worker = chance.choice(ready)
        what = (
            what
            or chance.choices(
                ("put", "pause", "resume", "stop", "delete", "restart", "restart task", "alter", "reset"),
                (6, 2, 3, 2, 2, 2, 1, 1, 1),
            )[0]
        )
        name = chance.choice(NAMES)
        value: Any = None
        if what == "put":
            self._version += 1
            value = {
                "connector.class": "FileStreamSource",
                "version": str(self._version),
                "tasks": str(chance.randint(0, 3)),
                "tasks.max": "4",
            }
        elif what == "restart":
            value = chance.random() < 0.5, chance.random() < 0.5
        elif what == "restart task":
            value = chance.randint(0, 2)
        elif what == "alter":
            value = chance.randint(0, 2), chance.random()
        self._scheduler.note("user", f"{what} {name} {value} at {worker.name}")
        self._scheduler.spawn(worker.machine, "rest", lambda: self._carry_out(worker, what, name, value))

    def _carry_out(self, worker: SimulatedWorker, what: str, name: str, value: Any) -> None:
        """In a fiber of the worker that was asked."""
        world = self._world
        since = len(world.invariants.log)
        operation = self._operation(what, name, value)
        box: list[Any] = []
        worker.handle(operation, box.append)
        while not box:
            self._scheduler.park(0.05)
        answer = box[0]
        if answer[0] == "elsewhere":
            herder = worker.herder
            assert herder is not None
            try:
                task = value if what == "restart task" else None
                url = herder.leader_url() if what in _LEADERS and what != "restart" else herder.owner_url(name, task)
                if what == "restart" and any(value):
                    url = herder.leader_url()
            except Exception as error:
                answer = ("error", 409, str(error))
            else:
                if url is not None:
                    answer = ask(worker, url.split("//")[1].split(":")[0], operation, _ANSWER_S)
        self._scheduler.note("user", f"{what} {name}: {answer[0]} {'' if answer[0] == 'ok' else answer[1:]}")
        world.count(f"{what} {'done' if answer[0] == 'ok' else 'refused'}")
        if answer[0] == "ok":
            self._is_written(what, name, value, world.invariants.log[since:])

    def _is_written(self, what: str, name: str, value: Any, log: list[tuple[str, str]]) -> None:
        """What a user was told is done stands in the log."""
        state = {"pause": "PAUSED", "resume": "STARTED", "stop": "STOPPED"}.get(what)
        if what == "put":
            found = any(
                key == CONNECTOR + name and text and json.loads(text)["properties"]["version"] == value["version"]
                for key, text in log
            )
        elif what == "delete":
            found = any(key == CONNECTOR + name and not text for key, text in log)
        elif state is not None:
            found = any(
                key == TARGET_STATE + name and text and json.loads(text)["state.v2"] == state for key, text in log
            )
        else:
            return
        if not found:
            raise Violation(f"a user was told that {what} {name} is done, and it is not written")

    def _operation(self, what: str, name: str, value: Any) -> Any:
        invariants = self._world.invariants

        def run(worker: SimulatedWorker) -> Any:
            herder = worker.herder
            assert herder is not None
            match what:
                case "put":
                    return herder.put_connector(name, {**value, "name": name}).result(_ANSWER_S)
                case "pause":
                    return herder.pause(name).result(_ANSWER_S)
                case "resume":
                    return herder.resume(name).result(_ANSWER_S)
                case "stop":
                    return herder.stop_connector(name).result(_ANSWER_S)
                case "delete":
                    return herder.delete_connector(name).result(_ANSWER_S)
                case "restart":
                    tasks, failed = value
                    return herder.restart_connector(name, include_tasks=tasks, only_failed=failed).result(_ANSWER_S)
                case "restart task":
                    return herder.restart_task(name, value).result(_ANSWER_S)
            invariants.changed_by_user[name] += 1
            try:
                if what == "reset":
                    return herder.reset_offsets(name).result(_ANSWER_S)
                part, share = value
                number = int(invariants.stored((name, part)) * share)
                entry = OffsetEntry(partition_of(name, part), {"n": number})
                return herder.alter_offsets(name, [entry]).result(_ANSWER_S)
            finally:
                invariants.changed_by_user[name] -= 1

        return run
