"""Where Spark runs: the values of `spark.master` and `spark.remote`."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from connect.errors import ConfigError

MASTER: Final = "spark.master"
REMOTE: Final = "spark.remote"
EVERYWHERE: Final = "local[*]"

_LOCAL = re.compile(r"local(?:\[(?P<cores>\*|[1-9]\d*)(?:\s*,\s*(?P<failures>\d+))?\])?")
_ATTEMPTS: Final = 2
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]")
_ADDRESS = re.compile(r"(?:[^\s:/,\[\]]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}")
_FORMS = (
    "Write local[*], local[2], spark://host:7077, k8s://https://host:6443, yarn, "
    "or sc://host:15002 for a Spark Connect server."
)


class Kind(enum.Enum):
    """Who runs the executors."""

    LOCAL = "local"
    STANDALONE = "spark"
    KUBERNETES = "k8s"
    YARN = "yarn"
    CONNECT = "sc"


@dataclass(frozen=True)
class Master:
    """A place where Spark runs.

    Attributes:
        kind: who runs the executors.
        url: as Spark expects it.
        cores: of a local master; 0 for others.
        addresses: hosts and ports that must answer before a session can open; empty where Spark checks that itself.
    """

    kind: Kind
    url: str
    cores: int = 0
    addresses: tuple[tuple[str, int], ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether executors run on this machine, in the driver's JVM."""
        return self.kind is Kind.LOCAL


def master_of(config: Mapping[str, str]) -> Master:
    """The master of a configuration; all cores of this machine by default.

    Raises:
        ConfigError: it is none of Spark's forms, or two are named.
    """
    remote = (config.get(REMOTE) or "").strip()
    master = (config.get(MASTER) or "").strip()
    if remote and master and remote != master:
        raise ConfigError(
            REMOTE, f'names a Spark Connect server, and {MASTER} is "{master}" as well. Remove one of the two.'
        )
    if remote and not remote.startswith("sc://"):
        raise ConfigError(REMOTE, "is not a Spark Connect server. Write sc://host:15002.")
    url = remote or master or EVERYWHERE
    if found := _LOCAL.fullmatch(url):
        cores = found["cores"] or "1"
        # Spark gives a task one attempt there, so that each Python process that is lost would end the query.
        url = url if found["failures"] else f"local[{cores},{_ATTEMPTS}]"
        return Master(Kind.LOCAL, url, os.cpu_count() or 1 if cores == "*" else int(cores))
    if _LOCAL_CLUSTER.fullmatch(url):
        return Master(Kind.STANDALONE, url)
    if url.startswith("spark://"):
        return Master(Kind.STANDALONE, url, addresses=_standalone(url))
    if url.startswith("k8s://"):
        return Master(Kind.KUBERNETES, url)
    if url == "yarn":
        return Master(Kind.YARN, url)
    if url.startswith("sc://"):
        return Master(Kind.CONNECT, url, addresses=_connect(REMOTE if remote else MASTER, url))
    raise ConfigError(MASTER, f'"{url}" is not a master of Spark. {_FORMS}')


def _standalone(url: str) -> tuple[tuple[str, int], ...]:
    """Several masters, of which one may stand in for the others: spark://a:7077,b:7077."""
    masters = url.removeprefix("spark://").split(",")
    if not all(_ADDRESS.fullmatch(each) for each in masters):
        raise ConfigError(MASTER, f'"{url}" is not a master of Spark. Write spark://host:7077, with the port.')
    return tuple(_host_port(each) for each in masters)


def _connect(key: str, url: str) -> tuple[tuple[str, int], ...]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 15002
    except ValueError:
        host, port = None, 0
    if not host:
        raise ConfigError(key, "is not a Spark Connect server. Write sc://host:15002, and options as /;key=value.")
    return ((host, port),)


def _host_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
