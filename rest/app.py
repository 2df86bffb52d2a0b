"""The REST interface as an ASGI application."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Literal

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from connect import __version__
from connect.errors import ConfigError
from connect.herder.herder import Herder
from connect.herder.listeners import advertised
from connect.peers import PeerClient
from connect.plugins import Plugins
from connect.settings.definition import Config
from connect.settings.metrics_keys import MetricsOptions
from connect.settings.raw import comma_separated
from connect.settings.rest_security_keys import RestSecurityOptions
from connect.settings.worker_keys import RestOptions
from rest import (
    audit,
    connectors,
    dlq,
    errors,
    history,
    internal,
    loggers,
    metrics,
    offsets,
    openapi,
    plugins,
    rebalances,
    root,
    states,
    tap,
    timeseries,
    trying,
)
from rest.api import REQUEST_TIMEOUT_S, Api
from rest.body_room import BodyError, body_error
from rest.bounded_bodies import BoundedBodies, Rooms
from rest.cluster_id import ClusterId
from rest.edge import Cors, Edge, Hosts, Origins, OtherOrigins, Proxies
from rest.forwarding import AnsweredElsewhereError, Forwarding, answered_elsewhere
from rest.headers import ResponseHeaders, parse_rules
from rest.internal_requests import InternalRequests
from rest.masking import Masks
from rest.prometheus import Prometheus
from rest.rules import ConnectRules
from rest.security.access import Access
from rest.security.forwarded import Vouching
from rest.security.setup import Guard, open_guard
from rest.traces import TracedRequests
from rest.ui.router import router as pages

Part = Literal["connectors", "admin"]

#: What an extension is: it gets the app before the first request, and adds routes and middleware.
Extension = Callable[[FastAPI, Mapping[str, str]], None]


def create_app(
    herder: Herder,
    known: Plugins,
    config: Config,
    raw: Mapping[str, str],
    *,
    parts: frozenset[Part] = frozenset({"connectors", "admin"}),
    requests_of_workers: InternalRequests | None = None,
    guard: Guard | None = None,
    timeout: float = REQUEST_TIMEOUT_S,
) -> ASGIApp:
    """Create the application.

    Args:
        herder: carries out requests.
        known: the plug-ins of the worker.
        config: the worker's, parsed; rest.mask.secrets, access.control.*, response.http.headers.config,
            rest.allowed.hosts, rest.forwarded.allow.ips, rest.extension.classes, metrics.prometheus.*, and
            rest.security.* where there is no guard.
        raw: the same, as written: for extensions, and for the names of this worker.
        parts: which resources; /admin may have listeners of its own.
        requests_of_workers: see `InternalRequests`; None in standalone mode. In a group requests are forwarded to the
            worker that can carry them out.
        guard: authentication and roles, opened before; several applications may share one.
        timeout: of a request, in seconds.

    Raises:
        ExtensionError: an extension cannot be loaded, or fails.
        ConfigError: a rule for headers is wrong, or a file of rest.security.* is.
    """
    guard = guard or open_guard(config, raw)
    access = Access() if guard is None else guard.access
    options = RestOptions.parse(config)
    masks = Masks(herder, enabled=options.masks_secrets, access=access)
    recent = None if guard is None else guard.audit
    client = PeerClient() if requests_of_workers is None else requests_of_workers.peers
    scheme = "http" if requests_of_workers is None else advertised(raw).scheme
    forwarding, prometheus = Forwarding(herder, access, client, scheme), Prometheus.of(config)
    cluster_id = ClusterId(herder.kafka_cluster_id)
    api = Api(herder, known, masks, forwarding, access, cluster_id, requests_of_workers, timeout, prometheus, recent)
    app = _new_app(api)
    metrics_page = MetricsOptions.parse(config).prometheus
    routers = _routers(parts, workers=requests_of_workers is not None, metrics_page=metrics_page)
    for router in (*routers, openapi.router, *([pages] if "connectors" in parts else [])):
        app.include_router(router)
    for name in options.extensions:
        _extend(app, name, raw)
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    rooms = Rooms.of(parts)
    guarded: ASGIApp = BoundedBodies(ConnectRules(metrics.NotedRoute(app), routes), rooms, requests_of_workers)
    if guard is not None:
        vouching = None
        if requests_of_workers is not None:
            workers = requests_of_workers
            vouching = Vouching(workers.session_key, advertised(raw).address, settled=workers.key_settled)
        guarded = guard.around(guarded, vouching, rooms.workers)
    measured = herder.metrics()
    app.state.interface = guarded  # what the pages ask, with the rights of whoever looks at them
    return _at_the_edge(
        metrics.TimedRequests(TracedRequests(guarded, measured.tracer), measured.registry),
        options,
        RestSecurityOptions.parse(config),
        raw,
    )


def describe_interface() -> dict[str, Any]:
    """What `GET /openapi.json` answers, without a worker and without what workers ask each other: for pages on it."""
    app = _new_app(None)
    for router in _routers(frozenset({"connectors", "admin"}), workers=False, metrics_page=True):
        app.include_router(router)
    return openapi.describe(app)


def _new_app(api: Api | None) -> FastAPI:
    """Without routes. The objects that its handlers use are in its state; None where no request will come."""
    app = FastAPI(
        title="Kafka Connect REST API",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.api = api
    errors.install(app)
    app.add_exception_handler(BodyError, body_error)
    app.add_exception_handler(AnsweredElsewhereError, answered_elsewhere)
    return app


def _routers(parts: frozenset[Part], *, workers: bool, metrics_page: bool) -> list[APIRouter]:
    found: list[APIRouter] = []
    if "connectors" in parts:
        found += [
            root.router,
            connectors.router,
            states.router,
            offsets.router,
            history.router,
            tap.router,
            timeseries.router,
            plugins.router,
            trying.router,
            dlq.router,
            rebalances.router,
            audit.router,
        ]
    if "connectors" in parts and workers:
        found += [internal.router]
    if "admin" in parts:
        found += [loggers.router]
    if metrics_page:
        found += [metrics.router]
    return found


def _at_the_edge(app: ASGIApp, options: RestOptions, security: RestSecurityOptions, raw: Mapping[str, str]) -> ASGIApp:
    origins = OtherOrigins(options.allowed_origins)
    if origins:
        app = Cors(app, origins, comma_separated(options.allowed_methods) or ["GET", "POST", "HEAD"])
    app = Edge(app, Hosts.of(raw, security.allowed_hosts), Origins(origins), Proxies(security.forwarded_allow_ips))
    rules = parse_rules(options.header_rules)
    return ResponseHeaders(app, rules) if rules else app


class ExtensionError(ConfigError):
    """An extension cannot be used: as in Kafka Connect, there is no worker without it."""

    def __init__(self, message: str) -> None:
        super().__init__("rest.extension.classes", message)


def _extend(app: FastAPI, name: str, raw: Mapping[str, str]) -> None:
    found = extension(name)
    try:
        found(app, raw)
    except Exception as error:  # it may raise anything
        raise ExtensionError(f'"{name}" failed: {type(error).__name__}: {error}') from error


def extension(name: str) -> Extension:
    """A callable by its name, "module:callable" or "module.callable". Operator code: it runs in the worker.

    Raises:
        ExtensionError: it cannot be loaded.
    """
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # its module may raise anything
        why = f"{type(error).__name__}: {error}"
        raise ExtensionError(
            f'"{name}" cannot be loaded ({why}). Name a Python callable, module:callable, that takes the FastAPI app'
            " and the worker's configuration; classes of Java do not run here.",
        ) from error
    if not callable(found):
        raise ExtensionError(f'"{name}" is not a callable.')
    return found  # type: ignore[no-any-return]  # as callable as it says
