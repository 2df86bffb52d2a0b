"""Variables in configurations: `${alias:path:key}` becomes what a config provider finds there.

    config.providers=file,env
    config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
    config.providers.file.param.allowed.paths=/etc/connect
    config.providers.env.class=EnvVarConfigProvider

In Kafka what no provider finds stays as written, and is used as it is. Here it is an error: a password that reads
`${file:...}` helps nobody, and neither does a topic.

https://kafka.apache.org/documentation/#config_providers (KIP-297)
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
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
_VARIABLE = re.compile(r"\$\{([^}:]+):(?:([^}]*?):)?([^}]*?)\}")


@dataclass(frozen=True)
class Unresolved:
    """What is wrong with a variable, or with the declaration of a provider, and what to do about it.

    Attributes:
        key: that has it.
        message: why there is no value.
        failed: the provider could not look it up at all. In Kafka that is an error too.
    """

    key: str
    message: str
    failed: bool = False


@dataclass(frozen=True)
class Resolved:
    """A configuration with its variables replaced, as far as they could be.

    Attributes:
        values: of all keys. One that is unresolved is replaced in part only, and neither to be used nor shown.
        secret_keys: the keys whose value came from a provider, wholly or in part: never to be shown.
        unresolved: what has no value.
    """

    values: dict[str, str] = field(repr=False)
    secret_keys: frozenset[str]
    unresolved: tuple[Unresolved, ...] = ()

    @property
    def unusable(self) -> frozenset[str]:
        """The keys whose values are not to be used."""
        return frozenset(missing.key for missing in self.unresolved)

    def usable(self) -> Resolved:
        """Only what has a value."""
        values = {key: value for key, value in self.values.items() if key not in self.unusable}
        return Resolved(values, self.secret_keys - self.unusable)

    def check(self, matters: Callable[[str], bool] = lambda _: True) -> None:
        """Raise ConfigError where one of the keys that matter has no value; for the first, all that is missing told."""
        missing = [each for each in self.unresolved if matters(each.key)]
        if missing:
            first, *others = missing
            told = [first.message, *(f"{each.key}: {each.message}" for each in others)]
            raise ConfigError(first.key, "; ".join(told))


class Resolver:
    """Replaces the variables of configurations, with the providers of one worker.

    Args:
        providers: by their aliases.
        wrong: what is wrong with the declarations of others, by their aliases.
    """

    def __init__(self, providers: Mapping[str, ConfigProvider], wrong: Mapping[str, Unresolved] | None = None) -> None:
        self._providers = dict(providers)
        self._wrong = dict(wrong or {})

    @property
    def problems(self) -> list[Unresolved]:
        """What is wrong with the worker's declarations. Nothing is to be started with them."""
        return list(self._wrong.values())

    @classmethod
    def from_worker_config(
        cls, worker: Mapping[str, str], known: Mapping[str, type[ConfigProvider]] = BUILT_IN
    ) -> Self:
        """Make the providers that `config.providers` of the worker names; `known` are the classes it may name.

        One that has no class, an unknown one, or wrong parameters is among the `problems`.
        """
        providers: dict[str, ConfigProvider] = {}
        wrong: dict[str, Unresolved] = {}
        for alias in filter(None, (part.strip() for part in worker.get("config.providers", "").split(","))):
            try:
                providers[alias] = _provider(alias, worker, known)
            except ConfigError as error:
                wrong[alias] = Unresolved(error.key, error.message)
        return cls(providers, wrong)

    def resolve(self, config: Mapping[str, str]) -> Resolved:
        """Replace every variable. What a provider finds is not searched for variables again."""
        found, failed = self._look_up(config)
        values, secret, unresolved = {}, set(), []
        for key, value in config.items():

            def replacement(match: re.Match[str], key: str = key) -> str:
                alias, path, name = match[1], match[2] or "", match[3]
                data = found.get((alias, path))
                if data and name in data.values:
                    secret.add(key)
                    return data.values[name]
                why = failed.get((alias, path))
                advice = why or self._advice(alias, path, name, data)
                unresolved.append(Unresolved(key, f"{match[0]} has no value: {advice}", failed=why is not None))
                return match[0]

            values[key] = _VARIABLE.sub(replacement, value)
        return Resolved(values, frozenset(secret), tuple(unresolved))

    def _look_up(
        self, config: Mapping[str, str]
    ) -> tuple[dict[tuple[str, str], ProviderData], dict[tuple[str, str], str]]:
        """Ask each provider once for each path: what they found, and why some could not look."""
        wanted: dict[tuple[str, str], set[str]] = {}
        for value in config.values():
            for match in _VARIABLE.finditer(value):
                if match[1] in self._providers:
                    wanted.setdefault((match[1], match[2] or ""), set()).add(match[3])
        found, failed = {}, {}
        for (alias, path), names in wanted.items():
            try:
                found[alias, path] = self._providers[alias].get(path, frozenset(names))
            except ProviderError as error:
                failed[alias, path] = f'config provider "{alias}": {error}'
        return found, failed

    def _advice(self, alias: str, path: str, name: str, data: ProviderData | None) -> str:
        """Why a variable was not replaced, and what to do."""
        if data:
            return data.note or f'config provider "{alias}" finds no "{name}"' + (f" in {path}" if path else "")
        if alias in self._wrong:
            return f'config provider "{alias}" is not declared as it should be; see {self._wrong[alias].key}'
        near = difflib.get_close_matches(alias.strip().lower(), self._providers, 1)
        if near:
            return f'no config provider "{alias}" is declared; did you mean {near[0]}?'
        named = _USUAL_ALIASES.get(alias)
        return (
            f'no config provider "{alias}" is declared; add to the worker\'s properties config.providers={alias} and '
            f"config.providers.{alias}.class={f'{JAVA_PACKAGE}{named.__name__}' if named else '<its class>'}"
        )

    def close(self) -> None:
        """Close all providers."""
        for provider in self._providers.values():
            provider.close()


def _provider(alias: str, worker: Mapping[str, str], known: Mapping[str, type[ConfigProvider]]) -> ConfigProvider:
    key = f"config.providers.{alias}.class"
    if not (name := worker.get(key, "").strip()):
        raise ConfigError(key, f'it is missing, but config.providers names "{alias}"; add {key}=<class name>')
    if name not in known:
        choice = ", ".join(sorted(provider.__name__ for provider in set(known.values())))
        raise ConfigError(key, f'there is no config provider "{name}"; there are {choice}')
    prefix = f"config.providers.{alias}.param."
    params = {key.removeprefix(prefix): value for key, value in worker.items() if key.startswith(prefix)}
    provider = known[name]()
    try:
        provider.configure(params)
    except ProviderError as error:
        raise ConfigError(prefix + error.param, str(error)) from error
    return provider
