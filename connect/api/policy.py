"""Which client settings a connector may override (KIP-458, KIP-1188).

Operator code: it runs in the worker's process.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from connect.api.plugin import Configurable
from connect.settings import ConfigValue


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
    """Says yes or no to each override, when a connector is validated."""

    @abstractmethod
    def validate(self, request: ClientConfigRequest) -> list[ConfigValue]:
        """One entry for each override, with an error where it is refused."""


class AllOverrides(ClientConfigOverridePolicy):
    """Allows every override. The default."""

    def validate(self, request: ClientConfigRequest) -> list[ConfigValue]:
        return [ConfigValue(key, value) for key, value in request.overrides.items()]


class _Refusing(ClientConfigOverridePolicy):
    allowed: frozenset[str] = frozenset()

    def validate(self, request: ClientConfigRequest) -> list[ConfigValue]:
        return [
            ConfigValue(
                key,
                value,
                []
                if key in self.allowed
                else [f"may not be overridden here: the worker's policy is {type(self).__name__}."],
            )
            for key, value in request.overrides.items()
        ]


class NoOverrides(_Refusing):
    """Refuses every override."""


class PrincipalOverrides(_Refusing):
    """Allows the settings that say who a connector is: sasl.jaas.config, sasl.mechanism, security.protocol."""

    allowed = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})
