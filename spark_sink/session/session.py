"""A Spark session, and how it is opened and closed: `open_session`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from connect.errors import ConnectError
from spark_sink.session import classic, remote, shared, shipping
from spark_sink.session.conf import spark_conf
from spark_sink.session.installation import spark_home
from spark_sink.session.jvm import Jvm, died
from spark_sink.session.masters import REMOTE, Kind, Master, master_of
from spark_sink.session.settings import SessionOptions


class Session:
    """A Spark session of this process; a process has one at a time.

    Attributes:
        spark: the SparkSession.
        remote: whether it is one of Spark Connect: no `_jvm`, no sparkContext, no DeltaTable.
    """

    def __init__(self, spark: Any, *, remote: bool, jvm: Jvm | None = None, user: shared.User | None = None) -> None:
        self.spark = spark
        self.remote = remote
        self._jvm = jvm
        self._user = user
        self._open = True

    @property
    def pid(self) -> int | None:
        """The process id of the JVM that this process started."""
        return self._jvm.process.pid if self._jvm else None

    @property
    def page(self) -> str:
        """The address of Spark's own page; "" where it has none (`spark.ui.enabled`), or is one of Spark Connect."""
        return "" if self.remote else self.spark.sparkContext.uiWebUrl or ""

    @property
    def folder(self) -> Path | None:
        """Temporary files of that JVM, gone with it."""
        return self._jvm.folder if self._jvm else None

    @property
    def turns(self) -> Path | None:
        """A file by which the users of a shared Spark take turns; None otherwise."""
        return self._user.turns if self._user else None

    def ended(self) -> ConnectError | None:
        """Why the JVM ended by itself; None while it runs, and where it belongs to another process."""
        if self._jvm is None or self._jvm.ended() is None:
            return None
        return died(self._jvm)

    def close(self, within: float | None = None) -> None:
        """Close the session, its JVM and its Python workers. May be repeated.

        Args:
            within: how long the JVM may take to end before it is killed; some seconds by default.
        """
        if not self._open:
            return
        self._open = False
        if self._jvm is not None:
            classic.end(self.spark, self._jvm, within)
        else:
            remote.end(self.spark)
        if self._user is not None:
            self._user.leave()

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
    """Open the session that a connector's configuration requires.

    Args:
        config: the connector's configuration: `spark.*`.
        name: of the application, such as the connector's name.
        plugin_path: folders with plug-ins, which executors elsewhere need as well.
        redact: hides secrets in the JVM's log.
        stopping: whether to give up waiting; called on another thread.

    Raises:
        ConfigError: a key is wrong.
        SparkNotInstalled: PySpark or a Java is missing.
        JarsNotFetched: Delta's jars are.
        RetriableError: a master or a server does not answer, Spark does not come up in time.
        ConnectError: Spark cannot start; the message says why. Or this process has a driver already.
    """
    options = SessionOptions.parse({key: value for key, value in config.items() if value is not None})
    master = master_of(config)
    deadline = time.monotonic() + options.start_timeout
    spark_home()
    if options.shared:
        session = _shared(config, options.shared, name, deadline, redact, stopping)
    elif master.kind is Kind.CONNECT:
        spark = remote.begin(master.url, _told(config, name, master), master, deadline, stopping)
        session = Session(spark, remote=True)
    else:
        spark, jvm = classic.begin(
            spark_conf(config, name, master),
            master,
            deadline,
            redact,
            stopping,
            classes=options.class_archive == "auto",
        )
        session = Session(spark, remote=False, jvm=jvm)
    if shipping.is_wanted(options.ship_code, master):
        try:
            _ship(session, plugin_path)
        except BaseException:
            session.close()
            raise
    return session


def _shared(
    config: Mapping[str, str],
    shared_name: str,
    name: str,
    deadline: float,
    redact: Callable[[str], str],
    stopping: Callable[[], bool],
) -> Session:
    user = shared.join(shared_name, config, deadline, redact, stopping)
    try:
        place = master_of({REMOTE: user.address})
        spark = remote.begin(user.url, _told(config, name, place), place, deadline, stopping)
    except BaseException:
        user.leave()
        raise
    return Session(spark, remote=True, user=user)


def _told(config: Mapping[str, str], name: str, master: Master) -> dict[str, str]:
    """The configuration of a session of Spark Connect."""
    conf = spark_conf(config, name, master)
    del conf[REMOTE]
    return conf


def _ship(session: Session, plugin_path: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="connect-code-") as temporary:
        # A driver of ours serves them as long as it lives; a server gets them now.
        folder = session.folder or Path(temporary)
        shipping.ship(session.spark, shipping.archives(plugin_path, folder), remote=session.remote)
