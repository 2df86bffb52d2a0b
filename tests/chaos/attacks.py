"""What can happen to a worker at any moment, and how a person would fix it."""

import os
import random
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.support.processes import is_running
from tests.support.waiting import until

from .worker import Worker

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

#: Longer than a lease holds.
FREEZE_S = 7.0
#: Generous: what is restarted may be Spark, which needs minutes where the machine is busy.
MENDED_S = 240.0


class Attacks:
    """Attacks on one worker with one connector, by chance. `done` tells what was done, in order.

    Args:
        worker: runs.
        connector: the name of its connector, which has one task.
        chance: chooses.
        after_death: called when the task is dead for certain and nobody has started it again.
        broker: killed as well, if given; it must be the test's own.
    """

    def __init__(
        self,
        worker: Worker,
        connector: str,
        chance: random.Random,
        after_death: Callable[[], None],
        broker: "Broker | None" = None,
    ) -> None:
        self.done: list[str] = []
        self._worker = worker
        self._connector = connector
        self._chance = chance
        self._after_death = after_death
        self._broker = broker
        self._moment: Callable[[], None] = lambda: None

    def some(self, rounds: int, *, freeze: bool = True) -> list[Callable[[], None]]:
        """So many attacks, of each kind about as many, in any order."""
        kinds: list[Callable[[], None]] = [
            self.kill_task,
            self.kill_task_that_is_deaf,
            self.kill_server,
            self.kill_host,
            self.kill_worker,
        ]
        if freeze:
            kinds.append(self.freeze_worker)
        if self._broker is not None:
            kinds += [self.kill_broker, self.kill_broker_then_worker]
        chosen = [kinds[number % len(kinds)] for number in range(rounds)]
        self._chance.shuffle(chosen)
        return chosen

    def strike(self, attack: Callable[[], None], moment: Callable[[], None]) -> None:
        """Attack as soon as `moment` returns, and fix what is broken."""
        self.done.append(attack.__name__)
        self._moment = moment
        attack()
        self._mend()

    def kill_task(self) -> None:
        pid = self._task_pid()
        self._moment()
        os.kill(pid, signal.SIGKILL)
        self._await_death(pid)

    def kill_task_that_is_deaf(self) -> None:
        pid = self._task_pid()
        self._moment()
        os.kill(pid, signal.SIGSTOP)
        self._worker.ask("restart_task", name=self._connector, task=0)  # asks it to stop, waits, kills it

    def kill_server(self) -> None:
        server = self._worker.server_pid()
        assert server is not None
        pid = self._task_pid()
        self._moment()
        os.kill(server, signal.SIGKILL)
        self._await_death(pid)

    def kill_host(self) -> None:
        self._mend()  # a task that is only just starting would be taken for a host
        pids = self._worker.host_pids()
        self._moment()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def kill_worker(self) -> None:
        self._moment()
        self._worker.kill()
        self._after_death()
        self._worker.start()

    def freeze_worker(self) -> None:
        """So that its tasks lose their leases; what they do meanwhile is theirs."""
        self._moment()
        os.kill(self._worker.pid, signal.SIGSTOP)
        time.sleep(FREEZE_S)
        os.kill(self._worker.pid, signal.SIGCONT)

    def kill_broker(self) -> None:
        self._kill_broker()
        self._start_broker()

    def kill_broker_then_worker(self) -> None:
        self._kill_broker()
        # Nothing shows when a worker that is right does nothing; one that is wrong stores offsets in this time.
        time.sleep(self._chance.uniform(0.5, 2))
        self._worker.kill()
        self._start_broker()
        self._after_death()
        self._worker.start()

    def _await_death(self, pid: int) -> None:
        until(lambda: not is_running(pid), 20, "the task is gone")
        until(lambda: not self._worker.task(self._connector)["alive"], 20, "the worker knows")
        self._after_death()

    def _kill_broker(self) -> None:
        assert self._broker is not None
        from connect.kafka.broker.embedded import ended_by_itself

        data = self._broker.data
        self._moment()
        os.kill(self._broker.pid, signal.SIGKILL)
        until(lambda: ended_by_itself(data), 20, "the broker is gone")

    def _start_broker(self) -> None:
        from connect.kafka.broker.embedded import ensure_running

        assert self._broker is not None
        before = self._broker.bootstrap_servers
        self._broker = ensure_running(self._broker.data)
        assert self._broker.bootstrap_servers == before

    def _task_pid(self) -> int:
        self._mend()
        pid = self._worker.task(self._connector)["pid"]
        assert pid is not None
        return int(pid)

    def _mend(self) -> None:
        """Restart what is FAILED, until everything runs: some attacks show only after a while."""

        def runs() -> bool:
            status = self._worker.status(self._connector)
            if status["state"] == "FAILED":
                self._worker.ask("restart", name=self._connector)
                return False
            task = status["tasks"].get("0")
            if task and task["state"] == "FAILED":
                self._worker.ask("restart_task", name=self._connector, task=0)
                return False
            return bool(task and task["state"] == "RUNNING" and task["alive"])

        worker, name = self._worker, self._connector
        until(runs, MENDED_S, lambda: f"all runs again: {worker.status(name)}\n{worker.last_words()}")
