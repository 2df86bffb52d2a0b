"""Which client settings a connector may override (KIP-458, KIP-1188).

Operator code: it runs in the worker's process.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from connect.api.plugin import Configurable
from connect.settings import Config, ConfigValue, List, define


@dataclass(frozen=True, slots=True)
class ClientConfigRequest:
    """What a connector wants to override.

    Attributes:
        connector: its name.
        connector_type: "source" or "sink".
        client: "producer", "consumer" or "admin".
        overrides: the keys after `producer.override.` and so on, with their values.
    """

    connector: str
    connector_type: Literal["source", "sink"]
    client: Literal["producer", "consumer", "admin"]
    overrides: Mapping[str, str]


class ClientConfigOverridePolicy(Configurable):
    """Allows or refuses each override, when a connector is validated.

    It can only refuse more: settings that load code into a process or run a command are always refused.
    """

    @abstractmethod
    def validate(self, request: ClientConfigRequest) -> list[ConfigValue]:
        """One entry for each override, with an error where it is refused."""


class AllOverrides(ClientConfigOverridePolicy):
    """Allows every override. The default."""

    def validate(self, request: ClientConfigRequest) -> list[ConfigValue]:
        return [ConfigValue(key, value) for key, value in request.overrides.items()]


class _Refusing(ClientConfigOverridePolicy):
    name: ClassVar[str]
    allowed: Collection[str] = frozenset()

    def validate(self, request: ClientConfigRequest) -> list[ConfigValue]:
        said = f"may not be overridden by a connector here (connector.client.config.override.policy={self.name})."
        return [
            ConfigValue(key, value, [] if key in self.allowed else [said]) for key, value in request.overrides.items()
        ]


class NoOverrides(_Refusing):
    """Refuses every override."""

    name = "None"


class PrincipalOverrides(_Refusing):
    """Allows the settings of a connector's login: sasl.jaas.config, sasl.mechanism, security.protocol."""

    name = "Principal"
    allowed = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})


class AllowlistOverrides(_Refusing):
    """Allows the settings that the worker's file lists in connector.client.config.override.allowlist."""

    name = "Allowlist"
    settings = define(
        List(
            "connector.client.config.override.allowlist",
            default=[],
            doc="Client settings that a connector may override, separated by commas.",
        )
    )

    def configure(self, config: Config) -> None:
        self.allowed = frozenset(config["connector.client.config.override.allowlist"])
