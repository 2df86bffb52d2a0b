"""Transformations and predicates declare the keys that Kafka Connect's declare, and refuse the same values."""

import random
from typing import Any

import pytest

from connect.settings.definition import ConfigValue, text
from tests.conformance.converters.oracle import Answer
from tests.support.java import Oracle

from .deliberate import OUR_OWN_KEYS, excused_value
from .generate import MAKERS, case
from .java import TRANSFORMS
from .ours import plugin_class


@pytest.mark.quick
@pytest.mark.parametrize("name", MAKERS)
def test_the_keys_are_declared_alike(java: Oracle, name: str) -> None:
    (answer,) = java.ask([{"op": "define", "class": TRANSFORMS + name}])
    ours = [_described(setting) for setting in plugin_class(TRANSFORMS + name).settings]
    extra = OUR_OWN_KEYS.get(name.partition("$")[0], set())
    assert [key for key in ours if key["name"] not in extra] == answer["keys"]
    assert extra <= {key["name"] for key in ours}


def _described(setting: Any) -> dict[str, Any]:
    return {
        "name": setting.name,
        "type": setting.kind.value,
        "required": setting.required,
        "default": None if setting.required else text(setting.default),
        "importance": setting.importance.value,
        "group": setting.group,
        "order": -1 if setting.order is None else setting.order,
        "width": setting.width,
        "displayName": setting.display_name or setting.name,
        "dependents": list(setting.dependents),
    }


@pytest.mark.parametrize("name", MAKERS)
def test_values_are_taken_and_refused_alike(java: Oracle, seed: int, name: str) -> None:
    chance = random.Random(f"{seed} {name}")
    configs = [config for _ in range(60) if None not in (config := case(chance, name, 2).config).values()]
    asked = [{"op": "validate", "class": TRANSFORMS + name, "config": config} for config in configs]
    extra = OUR_OWN_KEYS.get(name.partition("$")[0], set())
    for config, answer in zip(configs, java.ask(asked), strict=True):
        ours = {value.name: _found(value) for value in plugin_class(TRANSFORMS + name).settings.validate(config)}
        if "error" in answer:  # Java's validation itself dies of a value, such as the spec ":" of Cast
            assert any(our["said"] for our in ours.values()), config
            continue
        theirs = {value["name"]: _found_by_java(value) for value in answer["values"]}
        assert ours.keys() - extra == theirs.keys()
        for key, their in theirs.items():
            our = ours[key]
            said = our.pop("said") + their.pop("said")
            assert our == their or excused_value(name, key, said), f"{config}: {said}"


def _found(value: ConfigValue) -> dict[str, Any]:
    return {
        "name": value.name,
        "value": None if value.errors else value.value,
        "wrong": bool(value.errors),
        "recommended": [str(each) for each in value.recommended],
        "visible": value.visible,
        "said": "; ".join(value.errors),
    }


def _found_by_java(value: Answer) -> dict[str, Any]:
    return {
        "name": value["name"],
        "value": None if value["errors"] else value["value"],
        "wrong": value["errors"] > 0,
        "recommended": value["recommended"],
        "visible": value["visible"],
        "said": value["message"],
    }
