"""The workers of a run: each with its own way to the brokers, to the others, and with a clock that can be wrong."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import psutil

from tests.integration.distributed.pool import PLUGINS, SESSION_S, UNRULY, Pool, PoolWorker
from tests.support.rest import NO_ANSWER
from tests.support.worker_process import last_words

from .brokers import Brokers
from .relay import HOST, Network

CLOCK: Final = Path(__file__).with_name("clock")
#: Workers run the code beside this suite, whatever is installed.
CHECKOUT: Final = Path(__file__).parents[3]
STRING: Final = "org.apache.kafka.connect.storage.StringConverter"
#: As users have it, but for pauses: a run of ten minutes has no five of them to wait.
SETTINGS: Final = {
    "key.converter": STRING,
    "value.converter": STRING,
    "offset.flush.interval.ms": "1000",
    "session.timeout.ms": str(int(SESSION_S * 1000)),
    "heartbeat.interval.ms": "500",
    "rebalance.timeout.ms": "20000",
    "scheduled.rebalance.max.delay.ms": "3000",
    "task.shutdown.graceful.timeout.ms": "5000",
    "consumer.metadata.max.age.ms": "5000",
    "restart.policy.max.delay.ms": "10000",
    "restart.policy.max.restarts": "-1",
    "task.stalled.after.ms": "60000",
    "plugin.path": f"{PLUGINS},{UNRULY}",
}


class ChaosWorker(PoolWorker):
    """One worker. Others know it by the address of a relay; the suite asks it itself.

    Attributes:
        number: from 0 on.
        code: the checkout that it runs.
    """

    def __init__(
        self, number: int, folder: Path, brokers: Brokers, network: Network, settings: Mapping[str, str]
    ) -> None:
        super().__init__(folder, {**settings, "bootstrap.servers": brokers.bootstrap_of(number)})
        self.number = number
        self._folder = folder
        self.peers = network.relay(self.port)
        self.brokers = brokers.links[number]
        self.id = self.peers.address
        self._settings |= {"rest.advertised.host.name": HOST, "rest.advertised.port": str(self.peers.port)}
        self._clock = folder / f"clock-{number}"
        self._clock.write_bytes(struct.pack("dd", 0.0, 0.0))
        self.run_code(CHECKOUT)

    def run_code(self, checkout: Path) -> None:
        """Have it run this version of the code from its next start on."""
        self.code = checkout
        path = os.pathsep.join([str(CLOCK), str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {**os.environ, "PYTHONPATH": path, "CHAOS_CLOCK": str(self._clock)}
        self._options = {"cwd": self._folder, "env": env}

    def __str__(self) -> str:
        return f"worker {self.number + 1}"

    def jump(self, seconds: float) -> None:
        """Set its clock, and its tasks', so much before or behind that of the machine."""
        self._tell(0, seconds)

    def fill_disk(self, full: bool) -> None:
        """Whether writes of its processes into files fail, for want of room."""
        self._tell(8, float(full))

    def _tell(self, at: int, value: float) -> None:
        with self._clock.open("r+b") as file:
            file.seek(at)
            file.write(struct.pack("d", value))

    def quick(self, path: str, timeout: float = 3) -> Any:
        """The body of a good answer that comes soon, else None."""
        try:
            answer = self.ask("GET", path, timeout=timeout)
        except NO_ANSWER:
            return None
        return answer.body if answer.status == 200 else None

    def fork_server(self) -> psutil.Process | None:
        """The process that forks tasks and hosts."""
        if not self.alive:
            return None
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(self.process.pid).children():
                with contextlib.suppress(psutil.Error):
                    if "multiprocessing.forkserver" in " ".join(child.cmdline()):
                        return child
        return None

    def forked(self) -> list[psutil.Process]:
        """Tasks and hosts."""
        server = self.fork_server()
        with contextlib.suppress(psutil.Error):
            return server.children() if server else []
        return []

    def tasks(self) -> list[psutil.Process]:
        """What talks to brokers by the worker's own links, which a host does not."""
        ports = {link.port for link in self.brokers}
        return [each for each in self.forked() if _talks_to(each, ports)]

    def hosts(self) -> list[psutil.Process]:
        """The others. A task that is only just starting is among them."""
        tasks = {each.pid for each in self.tasks()}
        return [each for each in self.forked() if each.pid not in tasks]

    def processes(self) -> dict[str, psutil.Process]:
        """All, by name."""
        if not self.alive:
            return {}
        with contextlib.suppress(psutil.Error):
            found = {f"{self} ({self.process.pid})": psutil.Process(self.process.pid)}
            if server := self.fork_server():
                found[f"{self} fork server ({server.pid})"] = server
            return found | {f"{self} forked ({each.pid})": each for each in self.forked()}
        return {}


class ChaosPool(Pool):
    """The pool. Its topics have three copies."""

    workers: list[ChaosWorker]  # type: ignore[assignment]

    def __init__(
        self, name: str, folder: Path, brokers: Brokers, network: Network, *, exactly_once: bool, code: Path = CHECKOUT
    ) -> None:
        super().__init__(name, folder, brokers.bootstrap)
        self.settings = {key: value for key, value in self.settings.items() if "storage" in key or key == "group.id"}
        self.settings |= {key: "3" for key in self.settings if key.endswith("replication.factor")} | SETTINGS
        self.settings["exactly.once.source.support"] = "enabled" if exactly_once else "disabled"
        self.workers = [
            ChaosWorker(number, folder, brokers, network, self.settings) for number in range(len(brokers.links))
        ]
        for worker in self.workers:
            worker.run_code(code)

    def begin(self) -> None:
        """Start all, and wait for them."""
        for worker in self.workers:
            worker.start()
        self.until(lambda: all(worker.ready() for worker in self.workers), "the workers answer", 180)

    @property
    def up(self) -> list[ChaosWorker]:  # type: ignore[override]
        return [worker for worker in self.workers if worker.alive]

    def processes(self) -> dict[str, psutil.Process]:
        """Of all workers, by name."""
        return {name: each for worker in self.workers for name, each in worker.processes().items()}

    def answering(self) -> Iterator[ChaosWorker]:
        """The workers that answer now."""
        return (worker for worker in self.up if worker.quick("/") is not None)

    def close(self) -> None:
        with ThreadPoolExecutor(max(1, len(self.workers))) as threads:
            list(threads.map(PoolWorker.close, self.workers))

    def last_words(self) -> str:
        """The ends of all logs."""
        return "\n".join(f"--- {worker} {worker.id}\n{last_words(worker.log_file)}" for worker in self.workers)


def _talks_to(process: psutil.Process, ports: set[int]) -> bool:
    with contextlib.suppress(psutil.Error):
        return any(each.raddr and each.raddr.port in ports for each in process.net_connections("tcp"))
    return False
