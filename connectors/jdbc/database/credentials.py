"""Who we are for a database.

`jdbc.credentials.provider.class` names a class of the user's own, which is asked at every new connection, so that what
was rotated is found. Without one the configuration says it, as it was when the task was started: who is refused fails,
and what is restarted has what config providers (`${vault:...}`) give then.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from connect import ConfigError
from connectors.jdbc.database.keys import DATABASE

KEY = "jdbc.credentials.provider.class"
_PREFIX = "jdbc.credentials.provider."
#: What Java's connectors call the default.
_BUILT_IN = ("", "io.confluent.connect.jdbc.util.DefaultJdbcCredentialsProvider")


class Credentials(NamedTuple):
    """A user and a password, each None where the URL or the database's own rules say it."""

    user: str | None
    password: str | None

    def __repr__(self) -> str:
        return f"Credentials(user={self.user!r})"


class CredentialsProvider(Protocol):
    """Knows a database's credentials. Made once in each task's process; `module:Class` in the configuration."""

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the keys that begin with `jdbc.credentials.provider.`, without that. Raising fails the task."""

    def credentials(self) -> Credentials | tuple[str | None, str | None]:
        """The credentials for a connection that is made now. Raising fails this try to connect."""


def provider(config: Mapping[str, str]) -> Callable[[], Credentials]:
    """What answers with the credentials for a connection that is made now.

    Args:
        config: secrets filled in.

    Raises:
        ConfigError: the class cannot be loaded.
    """
    name = config.get(KEY) or ""
    if name in _BUILT_IN:
        return lambda: _of_configuration(config)
    chosen = _load(name)()
    chosen.configure({key[len(_PREFIX) :]: value for key, value in config.items() if key.startswith(_PREFIX)})
    return lambda: Credentials(*chosen.credentials())


def _of_configuration(config: Mapping[str, str]) -> Credentials:
    named = DATABASE.named(config)
    return Credentials(named.get("connection.user") or None, named.get("connection.password") or None)


def _load(name: str) -> Callable[[], CredentialsProvider]:
    module, colon, attribute = name.partition(":")
    if not colon:
        module, _, attribute = name.rpartition(".")
    try:
        found: Callable[[], CredentialsProvider] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            KEY, f'"{name}" cannot be loaded ({error}). Write module:Class of a Python class with credentials().'
        ) from error
    return found
