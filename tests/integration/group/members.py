"""Members of a group for these tests: each records what it lives through."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from connect.errors import ConnectError
from connect.group import Configured, Delays, Memory, Metadata, TaskId, Work, assign, decode_assignment, encode_metadata
from connect.group.wire import EAGER, PROTOCOLS, Assignment
from connect.kafka.group.membership import Membership
from connect.worker.lease import now
from tests.support.waiting import until

TIMES = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "500", "rebalance.timeout.ms": "15000"}


@dataclass
class Joined:
    """One `joined`, with the moment it came."""

    generation: int
    member_id: str
    protocol: str
    assignment: Assignment
    at: float

    @property
    def leads(self) -> bool:
        return self.assignment.leader == self.member_id


@dataclass
class Cluster:
    """What is configured, as all workers of a test have read it."""

    offset: int = 1
    read: Callable[[], int] | None = None  # how far the configurations go, where a topic holds them
    connectors: tuple[str, ...] = ()
    tasks: dict[TaskId, float] = field(default_factory=dict)
    delays: Delays = field(default_factory=lambda: Delays(lost=0, stopped=0))

    def catch_up(self) -> int:
        """Read the configurations to their end."""
        if self.read:
            self.offset = self.read()
        return self.offset

    def configure(self, **counts: int) -> None:
        """Connectors by name, with so many tasks."""
        self.connectors = tuple(counts)
        self.tasks = {TaskId(name, number): 1.0 for name, count in counts.items() for number in range(count)}

    def all(self) -> Work:
        return Work.of(self.connectors, self.tasks)


class Worker:
    """A worker without work: it owns what it is given, and does nothing."""

    def __init__(
        self,
        cluster: Cluster,
        bootstrap: str,
        group: str,
        protocol: str | Sequence[str],
        number: int,
        overrides: Mapping[str, str],
    ) -> None:
        self.cluster = cluster
        self.url = f"http://127.0.0.1:{20000 + number}/"
        self.owned = Work()
        self.offset = cluster.catch_up()
        self.history: list[Joined] = []
        self.losses: list[tuple[str, bool, float]] = []
        self.rejoins: list[str] = []
        self.errors: list[ConnectError] = []
        self._memory = self._next = Memory()
        self._last: Assignment | None = None
        self.slow_rejoin: Callable[[], None] = lambda: None
        self.slow_joined: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": f"connect-127.0.0.1:{20000 + number}",
        }
        protocols = PROTOCOLS[protocol] if isinstance(protocol, str) else protocol
        self.membership = Membership(settings | TIMES | dict(overrides), protocols, self, now)

    def metadata(self) -> Mapping[str, bytes]:
        last = self._last or Assignment(0, "", "", self.offset)
        current = Assignment(0, last.leader, last.leader_url, last.offset, self.owned) if self.owned else None
        loads = dict.fromkeys(self.owned.tasks, 0.125)  # every leader has to get along with them
        metadata = Metadata(self.url, self.offset, current, loads)
        return {protocol: encode_metadata(metadata, protocol) for protocol in PROTOCOLS["sessioned"]}

    def assign(self, protocol: str, leader: str, members: Sequence[tuple[str, bytes]]) -> Mapping[str, bytes]:
        configured = Configured(self.cluster.offset, self.cluster.connectors, self.cluster.tasks)
        answer, self._next = assign(
            protocol, leader, members, configured, self._memory, now(), delays=self.cluster.delays
        )
        return answer

    def joined(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        told = decode_assignment(assignment)
        if told.offset > self.offset:
            self.offset = self.cluster.catch_up()
        self._memory = self._next if told.leader == member_id else Memory()
        with self._lock:
            self._last = told
            self.owned = told.new if protocol == EAGER else (self.owned - told.revoked) | told.new
            self.history.append(Joined(generation, member_id, protocol, told, now()))
        self.slow_joined()
        if told.error:
            self.membership.request_rejoin("it has read on")
        elif told.revoked:
            self.membership.request_rejoin("it has stopped what was revoked")
        elif told.delay:
            self.after(told.delay / 1000)

    def after(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self.membership.request_rejoin, ["the delay is over"])
        timer.daemon = True
        timer.start()

    def rejoining(self, protocol: str) -> None:
        with self._lock:
            self.rejoins.append(protocol)
            if protocol == EAGER:
                self.owned = Work()
                self._memory = Memory()
        self.slow_rejoin()

    def lost(self, reason: str) -> None:
        with self._lock:
            self.losses.append((reason, self.membership.live(), now()))
            self.owned = Work()

    def failed(self, error: ConnectError) -> None:
        with self._lock:
            self.errors.append(error)

    def wait(self, what: Callable[[Worker], object], within: float = 40.0) -> None:
        """Until this holds."""
        until(lambda: what(self), within, self.story)

    @property
    def last(self) -> Joined:
        return self.history[-1]

    def story(self) -> str:
        return f"{self.url} owns {self.owned}, joined {self.history}, lost {self.losses}, failed {self.errors}"


def settled(workers: Sequence[Worker], work: Work, within: float = 40.0) -> None:
    """Until all are in one generation and own all of the work, evenly and nothing twice."""

    def holds() -> bool:
        owned = [worker.owned for worker in workers]
        if not all(worker.history and worker.membership.live() for worker in workers):
            return False
        total = Work()
        for each in owned:
            total |= each
        counts = [len(each.tasks) for each in owned]
        return (
            len({worker.last.generation for worker in workers}) == 1
            and total == work
            and sum(map(len, owned)) == len(work)
            and max(counts) - min(counts) <= 1
        )

    until(holds, within, lambda: "\n".join(worker.story() for worker in workers), every=0.02)


@dataclass
class Group:
    """A group with a name of its own."""

    bootstrap_servers: str
    cluster: Cluster = field(default_factory=Cluster)
    name: str = field(default_factory=lambda: f"connect-{uuid.uuid4().hex[:8]}")
    workers: list[Worker] = field(default_factory=list)

    def join(self, protocol: str = "sessioned", **overrides: str) -> Worker:
        """One more worker, started. Underscores in settings stand for dots."""
        worker = self.prepare(PROTOCOLS[protocol], **overrides)
        worker.membership.start()
        return worker

    def prepare(
        self,
        protocols: Sequence[str] = PROTOCOLS["sessioned"],
        settings: Mapping[str, str] | None = None,
        **overrides: str,
    ) -> Worker:
        """One more worker, not started."""
        settings = dict(settings or {}) | {key.replace("_", "."): value for key, value in overrides.items()}
        worker = Worker(self.cluster, self.bootstrap_servers, self.name, protocols, len(self.workers), settings)
        self.workers.append(worker)
        return worker

    def leave(self) -> None:
        """All leave."""
        for worker in self.workers:
            worker.membership.leave()
