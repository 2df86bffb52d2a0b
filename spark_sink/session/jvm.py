"""The JVM of a session: started with `spark-submit`, watched while it comes up, ended by its process id.

It dies with this process: the kernel kills it, and the end of its standard input ends it as well. Its configuration,
which may hold secrets, is passed in a file for this user only and never as arguments, which everybody can list.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Self

from connect.errors import ConfigError, ConnectError, RetriableError
from connect.jvm.truststore import jvm_options
from spark_sink.error_translation import translate_error
from spark_sink.session import class_archive
from spark_sink.session import conf as confs
from spark_sink.session.folders import locked_folder
from spark_sink.session.installation import SparkNotInstalled, java_for_spark, java_home, spark_version
from spark_sink.session.jvm_log import JvmLog, write_configuration
from spark_sink.session.processes import Process, descendants, dying_with_parent, end, process

log = logging.getLogger(__name__)

#: Where a driver's JVM writes the port and the secret of its gateway: `gateway` in its folder.
GATEWAY = "_PYSPARK_DRIVER_CONN_INFO_PATH"

ENDS_WITHIN = 3.0  # seconds, of a JVM that was asked to
_WORKERS_END_WITHIN = 1.5  # of Python workers without their JVM


class JarsNotFetched(RetriableError):
    """Delta's jars cannot be fetched now: no network, or a full disk. The message says why."""


class Stopped(ConnectError):
    """The task has to end; a wait for Spark was given up."""


class Jvm:
    """A JVM that this process started.

    Attributes:
        process: its process id with its start.
        folder: its temporary files; removed by `close`.
        log: its log.
    """

    def __init__(self, popen: subprocess.Popen[bytes], folder: Path, lock: IO[bytes], log: JvmLog) -> None:
        started = process(popen.pid)
        assert started is not None  # it was not waited for
        self.process: Process = started
        self.folder = folder
        self.log = log
        self._popen = popen
        self._lock = lock
        self._workers: list[Process] = []
        self._memory_kills = memory_kills()

    @property
    def may_be_killed_for_memory(self) -> bool:
        """Whether the kernel has ended a process for lack of memory since this one was started."""
        return memory_kills() > self._memory_kills

    def ended(self) -> int | None:
        """The exit code of a JVM that ended, -9 for one that was killed by signal 9; None while it runs."""
        return self._popen.poll()

    def end_input(self) -> None:
        """Ask it to end: it stops at the end of its standard input."""
        self._workers = descendants(self.process.pid)
        if self._popen.stdin is not None:
            try:
                self._popen.stdin.close()
            except OSError:
                pass  # it is gone

    def kill(self) -> None:
        """End it at once, with its Python workers."""
        self._workers = [*self._workers, *descendants(self.process.pid)]
        self.process.kill()

    def close(self, within: float = ENDS_WITHIN) -> None:
        """End it in order, and kill what does not end in time. Takes at most `within` and two seconds."""
        self.end_input()
        try:
            self._popen.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            self._popen.wait(within)
        end(self._workers, _WORKERS_END_WITHIN)
        self.log.wait(1.0)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


#: Four times Java's own thresholds for its second compiler. At a start most code runs a few thousand times and never
#: again: optimising it takes a third of all CPU until the first commit. What rows pass through gets there in a second.
_OPTIMISED_LATER: Final = (
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
)


def launch(
    main: str,
    arguments: Sequence[str],
    conf: Mapping[str, str],
    *,
    home: Path,
    classes: bool,
    redact: Callable[[str], str],
    environment: Mapping[str, str] | None = None,
) -> Jvm:
    """Start `spark-submit` of a main class, or of "" for a driver in Python. Returns at once.

    Args:
        home: of Spark, such as `home_for`.
        classes: whether it maps its classes from the archive of them, if there is one.

    Raises:
        SparkNotInstalled: no PySpark or no Java.
        ConnectError: it cannot be started.
    """

    def command(folder: Path, options: list[str]) -> tuple[list[str], dict[str, str]]:
        shared = class_archive.sharing(java_for_spark(), home, conf) if classes else []
        java = [*_OPTIMISED_LATER, *options, *shared]
        whole = confs.with_java_options({"spark.local.dir": str(folder), **conf}, java)
        file = folder / "spark.properties"
        file.touch(mode=0o600)
        file.write_text(confs.properties(whole), encoding="ascii")
        of = ["--class", main] if main else []
        submit = [str(home / "bin" / "spark-submit"), "--properties-file", str(file), "--load-spark-defaults"]
        return [*submit, *of, *arguments], {GATEWAY: str(folder / "gateway"), **(environment or {})}

    return _start(home, command, redact)


#: They do little: the second compiler and the threads of a collector would cost more than all else.
_OF_DAEMONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def launch_daemon(
    main: str, arguments: Sequence[str], *, home: Path, redact: Callable[[str], str], environment: Mapping[str, str]
) -> Jvm:
    """Start a daemon of Spark's standalone cluster with `spark-class`. Like `launch`."""

    def command(folder: Path, options: list[str]) -> tuple[list[str], dict[str, str]]:
        java = {"SPARK_DAEMON_JAVA_OPTS": " ".join([*_OF_DAEMONS, *options])}
        places = {"SPARK_LOCAL_DIRS": str(folder), "SPARK_WORKER_DIR": str(folder / "work")}
        return [str(home / "bin" / "spark-class"), main, *arguments], {**java, **places, **environment}

    return _start(home, command, redact)


def _start(
    home: Path, command_of: Callable[[Path, list[str]], tuple[list[str], dict[str, str]]], redact: Callable[[str], str]
) -> Jvm:
    java = java_for_spark()
    home_of_java = java_home(java)
    log.info("Spark %s runs on Java %d (%s)", spark_version(), java.version, java.path)
    folder, lock = locked_folder()
    options = [
        f"-Dlog4j2.configurationFile=file:{write_configuration(folder)}",
        f"-Djava.io.tmpdir={folder}",
        "-XX:+ExitOnOutOfMemoryError",
        *jvm_options(),
    ]
    command, environment = command_of(folder, options)
    # It dies with the thread that starts it; only the main thread is certain to stay.
    bound = threading.current_thread() is threading.main_thread()
    try:
        popen = subprocess.Popen(
            dying_with_parent(command) if bound else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(home_of_java, home, environment),
        )
    except OSError as error:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)
        raise ConnectError(f"Spark cannot start: {command[0]}: {error.strerror}") from error
    assert popen.stdout is not None
    return Jvm(popen, folder, lock, JvmLog(popen.stdout, redact))


def await_ready(
    jvm: Jvm, ready: Callable[[], bool], deadline: float, stopping: Callable[[], bool], what: str = "Spark"
) -> None:
    """Wait until it is ready; raises ConnectError when it ends before, RetriableError at the deadline."""
    while not ready():
        if jvm.ended() is not None:
            raise died(jvm, what)
        if stopping():
            raise Stopped(f"{what} was not waited for: the task is stopping.")
        if time.monotonic() > deadline:
            raise RetriableError(
                f"{what} did not come up in time. A machine with much to do needs more: raise spark.start.timeout.ms. "
                f"Its last words: {last_words(jvm)}"
            )
        time.sleep(0.02)


def memory_kills() -> int:
    """The number of processes that the kernel of this machine has ended for lack of memory; 0 where it is unknown."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def died(jvm: Jvm, what: str = "Spark") -> ConnectError:
    """Why a JVM ended by itself, from its log."""
    jvm.log.wait(2.0)
    code = jvm.ended()
    said = " ".join(jvm.log.said())
    if size := re.search(r"Invalid (?:maximum|initial) heap size: -Xm[sx](\S*)", said):
        return ConfigError("spark.driver.memory", f'"{size[1]}" is not a size that Java takes. Write 1g or 1500m.')
    if "OutOfMemoryError" in said:
        return ConnectError(f"{what}'s JVM ran out of memory and ended. Raise spark.driver.memory.")
    if code == -signal.SIGKILL and not jvm.may_be_killed_for_memory:
        return RetriableError(f"{what}'s JVM was killed (SIGKILL) by somebody, and not by the kernel to free memory.")
    if "reserve enough space" in said or "insufficient memory" in said or code == -signal.SIGKILL:
        return ConnectError(
            f"{what}'s JVM was ended by the system ({last_words(jvm)}). "
            "This machine has too little memory for it: lower spark.driver.memory, or give the machine more."
        )
    if "Error occurred during initialization of boot layer" in said:  # a module that this Java does not have
        return SparkNotInstalled(f"{what} cannot start on this Java: {said[:500]}. Set JAVA_HOME to another one.")
    words = last_words(jvm)
    known = translate_error(RuntimeError(words))
    if not str(known).startswith("Spark failed"):
        return known
    return ConnectError(f"{what}'s JVM ended with exit code {code}: {words}")


def last_words(jvm: Jvm) -> str:
    """The first line of its log that names an error, else the last one, else that it is empty."""
    lines = jvm.log.said()
    wrong = [line for line in lines if "Exception" in line] or [line for line in lines if "rror" in line]
    return (wrong[:1] or lines[-1:] or ["it said nothing"])[0][:500]


def _environment(java_home: Path, home: Path, more: Mapping[str, str]) -> dict[str, str]:
    unwanted = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_LOCAL_REMOTE", "PYSPARK_SUBMIT_ARGS", "MASTER")
    environment = {key: value for key, value in os.environ.items() if key not in unwanted}
    environment["JAVA_HOME"] = str(java_home)
    environment["SPARK_HOME"] = str(home)
    environment["SPARK_CONNECT_MODE"] = "0"
    # Its scripts need a shell and a few programs, also where our own PATH has none.
    environment["PATH"] = ":".join(filter(None, [environment.get("PATH", ""), "/usr/bin", "/bin"]))
    return environment | dict(more)
