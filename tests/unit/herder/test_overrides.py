"""Which client settings a connector may override (KIP-458, KIP-1188)."""

import pytest

from connect.errors import PluginNotFoundError
from connect.herder.checks import load_policy, refused
from connect.plugins import Plugins

CONFIG = {"producer.override.sasl.jaas.config": "x", "producer.override.linger.ms": "5", "name": "orders"}


@pytest.mark.parametrize(
    ("worker", "at_fault"),
    [
        ({}, []),
        ({"connector.client.config.override.policy": "All"}, []),
        ({"connector.client.config.override.policy": "Principal"}, ["producer.override.linger.ms"]),
        (
            {"connector.client.config.override.policy": "None"},
            ["producer.override.sasl.jaas.config", "producer.override.linger.ms"],
        ),
        (
            {
                "connector.client.config.override.policy": "Allowlist",
                "connector.client.config.override.allowlist": "linger.ms, acks",
            },
            ["producer.override.sasl.jaas.config"],
        ),
    ],
)
def test_the_policy_decides(worker: dict[str, str], at_fault: list[str]) -> None:
    policy = load_policy(Plugins.discover(), worker)
    assert [key for key, _ in refused(policy, "orders", "source", CONFIG)] == at_fault


def test_an_unknown_policy_is_said() -> None:
    with pytest.raises(PluginNotFoundError):
        load_policy(Plugins.discover(), {"connector.client.config.override.policy": "Nobody"})
