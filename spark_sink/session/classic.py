"""A session with a driver in a JVM that this process starts and talks to through py4j."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import signal
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from connect.errors import ConfigError, ConnectError, RetriableError
from connect.jvm.jars import JarsUnavailable, resolve
from spark_sink.error_translation import translate_error
from spark_sink.session import conf as confs
from spark_sink.session.installation import home_for
from spark_sink.session.jvm import ENDS_WITHIN, JarsNotFetched, Jvm, Stopped, await_ready, died, last_words, launch
from spark_sink.session.jvm_log import quieten_python
from spark_sink.session.masters import Kind, Master
from spark_sink.session.reach import await_answer

log = logging.getLogger(__name__)

_STOPS_WITHIN = 4.0  # seconds, of Spark's own end before its JVM is killed
_PACKAGES = ("connect", "connectors", "transforms", "rest", "spark_sink")
#: What PySpark reads from, or leaves in, the environment of its driver.
_VARIABLES = (
    *("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYSPARK_PYTHON", "SPARK_AUTH_SOCKET_TIMEOUT"),
    *("SPARK_BUFFER_SIZE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE", "SPARK_API_MODE"),
)


def begin(
    conf: Mapping[str, str],
    master: Master,
    deadline: float,
    redact: Callable[[str], str],
    stopping: Callable[[], bool],
    *,
    classes: bool,
) -> tuple[Any, Jvm]:
    """The SparkSession and its JVM. Raises as `open_session` does; for `classes` see `launch`."""
    _check_free()
    await_answer(master.addresses, f"The Spark master {master.url}", deadline, stopping)
    conf = with_delta(conf)
    quieten_python()
    python = _python(conf, master, os.environ.get("PYSPARK_PYTHON"))
    # The JVM itself runs some Python too, to look for data sources: by its environment, not by its configuration.
    own = {"PYSPARK_PYTHON": python} if python else {}
    jvm = launch(
        "",
        ["pyspark-shell"],
        conf,
        home=home_for(master.kind, python),
        classes=classes,
        redact=redact,
        environment={**environment(master), **own},
    )
    try:
        with _our_environment(conf, master):
            return _session(jvm, master, deadline, stopping), jvm
    except BaseException:
        jvm.kill()
        jvm.close()
        _forget()
        raise


def end(spark: Any, jvm: Jvm, within: float | None = None) -> None:
    """Stop Spark, its JVM and its Python workers; what takes too long is killed, by default after some seconds."""
    accumulators = getattr(spark.sparkContext, "_accumulatorServer", None)
    if accumulators is not None:
        accumulators.handle_error = lambda *_: None  # it prints a trace when a JVM is killed
    with _killed_after(jvm, within or _STOPS_WITHIN), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a JVM that is gone already
        with contextlib.suppress(Exception):
            spark.stop()
    _forget()
    jvm.close(within or ENDS_WITHIN)


def with_delta(conf: Mapping[str, str]) -> dict[str, str]:
    """The same with Delta's jars, unless the user brings others or has disabled its extensions.

    Raises:
        JarsNotFetched: they are not available.
    """
    if confs.brings_delta(conf) or not confs.uses_delta(conf):
        return dict(conf)
    try:
        return confs.with_jars(conf, resolve("delta", log.info))
    except JarsUnavailable as error:
        raise JarsNotFetched(str(error)) from error


def _check_free() -> None:
    """PySpark would return the open session, which may have another master."""
    if "pyspark" in sys.modules:
        from pyspark.core.context import SparkContext

        if SparkContext._active_spark_context is not None:
            raise ConnectError("This process has a Spark session already. Close that one first.")


def _session(jvm: Jvm, master: Master, deadline: float, stopping: Callable[[], bool]) -> Any:
    from pyspark.sql import SparkSession

    gateway = jvm.folder / "gateway"
    await_ready(jvm, gateway.is_file, deadline, stopping)
    port, secret = _gateway(gateway)
    gateway.unlink()
    os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    with _Patience(jvm, deadline, stopping) as patience, _signal_kept(signal.SIGINT):
        try:
            spark = SparkSession.builder.getOrCreate()
            if not master.is_local:
                _await_executor(spark)
        except Exception as error:
            raise patience.reason(master) or _said(error, jvm, master) from error
    return spark


def _await_executor(spark: Any) -> None:
    """Return when the cluster has given an executor: without one the first job would wait for ever."""
    if spark.conf.get("spark.dynamicAllocation.enabled", "false").lower() == "true":
        return  # an executor comes with the first job
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 2:  # the driver is one of them
        time.sleep(0.05)


class _Patience:
    """Kills a JVM that takes too long, or that nobody waits for any more, so that a call into it returns."""

    def __init__(self, jvm: Jvm, deadline: float, stopping: Callable[[], bool]) -> None:
        self._jvm = jvm
        self._deadline = deadline
        self._stopping = stopping
        self._over = threading.Event()
        self._why = ""
        self._thread = threading.Thread(target=self._watch, name="spark-patience", daemon=True)

    def reason(self, master: Master) -> ConnectError | None:
        """Why the JVM was killed, if it was."""
        self._over.set()
        self._thread.join()
        if self._why == "stopping":
            return Stopped("Spark was not waited for: the task is stopping.")
        if self._why == "deadline":
            return RetriableError(
                f"Spark at {master.url} did not come up in time: {last_words(self._jvm)}. See that it runs and has "
                "resources to give; a machine with much to do needs more time: raise spark.start.timeout.ms."
            )
        return None

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            if self._stopping():
                self._why = "stopping"
            elif time.monotonic() > self._deadline:
                self._why = "deadline"
            if self._why:
                self._jvm.kill()
                return

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


@contextlib.contextmanager
def _killed_after(jvm: Jvm, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, jvm.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _said(error: Exception, jvm: Jvm, master: Master) -> ConnectError:
    if jvm.ended() is not None:
        return died(jvm)
    if any("All masters are unresponsive" in line for line in jvm.log.said()):
        return RetriableError(
            f"The Spark master {master.url} did not answer as a master does. Check the address, and that it runs this "
            "version of Spark."
        )
    found = translate_error(error)
    if isinstance(found, ConfigError):
        return found
    return type(found)(f"Spark at {master.url} cannot start. {str(found).removeprefix('Spark failed: ')}")


def _gateway(file: Path) -> tuple[int, str]:
    content = file.read_bytes()
    port, length = struct.unpack(">ii", content[:8])
    return port, content[8 : 8 + length].decode()


def environment(master: Master) -> dict[str, str]:
    """For a local JVM: no lookup of this machine's name; Python workers import from where this process does."""
    if not master.is_local:
        return {}
    address = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
    folders = [folder for folder in (_folder_of(each) for each in _PACKAGES) if folder]
    given = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    given_address = {key: value for key in address if (value := os.environ.get(key))}
    return {**address, **given_address, "PYTHONPATH": os.pathsep.join(dict.fromkeys([*given, *folders]))}


def _folder_of(package: str) -> str | None:
    spec = importlib.util.find_spec(package)
    return str(Path(spec.origin).parent.parent) if spec and spec.origin else None


@contextlib.contextmanager
def _our_environment(conf: Mapping[str, str], master: Master) -> Iterator[None]:
    """The environment variables that PySpark reads for its driver, set while it reads them."""
    before = {key: os.environ.pop(key, None) for key in _VARIABLES}
    if python := _python(conf, master, before["PYSPARK_PYTHON"]):
        os.environ["PYSPARK_PYTHON"] = python
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _python(conf: Mapping[str, str], master: Master, given: str | None) -> str | None:
    """The Python of executors: this one where they see this machine's files."""
    if chosen := conf.get("spark.pyspark.python"):
        return chosen
    if master.is_local:
        return sys.executable
    return given or (sys.executable if master.kind is Kind.STANDALONE else None)


@contextlib.contextmanager
def _signal_kept(number: signal.Signals) -> Iterator[None]:
    """PySpark installs a handler for Ctrl+C; the previous one is restored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(number)
    try:
        yield
    finally:
        signal.signal(number, before)


def _forget() -> None:
    """Reset PySpark's JVM, so that another session can be opened in this process."""
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.context import SQLContext

    gateway = SparkContext._gateway
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SQLContext._instantiatedContext = None
    if gateway is not None:
        with contextlib.suppress(Exception):  # its JVM is gone already
            gateway.shutdown()
