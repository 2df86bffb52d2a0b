"""The log of Spark's JVM in this process's log: its warnings and errors, redacted, and never a flood.

The JVM writes a line for each record, in a format set here, to its standard error. What else arrives there (a Python
worker's own output, a JVM that cannot start) is logged at INFO, and kept to explain why the JVM ended.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

log = logging.getLogger("spark")

_MARK = "@spark"
#: What a JVM itself says while it starts: of Spark's options, which a newer Java warns of.
_HARMLESS = ("WARNING: Using incubator modules", "WARNING: package sun.security.action not in java.base")
_LEVELS = {"WARN": logging.WARNING, "ERROR": logging.ERROR, "FATAL": logging.ERROR}
_KEPT = 60  # lines, for an explanation
_LONGEST = 2_000  # characters of one record; traces of Spark run to hundreds of lines
_AT_ONCE = 20  # records in _PERIOD; what is more is counted
_PERIOD = 30.0

#: Loggers that say what somebody here waits for.
_TOLD: Final = (
    "org.apache.spark.sql.connect.service.SparkConnectServer",
    "org.apache.spark.deploy.master.Master",
    "org.apache.spark.deploy.worker.Worker",
)
#: Loggers that warn of what nobody here can or should change.
_QUIET: Final = (
    "org.apache.hadoop.util.NativeCodeLoader",
    "org.apache.spark.SparkConf",  # of spark.local.dir, which a cluster may override
    "org.apache.spark.util.Utils",  # of the machine's host name
    "org.apache.spark.sql.catalyst.analysis.ResolveWriteToStream",  # of adaptive execution, by each query
    "org.apache.spark.sql.execution.streaming.checkpointing.ResolveWriteToStream",
    "org.apache.spark.sql.execution.streaming.runtime.ResolveWriteToStream",
    "org.apache.spark.sql.catalyst.util.SparkStringUtils",  # of long plans
    "org.apache.spark.util.SparkStringUtils",
    "org.apache.spark.sql.execution.streaming.runtime.ProcessingTimeExecutor",  # of batches longer than their trigger
    "org.apache.spark.scheduler.TaskSetManager",  # an error of a task is the query's, which says it
    "org.apache.spark.executor.Executor",
    "org.apache.spark.sql.execution.datasources.FileFormatWriter",
    "org.apache.spark.sql.delta.files.DeltaFileFormatWriter",
    "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution",
    "org.apache.spark.sql.execution.streaming.sinks.FileStreamSink",  # of a checkpoint that has no batch yet
    "org.apache.spark.scheduler.DAGScheduler",  # of a query that was stopped while nothing ran
)


def configuration(level: str = "warn") -> str:
    """Log4j's properties for the format that this module reads."""
    lines = [
        "rootLogger.level = " + level,
        "rootLogger.appenderRef.out.ref = out",
        "appender.out.type = Console",
        "appender.out.name = out",
        "appender.out.target = SYSTEM_ERR",
        "appender.out.layout.type = PatternLayout",
        "appender.out.layout.pattern = "
        + _MARK
        + r"\t%p\t%c{1}\t%enc{%m}{CRLF}\t%enc{%xThrowable}{CRLF}%n".replace("\\", "\\\\"),
    ]
    for number, name in enumerate(_QUIET):
        lines += [f"logger.q{number}.name = {name}", f"logger.q{number}.level = off"]
    for number, name in enumerate(_TOLD):
        lines += [f"logger.t{number}.name = {name}", f"logger.t{number}.level = info"]
    return "\n".join(lines) + "\n"


def write_configuration(folder: Path) -> Path:
    """The same in a file of this folder."""
    path = folder / "log4j2.properties"
    path.write_text(configuration(), encoding="ascii")
    return path


def quieten_python() -> None:
    """PySpark and py4j print errors that they then raise: prevent that."""
    for name in ("py4j.clientserver", "SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class JvmLog:
    """Reads a JVM's standard error to its end, on a thread of its own."""

    def __init__(self, stream: IO[bytes], redact: Callable[[str], str]) -> None:
        self._stream = stream
        self._redact = redact
        self._kept: deque[str] = deque(maxlen=_KEPT)
        self._since = time.monotonic()
        self._records = 0
        self._thread = threading.Thread(target=self._read, name="spark-log", daemon=True)
        self._thread.start()

    def said(self) -> list[str]:
        """The last records, redacted; of a trace its first line."""
        return list(self._kept)

    def wait(self, seconds: float) -> None:
        """Wait for the end of the stream, so that nothing of an ended JVM is missed."""
        self._thread.join(seconds)

    def _read(self) -> None:
        with self._stream:
            for raw in self._stream:
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                if line.strip() and not line.startswith(_HARMLESS):
                    self._take(line)
        self._close_period()

    def _take(self, line: str) -> None:
        level, name, text, trace = logging.INFO, "", line, ""
        parts = line.split("\t", 4)
        if parts[0] == _MARK and len(parts) == 5:
            level, name = _LEVELS.get(parts[1], logging.DEBUG), parts[2]
            text, trace = _decoded(parts[3]), _decoded(parts[4])
        text, trace = self._redact(text), self._redact(trace)
        self._kept.append(": ".join(filter(None, [name, text, trace.partition("\n")[0]])))
        now = time.monotonic()
        if now - self._since > _PERIOD:
            self._close_period()
        self._records += 1
        if self._records <= _AT_ONCE:
            whole = f"{text}\n{trace}" if trace else text
            log.log(level, "%s%s", f"{name}: " if name else "", _shortened(whole))

    def _close_period(self) -> None:
        if self._records > _AT_ONCE:
            log.warning("Spark said %d more lines within %.0f s", self._records - _AT_ONCE, _PERIOD)
        self._since, self._records = time.monotonic(), 0


def _decoded(text: str) -> str:
    return text.replace("\\r", "").replace("\\n", "\n").strip()


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(text) - _LONGEST} more characters)"
