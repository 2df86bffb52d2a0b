"""The file of rest.security.roles.file, in TOML: which role whom is granted, and for which connectors.

    [groups]
    data-team = ["user:alice", "user:bob", "token:ci"]

    [[grant]]
    role = "editor"
    to = ["group:data-team", "certificate:CN=ops,O=Example"]
    connectors = ["orders-*", "customers"]          # without this line: all

    [[grant]]
    role = "editor"
    to = ["token:terraform"]
    secrets = true                                  # reads passwords where others read [hidden]

    [[grant]]
    role = "viewer"
    to = ["*"]                                      # whoever proved who they are

A role holds those before it: viewer, operator, editor, admin. Patterns are those of a shell: * any characters, ? one,
[abc] one of these. Capital and small letters differ.
"""

from __future__ import annotations

import enum
import fnmatch
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from connect.settings.limits import LONGEST_NAME
from rest.security.files import LineError

Kind = Literal["user", "token", "certificate"]


@dataclass(frozen=True, slots=True)
class Identity:
    """An authenticated caller: a user by a password, the holder of a token or of a certificate.

    Written as roles and the audit log have it: user:alice, token:ci, certificate:CN=ops,O=Example.
    """

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def method(self) -> str:
        """The method of authentication, as in rest.security.authentication."""
        return {"user": "basic", "token": "bearer", "certificate": "certificate"}[self.kind]


EVERYBODY: Final = "*"
_KINDS: Final = ("user", "token", "certificate")


class Role(enum.IntEnum):
    """What a user may do, each more than the one before.

    VIEWER reads, OPERATOR pauses and restarts, EDITOR creates, changes and deletes, ADMIN does what concerns the
    worker.
    """

    VIEWER = 1
    OPERATOR = 2
    EDITOR = 3
    ADMIN = 4

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Grant:
    """A role for the connectors whose names match one of these patterns. `to` is as in the file, groups resolved.

    `secrets`: their configurations are shown with their secrets, as they were written.
    """

    role: Role
    to: frozenset[str]
    patterns: tuple[str, ...]
    secrets: bool = False

    def fits(self, connector: str) -> bool:
        """Whether it is for this connector."""
        return any(_compiled(pattern).match(connector) for pattern in self.patterns)


class Rights:
    """What a user may do."""

    def __init__(self, grants: Iterable[Grant]) -> None:
        self._grants = tuple(grants)
        self._known: dict[str, int] = {}

    def may(self, role: Role, connector: str) -> bool:
        """Whether they have a role, or a higher one, for a connector, whether it exists or not."""
        highest = self._known.get(connector)
        if highest is None:
            highest = max((grant.role for grant in self._grants if grant.fits(connector)), default=0)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            if len(connector) <= LONGEST_NAME:  # no connector has a longer one, but any path may
                self._known[connector] = highest
        return highest >= role

    def reads_secrets(self, connector: str) -> bool:
        """Whether they were granted to read the secrets in a connector's configuration."""
        return any(grant.secrets and grant.fits(connector) for grant in self._grants)

    def may_somewhere(self, role: Role) -> bool:
        """Whether there are connectors for which they have it."""
        return any(grant.role >= role for grant in self._grants)

    def may_everywhere(self, role: Role) -> bool:
        """Whether they have it for all connectors."""
        return any(grant.role >= role and EVERYBODY in grant.patterns for grant in self._grants)


_REMEMBERED: Final = 10_000

#: Of whoever asks a worker that asks nobody who they are.
EVERYTHING: Final = Rights([Grant(Role.ADMIN, frozenset({EVERYBODY}), ("*",))])
NOTHING: Final = Rights([])


class Roles:
    """All that is granted."""

    def __init__(self, grants: Sequence[Grant]) -> None:
        self._grants = grants
        self._rights: dict[Identity, Rights] = {}

    def of(self, identity: Identity) -> Rights:
        """What somebody may do."""
        found = self._rights.get(identity)
        if found is None:
            named = {EVERYBODY, str(identity)}
            found = Rights(grant for grant in self._grants if grant.to & named)
            if len(self._rights) >= _REMEMBERED:
                self._rights.clear()
            self._rights[identity] = found
        return found


def parse_roles(text: str) -> Roles:
    """What the file holds. Raises LineError."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise LineError(int(line[1]) if line else 0, f"this is not TOML: {error}.") from error
    _only(found, {"groups", "grant"}, "the file")
    groups = _table(found.get("groups", {}), "groups")
    members = {name: _subjects(value, f'group "{name}"') for name, value in groups.items()}
    for name, subjects in members.items():
        if wrong := next((one for one in subjects if one == EVERYBODY or one.startswith("group:")), None):
            raise LineError(0, f'group "{name}" has the member "{wrong}". Name users, tokens and certificates.')
    grants = found.get("grant", [])
    if not isinstance(grants, list):
        raise LineError(0, "grant is written [[grant]], once for each.")
    return Roles([_grant(_table(one, place), place, members) for place, one in _numbered(grants)])


def _numbered(grants: list[Any]) -> list[tuple[str, Any]]:
    return [(f"grant {number}", grant) for number, grant in enumerate(grants, 1)]


def _grant(written: Mapping[str, Any], place: str, groups: Mapping[str, Sequence[str]]) -> Grant:
    _only(written, {"role", "to", "connectors", "secrets"}, place)
    try:
        role = Role[str(written.get("role", "")).upper()]
    except KeyError:
        known = ", ".join(str(role) for role in Role)
        raise LineError(0, f'{place}: "{written.get("role", "")}" is not a role. Write one of {known}.') from None
    to: set[str] = set()
    for subject in _subjects(written.get("to", []), place):
        group = subject.removeprefix("group:")
        if group == subject:
            to.add(subject)
        elif group in groups:
            to.update(groups[group])
        else:
            raise LineError(0, f'{place}: there is no group "{group}" under [groups].')
    patterns = _texts(written.get("connectors", ["*"]), f"{place}: connectors")
    if role is Role.ADMIN and "*" not in patterns:
        raise LineError(0, f"{place}: an admin is one for the whole worker. Remove connectors, or grant editor.")
    secrets = written.get("secrets", False)
    if not isinstance(secrets, bool):
        raise LineError(0, f"{place}: secrets is true or false.")
    if secrets and role < Role.EDITOR:
        raise LineError(0, f"{place}: secrets are for those who may write them. Grant editor.")
    return Grant(role, frozenset(to), tuple(patterns), secrets)


def _subjects(value: Any, place: str) -> list[str]:
    subjects = _texts(value, place)
    for subject in subjects:
        kind, colon, name = subject.partition(":")
        if subject != EVERYBODY and (not colon or not name or kind not in {*_KINDS, "group"}):
            raise LineError(
                0,
                f'{place}: "{subject}" is not a subject.'
                ' Write user:name, token:name, certificate:name, group:name, or "*".',
            )
    return subjects


def _texts(value: Any, place: str) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
        raise LineError(0, f'{place}: write a list of texts with at least one, like ["a", "b"].')
    return list(value)


def _table(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise LineError(0, f"{place} is not a table.")
    return value


def _only(written: Mapping[str, Any], known: set[str], place: str) -> None:
    if unknown := sorted(written.keys() - known):
        raise LineError(0, f'{place} has the unknown key "{unknown[0]}". Known are {", ".join(sorted(known))}.')


_patterns: dict[str, re.Pattern[str]] = {}


def _compiled(pattern: str) -> re.Pattern[str]:
    found = _patterns.get(pattern)
    if found is None:
        found = _patterns[pattern] = re.compile(fnmatch.translate(pattern))
    return found
