"""Secrets that no config provider gave: they stand in a configuration, and are hidden like those of providers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from connect.settings import Definition
from connect.settings.setting import Kind
from connect.telemetry.redaction import names_a_secret


def clear_secrets(declared: Definition, config: Mapping[str, str]) -> Iterator[str]:
    """The values of keys that a connector declares as PASSWORD, and of undeclared ones whose names say it.

    What also stands in a key that everybody is shown is left out: with `postgres` as user and as password, messages
    that name the user stay readable.

    Args:
        declared: the connector's settings.
        config: its configuration or that of a task, variables filled in.
    """
    named = declared.named(config)
    secret = {key for key in named if (declared[key].kind is Kind.PASSWORD if key in declared else names_a_secret(key))}
    shown = {"true", "false", *(value for key, value in named.items() if key not in secret)}
    return (value for key, value in named.items() if key in secret and value and value not in shown)
