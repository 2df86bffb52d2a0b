"""Variables in configurations: `${alias:path:key}` is replaced by a config provider's value.

    config.providers=file,env
    config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
    config.providers.file.param.allowed.paths=/etc/connect
    config.providers.env.class=EnvVarConfigProvider

In Kafka a variable without a value stays as written, and is used as it is. Here it is an error: neither a password nor
a topic can be meant to read `${file:...}`.

https://kafka.apache.org/documentation/#config_providers (KIP-297)
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

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
from connect.settings.raw import comma_separated, prefixed
from connect.settings.variables import Variable, variables

# The aliases that everybody gives to Kafka's own providers: written without being declared, they were forgotten.
_USUAL_ALIASES: Final = {"file": FileConfigProvider, "directory": DirectoryConfigProvider, "env": EnvVarConfigProvider}
#: So many places one configuration may have looked into: each may be a file, or a question over the network.
MOST_PLACES: Final = 250
#: So many characters may come from providers into one configuration. One file may be named any number of times.
MOST_CHARACTERS: Final = 4 << 20


@dataclass(frozen=True)
class Unresolved:
    """An error of a variable, or of the declaration of a provider, and what to do about it.

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
    """A configuration with its variables replaced, as far as possible.

    Attributes:
        values: of all keys. An unresolved one is replaced only in part, and must neither be used nor shown.
        secret_keys: the keys whose value came from a provider, wholly or in part: never to be shown.
        unresolved: those without a value.
    """

    values: dict[str, str] = field(repr=False)
    secret_keys: frozenset[str]
    unresolved: tuple[Unresolved, ...] = ()

    @property
    def unusable(self) -> frozenset[str]:
        """The keys whose values must not be used."""
        return frozenset(missing.key for missing in self.unresolved)

    def usable(self) -> Resolved:
        """Only what has a value."""
        unusable = self.unusable
        values = {key: value for key, value in self.values.items() if key not in unusable}
        return Resolved(values, self.secret_keys - unusable)

    def check(self, matters: Callable[[str], bool] = lambda _: True) -> None:
        """Raise ConfigError if a key that matters has no value; the error is about the first, and lists all."""
        missing = [each for each in self.unresolved if matters(each.key)]
        if missing:
            first, *others = missing
            told = [first.message, *(f"{each.key}: {each.message}" for each in others)]
            raise ConfigError(first.key, "; ".join(told))


class Resolver:
    """Replaces the variables of configurations, with the providers of one worker.

    Args:
        providers: by their aliases.
        wrong: the errors of declarations, by their aliases.
    """

    def __init__(self, providers: Mapping[str, ConfigProvider], wrong: Mapping[str, Unresolved] | None = None) -> None:
        self._providers = dict(providers)
        self._wrong = dict(wrong or {})

    @property
    def problems(self) -> list[Unresolved]:
        """The errors of the worker's declarations. With any of them the worker must not start."""
        return list(self._wrong.values())

    @property
    def doubts(self) -> list[tuple[str, str]]:
        """Missing recommended parameters of the worker's providers: the key and the message."""
        found = ((alias, provider.doubt) for alias, provider in self._providers.items())
        return [(f"config.providers.{alias}.param.{doubt[0]}", doubt[1]) for alias, doubt in found if doubt]

    @classmethod
    def from_worker_config(
        cls, worker: Mapping[str, str], known: Mapping[str, type[ConfigProvider]] = BUILT_IN
    ) -> Self:
        """Create the providers that `config.providers` of the worker names; `known` are the classes it may name.

        One that has no class, an unknown one, or wrong parameters is among the `problems`.
        """
        providers: dict[str, ConfigProvider] = {}
        wrong: dict[str, Unresolved] = {}
        for alias in comma_separated(worker.get("config.providers")):
            try:
                providers[alias] = _provider(alias, worker, known)
            except ConfigError as error:
                wrong[alias] = Unresolved(error.key, error.message)
        return cls(providers, wrong)

    def resolve(self, config: Mapping[str, str]) -> Resolved:
        """Replace every variable. Values of providers are not searched for variables again."""
        found, failed = self._look_up(config)
        values, secret, unresolved = {}, set(), []
        left = MOST_CHARACTERS
        for key, value in config.items():
            parts, at = [], 0
            for variable in _named(value):
                alias, path, name = variable.alias, variable.path, variable.key
                data = found.get((alias, path))
                why = failed.get((alias, path))
                if data and name in data.values:
                    left -= len(data.values[name])
                    if left >= 0:
                        secret.add(key)
                        parts += [value[at : variable.begin], data.values[name]]
                        at = variable.end
                        continue
                    why = f"providers gave more than {MOST_CHARACTERS:,} characters before it; look up less"
                written = value[variable.begin : variable.end]
                advice = why or self._advice(alias, path, name, data)
                unresolved.append(Unresolved(key, f"{written} has no value: {advice}", failed=why is not None))
            values[key] = "".join([*parts, value[at:]])
        return Resolved(values, frozenset(secret), tuple(unresolved))

    def _look_up(
        self, config: Mapping[str, str]
    ) -> tuple[dict[tuple[str, str], ProviderData], dict[tuple[str, str], str]]:
        """Ask each provider once for each path: the results, and why some failed."""
        wanted: dict[tuple[str, str], set[str]] = {}
        for value in config.values():
            for variable in _named(value):
                if variable.alias in self._providers:
                    wanted.setdefault((variable.alias, variable.path), set()).add(variable.key)
        found: dict[tuple[str, str], ProviderData] = {}
        failed: dict[tuple[str, str], str] = {}
        for (alias, path), names in wanted.items():
            if len(found) + len(failed) >= MOST_PLACES:
                failed[alias, path] = (
                    f"a configuration may look into {MOST_PLACES} places at most; put more values into one of them"
                )
                continue
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


def _named(value: str) -> Iterator[Variable]:
    """The variables that name a provider: `${:x}` is none, and stays as it is written, as in Kafka."""
    return (variable for variable in variables(value) if variable.alias)


def _provider(alias: str, worker: Mapping[str, str], known: Mapping[str, type[ConfigProvider]]) -> ConfigProvider:
    key = f"config.providers.{alias}.class"
    if not (name := worker.get(key, "").strip()):
        raise ConfigError(key, f'it is missing, but config.providers names "{alias}"; add {key}=<class name>')
    if name not in known:
        choice = ", ".join(sorted(provider.__name__ for provider in set(known.values())))
        raise ConfigError(key, f'there is no config provider "{name}"; there are {choice}')
    prefix = f"config.providers.{alias}.param."
    params = prefixed(worker, prefix)
    provider = known[name]()
    try:
        provider.configure(params)
    except ProviderError as error:
        raise ConfigError(prefix + error.param, str(error)) from error
    return provider
