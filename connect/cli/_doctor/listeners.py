"""The REST API: whether its addresses are free, who can log in, and whether others can reach it."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import json
import logging
import ssl
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from connect.cli._doctor.files import told
from connect.cli._doctor.finding import Finding, Level, error, note, of_message, ok, warning
from connect.cli._doctor.network import StepError, resolved
from connect.cli._doctor.subject import Subject
from connect.cli._exit import INVALID
from connect.cli._problems import Problems
from connect.cli._rest import DEFAULT, exposure, open_guard_of
from connect.cli._worker_files import WorkerFile
from connect.herder.listeners import Listener, advertised, bind, parse_listeners
from connect.http import NoAnswerError, exchange
from connect.settings.definition import Config
from connect.settings.rest_security_keys import AUDIT_LOG, AUTHENTICATION
from connect.settings.worker_keys import RestOptions

_REST: Final = logging.getLogger("connect.rest")
_LISTENS: Final = "0A"  # a state in /proc/net/tcp


def check(subject: Subject) -> Iterator[Finding]:
    """Ports, logins, and the advertised address."""
    worker = subject.worker
    if worker is None:
        return
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        said, advice = "there is no REST API here.", "Run: pip install connect-runtime[rest]"
        # A worker of a pool does not start without one.
        yield error("listeners", said, advice) if subject.distributed else note("listeners", said, advice)
        return
    options = RestOptions.parse(worker.config)
    chosen = "listeners" in worker.raw
    urls = options.listeners if chosen else [DEFAULT]
    for key, each in (("listeners", urls), ("admin.listeners", options.admin_listeners)):
        with contextlib.suppress(ValueError):  # which is said of the file
            for listener in parse_listeners([url for url in each or () if url]):
                yield from _of_one(subject, worker, key, listener, required=chosen)
    if not any(urls):
        return
    yield from _logins(worker)
    if subject.distributed or "rest.advertised.host.name" in worker.raw:
        with contextlib.suppress(ValueError):
            yield _advertised(subject, advertised({**worker.raw, "listeners": ",".join(urls)}))


def _of_one(subject: Subject, worker: WorkerFile, key: str, listener: Listener, *, required: bool) -> Iterator[Finding]:
    what = f"{subject.where(key)}: {listener}"
    try:
        (bound,) = bind([listener])
    except OSError as problem:
        if problem.errno != errno.EADDRINUSE:
            advice = "Write an address that this machine has, and a port that this user may take (from 1024 on)."
            yield error(what, f"nobody can listen there ({problem.strerror}).", advice, INVALID)
            return
        yield _taken(subject, what, listener, required=required)
        return
    with bound.socket:
        said = exposure(bound, worker.config[AUTHENTICATION] or [])
    yield ok(what, "the port is free.")
    if said:
        yield of_message(Level.WARNING, what, said, "")


def _taken(subject: Subject, what: str, listener: Listener, *, required: bool) -> Finding:
    by = f" by {holder}" if (holder := holder_of(listener.port)) else ""
    if _is_a_worker(listener, subject.timeout):
        advice = "Nothing, if it is the worker of this file. Else choose another port."
        return warning(what, f"the port is in use{by}: a Connect worker answers there.", advice)
    if not required:
        return warning(what, f"the port is in use{by}: there would be no REST API.", "Set listeners to another port.")
    return error(what, f"the port is in use{by}.", "Stop that program, or choose another port.")


def _is_a_worker(listener: Listener, timeout: float) -> bool:
    host = "127.0.0.1" if listener.host in {"", "0.0.0.0", "::"} else listener.host  # noqa: S104 - is asked, not listened on
    url = str(Listener(listener.scheme, host, listener.port))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # whoever it is, nothing is told to it
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    try:
        answer = json.loads(exchange("GET", url, timeout=timeout, tls=tls, most_bytes=1 << 16).content)
        # One that wants a login says only that, in Kafka Connect's form.
        return "kafka_cluster_id" in answer or set(answer) == {"error_code", "message"}
    except (NoAnswerError, ValueError, TypeError):
        return False


def _logins(worker: WorkerFile) -> Iterator[Finding]:
    problems = Problems([worker.written.name])
    said = _Said()
    _REST.addHandler(said)
    # A doctor makes no file, as opening the audit log would.
    config = Config({**worker.config, AUDIT_LOG: None}, worker.config.raw)
    try:
        open_guard_of(WorkerFile(worker.written, worker.raw, config, worker.resolver), problems)
    finally:
        _REST.removeHandler(said)
    yield from told(problems)
    for message in said.messages:
        yield of_message(Level.WARNING, worker.written.name, message, "Run: connect docs security")
    if methods := worker.config[AUTHENTICATION]:
        yield ok(str(worker.where(AUTHENTICATION)), f"users log in by {' or '.join(methods)}.")


class _Said(logging.Handler):
    """Collects the warnings of a worker's start."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def _advertised(subject: Subject, listener: Listener) -> Finding:
    what = f"rest.advertised.host.name: {listener.host}"
    set_it = "Set rest.advertised.host.name to a name or an address of this machine that others reach."
    try:
        found = resolved(listener.host, listener.port, subject.timeout)
    except StepError as problem:
        # Alone nobody asks for it.
        told_others = (what, f"other workers are told this name, and {problem.found}", set_it)
        return error(*told_others, INVALID) if subject.distributed else note(*told_others)
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    if subject.distributed and all(_is_loopback(each) for each in addresses):
        said = f"other workers are told this name, which is {', '.join(addresses)}: only this machine reaches that."
        return warning(what, said, f"{set_it} With all workers on this machine it is right.")
    return ok(what, f"is {', '.join(addresses)}.")


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def holder_of(port: int, proc: Path = Path("/proc")) -> str | None:
    """The process that listens on a port, as far as this user may see it."""
    wanted = {f"socket:[{inode}]" for inode in _listening(port, [proc / "net" / "tcp", proc / "net" / "tcp6"])}
    for process in proc.glob("[0-9]*") if wanted else ():
        with contextlib.suppress(OSError):
            if any(str(each.readlink()) in wanted for each in (process / "fd").iterdir()):
                return f"process {process.name} ({(process / 'comm').read_text(encoding='utf-8').strip()})"
    return None


def _listening(port: int, tables: Sequence[Path]) -> Iterator[str]:
    """The inodes of sockets that listen on a port."""
    for table in tables:
        with contextlib.suppress(OSError):
            for line in table.read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]
