from __future__ import annotations

from collections.abc import Mapping

import pytest

from connect import ConfigError
from connect.kit import credentials_provider

KEY = "shop.credentials.provider.class"


class Vault:
    def configure(self, config: Mapping[str, str]) -> None:
        self.config = dict(config)
        self.asked = 0

    def credentials(self) -> tuple[str, int]:
        self.asked += 1
        return self.config["user"], self.asked


@pytest.mark.parametrize("separator", [":", "."])
def test_a_class_is_named_in_either_spelling_and_asked_each_time(separator: str) -> None:
    config = {"shop.credentials.provider.user": "me", "user": "another"}
    provider = credentials_provider(KEY, f"{__name__}{separator}Vault", config)
    assert [provider.credentials() for _ in range(2)] == [("me", 1), ("me", 2)]


@pytest.mark.parametrize("name", ["com.example.Vault", "Vault", "", ":", f"{__name__}:Nothing", f"{__name__}.Nothing"])
def test_a_class_that_cannot_be_loaded_is_told_at_its_key(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be loaded") as raised:
        credentials_provider(KEY, name, {})
    assert raised.value.key == KEY
    assert "Write module:Class" in raised.value.message
