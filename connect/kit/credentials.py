"""Credentials from a class of the user's own, which may ask a vault whenever they are needed.

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
    """Knows the credentials. Users write it; it is made once in each task's process."""

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the keys that begin like the one that names the class, without that part. Raising fails the task."""

    def credentials(self) -> C_co:
        """The credentials for a connection that is made now. Raising fails this try to connect."""


def credentials_provider(key: str, name: str, config: Mapping[str, str]) -> CredentialsProvider[Any]:
    """The class of this name, `module:Class` or `module.Class`: made, and configured.

    Args:
        key: the setting that names it. Its own keys begin like that, up to the last dot.
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
