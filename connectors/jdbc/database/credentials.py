"""Who we are for a database.

`jdbc.credentials.provider.class` names a class of the user's own, which is asked at every new connection, so that what
was rotated is found. Without one the configuration says it, as it was when the task was started: who is refused fails,
and what is restarted has what config providers (`${vault:...}`) give then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from connect.kit import credentials_provider
from connectors.jdbc.database.keys import DatabaseOptions

_KEY: Final = "jdbc.credentials.provider.class"
#: What Java's connectors call the default.
_BUILT_IN: Final = ("", "io.confluent.connect.jdbc.util.DefaultJdbcCredentialsProvider")


class Credentials(NamedTuple):
    """A user and a password, each None where the URL or the database's own rules say it."""

    user: str | None
    password: str | None

    def __repr__(self) -> str:
        return f"Credentials(user={self.user!r})"


def provider(config: Mapping[str, str]) -> Callable[[], Credentials]:
    """What answers with the credentials for a connection that is made now.

    Args:
        config: secrets filled in.

    Raises:
        ConfigError: the class cannot be loaded.
    """
    name = config.get(_KEY) or ""
    if name in _BUILT_IN:
        return lambda: _of_configuration(config)
    chosen = credentials_provider(_KEY, name, config)
    return lambda: Credentials(*chosen.credentials())


def _of_configuration(config: Mapping[str, str]) -> Credentials:
    named = DatabaseOptions.definition().named(config)
    return Credentials(named.get("connection.user") or None, named.get("connection.password") or None)
