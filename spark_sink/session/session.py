"""A Spark session, and how it is opened and ended: `open_session`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from connect.errors import ConnectError
from spark_sink.session import classic
from spark_sink.session.conf import spark_conf
from spark_sink.session.jvm import Jvm, died, spark_home
from spark_sink.session.masters import master_of
from spark_sink.session.settings import SETTINGS, START_TIMEOUT


class Session:
    """A Spark session of this process; a process has one at a time.

    Attributes:
        spark: the SparkSession.
        remote: whether it is one of Spark Connect: no `_jvm`, no sparkContext, no DeltaTable.
    """

    def __init__(self, spark: Any, *, remote: bool, jvm: Jvm | None) -> None:
        self.spark = spark
        self.remote = remote
        self._jvm = jvm

    @property
    def pid(self) -> int | None:
        """The process id of the JVM that this process started."""
        return self._jvm.process.pid if self._jvm else None

    def ended(self) -> ConnectError | None:
        """Why the JVM ended by itself, None while it runs or where it is not ours."""
        if self._jvm is None or self._jvm.ended() is None:
            return None
        return died(self._jvm)

    def close(self) -> None:
        """End the session, its JVM and its Python workers, within a few seconds whatever they do. May be repeated."""
        jvm, self._jvm = self._jvm, None
        if jvm is not None:
            classic.end(self.spark, jvm)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_session(
    config: Mapping[str, str],
    name: str,
    *,
    plugin_path: Sequence[str] = (),
    redact: Callable[[str], str] = str,
    stopping: Callable[[], bool] = lambda: False,
) -> Session:
    """Open the session that a connector's configuration asks for.

    Args:
        config: the connector's configuration: `spark.*`.
        name: what the application is called, such as the connector's name.
        plugin_path: folders with plug-ins, which executors elsewhere need as well.
        redact: hides secrets in what the JVM says.
        stopping: whether to give up waiting; asked from another thread.

    Raises:
        ConfigError: a key is wrong.
        SparkNotInstalled: PySpark, Delta's jars or a Java is missing.
        RetriableError: a master or a server does not answer, Spark does not come up in time.
        ConnectError: Spark cannot start; the message says why.
    """
    parsed = SETTINGS.parse({key: value for key, value in config.items() if value is not None})
    master = master_of(config)
    deadline = time.monotonic() + parsed[START_TIMEOUT] / 1000
    spark_home()
    conf = spark_conf(config, name, master)
    spark, jvm = classic.begin(conf, master, deadline, redact, stopping)
    return Session(spark, remote=False, jvm=jvm)
