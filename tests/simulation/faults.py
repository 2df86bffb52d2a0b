"""What goes wrong: processes die or freeze, networks part, brokers change, tasks fail, topics are compacted."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from greenlet import GreenletExit

from connect.errors import ConnectError
from connect.worker import messages
from tests.simulation.network import BROKERS
from tests.simulation.worker import CONFIG, SimulatedWorker

if TYPE_CHECKING:
    from tests.simulation.programs import SourceTask
    from tests.simulation.world import World

_PAUSES_S: Final = (0.7, 2.0, 5.0)
_KINDS: Final = {  # and how often
    "crash": 3,
    "restart": 3,
    "freeze worker": 3,
    "freeze host": 2,
    "cut from brokers": 4,
    "cut from worker": 1,
    "coordinator moves": 2,
    "compaction": 1,
    "upstream": 2,
    "kill process": 2,
    "slow network": 1,
}


class Faults:
    """Lets things go wrong at random moments. After `end` what lasts a while goes on, until it is over."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._scheduler = world.scheduler
        self._over = False
        self._cuts: list[tuple[str, str]] = []
        # Not all in one run: some failures need that others do not happen.
        chance = world.scheduler.random
        self._pause = chance.choice(_PAUSES_S)
        self._kinds = {kind: often for kind, often in _KINDS.items() if chance.random() < 0.6} or _KINDS

    def begin(self) -> None:
        """Begin."""
        self._next()

    def end(self) -> None:
        """Begin nothing more. Workers that nobody starts again are started."""
        self._over = True
        self._world.network.slow, self._world.network.loss = 0.02, 0.0

    @property
    def calm(self) -> bool:
        """Whether nothing is wrong any more."""
        workers = self._world.workers.values()
        ill = any(worker.machine.dead or worker.machine.frozen or not worker.up for worker in workers)
        return not (ill or self._cuts or self._world.coordinator.away)

    def in_task(self, task: SourceTask) -> None:
        """Called by a task at each turn."""
        rate = self._world.failure_rate
        if rate and self._scheduler.chance() < rate:
            if self._scheduler.chance() < 0.5:
                raise ConnectError("the source is not there")
            task.process.dies(1)
            raise GreenletExit

    def _next(self) -> None:
        self._scheduler.after(self._scheduler.random.expovariate(1 / self._pause), self._again)

    def _again(self) -> None:
        if self._over:
            return
        kind = self._scheduler.random.choices(list(self._kinds), list(self._kinds.values()))[0]
        self._world.count(kind)
        getattr(self, "_" + kind.replace(" ", "_"))()
        self._next()

    def _some(self) -> SimulatedWorker | None:
        """A worker to which something may happen."""
        there = [worker for worker in self._world.workers.values() if not worker.machine.dead and worker.starts]
        return self._scheduler.random.choice(there) if there else None

    def _lasts(self) -> float:
        return self._scheduler.random.choice((0.3, 2.0, 8.0)) * (0.5 + self._scheduler.chance())

    def _note(self, what: str) -> None:
        self._scheduler.note("fault", what)

    # Workers.

    def _crash(self) -> None:
        if (worker := self._some()) is not None:
            self._note(f"{worker.machine.name} crashes")
            worker.crash()
            self._scheduler.after(self._lasts(), self.start, worker)

    def start(self, worker: SimulatedWorker) -> None:
        """Start a worker, if it does not run."""
        if worker.machine.dead:
            self._note(f"{worker.name} starts")
            worker.start()
            # Who reads a compacted topic need not know what stood there: it is compared only at the end.
            worker.reads_all = not self._world.invariants.compacted

    def _restart(self) -> None:
        worker = self._some()
        if worker is not None and worker.ready and worker.up and not worker.machine.frozen:
            self._note(f"{worker.machine.name} is stopped")
            worker.stop()
            self._scheduler.after(3.0 + self._lasts(), self._start_again, worker)

    def _start_again(self, worker: SimulatedWorker) -> None:
        if worker.machine.dead:
            self.start(worker)
        else:
            self._scheduler.after(1.0, self._start_again, worker)

    def _freeze_worker(self) -> None:
        if (worker := self._some()) is not None and not worker.machine.frozen:
            self._note(f"{worker.machine.name} freezes")
            self._scheduler.freeze(worker.machine)
            self._scheduler.after(self._lasts(), self._thaw, worker)

    def _freeze_host(self) -> None:
        if (worker := self._some()) is not None and not worker.machine.frozen:
            self._note(f"{worker.name} freezes, with all that runs there")
            self._scheduler.freeze(worker.machine)
            for child in worker.children:
                self._scheduler.freeze(child.machine)
            self._scheduler.after(self._lasts(), self._thaw, worker)

    def _thaw(self, worker: SimulatedWorker) -> None:
        frozen = [each for each in (worker, *worker.children) if each.machine.frozen]
        for each in frozen:
            self._note(f"{each.machine.name} goes on")
            self._scheduler.thaw(each.machine)

    # The network, and brokers.

    def _cut_from_brokers(self) -> None:
        if (worker := self._some()) is not None:
            self._cut(worker.name, BROKERS)

    def _cut_from_worker(self) -> None:
        if (worker := self._some()) is not None and (other := self._some()) is not worker and other is not None:
            self._cut(worker.name, other.name)

    def _cut(self, one: str, other: str) -> None:
        if (one, other) not in self._cuts:
            refused = self._scheduler.chance() < 0.5
            self._note(f"{one} is cut from {other}{', connections break' if refused else ''}")
            self._cuts.append((one, other))
            self._world.network.separate(one, other, refused=refused)
            self._scheduler.after(self._lasts(), self._heal, one, other)

    def _heal(self, one: str, other: str) -> None:
        if (one, other) in self._cuts:
            self._cuts.remove((one, other))
            self._note(f"{one} reaches {other} again")
            self._world.network.heal(one, other)

    def _slow_network(self) -> None:
        network = self._world.network
        network.slow = 0.5
        self._scheduler.after(self._lasts(), setattr, network, "slow", 0.02)

    def _coordinator_moves(self) -> None:
        coordinator = self._world.coordinator
        if not coordinator.away:
            self._note("the coordinator moves")
            coordinator.moves()
            self._scheduler.after(self._scheduler.random.choice((0.2, 2.0, 5.0)), self._has_moved)

    def _has_moved(self) -> None:
        if self._world.coordinator.away:
            self._world.coordinator.has_moved()

    def _compaction(self) -> None:
        topic = self._world.broker.topic(CONFIG)
        if removed := topic.compact(topic.end):
            self._world.invariants.compacted += removed
            for worker in self._world.workers.values():
                worker.reads_all = worker.reads_all and worker.has_read(topic.end)
            self._note(f"{removed} records of the config topic are compacted away")

    # Connectors and tasks.

    def _upstream(self) -> None:
        world = self._world
        hosts: list[tuple[Any, str]] = [
            (host, name)
            for worker in world.workers.values()
            if not worker.machine.dead
            for host in worker.hosts
            if host.process.alive
            for name in host.configs
        ]
        if hosts:
            _, name = self._scheduler.random.choice(hosts)
            world.upstream[name] = self._scheduler.random.randint(0, 2)
            self._note(f"the source of {name} changes")
            for host in [host for host, connector in hosts if connector == name]:
                with contextlib.suppress(OSError):
                    host.channel.send(messages.Reconfigure(name), 0)

    def _kill_process(self) -> None:
        worker = self._some()
        alive = [child for child in worker.children if child.alive] if worker is not None else []
        if alive:
            child = self._scheduler.random.choice(alive)
            self._note(f"{child.machine.name} is killed")
            child.dies(-9)
