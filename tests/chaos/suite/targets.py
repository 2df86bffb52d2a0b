"""The systems that connectors read and write, each behind a link that can be cut, held or slow."""

from __future__ import annotations

import contextlib
import resource
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil

from tests.servers.rest_api import RestApi
from tests.servers.server_process import ServerProcess

from .relay import HOST, Network, Relay

if TYPE_CHECKING:
    from tests.servers.elasticsearch import ElasticsearchServer
    from tests.servers.postgresql import PostgresServer
    from tests.servers.s3 import S3Bucket, S3Proxy


class Unavailable(Exception):
    """A server cannot be had on this machine. The message says why."""


@dataclass
class Target:
    """One system.

    Attributes:
        name: what the report calls it.
        link: connectors' way to it.
        server: its process; None where it is in ours.
    """

    name: str
    link: Relay
    server: ServerProcess | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def address(self) -> str:
        """For connectors, as host:port."""
        return self.link.address

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all its processes."""
        assert self.server is not None
        top = psutil.Process(self.server._process.pid)
        for each in [top, *top.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                each.send_signal(number)

    def fill_disk(self, full: bool) -> None:
        """Whether its files may grow: no byte more, as on a disk that is full."""
        assert self.server is not None
        size = 0 if full else resource.RLIM_INFINITY
        top = psutil.Process(self.server._process.pid)
        for each in [top, *top.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                each.rlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class Targets:
    """The systems of a run; each starts when a flow asks for it."""

    def __init__(self, network: Network) -> None:
        self.all: dict[str, Target] = {}
        self._network = network
        self._stack = ExitStack()

    def postgres(self) -> PostgresServer:
        """PostgreSQL; connectors reach it as `all["postgresql"].address`."""
        from tests.servers.postgresql import PostgresServer

        return self._started("postgresql", PostgresServer)

    def elasticsearch(self) -> ElasticsearchServer:
        """Elasticsearch; connectors reach it as `all["elasticsearch"].address`."""
        from tests.servers.elasticsearch import ElasticsearchServer

        return self._started("elasticsearch", ElasticsearchServer)

    def bucket(self) -> S3Bucket:
        """A new bucket; connectors reach it as `all["s3"].address`."""
        from tests.servers.s3 import S3Proxy

        server: S3Proxy = self._started("s3", S3Proxy)
        return server.bucket()

    def api(self, name: str) -> RestApi:
        """A REST API of its own, in our process."""
        server = RestApi()
        threading.Thread(target=server.serve_forever, args=(0.05,), name=name, daemon=True).start()
        self._stack.callback(server.close)
        self.all[name] = Target(name, self._network.relay(server.server_address[1]))
        return server

    def close(self) -> None:
        """End all."""
        self._stack.close()

    def _started(self, name: str, make: Callable[[], Any]) -> Any:
        from connect.jvm.jars import JarsUnavailable
        from connect.jvm.java import JavaNotFound
        from tests.servers.server_process import CannotRunHere

        if name not in self.all:
            try:
                server = make()
            except (CannotRunHere, JarsUnavailable, JavaNotFound) as error:
                raise Unavailable(f"{name}: {error}") from error
            self._stack.callback(server.close)
            self.all[name] = Target(name, self._network.relay(server.port), server)
        return self.all[name].server


def at(target: Target) -> tuple[str, str]:
    """Host and port, for connectors."""
    return HOST, str(target.link.port)
