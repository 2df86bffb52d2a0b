"""A standalone cluster of Spark on this machine, for trials and tests: a master and some workers.

    python -m spark_sink.session.cluster --workers 2

PySpark's package has the daemons of a cluster, but not the scripts that start them. What is started here listens on the
loopback address only, and ends with this process, however that ends.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Self

from connect.errors import ConnectError
from connect.telemetry import logs
from spark_sink.session.installation import home_for
from spark_sink.session.jvm import Jvm, await_ready, launch_daemon
from spark_sink.session.masters import Kind

HOST: Final = "127.0.0.1"
_DEPLOY = "org.apache.spark.deploy"
_SERVES = re.compile(r"Starting Spark master at (?P<url>spark://\S+)")
_REGISTERED = re.compile("Successfully registered with master")
_COMES_UP_WITHIN = 120.0  # seconds; some ten on an idle machine


class Cluster:
    """A master and its workers, running from construction until `close`.

    Args:
        workers: how many.
        cores: of each worker.
        memory: of each worker, for its executors, as Spark writes it: "2g".
        port: of the master; 0 for any free one.
        ui_port: of the master's page; 0 for any free one.
        environment: further variables for executors.
        stopping: whether to give up waiting for it.

    Attributes:
        url: the value of `spark.master` for it.

    Raises:
        ConnectError: a port is taken, there is no Java, ...; the message says what to do.
    """

    def __init__(
        self,
        workers: int = 2,
        *,
        cores: int = 1,
        memory: str = "1g",
        port: int = 0,
        ui_port: int = 0,
        environment: Mapping[str, str] | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        # Executors inherit a worker's environment; they are told the driver's addresses by their command.
        self._environment = {
            "SPARK_DAEMON_MEMORY": "384m",
            # As on another machine: executors import what is installed, and what they are sent.
            "PYTHONPATH": "",
            # A port that is taken is said; Spark would take the next one. The REST server has a fixed one, and no user.
            "SPARK_MASTER_OPTS": "-Dspark.port.maxRetries=0 -Dspark.master.rest.enabled=false",
            **(environment or {}),
        }
        self._home = home_for(Kind.STANDALONE, sys.executable)  # its executors run this Python, as a rule
        self._stopping = stopping
        self._jvms: list[Jvm] = []
        try:
            master = self._launch("master.Master", HOST, "--port", str(port), "--webui-port", str(ui_port))
            self.url = self._await(master, _SERVES, "Spark's master")["url"]
            running = [self._worker(_host(number), cores, memory) for number in range(workers)]
            for worker in running:
                self._await(worker, _REGISTERED, "A worker of Spark")
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> list[Jvm]:
        """The JVMs of the workers."""
        return self._jvms[1:]

    def ended(self) -> bool:
        """Whether one of its JVMs ended by itself."""
        return any(jvm.ended() is not None for jvm in self._jvms)

    def close(self) -> None:
        """End it with all its executors."""
        jvms, self._jvms = self._jvms, []
        for jvm in reversed(jvms):
            jvm.kill()
        for jvm in jvms:
            jvm.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _launch(self, main: str, host: str, *arguments: str) -> Jvm:
        environment = {"SPARK_LOCAL_IP": host, "SPARK_PUBLIC_DNS": host, **self._environment}
        jvm = launch_daemon(
            f"{_DEPLOY}.{main}", ["--host", host, *arguments], home=self._home, redact=str, environment=environment
        )
        self._jvms.append(jvm)
        return jvm

    def _worker(self, host: str, cores: int, memory: str) -> Jvm:
        size = ("--cores", str(cores), "--memory", memory)
        return self._launch("worker.Worker", host, "--webui-port", "0", *size, self.url)

    def _await(self, jvm: Jvm, awaited: re.Pattern[str], what: str) -> re.Match[str]:
        found: list[re.Match[str]] = []

        def has_said() -> bool:
            found.extend(match for line in jvm.log.said() if (match := awaited.search(line)))
            return bool(found)

        await_ready(jvm, has_said, time.monotonic() + _COMES_UP_WITHIN, self._stopping, what)
        return found[0]


def _host(number: int) -> str:
    """Where a worker is. Each is on a host of its own where that can be: Spark speculates only across hosts."""
    return f"127.0.0.{number % 200 + 2}" if sys.platform == "linux" else HOST


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a cluster until Ctrl+C, SIGTERM, or the end of one of its daemons. Returns the exit code."""
    options = _parser().parse_args(arguments)
    logs.configure("WARN", name="cluster")
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())
    _say(f"starting a master and {options.workers} workers")
    try:
        cluster = Cluster(
            options.workers,
            cores=options.cores,
            memory=options.memory,
            port=options.port,
            ui_port=options.ui_port,
            stopping=ending.is_set,
        )
    except ConnectError as error:
        _say(str(error))
        return 1
    with cluster:
        sys.stdout.write(f"{cluster.url}\n")
        sys.stdout.flush()
        _say(f"ready: spark.master={cluster.url}    Ctrl+C ends it")
        while not ending.wait(0.3):
            if cluster.ended():
                _say("one of its daemons ended by itself; the others are ended")
                return 1
    return 0


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m spark_sink.session.cluster",
        description="Runs a standalone cluster of Spark on this machine: a master and some workers, on 127.0.0.1. "
        "Its address is printed on standard output as soon as it can be used. Everything ends with this program.",
        epilog="""to run a connector on it, write into its configuration:
  engine=spark
  spark.master=spark://127.0.0.1:7077
  spark.executor.memory=1g

each connector is an application of its own and takes all free cores, so that a second one waits.
spark.cores.max=2 leaves some to others.""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="how many workers (default: 2)")
    parser.add_argument("--cores", type=int, default=1, metavar="N", help="cores of each worker (default: 1)")
    parser.add_argument("--memory", default="1g", metavar="SIZE", help="memory for the executors of each (default: 1g)")
    parser.add_argument("--port", type=int, default=0, help="where the master listens (default: any free port)")
    parser.add_argument("--ui-port", type=int, default=0, help="of the master's web page (default: any free port)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
