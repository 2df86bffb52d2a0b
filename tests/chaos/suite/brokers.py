"""Three brokers, each also a controller (KRaft), behind links: one for each worker to each broker.

Every broker has a listener for brokers and for the suite itself, and one for each worker. The address that it tells
clients of a worker's listener is that of a relay, so a worker's way to one broker, or to all, can be cut while the
others' ways stay as they are.

https://kafka.apache.org/43/documentation.html#kraft
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from connect.jvm.jars import classpath
from connect.jvm.java import find_java
from connect.kafka.broker import setup
from connect.kafka.broker.embedded import Broker, ensure_running, stop
from connect.ports import free_port
from tests.servers.broker import KEEPS

from .relay import HOST, Network, Relay

COUNT: Final = 3
#: Topics of three copies, of which two must have a record before it counts: one broker may be away.
SAFE: Final = {
    **KEEPS,
    "auto.create.topics.enable": "false",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "replica.lag.time.max.ms": "4000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "log.retention.check.interval.ms": "5000",
    "log.cleaner.backoff.ms": "2000",
    "num.network.threads": "2",
    "num.io.threads": "4",
}


class Node:
    """One broker. Whoever ends it starts it again, on its ports and with its data."""

    def __init__(self, number: int, data: Path, settings: dict[str, str], port: int) -> None:
        self.number = number
        self.port = port
        self._data = data
        self._settings = settings
        self._running: Broker | None = None

    def __str__(self) -> str:
        return f"broker {self.number}"

    def format(self, cluster: str) -> None:
        """Give its folder the id of the cluster."""
        self._data.mkdir(parents=True)
        setup.write_properties(self._data, self.port, self._settings)
        tool = [find_java().path, *setup.JVM_OPTIONS, "-cp", classpath("kafka-broker"), "kafka.tools.StorageTool"]
        arguments = ["format", "--cluster-id", cluster, "--config", self._data / "server.properties"]
        subprocess.run([*tool, *arguments], check=True, capture_output=True)

    def start(self) -> None:
        """Start it, and wait until it serves: two of three have to run for that."""
        self._running = ensure_running(self._data, port=self.port, settings=self._settings)

    @property
    def pid(self) -> int:
        assert self._running is not None, "it was never started"
        return self._running.pid

    @property
    def alive(self) -> bool:
        return self._running is not None and psutil.pid_exists(self.pid)

    def signal(self, number: int) -> None:
        psutil.Process(self.pid).send_signal(number)

    def kill(self) -> None:
        """End it at once."""
        process = psutil.Process(self.pid)
        process.send_signal(signal.SIGKILL)
        psutil.wait_procs([process], timeout=30)

    def stop(self) -> None:
        """Stop it as it should be."""
        stop(self._data)


class Brokers:
    """The cluster, and each worker's way to it.

    Attributes:
        nodes: the brokers.
        links: for each worker the relays to each broker.
    """

    def __init__(self, folder: Path, network: Network, workers: int) -> None:
        ports = [[free_port() for _ in range(workers + 2)] for _ in range(COUNT)]
        self.links: list[list[Relay]] = [
            [network.relay(ports[node][2 + worker]) for node in range(COUNT)] for worker in range(workers)
        ]
        voters = ",".join(f"{node + 1}@{HOST}:{ports[node][1]}" for node in range(COUNT))
        self.nodes = []
        for node, (plain, controller, *behind) in enumerate(ports):
            listeners = [f"PLAINTEXT://{HOST}:{plain}", *(f"W{n}://{HOST}:{port}" for n, port in enumerate(behind))]
            told = [listeners[0], *(f"W{n}://{links[node].address}" for n, links in enumerate(self.links))]
            settings = {
                **SAFE,
                "node.id": str(node + 1),
                "listeners": ",".join([*listeners, f"CONTROLLER://{HOST}:{controller}"]),
                # The same key once more, and the last one counts: the embedded broker finds its port by the first.
                "advertised\\.listeners": ",".join(told),
                "listener.security.protocol.map": ",".join(
                    f"{name}:PLAINTEXT" for name in ("PLAINTEXT", "CONTROLLER", *(f"W{n}" for n in range(workers)))
                ),
                "controller.quorum.voters": voters,
                "inter.broker.listener.name": "PLAINTEXT",
            }
            self.nodes.append(Node(node + 1, folder / f"broker-{node + 1}", settings, plain))

    @property
    def bootstrap(self) -> str:
        """For the suite itself."""
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)

    def bootstrap_of(self, worker: int) -> str:
        """For a worker."""
        return ",".join(link.address for link in self.links[worker])

    def start(self) -> None:
        """Make and start all."""
        cluster = setup.cluster_id()
        with ThreadPoolExecutor(COUNT) as threads:
            list(threads.map(lambda node: node.format(cluster), self.nodes))
            list(threads.map(Node.start, self.nodes))

    def close(self) -> None:
        """End all, whatever state they are in."""
        for node in self.nodes:
            if node.alive:
                node.signal(signal.SIGCONT)
        with ThreadPoolExecutor(COUNT) as threads:
            list(threads.map(lambda node: node.kill() if node.alive else None, self.nodes))
            list(threads.map(Node.stop, self.nodes))


@contextmanager
def brokers(folder: Path, network: Network, workers: int) -> Iterator[Brokers]:
    """The cluster, as long as it is wanted."""
    made = Brokers(folder, network, workers)
    try:
        made.start()
        yield made
    finally:
        made.close()
