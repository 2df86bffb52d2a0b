"""One run: workers, brokers, users and faults, from a seed; then quiet, in which everything has to come to rest."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from connect.worker import host_process
from tests.simulation.broker import Broker
from tests.simulation.clients import Clients
from tests.simulation.convergence import unsettled
from tests.simulation.event_loop import Client, EventLoop
from tests.simulation.faults import Faults
from tests.simulation.group import Coordinator
from tests.simulation.invariants import Invariants
from tests.simulation.network import Network
from tests.simulation.processes import Channel, Descriptors, Process
from tests.simulation.programs import OFFSETS, ConnectorHost, SourceTask, data_topic
from tests.simulation.scheduler import BEGIN, Scheduler, Violation, running
from tests.simulation.users import Users
from tests.simulation.worker import CONFIG, SimulatedWorker

#: Virtual seconds within which everything comes to rest once faults and users have ended, and steps for that.
SETTLES_WITHIN_S: Final = 240.0
_SETTLES_WITHIN_STEPS: Final = 60_000
_LOOK_EVERY_S: Final = 1.0
#: A worker that takes over all of a lost one's work may have more than others until the next rebalance: so long it is
#: left alone, and then one is asked for, once.
_UNEVEN_S: Final = 100.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run.

    Attributes:
        seed: its seed.
        steps: of both parts.
        seconds: virtual ones.
        digest: of the whole trace.
        failure: what did not hold; empty when all did.
        trace: the last lines of the trace.
        counts: what happened, and how often.
    """

    seed: int
    steps: int
    seconds: float
    digest: int
    failure: str
    trace: Sequence[str]
    counts: dict[str, int]


class World:
    """Everything of one run.

    Args:
        seed: of all chance.
    """

    def __init__(self, seed: int) -> None:
        shape = random.Random(seed)
        self.scheduler = scheduler = Scheduler(seed, hiccup=shape.choice((0.0, 0.02, 0.1)))
        scheduler.preempt = shape.choice((0.0, 0.0, 0.03))
        running.scheduler, running.world = scheduler, self
        self.descriptors = Descriptors()
        self.counts: dict[str, int] = {}
        self.exactly_once = shape.random() < 0.3
        self.failure_rate = shape.choice((0.0, 0.005, 0.03))
        self.network = Network(scheduler, loss=shape.choice((0.0, 0.0, 0.01, 0.05)))
        self.broker = Broker(scheduler, self.network)
        self.coordinator = Coordinator(scheduler, shape.choice((0.0, 0.3)))
        self.invariants = Invariants(exactly_once=self.exactly_once)
        self.broker.topic(CONFIG).on_append.append(self.invariants.config)
        self.broker.topic(OFFSETS).on_append.append(self.invariants.offset)
        self.broker.last.add(OFFSETS)
        self.machines: dict[str, SimulatedWorker] = {}
        self.upstream: dict[str, int] = {}
        self._pids = 0
        self._loops: list[EventLoop] = []
        settings = self._settings(shape)
        self.workers: dict[str, SimulatedWorker] = {}
        for number in range(1, shape.choice((2, 3, 3, 4)) + 1):
            skew = (shape.uniform(0, 900), shape.uniform(1000, 2000), shape.uniform(-2, 2))
            worker = SimulatedWorker(number, settings, skew)
            self.workers[worker.name] = worker
        self.users = Users(self)
        self.faults = Faults(self)
        self._checked: dict[str, Any] = {}

    def _settings(self, shape: random.Random) -> dict[str, str]:
        session = shape.choice((3000, 6000))
        delay = shape.choice((None, 0, 3000))
        settings = {
            "bootstrap.servers": "brokers:9092",
            "group.id": "pool",
            "config.storage.topic": CONFIG,
            "offset.storage.topic": OFFSETS,
            "status.storage.topic": "status",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "session.timeout.ms": str(session),
            "heartbeat.interval.ms": "1000",
            "rebalance.timeout.ms": shape.choice(("6000", "15000")),
            "worker.sync.timeout.ms": "2000",
            "task.shutdown.graceful.timeout.ms": "2000",
            "task.isolation": "process",
            "metrics.lag.interval.ms": "0",
            "restart.policy.max.delay.ms": "4000",
            "exactly.once.source.support": "enabled" if self.exactly_once else "disabled",
        }
        if delay is not None:
            settings["scheduled.rebalance.max.delay.ms"] = str(delay)
        return settings

    # What product code asks for: see `replacing`.

    def _here(self) -> SimulatedWorker:
        fiber = self.scheduler.fiber
        assert fiber is not None
        return self.machines[fiber.machine.name]

    def clients(self) -> Clients:
        """The clients of the worker whose fiber asks."""
        return self._here().clients

    def group_client(self) -> Client:
        """A client for its membership."""
        worker = self._here()
        client = Client(self.network, worker.machine, self.coordinator)
        self._loops.append(client.loop)
        return client

    def fence(self, names: Sequence[str]) -> bool:
        """Fence producers."""
        for name in names:
            if name in self.broker.epochs:
                self.broker.init(name)
        return False

    def next_pid(self) -> int:
        """The id of a process."""
        self._pids += 1
        return self._pids

    def started(self, parent: Any, process: Process, target: Any, spec: Any, theirs: Channel) -> None:
        """A worker has started a process."""
        worker = self.machines[parent.name]
        worker.children = [each for each in worker.children if each.alive]
        worker.children.append(process)
        if target is host_process.main:
            host = ConnectorHost(process, theirs)
            worker.hosts = [each for each in worker.hosts if each.process.alive] + [host]
            self.scheduler.spawn(process.machine, "host", host.run)
            return
        task = SourceTask(process, spec, theirs)
        self.scheduler.note(process.machine.name, f"starts {task.spec.id} of commit {task.spec.commit}")
        self.count("task")
        topic = self.broker.topic(data_topic(task.spec.connector))
        if not topic.on_append:
            topic.on_append.append(partial(self.invariants.data, task.spec.connector))
        self.invariants.task_started(task)
        self.scheduler.spawn(process.machine, "task", task.run)

    def tasks_of(self, config: dict[str, str]) -> int:
        """How many tasks a connector cuts now."""
        return min(int(config["tasks.max"]), int(config["tasks"]) + self.upstream.get(config["name"], 0))

    def fault_in(self, task: SourceTask) -> None:
        """A task may fail, or its process."""
        self.faults.in_task(task)

    def count(self, what: str) -> None:
        """Count what happens."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def close(self) -> None:
        """The run is over."""
        self.scheduler.close()
        for loop in self._loops:
            loop.abandon()

    # The run.

    def run(self, steps: int) -> None:
        """Run. Raises what does not hold."""
        scheduler = self.scheduler
        for worker in self.workers.values():
            scheduler.after(scheduler.chance(), worker.start)
        scheduler.after(1.0, self.users.begin)
        scheduler.after(3.0, self.faults.begin)
        while scheduler.steps < steps:
            if not scheduler.step():
                raise Violation("nothing is left to do")
            self._check()
        self.users.end()
        self.faults.end()
        while not self.faults.calm:
            scheduler.step()
            self._check()
        self.failure_rate = 0.0
        scheduler.note("world", "quiet")
        self._settle()

    def _check(self) -> None:
        for name, worker in self.workers.items():
            if worker.herder is not None and not worker.machine.dead:
                state = worker.herder._pool.log._reader._state
                if state is not None and self._checked.get(name) is not state:
                    self._checked[name] = state
                    if worker.reads_all:
                        self.invariants.check_state(worker.machine.name, state)

    def _rebalance(self) -> None:
        self.count("uneven")
        for worker in self.workers.values():
            if worker.herder is not None and worker.herder._pool.member.role.leader:
                member = worker.herder._pool.member
                self.scheduler.spawn(worker.machine, "rest", lambda member=member: member.rebalance("it is uneven"))

    def _settle(self) -> None:
        scheduler = self.scheduler
        until, limit = scheduler.now + SETTLES_WITHIN_S, scheduler.steps + _SETTLES_WITHIN_STEPS
        quiet_since, look = scheduler.now, scheduler.now
        while True:
            scheduler.step()
            self._check()
            if scheduler.now >= look:
                look = scheduler.now + _LOOK_EVERY_S
                left = unsettled(self, quiet_since)
                if not left:
                    return
                if "not balanced" in left and scheduler.now > quiet_since + _UNEVEN_S and not self.counts.get("uneven"):
                    self._rebalance()
                if scheduler.now > until or scheduler.steps > limit:
                    raise Violation(f"it does not come to rest in {SETTLES_WITHIN_S:g} s: {left}")


def simulate(seed: int, steps: int, lines: int = 40) -> Outcome:
    """Run one seed, within `replaced`."""
    world = World(seed)
    failure = ""
    try:
        world.run(steps)
    except Violation as error:
        failure = str(error)
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
        if notes := getattr(error, "__notes__", None):
            failure += f" ({'; '.join(notes)})"
        import traceback

        failure += "\n" + "".join(traceback.format_tb(error.__traceback__)[-8:])
    finally:
        scheduler = world.scheduler
        outcome = Outcome(
            seed,
            scheduler.steps,
            scheduler.now - BEGIN,
            scheduler.digest,
            failure,
            scheduler.trace(lines) if failure else [],
            world.counts,
        )
        world.close()
    return outcome
