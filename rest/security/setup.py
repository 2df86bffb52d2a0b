"""Opens the files of a worker's `rest.security.*`, and reports their errors at its start."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from starlette.types import ASGIApp

from connect.errors import ConfigError
from connect.settings.definition import Config
from connect.settings.rest_security_keys import (
    AUTHENTICATION,
    MAPPING_RULES,
    ROLES_FILE,
    TOKENS_FILE,
    USERS_FILE,
    RestSecurityOptions,
)
from connect.settings.worker_keys import RestOptions
from rest.security.access import Access, CallersAccess
from rest.security.audit import AuditFile, AuditLog, AuditLogger
from rest.security.authentication import Authentication
from rest.security.certificates import CertificateNames, Rule, client_auth, parse_rules
from rest.security.files import WatchedFile
from rest.security.forwarded import Vouching
from rest.security.recent_audit import RecentAudit
from rest.security.roles import Roles, parse_roles
from rest.security.tokens import Tokens, parse_tokens
from rest.security.users import Users, parse_users

if TYPE_CHECKING:
    from rest.body_room import Room

log = logging.getLogger("connect.rest")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Guard:
    """What guards the REST interface of a worker, on all of its listeners.

    Attributes:
        authentication: None where there is only the audit log.
        roles: None where every authenticated user may do everything.
    """

    authentication: Authentication | None
    roles: WatchedFile[Roles] | None
    audit: RecentAudit
    open_paths: frozenset[str]

    @property
    def access(self) -> Access:
        """The rights of callers, for resources."""
        return CallersAccess()

    def around(self, app: ASGIApp, vouching: Vouching | None, room: Room) -> ASGIApp:
        """The application, guarded. `room` is for bodies that have to prove that another worker sent them."""
        from rest.security.middleware import Security

        return Security(app, self.authentication, self.roles, self.audit, vouching, self.open_paths, room)


def _raise(error: ConfigError) -> None:
    raise error


def open_guard(config: Config, raw: Mapping[str, str], wrong: Callable[[ConfigError], None] = _raise) -> Guard | None:
    """The guard of a worker's settings, None for none.

    Args:
        config: the worker's, parsed.
        raw: the same, as written: for the listeners' TLS.
        wrong: called with all errors; if it returns, the result must not be used.
    """
    options = RestSecurityOptions.parse(config)
    methods = set(options.authentication)
    if not methods and not options.audit_log:
        return None

    def users() -> WatchedFile[Users]:
        path = _named(options.users_file, USERS_FILE, "basic")
        return WatchedFile(USERS_FILE, path, parse_users, Users.of({}), private=True)

    def tokens() -> WatchedFile[Tokens]:
        path = _named(options.tokens_file, TOKENS_FILE, "bearer")
        return WatchedFile(TOKENS_FILE, path, parse_tokens, Tokens({}), private=True)

    def roles(path: str) -> WatchedFile[Roles]:
        return WatchedFile(ROLES_FILE, path, parse_roles, Roles([]), private=False)

    def audit() -> AuditLog:
        return AuditFile(options.audit_log) if options.audit_log else AuditLogger()

    authentication = None
    if methods:
        authentication = Authentication(
            _opened(users, wrong) if "basic" in methods else None,
            _opened(tokens, wrong) if "bearer" in methods else None,
            _opened(lambda: _certificates(options, config, raw), wrong) if "certificate" in methods else None,
        )
        _see_to_the_rest(options, config, wrong)
    return Guard(
        authentication,
        _opened(partial(roles, options.roles_file), wrong) if methods and options.roles_file else None,
        RecentAudit(_opened(audit, wrong) or AuditLogger()),
        options.open_paths,
    )


def _opened(make: Callable[[], _T], wrong: Callable[[ConfigError], None]) -> _T | None:
    try:
        return make()
    except ConfigError as error:
        wrong(error)
        return None


def _named(path: str | None, key: str, method: str) -> str:
    if not path:
        raise ConfigError(key, f"is missing. {AUTHENTICATION} has {method}; name its file.")
    return path


def _certificates(options: RestSecurityOptions, config: Config, raw: Mapping[str, str]) -> CertificateNames:
    rules: list[Rule] = []
    try:
        rules = parse_rules(options.mapping_rules)
    except ValueError as error:
        raise ConfigError(MAPPING_RULES, str(error)) from error
    rest = RestOptions.parse(config)
    sites = {"listeners.https.": rest.listeners, "admin.listeners.https.": rest.admin_listeners or []}
    secure = [prefix for prefix, urls in sites.items() if any(url.lower().startswith("https:") for url in urls)]
    if not any(client_auth(raw, prefix) in {"requested", "required"} for prefix in secure):
        raise ConfigError(
            AUTHENTICATION,
            "has certificate, but no listener asks for certificates. Set an https listener and"
            " listeners.https.ssl.client.auth=requested, or required.",
        )
    return CertificateNames(options.certificate_name, rules)


def _see_to_the_rest(options: RestSecurityOptions, config: Config, wrong: Callable[[ConfigError], None]) -> None:
    if "connect.protocol" in config and config["connect.protocol"].lower() != "sessioned":
        wrong(
            ConfigError(
                "connect.protocol",
                f"is {config['connect.protocol']}, with which workers cannot prove who they are to each other."
                f" With {AUTHENTICATION} it has to be sessioned.",
            )
        )
    if not options.roles_file:
        log.warning("%s is not set: every user of the REST API may do everything.", ROLES_FILE)
    for key, path, method in ((USERS_FILE, options.users_file, "basic"), (TOKENS_FILE, options.tokens_file, "bearer")):
        if path and method not in options.authentication:
            log.warning("%s has no effect: %s does not have %s.", key, AUTHENTICATION, method)
