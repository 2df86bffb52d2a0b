"""The REST interface of a worker that the command line runs: its addresses bound early, itself started late."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, Any

from connect.cli._problems import Problems
from connect.cli._worker_files import WorkerFile
from connect.errors import ConfigError
from connect.herder.listeners import Bound, bind, parse_listeners
from connect.settings.rest_security_keys import AUTHENTICATION, USERS_FILE, RestSecurityOptions
from connect.settings.worker_keys import RestOptions

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from connect.herder.worker_herder import WorkerHerder
    from rest.app import Part
    from rest.security.setup import Guard

log = logging.getLogger("connect.cli")

#: Where `listeners` is not set. Kafka Connect listens on every address, for anybody who comes.
DEFAULT = "http://127.0.0.1:8083"

_JAVAS = "BasicAuthSecurityRestExtension"
_CONNECTORS_FIRST_S = 30.0
_STARTS_WITHIN_S = 60.0


@dataclass(frozen=True)
class Addresses:
    """Bound addresses: for all resources, and for /admin where it has some of its own.

    `admin` is None where /admin is with the others, and empty where it is switched off. `guard` has authentication and
    roles; None where everybody may do everything.
    """

    main: Sequence[Bound]
    admin: Sequence[Bound] | None
    guard: Guard | None = None

    @property
    def urls(self) -> str:
        """The main ones, in the form of `listeners`."""
        return ",".join(str(bound.listener) for bound in self.main)


def take_addresses(worker: WorkerFile, problems: Problems) -> Addresses | None:
    """Bind the addresses that a worker listens on. None when there is no REST API.

    An address in use is an error if the user chose it. For the default one it is a warning, so that two workers on a
    laptop just run.
    """
    chosen = "listeners" in worker.raw
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        say = "There is no REST API: `pip install connect-runtime[rest]` brings what it needs."
        (log.warning if chosen else log.info)("%s", say)
        return None
    options = RestOptions.parse(worker.config)
    written = options.listeners if chosen else [DEFAULT]
    if not any(written):
        return None
    taken: list[Bound] = []
    try:
        taken += bind(parse_listeners(written))
        admin = options.admin_listeners
        apart = None if admin is None else bind(parse_listeners([url for url in admin if url]))
    except ValueError:  # said already, when the file was checked
        return None
    except OSError as error:
        for bound in taken:
            bound.socket.close()
        key = "admin.listeners" if taken else "listeners"
        _refused(error, worker, problems, key, chosen=chosen or bool(taken))
        return None
    guard = open_guard_of(worker, problems)
    _check_certificates(options, worker, problems)
    _check_headers(options, worker, problems)
    _check_extensions(options, worker, problems)
    for bound in [*taken, *(apart or [])]:
        _warn_if_open(bound, worker, guard)
    return Addresses(taken, apart, guard)


def _check_certificates(options: RestOptions, worker: WorkerFile, problems: Problems) -> None:
    """Of https listeners. A worker without its REST API is one that nobody can reach, also no worker of its pool."""
    sites = {"listeners.https.": options.listeners, "admin.listeners.https.": options.admin_listeners or []}
    secure = [prefix for prefix, urls in sites.items() if any(url.strip().lower().startswith("https:") for url in urls)]
    if not secure:
        return  # nothing to load
    from rest.security.certificates import listener_context

    for prefix in secure:
        try:
            listener_context(worker.raw, prefix)
        except ConfigError as error:
            problems.error(worker.where(error.key), error.message, key=error.key)


def _check_headers(options: RestOptions, worker: WorkerFile, problems: Problems) -> None:
    """Without this the REST API would fail of them when all else runs."""
    if not options.header_rules and not options.allowed_origins:
        return  # nothing to load
    from rest.edge import OtherOrigins
    from rest.headers import parse_rules

    for parse, written in ((parse_rules, options.header_rules), (OtherOrigins, options.allowed_origins)):
        try:
            parse(written)
        except ConfigError as error:
            problems.error(worker.where(error.key), error.message, key=error.key)


def _check_extensions(options: RestOptions, worker: WorkerFile, problems: Problems) -> None:
    """The same: a worker whose extensions keep strangers out must not run without them, or without its REST API."""
    key = "rest.extension.classes"
    names = [name for name in options.extensions if not name.endswith(_JAVAS)]  # that one is said already
    if not names:
        return  # nothing to load
    from rest.app import extension

    for name in names:
        try:
            extension(name)
        except ConfigError as error:
            problems.error(worker.where(key), error.message, key=key)


def open_guard_of(worker: WorkerFile, problems: Problems) -> Guard | None:
    """The guard of the REST API; its errors are added to `problems`."""
    _refuse_javas_extension(worker, problems)
    options = RestSecurityOptions.parse(worker.config)
    if not options.authentication and not options.audit_log:
        return None  # nothing to load
    from rest.security.setup import open_guard

    def wrong(error: ConfigError) -> None:
        problems.error(worker.where(error.key), error.message, key=error.key)

    return open_guard(worker.config, worker.raw, wrong)


def _refuse_javas_extension(worker: WorkerFile, problems: Problems) -> None:
    key = "rest.extension.classes"
    if any(name.endswith(_JAVAS) for name in RestOptions.parse(worker.config).extensions):
        message = (
            "Java's basic authentication does not run here. Set rest.security.authentication=basic and"
            " rest.security.users.file instead; `connect users import FILE --file USERS` imports the file that its "
            "login module names. Then remove this key."
        )
        problems.error(worker.where(key), message, key=key)


def _refused(error: OSError, worker: WorkerFile, problems: Problems, key: str, *, chosen: bool) -> None:
    if error.errno == errno.EADDRINUSE:
        said = f"{error.filename} is in use, by another worker perhaps. Stop it, or choose another port."
    else:
        said = f"cannot listen on {error.filename}: {error.strerror}."
    if chosen:
        problems.error(worker.where(key), said, key=key)
    else:
        log.warning("There is no REST API: %s For another one set listeners=http://127.0.0.1:<port>.", said)


def _warn_if_open(bound: Bound, worker: WorkerFile, guard: Guard | None) -> None:
    methods = worker.config[AUTHENTICATION] if guard is not None and guard.authentication is not None else []
    if said := exposure(bound, methods):
        log.warning("%s", said)


def exposure(bound: Bound, methods: Collection[str]) -> str | None:
    """A warning about a listener that more users can reach than should; None without one.

    Args:
        methods: of users' logins, of `rest.security.authentication`.
    """
    from rest.addresses import parse_address

    if parse_address(bound.socket.getsockname()[0]).is_loopback:
        return None
    if not methods:
        return (
            f"ANYBODY WHO REACHES {bound.listener} may run connectors with the rights of this worker, read and change"
            " all of their configurations, offsets and files: the REST API has no logins."
            f" Set {AUTHENTICATION}=basic and {USERS_FILE} (`connect users add` makes it), or listen on 127.0.0.1 only."
            " See: connect docs security"
        )
    if bound.listener.scheme == "http" and {"basic", "bearer"} & set(methods):
        return (
            f"Passwords and tokens travel to {bound.listener} as plain text. Make it an https listener, or let only a"
            " proxy reach it."
        )
    return None


class BackgroundRest:
    """The REST interface, started once the connectors are starting: their first records have precedence.

    Args:
        addresses: see `take_addresses`.
        raw: the worker's properties.
        herder: carries out requests.
        give_up: ends the worker: one of its extensions failed, which may be what keeps strangers out.
    """

    def __init__(
        self, addresses: Addresses, raw: Mapping[str, str], herder: WorkerHerder, give_up: Callable[[], None]
    ) -> None:
        self._addresses = addresses
        self._raw = raw
        self._herder = herder
        self._give_up = give_up
        self._server: Any = None
        self._starting: Thread | None = None
        self._stopped = False

    def start(self) -> None:
        """Start, unless that was already requested. Returns at once."""
        if self._starting is None:
            self.start_after([])

    def start_after(self, connectors: Sequence[Future[Any]]) -> None:
        """Start when these are done. Returns at once."""

        def start() -> None:
            wait(connectors, _CONNECTORS_FIRST_S)
            if not self._stopped:
                self._start()

        self._starting = Thread(name="rest start", target=start, daemon=True)
        self._starting.start()

    def stop(self, herder_stop: Callable[[], None], graceful: float = 5.0) -> None:
        """Accept no more requests, stop the herder by this function, and let running requests end."""
        self._stopped = True
        if self._server is not None:
            self._server.close()
        try:
            herder_stop()
        finally:
            if self._server is not None:
                self._server.stop(graceful)

    def _app(self, parts: frozenset[Part]) -> ASGIApp:
        from rest.app import create_app
        from rest.root import StartingUp

        herder, worker = self._herder, self._herder.worker
        app = create_app(
            herder,
            worker.plugins,
            worker.config,
            self._raw,
            parts=parts,
            requests_of_workers=herder.peer_requests,
            guard=self._addresses.guard,
        )
        return StartingUp(app, lambda: herder.started)

    def _start(self) -> None:
        from rest.app import ExtensionError
        from rest.server import RestServer, Site

        main, admin = self._addresses.main, self._addresses.admin
        parts: frozenset[Part] = frozenset({"connectors", "admin"} if admin is None else {"connectors"})
        sites = [Site(parts, main, "listeners.https.")]
        if admin:
            sites.append(Site(frozenset({"admin"}), admin, "admin.listeners.https."))
        self._server = server = RestServer(sites, self._raw, self._app)
        server.start()
        try:
            if server.wait(_STARTS_WITHIN_S) and not self._stopped:
                log.info("REST API at %s", ", ".join(str(bound.listener) for bound in main))
        except ExtensionError:  # said by the server
            self._give_up()
        except Exception as error:  # the same; the connectors run on
            log.debug("%s", error)
