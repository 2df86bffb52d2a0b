"""The rights of the current request's caller, for resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from connect.herder.errors import ForbiddenError
from rest.security.forwarded import Vouch
from rest.security.permissions import Need
from rest.security.roles import Identity, Rights, Role


class MissingRoleError(ForbiddenError):
    """The caller lacks a role. Answered with 403."""


@dataclass
class Caller:
    """The caller of a request.

    Attributes:
        identity: None without authentication.
        rights: what they may do.
        changed: what the request changes, for the audit log: names, never values.
        connector: which it is about.
        reason: why it was refused, for the audit log.
        vouch: signs a request that is forwarded for them; None where workers do not vouch for anybody.
    """

    identity: Identity | None
    rights: Rights
    connector: str | None = None
    changed: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None
    vouch: Vouch | None = None


#: Of the request that this task of the event loop carries out.
CALLER: Final[ContextVar[Caller]] = ContextVar("caller")


class Access:
    """The rights without security: everything."""

    def require(self, role: Role, connector: str) -> None:
        """Check that the caller has a role for a connector that the path does not name. Raises MissingRoleError."""

    def visible(self, names: Iterable[str]) -> list[str]:
        """Those connectors that the caller may see."""
        return list(names)

    def may(self, role: Role, connector: str) -> bool:
        """Whether the caller has a role for a connector."""
        return True

    def role(self, connector: str | None) -> Role | None:
        """The caller's highest role for a connector, or for all of them; None for no role."""
        return Role.ADMIN

    def role_somewhere(self) -> Role | None:
        """The caller's highest role for any connector."""
        return Role.ADMIN

    def sees_all(self) -> bool:
        """Whether the caller may see all connectors, so also what the worker is doing."""
        return True

    def reads_secrets(self, connector: str) -> bool:
        """Whether the caller was granted to read a connector's secrets although they are masked."""
        return False

    def changes(self, connector: str | None = None, **what: Any) -> None:
        """Note for the audit log what a request changes: names, never values."""

    def author(self) -> str | None:
        """The caller's name, as roles have it; None without logins."""
        return None

    def vouch(self, method: str, target: str, body: bytes) -> dict[str, str]:
        """Headers that tell another worker on whose behalf this one sends a request. Raises NoSessionKeyError."""
        return {}


class CallersAccess(Access):
    """The rights of the caller. Outside of a request there is none, and calling this is an error."""

    def require(self, role: Role, connector: str) -> None:
        caller = CALLER.get()
        caller.connector = connector
        if not caller.rights.may(role, connector):
            need = Need(role, "connector", connector, changes=False)
            caller.reason = f"lacks {need}"
            raise MissingRoleError(refusal(caller.identity, need))

    def visible(self, names: Iterable[str]) -> list[str]:
        rights = CALLER.get().rights
        return [name for name in names if rights.may(Role.VIEWER, name)]

    def may(self, role: Role, connector: str) -> bool:
        return CALLER.get().rights.may(role, connector)

    def role(self, connector: str | None) -> Role | None:
        rights = CALLER.get().rights
        if connector is None:
            return _highest(rights.may_everywhere)
        return _highest(lambda role: rights.may(role, connector))

    def role_somewhere(self) -> Role | None:
        return _highest(CALLER.get().rights.may_somewhere)

    def sees_all(self) -> bool:
        return CALLER.get().rights.may_everywhere(Role.VIEWER)

    def reads_secrets(self, connector: str) -> bool:
        return CALLER.get().rights.reads_secrets(connector)

    def changes(self, connector: str | None = None, **what: Any) -> None:
        caller = CALLER.get()
        caller.connector = connector or caller.connector
        caller.changed.update(what)

    def author(self) -> str | None:
        identity = CALLER.get().identity
        return None if identity is None else str(identity)

    def vouch(self, method: str, target: str, body: bytes) -> dict[str, str]:
        sign = CALLER.get().vouch
        return {} if sign is None else sign(method, target, body)


def _highest(may: Callable[[Role], bool]) -> Role | None:
    return max((role for role in Role if may(role)), default=None)


def refusal(identity: Identity | None, need: Need) -> str:
    """The message for a user who lacks a role."""
    who = "You need" if identity is None else f"{identity} needs"
    return f"{who} {need}."


def keys_changed(before: Mapping[str, str], after: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Which keys of a configuration are new, changed and removed. In `after`, None removes a key."""
    kept = {key: value for key, value in after.items() if value is not None}
    found = {
        "added": sorted(kept.keys() - before.keys()),
        "changed": sorted(key for key in kept.keys() & before.keys() if kept[key] != before[key]),
        "removed": sorted(before.keys() - kept.keys()),
    }
    return {what: keys for what, keys in found.items() if keys}
