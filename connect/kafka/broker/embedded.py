"""The embedded broker: the real Apache Kafka on this machine, one node, its data in a folder that survives.

It runs detached and outlives its starter; `stop` ends it. One folder has one broker: while it lives it holds a lock on
`alive.lock` (inherited from its starter, released by the kernel when it dies), so a process id that was reused by
another program is never mistaken for it.
"""

import fcntl
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import kill
from pathlib import Path
from typing import IO

from connect.jvm import class_archive
from connect.jvm.jars import classpath
from connect.jvm.java import find_java
from connect.kafka.broker import setup
from connect.kafka.broker.setup import HOST, BrokerError, default_data

__all__ = ["Broker", "BrokerError", "default_data", "ended_by_itself", "ensure_running", "status", "stop"]

READY = "Kafka Server started"  # what Kafka logs when it serves
READY_WITHIN = 90.0  # seconds; about 2 on an idle machine, more after a crash with much data
_ANSWER_S = 1.0
# The request that every broker answers: ApiVersions, version 0, correlation id 0, without a client id.
_API_VERSIONS = bytes.fromhex("0000000a 0012 0000 00000000 ffff")
STOP_WITHIN = 30.0  # seconds until a broker that does not stop is killed


@dataclass(frozen=True)
class Broker:
    """A broker that runs.

    Attributes:
        bootstrap_servers: where clients connect.
        pid: its process.
        data: its folder.
        log: its log file.
    """

    bootstrap_servers: str
    pid: int
    data: Path
    log: Path


def ensure_running(
    data: Path | None = None,
    *,
    port: int | None = None,
    settings: Mapping[str, str] | None = None,
    say: Callable[[str], None] | None = None,
) -> Broker:
    """The broker of this folder, started if it does not run, ready to serve.

    Concurrent calls for the same folder get the same broker.

    Args:
        data: its folder; by default one in the user's data folder (XDG_DATA_HOME).
        port: where it listens; 0 for any free one. By default the one it had before, or Kafka's 9092, or, the first
            time, a free one when that is taken.
        settings: further properties of the server, for this start.
        say: called with the progress of a long step, a line at a time; by default it goes to standard error.

    Raises:
        BrokerError: it cannot start: the port is taken, the disk is full, the folder is not writable, ...
        JavaNotFound: no Java 17 or newer.
        JarsUnavailable: Kafka's jars cannot be fetched.
    """
    data = _folder(data)
    say = say or _to_stderr
    with _lock(data / "start.lock"):
        if (running := _await_pid(data)) and _is_ready_in_time(running):
            if port and not running.bootstrap_servers.endswith(f":{port}"):
                raise BrokerError(
                    f"The broker of {data} runs on {running.bootstrap_servers} already. "
                    f"Stop it first: connect broker stop --data {data}"
                )
            return running
        java = find_java()
        jars = classpath("kafka-broker", say)
        setup.check_room(data)
        chosen = setup.choose_port(data, port)
        setup.write_properties(data, chosen, settings or {})
        is_new = setup.format_once(java.path, jars, data)
        setup.pid_file(data).unlink(missing_ok=True)
        with _alive(data).open("a") as alive:
            fcntl.flock(alive, fcntl.LOCK_EX)
            setup.launch(java, jars, data, alive)
        running = status(data)
        if running is None:
            raise BrokerError(setup.explain(data))
        if not _is_ready_in_time(running):
            raise BrokerError(setup.explain(data))
        if is_new:
            _make_group_topic(running)
        return running


def status(data: Path | None = None) -> Broker | None:
    """The broker of this folder if it runs, else None."""
    data = data or default_data()
    pid = setup.pid_of(data)
    # One that lives without a process id is being started by somebody at this moment.
    if pid is None or not _is_alive(data):
        return None
    return Broker(f"{HOST}:{setup.port_of(data)}", pid, data, setup.log_of(data))


def ended_by_itself(data: Path | None = None) -> bool:
    """Whether the broker of this folder ended without `stop`: it crashed, was killed, or the machine went down."""
    data = data or default_data()
    return setup.pid_file(data).exists() and not _is_alive(data)


def stop(data: Path | None = None) -> bool:
    """Stop the broker of this folder and wait until it is gone. Returns whether one was running."""
    data = data or default_data()
    if not data.is_dir():
        return False
    with _lock(data / "start.lock"):
        running = _await_pid(data)
        if running is not None:
            # Its lock is held, so the process id is its own.
            kill(running.pid, signal.SIGTERM)
            if _eventually(lambda: not _is_alive(data), STOP_WITHIN):
                class_archive.keep(data)
            else:
                kill(running.pid, signal.SIGKILL)  # Kafka recovers its log at the next start
                _eventually(lambda: not _is_alive(data), STOP_WITHIN)
        setup.pid_file(data).unlink(missing_ok=True)
    return running is not None


def _await_pid(data: Path) -> Broker | None:
    """The broker of this folder if one runs, even if its starter was killed before the process id was written."""
    _eventually(lambda: not _is_alive(data) or status(data) is not None, 10)
    return status(data)


def _is_ready_in_time(running: Broker) -> bool:
    """Whether it became ready; False when it ended: it could not start, or was being killed when it was found."""

    def ended_or_ready() -> bool:
        return not _is_alive(running.data) or _serves(running)

    if not _eventually(ended_or_ready, READY_WITHIN):
        kill(running.pid, signal.SIGKILL)
        raise BrokerError(
            f"The broker did not become ready within {READY_WITHIN:.0f} seconds and was ended. Its log: {running.log}"
        )
    return _is_alive(running.data)


def _make_group_topic(running: Broker) -> None:
    """Have a new broker create and load the topic of consumer groups.

    Otherwise the first consumer finds it loading, and librdkafka retries only after three seconds.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": running.bootstrap_servers, "log_level": 0})

    def answers() -> bool:
        try:
            admin.describe_consumer_groups(["connect"], request_timeout=5)["connect"].result()
        except KafkaException:
            return False
        return True

    _eventually(answers, 10)  # it is only quicker: a consumer that finds it loading waits and goes on


def _serves(running: Broker) -> bool:
    if READY not in running.log.read_text(encoding="utf-8", errors="replace"):
        return False
    # One that was killed a moment ago still has its lock, and its port takes connections, but nobody answers there.
    host, port = running.bootstrap_servers.split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=1) as connection:
            connection.settimeout(_ANSWER_S)
            connection.sendall(_API_VERSIONS)
            return bool(connection.recv(1))
    except OSError:
        return False


def _is_alive(data: Path) -> bool:
    """Whether a broker holds the lock of this folder."""
    try:
        with _alive(data).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _alive(data: Path) -> Path:
    return data / "alive.lock"


def _folder(data: Path | None) -> Path:
    folder = data or default_data()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / "start.lock").touch()
        if data is None:
            folder.chmod(0o700)  # its topics hold passwords and the key of the workers; older versions made it 0755
    except OSError as error:
        raise BrokerError(
            f"The broker cannot keep its data in {folder}: {error.strerror}. Choose another folder with --data"
        ) from error
    return folder.resolve()


@contextmanager
def _lock(path: Path) -> Iterator[IO[str]]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _eventually(holds: Callable[[], bool], within: float) -> bool:
    """Whether a condition becomes true within this many seconds."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.03)
    return True


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201  the default place for progress
