"""Opens what `rest.security.*` of a worker names, and says at its start what is wrong with it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from starlette.types import ASGIApp

from connect.errors import ConfigError
from connect.settings.definition import Config
from connect.settings.rest_security_keys import (
    AUDIT_LOG,
    AUTHENTICATION,
    CERTIFICATE_NAME,
    MAPPING_RULES,
    OPEN_PATHS,
    ROLES_FILE,
    TOKENS_FILE,
    USERS_FILE,
    open_paths,
)
from rest.security.access import Access, CallersAccess
from rest.security.audit import AuditFile, AuditLog, AuditLogger
from rest.security.authentication import Authentication
from rest.security.certificates import CertificateNames, Rule, parse_rules
from rest.security.files import WatchedFile
from rest.security.forwarded import Vouching
from rest.security.roles import Roles, parse_roles
from rest.security.tokens import Tokens, parse_tokens
from rest.security.users import Users, parse_users
from rest.tls import client_auth

if TYPE_CHECKING:
    from rest.body_room import Room

log = logging.getLogger("connect.rest")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Guard:
    """What stands before the REST interface of a worker, on all of its listeners.

    Attributes:
        authentication: None where only the audit log is kept.
        roles: None where whoever proves who they are may do everything.
    """

    authentication: Authentication | None
    roles: WatchedFile[Roles] | None
    audit: AuditLog
    open_paths: frozenset[str]

    @property
    def access(self) -> Access:
        """What resources ask."""
        return CallersAccess()

    def around(self, app: ASGIApp, vouching: Vouching | None, room: Room) -> ASGIApp:
        """The application, guarded. `room` is for bodies that are to prove that another worker sent them."""
        from rest.security.middleware import Security

        return Security(app, self.authentication, self.roles, self.audit, vouching, self.open_paths, room)


def _raise(error: ConfigError) -> None:
    raise error


def open_guard(config: Config, raw: Mapping[str, str], wrong: Callable[[ConfigError], None] = _raise) -> Guard | None:
    """The guard that a worker's settings ask for, None for none.

    Args:
        config: the worker's, parsed.
        raw: the same, as written: for the listeners' TLS.
        wrong: told everything that is wrong; what it lets pass must not be used.
    """
    methods = set(config[AUTHENTICATION])
    if not methods and not config[AUDIT_LOG]:
        return None

    def users() -> WatchedFile[Users]:
        path = _named(config, USERS_FILE, "basic")
        return WatchedFile(USERS_FILE, path, parse_users, Users.of({}), private=True)

    def tokens() -> WatchedFile[Tokens]:
        path = _named(config, TOKENS_FILE, "bearer")
        return WatchedFile(TOKENS_FILE, path, parse_tokens, Tokens({}), private=True)

    def roles() -> WatchedFile[Roles]:
        return WatchedFile(ROLES_FILE, config[ROLES_FILE], parse_roles, Roles([]), private=False)

    def audit() -> AuditLog:
        return AuditFile(config[AUDIT_LOG]) if config[AUDIT_LOG] else AuditLogger()

    authentication = None
    if methods:
        authentication = Authentication(
            _opened(users, wrong) if "basic" in methods else None,
            _opened(tokens, wrong) if "bearer" in methods else None,
            _opened(lambda: _certificates(config, raw), wrong) if "certificate" in methods else None,
        )
        _see_to_the_rest(config, raw, wrong)
    return Guard(
        authentication,
        _opened(roles, wrong) if methods and config[ROLES_FILE] else None,
        _opened(audit, wrong) or AuditLogger(),
        open_paths(config[OPEN_PATHS]),
    )


def _opened(make: Callable[[], _T], wrong: Callable[[ConfigError], None]) -> _T | None:
    try:
        return make()
    except ConfigError as error:
        wrong(error)
        return None


def _named(config: Config, key: str, method: str) -> str:
    path: str | None = config[key]
    if not path:
        raise ConfigError(key, f"is missing. {AUTHENTICATION} has {method}; name its file.")
    return path


def _certificates(config: Config, raw: Mapping[str, str]) -> CertificateNames:
    rules: list[Rule] = []
    try:
        rules = parse_rules(config[MAPPING_RULES])
    except ValueError as error:
        raise ConfigError(MAPPING_RULES, str(error)) from error
    sites = {"listeners.https.": config["listeners"], "admin.listeners.https.": config["admin.listeners"] or []}
    secure = [prefix for prefix, urls in sites.items() if any(url.lower().startswith("https:") for url in urls)]
    if not any(client_auth(raw, prefix) in {"requested", "required"} for prefix in secure):
        raise ConfigError(
            AUTHENTICATION,
            "has certificate, and no listener asks for one. Set an https listener and"
            " listeners.https.ssl.client.auth=requested, or required.",
        )
    return CertificateNames(config[CERTIFICATE_NAME], rules)


def _see_to_the_rest(config: Config, raw: Mapping[str, str], wrong: Callable[[ConfigError], None]) -> None:
    if "connect.protocol" in config and config["connect.protocol"].lower() != "sessioned":
        wrong(
            ConfigError(
                "connect.protocol",
                f"is {config['connect.protocol']}, with which workers cannot prove who they are to each other."
                f" With {AUTHENTICATION} it has to be sessioned.",
            )
        )
    if not config[ROLES_FILE]:
        log.warning("%s is not set: whoever logs in at the REST API may do everything.", ROLES_FILE)
    for key, method in ((USERS_FILE, "basic"), (TOKENS_FILE, "bearer")):
        if config[key] and method not in config[AUTHENTICATION]:
            log.warning("%s has no effect: %s does not have %s.", key, AUTHENTICATION, method)
