"""Systems beside Kafka: whether the addresses in the files can be reached."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from connect.cli._doctor.finding import Finding, error, ok
from connect.cli._doctor.network import StepError, place_of, reached
from connect.cli._doctor.subject import Subject
from connect.cli._exit import UNREACHABLE
from connect.http import machine_proxy
from connect.settings.raw import comma_separated

#: Keys whose values are addresses of servers, by how they end.
_ADDRESS: Final = re.compile(r"(?:^|[._-])(?:url|urls|uri|uris|endpoint|endpoints|hosts|servers|hostname)$")
_BROKERS: Final = "bootstrap.servers"
_PORTS: Final = {
    "http": 80,
    "https": 443,
    "postgresql": 5432,
    "mysql": 3306,
    "mariadb": 3306,
    "sqlserver": 1433,
}


class Target(NamedTuple):
    """A server that a configuration names.

    Attributes:
        what: the position of the key, and its name.
        scheme: http, postgresql and so on; empty where none is written.
        host, port: its address.
        url: for http and https, the address without login, path and query.
        proxy: for the request, if any.
    """

    what: str
    scheme: str
    host: str
    port: int
    url: str = ""
    proxy: str | None = None


def check(subject: Subject) -> Iterator[Finding]:
    """Resolve each name and connect to each port, once for each server."""
    seen = set()
    for target in targets(subject):
        host, port, by = target.host, target.port, ""
        if target.proxy is not None:
            proxy = urlsplit(target.proxy if "://" in target.proxy else f"//{target.proxy}")
            host, port = proxy.hostname or "", proxy.port or _PORTS["http"]
            by = f" by the proxy {host}:{port}"
        if (host, port) in seen:
            continue
        seen.add((host, port))
        what = f"{target.what}: {target.host}:{target.port}"
        try:
            reached(host, port, subject.timeout).close()
        except StepError as problem:
            yield error(what, f"{problem.step}{by}: {problem.found}", problem.advice, UNREACHABLE)
        else:
            yield ok(what, f"takes connections{by}.")


def targets(subject: Subject) -> Iterator[Target]:
    """The servers in the worker's file and the connectors' files, except the worker's Kafka brokers."""
    if subject.worker is not None:
        yield from _of(subject.raw, subject.where)
    for file in subject.connectors:
        config = subject.configs[file.name]
        yield from _of(config, file.where)


def _of(config: Mapping[str, str], where: Callable[[str], object]) -> Iterator[Target]:
    for key, value in config.items():
        if not _ADDRESS.search(key) or key == _BROKERS or key.startswith(("transforms.", "predicates.")):
            continue
        for text in comma_separated(value):
            if found := parsed(text, config.get(f"{key.removesuffix('hostname')}port", "")):
                scheme, host, port = found
                web = scheme in {"http", "https"}
                place = f"[{host}]" if ":" in host else host
                url = f"{scheme}://{place}:{port}/" if web else ""
                what = f"{where(key)}: {key}"
                yield Target(what, scheme, host, port, url, machine_proxy(url) if web else None)


def parsed(text: str, port: str = "") -> tuple[str, str, int] | None:
    """Scheme, host and port of an address; None where it names no server, or no known port.

    Args:
        port: from another key, for a host alone.
    """
    if "://" not in text:
        place = place_of(text)
        if place is None and port.isdecimal() and re.fullmatch(r"[\w.-]+", text):
            place = text, int(port)
        return ("", *place) if place else None
    try:
        # SQL Server's has its options behind a semicolon.
        parts = urlsplit(text.removeprefix("jdbc:").partition(";")[0])
        scheme = parts.scheme.partition("+")[0].lower()
        found = parts.port or _PORTS.get(scheme)
    except ValueError:
        return None
    if parts.hostname is None or found is None or scheme == "file":
        return None
    return scheme, parts.hostname, found
