"""The keys that guard the REST API: who may send which requests, and what is logged. Kafka has none.

docs/security.md explains those of rest.security, docs/rest.md the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Final

from connect.settings.options import Options
from connect.settings.setting import List, String, Validator
from connect.settings.validators import one_of

AUTHENTICATION: Final = "rest.security.authentication"
USERS_FILE: Final = "rest.security.users.file"
TOKENS_FILE: Final = "rest.security.tokens.file"
ROLES_FILE: Final = "rest.security.roles.file"
CERTIFICATE_NAME: Final = "rest.security.certificate.name"
MAPPING_RULES: Final = "rest.security.certificate.mapping.rules"
OPEN_PATHS: Final = "rest.security.open.paths"
AUDIT_LOG: Final = "rest.security.audit.log"
FORWARDED_ALLOW_IPS: Final = "rest.forwarded.allow.ips"
ALLOWED_HOSTS: Final = "rest.allowed.hosts"

METHODS: Final = ("basic", "bearer", "certificate")
_OPENABLE: Final = ("/", "/health", "/metrics")
_HEALTH: Final = ("/health", "/health/live", "/health/ready")


def _some_of(*known: str) -> Validator:
    def check(name: str, value: list[str]) -> None:
        if unknown := [one for one in value if one not in known]:
            raise ValueError(f'"{unknown[0]}" is not known. Write some of {", ".join(known)}.')

    return check


def _networks(name: str, value: list[str]) -> None:
    for one in value:
        try:
            ip_network(one)
        except ValueError as error:
            raise ValueError(f"{error}. Write addresses and networks: 10.0.0.7,10.1.0.0/16.") from None


def _paths(written: Sequence[str]) -> frozenset[str]:
    """The paths that `rest.security.open.paths` opens."""
    return frozenset(path for each in written for path in (_HEALTH if each == "/health" else (each,)))


class RestSecurityOptions(Options):
    """Authentication, roles and the audit log. Files are None where there are none."""

    authentication = List(
        AUTHENTICATION,
        default=[],
        validator=_some_of(*METHODS),
        doc="How users of the REST API log in: some of basic, bearer and certificate. Empty: no logins, everybody who "
        "reaches it may use it.",
    )
    users_file = String(USERS_FILE, default=None, doc="The users for basic, as name:hash. `connect users` writes it.")
    tokens_file = String(
        TOKENS_FILE, default=None, doc="The tokens for bearer, as name:hash. `connect tokens` writes it."
    )
    roles_file = String(
        ROLES_FILE,
        default=None,
        doc="The roles of users for connectors, in TOML. Without it every user may do everything.",
    )
    certificate_name = String(
        CERTIFICATE_NAME,
        default="subject",
        importance="LOW",
        validator=one_of("subject", "dns", "email", "uri"),
        doc="The part of a client certificate that names its owner: the subject, or the first alternative name of a "
        "kind.",
    )
    mapping_rules = String(
        MAPPING_RULES,
        default="DEFAULT",
        importance="LOW",
        doc="Makes short names of subjects, as ssl.principal.mapping.rules of Kafka's brokers: RULE:pattern/name/LU, "
        "or DEFAULT for the whole subject.",
    )
    open_paths = List(
        OPEN_PATHS,
        default=["/health"],
        importance="LOW",
        validator=_some_of(*_OPENABLE),
        convert=_paths,
        doc="What everybody may read without a login, for load balancers and the like: some of /, /health (with "
        "/health/live and /health/ready) and /metrics.",
    )
    audit_log = String(
        AUDIT_LOG,
        default=None,
        doc="The file to which a line of JSON is added for every change, refused change and failed login. If it is not "
        "set and there are logins, they go to the logger connect.audit.",
    )
    forwarded_allow_ips = List(
        FORWARDED_ALLOW_IPS,
        default=[],
        importance="LOW",
        validator=_networks,
        doc="The proxies whose X-Forwarded-For, -Proto and -Host count: addresses and networks (10.1.0.0/16). Empty: "
        "nobody's.",
    )
    allowed_hosts = List(
        ALLOWED_HOSTS,
        default=[],
        importance="LOW",
        doc="Host names, besides localhost and its own, that listeners of this machine alone accept; a web page might "
        "use another one. *.example.com is every name below that, * any.",
    )
