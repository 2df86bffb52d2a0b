"""User and password of a Kafka client's `sasl.jaas.config`, for servers beside the brokers that take the same login."""

from __future__ import annotations

from collections.abc import Mapping

from connect.kafka._java_rules import ClientSettingError, Computed
from connect.kafka._security_keys import SECURITY


def client_login(java: Mapping[str, str]) -> tuple[str, str]:
    """User and password of PLAIN or SCRAM.

    Raises:
        ClientSettingError: there is no login of that kind. Its message shows nothing of it.
    """
    key = "sasl.jaas.config"
    value = java.get(key)
    rule = SECURITY[key]
    assert isinstance(rule, Computed)
    found = rule.entries(key, value, java) if value else {}
    if "sasl.username" not in found:
        raise ClientSettingError(key, "it holds no username and password, which are asked for here")
    return found["sasl.username"], found.get("sasl.password", "")
