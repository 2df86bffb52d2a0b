"""A Spark Connect server on this machine, in a JVM that dies with this process."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from connect.errors import ConnectError
from spark_sink.session.classic import environment, with_delta
from spark_sink.session.conf import defaults, users
from spark_sink.session.installation import home_for
from spark_sink.session.jvm import Jvm, await_ready, launch
from spark_sink.session.masters import master_of
from spark_sink.session.settings import CLASSES

log = logging.getLogger(__name__)

_MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"
_TOKEN = "spark.connect.authenticate.token"  # noqa: S105  the key, not the token
_STARTED = re.compile(r"Spark Connect server started at: \S+:(?P<port>\d+)")


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        port: where it listens, on the loopback address.
        token: that clients present; empty when none is required.
        jvm: its process.
    """

    port: int
    token: str
    jvm: Jvm

    @property
    def url(self) -> str:
        """The value of `spark.remote`; it contains the token."""
        # Only under this name the client shows a token without TLS.
        return f"sc://localhost:{self.port}" + (f"/;token={self.token}" if self.token else "")

    def close(self) -> None:
        """End it, with everything that runs in it."""
        self.jvm.kill()
        self.jvm.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start(
    config: Mapping[str, str],
    *,
    name: str = "connect",
    port: int = 0,
    token: str = "",
    within: float = 120.0,
    redact: Callable[[str], str] = str,
    stopping: Callable[[], bool] = lambda: False,
) -> Server:
    """Start a server and wait until it is ready.

    Args:
        config: `spark.*` keys; spark.master is where its executors run, local[*] by default.
        name: of the application.
        port: where it listens; 0 for any free one.
        token: that clients have to present.
        within: the time limit in seconds.
        redact: hides secrets in its log.
        stopping: whether to give up waiting.

    Raises:
        ConnectError: it cannot start; the message says why.
    """
    master = master_of({key: value for key, value in config.items() if key != "spark.remote"})
    conf = with_delta({**defaults(name, master), **users(config), "spark.master": master.url})
    conf |= {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port)}
    if token:
        conf[_TOKEN] = token
    deadline = time.monotonic() + within
    python = conf.get("spark.pyspark.python", sys.executable)
    jvm = launch(
        _MAIN,
        ["spark-internal"],
        conf,
        home=home_for(master.kind, python),
        classes=config.get(CLASSES) != "never",
        redact=redact,
        environment={"PYSPARK_PYTHON": python, **environment(master)},
    )
    found: list[int] = []

    def is_serving() -> bool:
        for line in jvm.log.said():
            if started := _STARTED.search(line):
                found.append(int(started["port"]))
                return True
        return False

    try:
        await_ready(jvm, is_serving, deadline, stopping, "The Spark Connect server")
    except ConnectError:
        jvm.kill()
        jvm.close()
        raise
    return Server(found[0], token, jvm)
