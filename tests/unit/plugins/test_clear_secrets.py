"""Secrets that stand in clear in a configuration."""

from connect.plugins.clear_secrets import clear_secrets
from connectors.jdbc.source.connector import JdbcSourceConnector

DECLARED = JdbcSourceConnector.settings


def secrets(**config: str) -> set[str]:
    return set(clear_secrets(DECLARED, {key.replace("_", "."): value for key, value in config.items()}))


def test_declared_passwords_and_keys_whose_names_say_it():
    config = {"connection_password": "geheim", "producer_override_sasl_jaas_config": "a=b", "topic_prefix": "shop"}
    assert secrets(**config) == {"geheim", "a=b"}


def test_an_empty_password_is_none():
    assert secrets(connection_password="") == set()


def test_what_everybody_is_shown_is_no_secret():
    assert secrets(connection_user="postgres", connection_password="postgres") == set()


def test_a_switch_whose_name_sounds_like_a_secret_is_none():
    assert secrets(hide_password_values="true") == set()
