"""Whether a connector may override the settings of its clients: connector.client.config.override.policy.

The policy is operator code and runs in the worker's process (see docs/security.md). KIP-458, KIP-1188.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from connect.api.policy import AllOverrides, ClientConfigOverridePolicy, ClientConfigRequest
from connect.plugins import PluginKind, Plugins, load

KEY = "connector.client.config.override.policy"

_Client = Literal["producer", "consumer", "admin"]
_CLIENTS: tuple[_Client, ...] = ("producer", "consumer", "admin")


def load_policy(plugins: Plugins, worker: Mapping[str, str]) -> ClientConfigOverridePolicy:
    """The policy that the worker's configuration names.

    Raises:
        PluginNotFoundError, PluginLoadError: there is none of this name, or it cannot be loaded.
        ConfigError: a setting of its own is wrong.
    """
    name = (worker.get(KEY) or "All").strip()
    policy: ClientConfigOverridePolicy = load(plugins.find(PluginKind.OVERRIDE_POLICY, name))()
    policy.configure(policy.settings.parse(worker))
    return policy


def refused(
    policy: ClientConfigOverridePolicy, name: str, kind: Literal["source", "sink"], config: Mapping[str, str]
) -> list[tuple[str, str]]:
    """The overrides that the policy refuses: each key as it stands in the configuration, and why."""
    if isinstance(policy, AllOverrides):
        return []
    found = []
    for client in _CLIENTS:
        prefix = f"{client}.override."
        overrides = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
        if not overrides:
            continue
        request = ClientConfigRequest(name, kind, client, overrides)
        for value in policy.validate(request):
            found += [(prefix + value.name, error) for error in value.errors]
    return found
