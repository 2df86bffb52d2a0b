"""Which keys of a connector's configuration are secret, and what may be shown of it.

Secret is what a plug-in of the configuration declares as PASSWORD; of keys that nobody declares, those whose name says
so; and passwords inside of addresses and lists of settings. Variables of config providers are not secrets.
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
    """A plug-in that a configuration names, and how its keys begin there."""

    prefix: str
    name: str
    version: str | None


class Declared(NamedTuple):
    """The keys that plug-ins declare.

    Attributes:
        known: all of them.
        secret: those that are PASSWORD.
        untold: how keys begin of plug-ins that only a config provider names: any of them may be secret.
    """

    known: frozenset[str]
    secret: frozenset[str]
    untold: tuple[str, ...] = ()

    def is_secret(self, key: str) -> bool:
        """Whether its value is not to be shown, whatever it is."""
        if key in self.secret:
            return True
        return key not in self.known and (names_a_secret(key) or key.startswith(self.untold))

    def shown(self, config: Mapping[str, str]) -> dict[str, str]:
        """A configuration as it may be read."""
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
    """Of one plug-in, from what `plugin_settings` says of it."""
    return Declared(frozenset(key.name for key in keys), frozenset(key.name for key in keys if key.type == "PASSWORD"))


def together(plugins: Iterable[tuple[NamedPlugin, Declared]]) -> Declared:
    """Of a whole configuration, from what each of its plug-ins declares."""
    known, secret = set(_OF_EVERY_CONNECTOR), set()
    untold = []
    for plugin, own in plugins:
        known |= {plugin.prefix + key for key in own.known}
        secret |= {plugin.prefix + key for key in own.secret}
        if any(variables(plugin.name)):
            untold.append(plugin.prefix)
    return Declared(frozenset(known), frozenset(secret), tuple(untold))


def refuse_masks(worker: Worker, config: Mapping[str, str]) -> None:
    """See that no mask stands where a secret belongs: with it the connector could only fail to log in.

    It comes there through a worker of Java, which knows of no masks and stores what was read from one of ours.

    Args:
        config: a connector's as it is stored, or as it was when its tasks were cut.

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
