"""The JVM of a session: started with `spark-submit`, watched while it comes up, ended by its process id.

It dies with this process: the kernel kills it, and the end of its standard input ends it as well. Its configuration,
which may hold secrets, is passed in a file for this user only and never as arguments, which everybody can list.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import importlib.util
import logging
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from connect.errors import ConfigError, ConnectError, NotInstalledError, RetriableError
from connect.jvm.java import Java, JavaNotFound, find_java, home_without
from connect.jvm.truststore import jvm_options
from spark_sink.error_translation import translate_error
from spark_sink.session import conf as confs
from spark_sink.session.jvm_log import JvmLog, write_configuration
from spark_sink.session.processes import Process, descendants, dying_with_parent, end, process

log = logging.getLogger(__name__)

#: Where a driver's JVM writes the port and the secret of its gateway: `gateway` in its folder.
GATEWAY = "_PYSPARK_DRIVER_CONN_INFO_PATH"

#: The module that Spark's launcher asks every Java for, and can do without.
_VECTOR = "jdk.incubator.vector"

_SWEPT = "connect-spark-"
_LOCK = "alive.lock"
_ENDS_WITHIN = 3.0  # seconds, of a JVM that was asked to
_WORKERS_END_WITHIN = 1.5  # of Python workers without their JVM


class SparkNotInstalled(NotInstalledError):
    """PySpark or a suitable Java is missing. The message says what to install."""


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

    def close(self, within: float = _ENDS_WITHIN) -> None:
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


def spark_home() -> Path:
    """The folder of PySpark, or SPARK_HOME.

    Raises:
        SparkNotInstalled: there is no PySpark here, or SPARK_HOME is another version's.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkNotInstalled(
            "Spark is not installed in this worker's Python. Install it: pip install 'connect-runtime[spark]'"
        )
    home = os.environ.get("SPARK_HOME")
    if not home:
        return Path(found.origin).parent
    version = _version()
    if not any(Path(home, "jars").glob(f"spark-core_*-{version}.jar")):
        raise SparkNotInstalled(
            f"SPARK_HOME is {home}, which is not Spark {version}, the version of this worker's PySpark. Unset it, or "
            "name a folder of that version."
        )
    return Path(home)


def _version() -> str:
    return importlib.metadata.version("pyspark")


def java_for_spark() -> Java:
    """A Java that Spark runs on.

    Raises:
        SparkNotInstalled: there is none; the message says where it was looked for.
    """
    try:
        return find_java(17)
    except JavaNotFound as error:
        raise SparkNotInstalled(f"Spark cannot start: {error}") from error


def launch(
    main: str,
    arguments: Sequence[str],
    conf: Mapping[str, str],
    *,
    redact: Callable[[str], str],
    environment: Mapping[str, str] | None = None,
) -> Jvm:
    """Start `spark-submit` of a main class, or of "" for a driver in Python. Returns at once.

    Raises:
        SparkNotInstalled: no PySpark or no Java.
        ConnectError: it cannot be started.
    """

    def command(home: Path, folder: Path, options: list[str]) -> tuple[list[str], dict[str, str]]:
        whole = confs.with_java_options({"spark.local.dir": str(folder), **conf}, options)
        file = folder / "spark.properties"
        file.touch(mode=0o600)
        file.write_text(confs.properties(whole), encoding="ascii")
        of = ["--class", main] if main else []
        submit = [str(home / "bin" / "spark-submit"), "--properties-file", str(file), "--load-spark-defaults"]
        return [*submit, *of, *arguments], {GATEWAY: str(folder / "gateway"), **(environment or {})}

    return _start(command, redact)


#: They do little: the second compiler and the threads of a collector would cost more than all else.
_OF_DAEMONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def launch_daemon(
    main: str, arguments: Sequence[str], *, redact: Callable[[str], str], environment: Mapping[str, str]
) -> Jvm:
    """Start a daemon of Spark's standalone cluster with `spark-class`. Like `launch`."""

    def command(home: Path, folder: Path, options: list[str]) -> tuple[list[str], dict[str, str]]:
        java = {"SPARK_DAEMON_JAVA_OPTS": " ".join([*_OF_DAEMONS, *options])}
        places = {"SPARK_LOCAL_DIRS": str(folder), "SPARK_WORKER_DIR": str(folder / "work")}
        return [str(home / "bin" / "spark-class"), main, *arguments], {**java, **places, **environment}

    return _start(command, redact)


def _start(
    command_of: Callable[[Path, Path, list[str]], tuple[list[str], dict[str, str]]], redact: Callable[[str], str]
) -> Jvm:
    home = spark_home()
    java = java_for_spark()
    java_home = _java_home(java)
    log.info("Spark %s runs on Java %d (%s)", _version(), java.version, java.path)
    folder, lock = _folder()
    options = [
        f"-Dlog4j2.configurationFile=file:{write_configuration(folder)}",
        f"-Djava.io.tmpdir={folder}",
        "-XX:+ExitOnOutOfMemoryError",
        *jvm_options(),
    ]
    command, environment = command_of(home, folder, options)
    # It dies with the thread that starts it; only the main thread is certain to stay.
    bound = threading.current_thread() is threading.main_thread()
    try:
        popen = subprocess.Popen(
            dying_with_parent(command) if bound else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(java_home, home, environment),
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


def _java_home(java: Java) -> Path:
    try:
        return home_without(java, _VECTOR)
    except OSError as error:
        raise SparkNotInstalled(
            f"Spark cannot start: {java.path} has no module {_VECTOR}, and a home without it cannot be made "
            f"({error}). Install a full Java 17 or newer and set JAVA_HOME, or set XDG_CACHE_HOME to a folder that "
            "can be written."
        ) from error


def _environment(java_home: Path, home: Path, more: Mapping[str, str]) -> dict[str, str]:
    unwanted = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_LOCAL_REMOTE", "PYSPARK_SUBMIT_ARGS", "MASTER")
    environment = {key: value for key, value in os.environ.items() if key not in unwanted}
    environment["JAVA_HOME"] = str(java_home)
    environment["SPARK_HOME"] = str(home)
    environment["SPARK_CONNECT_MODE"] = "0"
    # Its scripts need a shell and a few programs, also where our own PATH has none.
    environment["PATH"] = ":".join(filter(None, [environment.get("PATH", ""), "/usr/bin", "/bin"]))
    return environment | dict(more)


def _folder() -> tuple[Path, IO[bytes]]:
    """A temporary folder for one JVM, locked while this process lives. Those of killed processes are removed."""
    base = Path(tempfile.gettempdir())
    for old in base.glob(f"{_SWEPT}*"):
        _sweep(old)
    made = Path(tempfile.mkdtemp(prefix=f".{_SWEPT}"))  # nobody sweeps it before it is locked
    lock = (made / _LOCK).open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return made.rename(base / made.name[1:]), lock


def _sweep(folder: Path) -> None:
    try:
        if folder.stat().st_uid != os.getuid():
            return
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass  # in use, or being made or removed at this moment
