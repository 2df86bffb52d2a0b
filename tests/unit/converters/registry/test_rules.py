"""Rules in a schema (data contracts) are never passed over."""

from typing import Any, cast

import pytest

from connect.converters.registry import RegistryClient, RegistrySchema
from connect.converters.registry.client import AVRO
from connect.converters.registry.http import RegistryHttp
from connect.errors import ConfigError


class Answering:
    """A registry whose every answer is this schema."""

    def __init__(self, rules: Any) -> None:
        self._answer = {"id": 1, "version": 1, "schema": '"string"', "ruleSet": rules}

    def get(self, path: str) -> Any:
        return self._answer

    def post(self, path: str, body: Any) -> Any:
        return self._answer


def client(rules: Any) -> RegistryClient:
    return RegistryClient(cast("RegistryHttp", Answering(rules)))


@pytest.mark.parametrize("kind", ["domainRules", "encodingRules"])
def test_a_schema_with_rules_is_refused(kind: str) -> None:
    rules = {kind: [{"name": "hide", "type": "ENCRYPT", "mode": "WRITEREAD"}]}
    for ask in (
        lambda: client(rules).schema_by_id(1),
        lambda: client(rules).latest("orders-value"),
        lambda: client(rules).version("orders-value", 1),
        lambda: client(rules).register("orders-value", RegistrySchema(AVRO, '"string"')),
    ):
        with pytest.raises(ConfigError, match='the rule "hide" of type ENCRYPT'):
            ask()


@pytest.mark.parametrize("rules", [None, {}, {"domainRules": [{"name": "hide", "type": "ENCRYPT", "disabled": True}]}])
def test_a_schema_without_rules_that_count_is_taken(rules: Any) -> None:
    assert client(rules).schema_by_id(1).text == '"string"'
