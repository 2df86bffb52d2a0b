"""One local Spark for several connectors of this machine and user: `spark.shared.session=NAME`.

It is a Spark Connect server on the loopback address, run by a small process of its own, the keeper (`python -m
spark_sink.session.keeper`). Its users share a folder in the user's cache:

    start.lock      held while starting the server, joining it, or ending it: one process at a time
    keeper.lock     held by the keeper as long as it lives, from before it was started
    server.json     the server's address, and the token that it requires; readable by this user only
    begin.lock      held by a user whose query is starting: see `spark_sink.query.turn`
    users/          a file for each user, locked by it as long as it lives, with the id of its session as its name; at
                    first it has the user's secrets, which the keeper reads and removes, so that its log hides them

The kernel releases a lock when its holder dies, however it dies. The keeper ends the server when it had no users for a
while (spark.shared.idle.ms), and ends the queries of a user that died. When the keeper dies its server dies with it;
the next user starts them again.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from connect.errors import ConfigError, ConnectError, RetriableError
from connect.jvm.cache import cache_path
from connect.telemetry.redaction import names_a_secret, redactor
from spark_sink.session.conf import users as spark_keys
from spark_sink.session.jvm import Stopped
from spark_sink.session.masters import MASTER, REMOTE, master_of
from spark_sink.session.settings import SHARED, SessionOptions

_KEEPER = (sys.executable, "-m", "spark_sink.session.keeper")


@dataclass
class User:
    """A user of a shared Spark, until `leave` or its death.

    Attributes:
        url: of its session, with the token: never to be shown.
        address: of the server, without it.
    """

    url: str
    address: str
    _file: Path
    _lock: IO[str]

    @property
    def turns(self) -> Path:
        """A file by which the users of this Spark take turns."""
        return self._file.parent.parent / "begin.lock"

    def leave(self) -> None:
        """Leave: its session was released."""
        self._file.unlink(missing_ok=True)
        self._lock.close()


def join(
    name: str,
    config: Mapping[str, str],
    deadline: float,
    redact: Callable[[str], str],
    stopping: Callable[[], bool],
) -> User:
    """Become a user of the Spark of this name, which is started when it does not run.

    Raises:
        ConfigError: a master that is not local.
        RetriableError: it did not come up in time.
        ConnectError: it cannot start; the message says why.
    """
    if config.get(REMOTE) or not master_of(config).is_local:
        raise ConfigError(SHARED, f"is for a local Spark. Remove it, or set {MASTER} to local[*].")
    folder = folder_of(name)
    try:
        (folder / "users").mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        with _locked(folder / "start.lock", deadline, stopping):
            server = _server(folder) or _start(folder, name, config, deadline, redact, stopping)
            return _enter(folder, server, _secrets(config))
    except OSError as error:
        raise ConnectError(
            f"The shared Spark {name} cannot be kept in {folder}: {error.strerror}. Choose another cache with "
            "XDG_CACHE_HOME."
        ) from error


def folder_of(name: str) -> Path:
    """The folder of the shared Spark of this name."""
    return cache_path("spark") / name


def is_held(path: Path) -> bool:
    """Whether a live process holds this lock."""
    try:
        with path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def write_private(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file for this user only, atomically."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(content, file)
    temporary.rename(path)


def _server(folder: Path) -> dict[str, Any] | None:
    """The running server; None when there is none, or it is still starting."""
    if not is_held(folder / "keeper.lock"):
        return None
    try:
        found: dict[str, Any] = json.loads((folder / "server.json").read_text())
    except FileNotFoundError:
        return None
    return found


def _start(
    folder: Path,
    name: str,
    config: Mapping[str, str],
    deadline: float,
    redact: Callable[[str], str],
    stopping: Callable[[], bool],
) -> dict[str, Any]:
    """Start the keeper, or wait for one whose starter died, until its server is ready."""
    lock = folder / "keeper.lock"
    launched = False
    while (server := _server(folder)) is None:
        # A keeper that is not ours may be one that is ending.
        if not is_held(lock):
            if launched:
                raise _why(folder, name, redact)
            _launch(folder, name, config, lock, deadline)
            launched = True
        if stopping():
            raise Stopped(f"The shared Spark {name} was not waited for: the task is stopping.")
        if time.monotonic() > deadline:
            raise RetriableError(
                f"The shared Spark {name} did not come up in time; {folder / 'keeper.log'} says what it does. "
                "A machine with much to do needs more: raise spark.start.timeout.ms."
            )
        time.sleep(0.05)
    return server


def _launch(folder: Path, name: str, config: Mapping[str, str], lock: Path, deadline: float) -> None:
    """Start a keeper that outlives this process. It inherits its lock, so there is no moment without a holder."""
    for old in ("server.json", "failed.json"):
        (folder / old).unlink(missing_ok=True)
    told = {
        "config": spark_keys(config),
        "secrets": _secrets(config),
        "name": name,
        "within": max(1.0, deadline - time.monotonic()),
        "idle": SessionOptions.parse({key: value for key, value in config.items() if value is not None}).shared_idle,
    }
    write_private(folder / "start.json", told)
    log = os.open(folder / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with lock.open("a") as held, os.fdopen(log, "w") as output:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The shell ends at once: the keeper is nobody's child, and outlives the task that happened to be the first.
        subprocess.run(
            ["/bin/sh", "-c", '"$@" &', "sh", *_KEEPER, str(folder), str(held.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=[held.fileno()],
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [_code(), os.environ.get("PYTHONPATH")]))},
            check=True,
        )


def _code() -> str:
    """The folder that this code was imported from."""
    return str(Path(__file__).parent.parent.parent)


def _why(folder: Path, name: str, redact: Callable[[str], str]) -> ConnectError:
    try:
        said = json.loads((folder / "failed.json").read_text())
    except (FileNotFoundError, ValueError):
        return RetriableError(f"The shared Spark {name} ended while it came up; see {folder / 'keeper.log'}.")
    kind = RetriableError if said["passing"] else ConnectError
    return kind(redact(f"The shared Spark {name} cannot start: {said['message']}"))


def _secrets(config: Mapping[str, str]) -> list[str]:
    """What no log may show of this process, and of a configuration."""
    return sorted(redactor.hidden.union(value for key, value in config.items() if value and names_a_secret(key)))


def _enter(folder: Path, server: Mapping[str, Any], secrets: Sequence[str]) -> User:
    session = str(uuid.uuid4())
    # Locked before the keeper sees it.
    file = folder / f".{session}"
    lock = os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    json.dump(secrets, lock)
    lock.flush()
    shown = folder / "users" / session
    file.rename(shown)
    return User(session_url(server, session), f"sc://localhost:{server['port']}", shown, lock)


def session_url(server: Mapping[str, Any], session: str) -> str:
    """The address of a session, with the token."""
    return f"sc://localhost:{server['port']}/;token={server['token']};user_id=connect;session_id={session}"


@contextmanager
def _locked(path: Path, deadline: float, stopping: Callable[[], bool]) -> Iterator[None]:
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            if stopping():
                raise Stopped("The shared Spark was not waited for: the task is stopping.")
            if time.monotonic() > deadline:
                raise RetriableError(
                    f"Another process has been starting the shared Spark for too long ({path.parent}). "
                    "See its log there, or raise spark.start.timeout.ms."
                )
            time.sleep(0.05)
        yield
