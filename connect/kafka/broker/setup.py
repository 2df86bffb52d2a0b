"""What one start of the embedded broker needs: its properties, its port, its formatted folder, its JVM.

KRaft with one node: https://kafka.apache.org/43/documentation.html#kraft
"""

import base64
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from connect.jvm import class_archive
from connect.jvm.java import Java
from connect.ports import free_port, is_free

HOST = "127.0.0.1"
PORT = 9092
ROOM_NEEDED = 200 << 20  # bytes: the first segments and their indexes, and what a start writes

# Measured on two cores: the serial collector with the first compiler alone is ready in 1.5 s instead of 1.9 s with
# 278 MB instead of 328 MB, takes 470,000 records/s of 100 bytes instead of 340,000, and a third of the CPU.
JVM_OPTIONS = ["-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError"]
LOG_OPTIONS = [
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.showThreadName=false",
    "-Dorg.slf4j.simpleLogger.showShortLogName=true",
]

PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    # A member that joins need not wait for others.
    "group.initial.rebalance.delay.ms": "0",
    # One node keeps one copy, and a few partitions of the inner topics are enough for it.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    # A killed broker is let in again when its session has ended. The defaults make a start after a kill wait 9 s.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # The default takes 128 MB of memory before there is anything to clean.
    "log.cleaner.dedupe.buffer.size": str(16 << 20),
}


class BrokerError(Exception):
    """The embedded broker cannot run. The message says why and what to do, in one line."""

    user_message = True


def default_data() -> Path:
    """The default folder of the broker: in the user's data folder (XDG_DATA_HOME)."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base, "connect-runtime", "broker")


def log_of(data: Path) -> Path:
    """The log of the current start; the previous one is beside it with `.1`."""
    return data / "broker.log"


def pid_file(data: Path) -> Path:
    """Holds the process id of the present or last start."""
    return data / "broker.pid"


def pid_of(data: Path) -> int | None:
    """The process id that the current or last start wrote, None before that or after a stop."""
    try:
        return int(pid_file(data).read_text(encoding="ascii"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def port_of(data: Path) -> int | None:
    """The port of the present or last start, or None before the first."""
    try:
        text = _properties_file(data).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    match = re.search(rf"^advertised\.listeners=PLAINTEXT://{re.escape(HOST)}:(\d+)$", text, re.MULTILINE)
    return int(match[1]) if match else None


def choose_port(data: Path, asked: int | None) -> int:
    """The port for this start; see `ensure_running`. A port that clients may rely on is never exchanged silently.

    Raises:
        BrokerError: another program listens there.
    """
    if asked == 0:
        return free_port()
    known = asked or port_of(data)
    if known is None:
        return PORT if _is_free(PORT) else free_port()
    if not _is_free(known):
        raise BrokerError(
            f"Port {known} of {HOST} is taken by another program. "
            f"Choose another: connect broker start --data {data} --port {free_port()}"
        )
    return known


def check_room(data: Path) -> None:
    """Raises BrokerError when the disk is too full for a start."""
    free = shutil.disk_usage(data).free
    if free < ROOM_NEEDED:
        raise BrokerError(
            f"Only {free >> 20} MB are free on the disk of {data}, and Kafka needs {ROOM_NEEDED >> 20} MB to start. "
            "Make room, or choose another folder with --data"
        )


def write_properties(data: Path, port: int, settings: Mapping[str, str]) -> None:
    """Write the server's properties for this start."""
    controller = free_port()
    properties = {
        **PROPERTIES,
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "log.dirs": str(_logs(data)),
        **settings,
    }
    lines = ["# Written at every start; changes are lost.", *(f"{key}={value}" for key, value in properties.items())]
    _properties_file(data).write_text("\n".join(lines) + "\n", encoding="utf-8")


def format_once(java: Path, classpath: str, data: Path) -> bool:
    """Give the folder its cluster id, the first time. Returns whether this was the first time.

    Raises:
        BrokerError: Kafka's tool refuses.
    """
    if (_logs(data) / "meta.properties").exists():
        return False
    done = subprocess.run(
        [
            java,
            *JVM_OPTIONS,
            *class_archive.sharing(_archive(java, classpath)),
            "-cp",
            classpath,
            "kafka.tools.StorageTool",
            "format",
            "--cluster-id",
            cluster_id(),
            "--config",
            _properties_file(data),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        text = done.stdout + done.stderr
        raise BrokerError(_known(text, data) or f"Kafka refuses to format {data}: {_cause(text)}")
    return True


def cluster_id() -> str:
    """A new cluster id in Kafka's form. One in 64 would begin with a hyphen, which its tools take for an option."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")).startswith("-"):
        pass
    return text


def launch(java: Java, classpath: str, data: Path, alive: IO[str]) -> None:
    """Start the JVM detached, in a session of its own, with the lock `alive` inherited."""
    log = log_of(data)
    if log.exists():
        log.replace(log.with_suffix(".log.1"))
    crash = f"-XX:ErrorFile={data / 'hs_err_pid%p.log'}"  # not where its starter happens to be
    options = [*JVM_OPTIONS, crash, *class_archive.writing(_archive(java.path, classpath), data, java), *LOG_OPTIONS]
    server = [str(java.path), *options, "-cp", classpath, "kafka.Kafka", str(_properties_file(data))]
    # The shell ends at once: the broker is nobody's child, and no zombie stays behind in a worker that runs for months.
    # It writes the process id even when its starter is killed at this moment.
    script = '"$@" & echo $! >"$0" || { kill $!; exit 1; }'
    try:
        with log.open("wb") as output:
            subprocess.run(
                ["/bin/sh", "-c", script, str(pid_file(data)), *server],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[alive.fileno()],
                start_new_session=True,
                check=True,
            )
    except subprocess.CalledProcessError as error:
        raise BrokerError(explain(data)) from error


def _archive(java: Path, classpath: str) -> Path:
    return class_archive.archive_for("kafka-broker", java, classpath, JVM_OPTIONS)


def explain(data: Path) -> str:
    """Why the broker of this folder ended, in one line, from its log."""
    log = log_of(data)
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return _known(text, data) or f"The broker ended: {_cause(text)} (log: {log})"


def _known(text: str, data: Path) -> str | None:
    """Advice for an error that is recognised by its words."""
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return f"The broker ended because the disk of {data} is full. Make room, or choose another folder with --data"
    if "Address already in use" in text:
        return f"The broker ended because its port {port_of(data)} is taken by another program. Choose one with --port"
    if "Failed to acquire lock on file .lock" in text:
        return f"Another Kafka uses {_logs(data)}. Stop it, or choose another folder with --data"
    if "detected by the Java Runtime Environment" in text:
        return (
            f"Java itself crashed, and left a report in {data}. If it does so again, remove {class_archive.folder()}, "
            "from which it maps its classes, and start the broker once more"
        )
    if "UnsupportedClassVersionError" in text:
        return "This Java is too old for Kafka. Install Java 17 or newer and set JAVA_HOME"
    return None


def _cause(text: str) -> str:
    """The line closest to the reason: the innermost exception, or else the first error."""
    innermost = re.findall(r"^Caused by: (.+)$", text, re.MULTILINE)[-1:]
    raised = re.findall(r"^(?:Exception in thread \S+ )?((?:\w+\.)+\w*(?:Exception|Error)\b.*)$", text, re.MULTILINE)
    logged = re.findall(r"^.*\bERROR\b.*$", text, re.MULTILINE)
    lines = [*innermost, *raised, *logged, *reversed(text.splitlines()), "it said nothing"]
    return str(lines[0]).strip()[:300]


def _properties_file(data: Path) -> Path:
    return data / "server.properties"


def _logs(data: Path) -> Path:
    return data / "kafka"


def _is_free(port: int) -> bool:
    try:
        return is_free(port)
    except OSError as error:
        raise BrokerError(f"Port {port} of {HOST} cannot be used: {error.strerror}. Choose one with --port") from error
