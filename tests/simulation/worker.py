"""A worker of the pool: the real herder with all that it runs on, in a process that can die, freeze and come back."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import CancelledError
from typing import Any, Final
from urllib.parse import unquote, urlparse

from connect.errors import ConnectError
from connect.herder.errors import ElsewhereError, HerderError
from connect.herder.group_member import GroupMember
from connect.herder.worker import Worker
from connect.herder.worker_herder import WorkerHerder
from connect.kafka.admin.topics import TopicShape
from connect.peers import PeerError
from connect.settings.resolver import Resolver
from connect.settings.worker_keys import DISTRIBUTED
from connect.storage.config_log import TopicConfigLog
from connect.storage.topic_offsets import TopicOffsetStore
from connect.storage.topic_status import TopicStatusStore
from tests.simulation.clients import Clients
from tests.simulation.network import Reply
from tests.simulation.programs import OFFSETS
from tests.simulation.scheduler import Machine, running

CONFIG: Final = "config"
STATUS: Final = "status"
_SHAPE: Final = TopicShape(1, 1, {})


class SimulatedWorker:
    """One worker.

    Attributes:
        machine: its process; another one after each start.
        herder: of it, None before it has begun.
        up: whether its process is to run.
        children: the processes that it started, and `hosts` those of connectors among them.
        reads_all: whether it has read every record of the config topic, none having been compacted away before.
    """

    def __init__(self, number: int, settings: Mapping[str, str], skew: tuple[float, float, float]) -> None:
        self.name = f"w{number}"
        self.host = Machine(self.name, skew=skew)
        self.machine = self.host
        self.settings = settings
        self.starts = 0
        self.up = False
        self.herder: WorkerHerder | None = None
        self.clients: Clients
        self.children: list[Any] = []
        self.hosts: list[Any] = []
        self.reads_all = True

    # Its life.

    def start(self) -> None:
        """Start its process."""
        self.starts += 1
        self.up = True
        self.herder = None
        self.children = []
        self.hosts = []
        self.machine = Machine(f"{self.name}.{self.starts}", self.host)
        self.clients = Clients(running.world.broker, self.machine)
        running.world.machines[self.machine.name] = self
        running.scheduler.spawn(self.machine, "main", self._main)

    def _main(self) -> None:
        try:
            herder = self.herder = self._made()
            herder.start()
        except ConnectError as error:
            running.scheduler.note(self.name, f"could not start: {error}")
            self.crash()
            running.scheduler.after(2.0, running.world.faults.start, self)

    def _made(self) -> WorkerHerder:
        raw = {**self.settings, "rest.advertised.host.name": self.name, "rest.advertised.port": "8083"}
        config = DISTRIBUTED.parse(raw)
        eos = raw["exactly.once.source.support"] != "disabled"
        log = TopicConfigLog(CONFIG, raw, _SHAPE, "connect-cluster-pool" if eos else None)
        member = GroupMember(raw, config, f"http://{self.name}:8083/", log, Peers(self), self._refused)  # type: ignore[arg-type]
        statuses = TopicStatusStore(STATUS, raw, _SHAPE)
        worker = Worker(raw, config, Resolver({}), TopicOffsetStore(OFFSETS, raw, _SHAPE), statuses, member)
        return WorkerHerder(worker, log, member)

    def _refused(self, error: ConnectError) -> None:
        running.scheduler.note(self.name, f"refused: {error}")
        raise AssertionError(f"the group refuses {self.name}: {error!r}") from error

    def stop(self) -> None:
        """Stop its process properly, in a fiber of it."""

        def stop() -> None:
            assert self.herder is not None
            self.herder.stop()
            running.scheduler.note(self.name, "stopped")
            self.crash()

        self.up = False
        running.scheduler.spawn(self.machine, "stop", stop)

    def crash(self) -> None:
        """Its process dies, and with it at once all that it started."""
        self.up = False
        running.scheduler.kill(self.machine)
        for child in self.children:
            child.dies(-9)

    @property
    def ready(self) -> bool:
        """Whether it answers requests."""
        return self.herder is not None and self.herder.started and not self.machine.dead

    def has_read(self, end: int) -> bool:
        """Whether it has read the config topic up to there."""
        return self.herder is not None and self.herder._pool.log._reader._draft.offset >= end

    # What others ask of it.

    def handle(self, operation: Any, reply: Reply) -> None:
        """Answer a request of a user, or of another worker, in a fiber: ("ok", result), or ("error", status, words)."""
        if not self.ready or self.machine.dead:
            reply(("error", None, "connection refused"))
            return

        def answer() -> None:
            try:
                result = ("ok", operation(self))
            except ElsewhereError as error:
                result = ("elsewhere", error.status, str(error))  # type: ignore[assignment]
            except HerderError as error:
                result = ("error", error.status, str(error))  # type: ignore[assignment]
            except ConnectError as error:
                result = ("error", 500, str(error))  # type: ignore[assignment]
            except (TimeoutError, RuntimeError, CancelledError) as error:  # the worker ends
                result = ("error", 500, repr(error))  # type: ignore[assignment]
            reply(result)

        running.scheduler.spawn(self.machine, "rest", answer)


class Peers:
    """`connect.peers.PeerClient`: asks other workers through the network."""

    def __init__(self, worker: SimulatedWorker) -> None:
        self._worker = worker

    def send(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30,
    ) -> bytes:
        """See there."""
        asked = urlparse(url)
        operation = internal_request(method, asked.path, body or b"", dict(headers or {}))
        kind, *rest = ask(self._worker, asked.hostname, operation, timeout)
        if kind == "ok":
            return b""
        status, words = rest
        raise PeerError(f"{method} {url}: {words}", status)


def ask(source: SimulatedWorker, target: str | None, operation: Any, timeout: float) -> Any:
    """Have another worker answer a request, and wait for it."""
    scheduler, world = running.scheduler, running.world
    if target not in world.workers:
        return "error", None, "this is no address"
    box: list[Any] = []
    me = scheduler.fiber
    assert me is not None

    def done(value: Any) -> None:
        box.append(value)
        scheduler.wake(me)

    def arrives(reply: Reply) -> None:
        world.workers[target].handle(operation, reply)

    world.network.request(
        source.machine, target, arrives, done, lambda how: done(("error", None, f"no answer: {how}")), timeout
    )
    while not box:
        scheduler.park()
    return box[0]


def internal_request(method: str, path: str, body: bytes, headers: dict[str, str]) -> Any:
    """What `rest.internal_requests` does with a request of another worker."""
    name = unquote(path.split("/")[2])

    def run(worker: SimulatedWorker) -> None:
        assert worker.herder is not None
        answers = worker.herder.peer_requests
        assert answers is not None
        answers.check_headers(headers)
        answers.check_signature(body, headers)
        if method == "POST":
            answers.put_task_configs(name, body, headers).result(90)
        else:
            answers.fence_zombies(name).result(90)

    return run


__all__ = ["CONFIG", "OFFSETS", "STATUS", "Peers", "SimulatedWorker", "ask"]
