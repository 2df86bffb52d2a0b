"""What a request needs: which role, for which connector. A request that is not listed needs an admin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from rest.rules import SLASH
from rest.security.roles import Rights, Role

#: For one connector, for any one, for all of them; or of a worker of the group, which signs it.
Where = Literal["connector", "somewhere", "everywhere", "workers"]


@dataclass(frozen=True, slots=True)
class Need:
    """What a request needs.

    Attributes:
        role: or a higher one.
        where: for what. A request whose connector stands in its body needs the role for any; the resource checks the
            rest.
        connector: the one that its path names.
        changes: whether it changes anything, and so is audited.
    """

    role: Role
    where: Where
    connector: str | None
    changes: bool

    def met_by(self, rights: Rights) -> bool:
        """Whether these rights are enough."""
        if self.where == "connector":
            return self.connector is not None and rights.may(self.role, self.connector)
        if self.where == "somewhere":
            return rights.may_somewhere(self.role)
        return self.where == "everywhere" and rights.may_everywhere(self.role)

    def __str__(self) -> str:
        about = {
            "connector": f'for connector "{self.connector}"',
            "somewhere": "for at least one connector",
            "everywhere": "for all connectors",
            "workers": "of a worker of the group",
        }
        return f"the role {self.role} {about[self.where]}"


_RULES: Final[list[tuple[str, str, Role, Where]]] = [
    ("GET", r"/|/health|/health/(?:live|ready)|/docs|/openapi\.json", Role.VIEWER, "somewhere"),
    # What the caller may do; of connectors it names none but the one that was asked about.
    ("GET", r"/rights", Role.VIEWER, "somewhere"),
    # The pages ask the interface, which looks again at what exactly they ask.
    ("GET|POST", r"/ui(?:/.*)?", Role.VIEWER, "somewhere"),
    # Its labels name connectors.
    ("GET", r"/metrics", Role.VIEWER, "everywhere"),
    # It names workers and connectors, and tells how much runs where: each entry is about the whole pool.
    ("GET", r"/cluster/rebalances", Role.VIEWER, "everywhere"),
    # Who did what, and what they were refused, is for those who gave the rights.
    ("GET", r"/cluster/audit", Role.ADMIN, "everywhere"),
    ("GET", r"/connectors", Role.VIEWER, "somewhere"),
    ("POST", r"/connectors", Role.EDITOR, "somewhere"),
    (
        "GET",
        r"/connectors/([^/]+)(?:/(?:config|status|lag|restarts|topics|offsets|tasks|tasks/[^/]+/status))?",
        Role.VIEWER,
        "connector",
    ),
    ("GET", r"/connectors/([^/]+)/timeseries", Role.VIEWER, "connector"),
    ("GET", r"/connectors/([^/]+)/history(?:/[^/]+)?", Role.VIEWER, "connector"),
    ("PUT", r"/connectors/([^/]+)/(?:pause|resume|stop|topics/reset)", Role.OPERATOR, "connector"),
    ("POST", r"/connectors/([^/]+)/(?:restart|tasks/[^/]+/restart)", Role.OPERATOR, "connector"),
    # Records' payloads are not for everybody who may see how connectors are.
    ("GET", r"/connectors/([^/]+)/dlq(?:/groups|/[^/]+/[^/]+)?", Role.OPERATOR, "connector"),
    ("GET", r"/connectors/([^/]+)/tap", Role.OPERATOR, "connector"),
    ("POST", r"/connectors/([^/]+)/dlq/replay", Role.EDITOR, "connector"),
    ("PUT|PATCH", r"/connectors/([^/]+)/config", Role.EDITOR, "connector"),
    ("POST", r"/connectors/([^/]+)/history/[^/]+/restore", Role.EDITOR, "connector"),
    ("DELETE", r"/connectors/([^/]+)", Role.EDITOR, "connector"),
    ("PATCH|DELETE", r"/connectors/([^/]+)/offsets", Role.EDITOR, "connector"),
    ("POST", r"/connectors/([^/]+)/tasks", Role.ADMIN, "workers"),
    ("PUT", r"/connectors/([^/]+)/fence", Role.ADMIN, "workers"),
    ("GET", r"/connector-plugins", Role.VIEWER, "somewhere"),
    # It starts the plug-in's process, and is for those who write configurations.
    ("GET", r"/connector-plugins/[^/]+/config", Role.EDITOR, "somewhere"),
    ("PUT", r"/connector-plugins/[^/]+/config/validate", Role.EDITOR, "somewhere"),
    # It reads topics, as a connector of this configuration would: see `rest.trying`.
    ("PUT", r"/connector-plugins/[^/]+/config/try", Role.EDITOR, "somewhere"),
    ("GET", r"/connector-plugins/[^/]+/config/choices", Role.EDITOR, "somewhere"),
    # The plug-in connects, as a connector of this configuration would.
    ("PUT", r"/connector-plugins/[^/]+/config/[^/]+/choices", Role.EDITOR, "somewhere"),
]
_COMPILED: Final = [
    (frozenset(methods.split("|")), re.compile(path), role, where) for methods, path, role, where in _RULES
]
_READS: Final = {"GET", "HEAD", "OPTIONS"}
#: A button of a page asks the interface for the change, and that is what is audited.
_NO_CHANGES: Final = re.compile(r"/connector-plugins/[^/]+/config/(?:validate|[^/]+/choices)|/ui/.*")


def need_of(method: str, path: str) -> Need:
    """What a request needs. The path is the one that the resource is found by: see `rest.rules.routed_path`."""
    changes = method not in _READS and not _NO_CHANGES.fullmatch(path)
    asked = "GET" if method == "HEAD" else method
    if asked == "OPTIONS":  # lists methods
        return Need(Role.VIEWER, "somewhere", None, changes)
    for methods, pattern, role, where in _COMPILED:
        if asked in methods and (match := pattern.fullmatch(path)):
            return Need(role, where, match[1].replace(SLASH, "/") if pattern.groups else None, changes)
    return Need(Role.ADMIN, "everywhere", None, changes)
