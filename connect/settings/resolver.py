"""Variables in configurations: `${alias:path:key}` becomes what a config provider finds there.

    config.providers=file,env
    config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
    config.providers.file.param.allowed.paths=/etc/connect
    config.providers.env.class=EnvVarConfigProvider

As in Kafka, what no provider finds stays as written. Here it is also reported.

https://kafka.apache.org/documentation/#config_providers (KIP-297)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from connect.errors import ConfigError
from connect.settings.providers import (
    BUILT_IN,
    JAVA_PACKAGE,
    ConfigProvider,
    DirectoryConfigProvider,
    EnvVarConfigProvider,
    FileConfigProvider,
    ProviderData,
    ProviderError,
)

# The aliases that everybody gives to Kafka's own providers: written without being declared, they were forgotten.
_USUAL_ALIASES = {"file": FileConfigProvider, "directory": DirectoryConfigProvider, "env": EnvVarConfigProvider}
# The alias ends at the first colon, the path at the second; neither may hold a closing brace.
_VARIABLE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")


@dataclass(frozen=True)
class Unresolved:
    """A variable of a key's value that stayed as written, and what to do about it. Worth a warning."""

    key: str
    message: str


@dataclass(frozen=True)
class Resolved:
    """A configuration with its variables replaced.

    `secret_keys` are the keys whose value came from a provider, wholly or in part: never to be shown. `ttl_ms` is the
    shortest time for which the values hold, None for ever.
    """

    values: dict[str, str] = field(repr=False)
    secret_keys: frozenset[str]
    ttl_ms: int | None
    unresolved: tuple[Unresolved, ...] = ()


class Resolver:
    """Replaces the variables of configurations, with the providers of one worker."""

    def __init__(self, providers: Mapping[str, ConfigProvider]) -> None:
        self._providers = dict(providers)

    @classmethod
    def from_worker_config(
        cls, worker: Mapping[str, str], known: Mapping[str, type[ConfigProvider]] = BUILT_IN
    ) -> Self:
        """Make the providers that `config.providers` of the worker names; `known` are the classes it may name.

        Raises:
            ConfigError: a provider has no class, an unknown one, or wrong parameters.
        """
        providers: dict[str, ConfigProvider] = {}
        for alias in filter(None, (part.strip() for part in worker.get("config.providers", "").split(","))):
            key = f"config.providers.{alias}.class"
            if not (name := worker.get(key, "").strip()):
                raise ConfigError(key, f'it is missing, but config.providers names "{alias}"; add {key}=<class name>')
            if name not in known:
                choice = ", ".join(sorted(provider.__name__ for provider in set(known.values())))
                raise ConfigError(key, f'there is no config provider "{name}"; there are {choice}')
            prefix = f"config.providers.{alias}.param."
            params = {key.removeprefix(prefix): value for key, value in worker.items() if key.startswith(prefix)}
            providers[alias] = known[name]()
            try:
                providers[alias].configure(params)
            except ProviderError as error:
                raise ConfigError(prefix + error.param, str(error)) from error
        return cls(providers)

    def resolve(self, config: Mapping[str, str]) -> Resolved:
        """Replace every variable. What a provider finds is not searched for variables again.

        Raises:
            ConfigError: a provider cannot look up what a key asks for.
        """
        found = self._look_up(config)
        values, secret, unresolved = {}, set(), []
        for key, value in config.items():

            def replacement(match: re.Match[str], key: str = key) -> str:
                alias, path, name = match[1], match[2] or "", match[3]
                data = found.get((alias, path))
                if data and name in data.values:
                    secret.add(key)
                    return data.values[name]
                if advice := _advice(alias, path, name, data):
                    unresolved.append(Unresolved(key, f"{match[0]} stays as written: {advice}"))
                return match[0]

            values[key] = _VARIABLE.sub(replacement, value)
        ttl_ms = min((data.ttl_ms for data in found.values() if data.ttl_ms is not None), default=None)
        return Resolved(values, frozenset(secret), ttl_ms, tuple(unresolved))

    def _look_up(self, config: Mapping[str, str]) -> dict[tuple[str, str], ProviderData]:
        """Ask each provider once for each path."""
        wanted: dict[tuple[str, str], set[str]] = {}
        asked_by: dict[tuple[str, str], str] = {}
        for key, value in config.items():
            for match in _VARIABLE.finditer(value):
                if match[1] in self._providers:
                    place = match[1], match[2] or ""
                    wanted.setdefault(place, set()).add(match[3])
                    asked_by.setdefault(place, key)
        found = {}
        for (alias, path), names in wanted.items():
            try:
                found[alias, path] = self._providers[alias].get(path, frozenset(names))
            except ProviderError as error:
                raise ConfigError(asked_by[alias, path], f'config provider "{alias}": {error}') from error
        return found

    def close(self) -> None:
        """Close all providers."""
        for provider in self._providers.values():
            provider.close()


def _advice(alias: str, path: str, name: str, data: ProviderData | None) -> str:
    """Why a variable was not replaced; "" where the text may be meant as it is."""
    if data:
        return data.note or f'config provider "{alias}" finds no "{name}"' + (f" in {path}" if path else "")
    if provider := _USUAL_ALIASES.get(alias):
        return (
            f'no config provider "{alias}" is declared; add to the worker\'s properties '
            f"config.providers={alias} and config.providers.{alias}.class={JAVA_PACKAGE}{provider.__name__}"
        )
    return ""
