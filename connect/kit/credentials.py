"""Credentials from a user's class, which may read a vault whenever they are needed.

For example:

    def start(self, config):
        key = "shop.credentials.provider.class"
        self._provider = credentials_provider(key, self.settings.parse(config)[key], config)

    def _connect(self):
        user, password = self._provider.credentials()
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from connect import ConfigError
from connect.settings import prefixed

C_co = TypeVar("C_co", covariant=True)


class CredentialsProvider(Protocol[C_co]):
    """Provides credentials. Users implement it; one is created in each task's process."""

    def configure(self, config: Mapping[str, str]) -> None:
        """Receives the keys with the prefix of the one that names the class, without it. Raising fails the task."""

    def credentials(self) -> C_co:
        """The credentials for a new connection. Raising fails this attempt to connect."""


def credentials_provider(key: str, name: str, config: Mapping[str, str]) -> CredentialsProvider[Any]:
    """The class of this name, `module:Class` or `module.Class`: created and configured.

    Args:
        key: the setting that names it. Its prefix up to the last dot is that of the class's own keys.
        config: the connector's, secrets filled in.

    Raises:
        ConfigError: the class cannot be loaded.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        module, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            key, f'"{name}" cannot be loaded ({error}). Write module:Class of a Python class with credentials().'
        ) from error
    provider: CredentialsProvider[Any] = found()
    provider.configure(prefixed(config, f"{key.rpartition('.')[0]}."))
    return provider
