"""Which keys of a connector's configuration are secret, and what of it may be shown.

Secret is what a plug-in of the configuration declares as PASSWORD; undeclared keys whose name suggests it; and
passwords inside of URLs and lists of settings. Variables of config providers are not secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from connect.errors import ConfigError
from connect.herder.errors import HerderError
from connect.herder.plugin_settings import plugin_settings
from connect.herder.worker import Worker
from connect.pipeline.findings import KeyDefinition
from connect.settings.connector_keys import SINK, SOURCE
from connect.settings.raw import comma_separated
from connect.settings.variables import variables
from connect.telemetry.redaction import MASK, names_a_secret, shown

_CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")
_OF_EVERY_CONNECTOR: Final = frozenset(setting.name for keys in (SOURCE, SINK) for setting in keys)
#: In the place of a mask: would it be masked where it stands?
_PROBE: Final = "Qz0secret0Qz"


class NamedPlugin(NamedTuple):
    """A plug-in that a configuration names, and the prefix of its keys."""

    prefix: str
    name: str
    version: str | None


class Declared(NamedTuple):
    """The keys that plug-ins declare.

    Attributes:
        known: all of them.
        secret: those that are PASSWORD.
        untold: prefixes of plug-ins whose class is a variable: any of their keys may be secret.
    """

    known: frozenset[str]
    secret: frozenset[str]
    untold: tuple[str, ...] = ()

    def is_secret(self, key: str) -> bool:
        """Whether its value must not be shown, whatever it is."""
        if key in self.secret:
            return True
        return key not in self.known and (names_a_secret(key) or key.startswith(self.untold))

    def shown(self, config: Mapping[str, str]) -> dict[str, str]:
        """A configuration as it may be shown."""
        return {key: shown(value, secret=self.is_secret(key)) for key, value in config.items()}


NOTHING: Final = Declared(frozenset(), frozenset())


def named_plugins(config: Mapping[str, str]) -> Iterator[NamedPlugin]:
    """Every plug-in in a configuration: the connector, its converters, transformations and predicates."""
    if name := config.get("connector.class"):
        yield NamedPlugin("", name, config.get("connector.plugin.version"))
    for key in _CONVERTERS:
        if name := config.get(key):
            yield NamedPlugin(f"{key}.", name, config.get(f"{key}.plugin.version"))
    for what in ("transforms", "predicates"):
        for alias in comma_separated(config.get(what)):
            prefix = f"{what}.{alias}."
            if name := config.get(f"{prefix}type"):
                yield NamedPlugin(prefix, name, config.get(f"{prefix}plugin.version"))


def declared(keys: Sequence[KeyDefinition]) -> Declared:
    """For one plug-in, from its `plugin_settings`."""
    return Declared(frozenset(key.name for key in keys), frozenset(key.name for key in keys if key.type == "PASSWORD"))


def together(plugins: Iterable[tuple[NamedPlugin, Declared]]) -> Declared:
    """For a whole configuration, from the declarations of its plug-ins."""
    known, secret = set(_OF_EVERY_CONNECTOR), set()
    untold = []
    for plugin, own in plugins:
        known |= {plugin.prefix + key for key in own.known}
        secret |= {plugin.prefix + key for key in own.secret}
        if any(variables(plugin.name)):
            untold.append(plugin.prefix)
    return Declared(frozenset(known), frozenset(secret), tuple(untold))


def refuse_masks(worker: Worker, config: Mapping[str, str]) -> None:
    """Refuse a configuration with a mask in place of a secret: the connector could not log in with it.

    Masks arrive through Java workers, which do not know them and store what was read from a Python worker.

    Args:
        config: a connector's as it is stored, or as it was when its task configurations were made.

    Raises:
        ConfigError: there is one.
    """
    masked = {key: value for key, value in config.items() if MASK in value}
    if not masked:
        return
    known = together((plugin, _declared(worker, plugin)) for plugin in named_plugins(config))
    for key, value in masked.items():
        if value.strip() == MASK:
            instead = known.is_secret(key) or key not in known.known
        else:
            instead = shown(value.replace(MASK, _PROBE), secret=False) == value
        if instead:
            raise ConfigError(
                key,
                f"{MASK} stands in place of the secret itself. Either a client read it here, where secrets are "
                f"masked, and a Java worker, which does not know masks, wrote it; or it came in a file. PUT the "
                f"configuration again with the secret, or with a variable of a config provider.",
            )


def _declared(worker: Worker, plugin: NamedPlugin) -> Declared:
    try:
        return declared(plugin_settings(worker, plugin.name, plugin.version))
    except HerderError:
        return NOTHING
