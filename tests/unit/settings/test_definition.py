from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError, settings
from connect.settings import Kind, Recommender, Secret, Setting
from connect.settings.definition import text

ONE_OF_EACH = settings.define(*(Setting(kind.value, kind) for kind in Kind))


def refused(setting: Setting, raw: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        setting.parse(raw)
    assert raised.value.key == setting.name
    return raised.value.message


@pytest.mark.parametrize(
    ("setting", "written", "value"),
    [
        (settings.Boolean("k"), " TRUE ", True),
        (settings.Boolean("k"), "false", False),
        (settings.Int("k"), " -12 ", -12),
        (settings.Int("k"), "+7", 7),
        (settings.Int("k"), "0" * 5000 + "3", 3),
        (settings.Short("k"), "32767", 32767),
        (settings.Long("k"), str(-(2**63)), -(2**63)),
        (settings.Double("k"), "1e3", 1000.0),
        (settings.String("k"), "  a b ", "a b"),
        (settings.List("k"), " a, b ,c", ["a", "b", "c"]),
        (settings.List("k"), "  ", []),
        (settings.List("k"), "a,,b", ["a", "", "b"]),
        (settings.Class("k"), " org.Some ", "org.Some"),
        (settings.Password("k"), " s3cret ", Secret("s3cret")),
    ],
)
def test_a_value_is_read_by_its_type(setting: Setting, written: str, value: Any) -> None:
    assert setting.parse(written) == value


@pytest.mark.parametrize(
    ("setting", "written", "advice"),
    [
        (settings.Boolean("k"), "yes", "Write true or false."),
        (settings.Int("k"), "3k", "Write 3000."),
        (settings.Int("k"), "1_000", "Write 1000."),
        (settings.Int("k"), "5.0", "Write 5."),
        (settings.Int("k"), "0x10", '"0x10" is not a whole number.'),
        (settings.Int("k"), "٣", "is not a whole number."),
        (settings.Int("k"), True, "is not a whole number."),
        (settings.Int("k"), "", '"" is not a whole number.'),
        (settings.Int("k"), str(2**31), "out of range"),
        (settings.Short("k"), "-32769", "out of range"),
        (settings.Long("k"), "9" * 5000, "out of range"),
        (settings.Double("k"), "1_0", '"1_0" is not a number.'),
        (settings.Double("k"), True, "is not a number."),
    ],
)
def test_what_is_not_of_the_type_is_refused_with_advice(setting: Setting, written: Any, advice: str) -> None:
    assert advice in refused(setting, written)


def test_no_number_is_proposed_that_would_be_refused() -> None:
    assert "Write" not in refused(settings.Short("k"), "1e300")
    assert "Write" not in refused(settings.Int("k"), "nan")


def test_a_number_of_thousands_of_digits_is_not_repeated_in_full() -> None:
    assert len(refused(settings.Long("k"), "9" * 5000)) < 200


@given(st.dictionaries(st.sampled_from([kind.value for kind in Kind]), st.text() | st.integers() | st.none()))
def test_validation_never_raises_and_agrees_with_parsing(raw: dict[str, Any]) -> None:
    errors = {found.name: found.errors for found in ONE_OF_EACH.validate(raw)}
    assert list(errors) == [setting.name for setting in ONE_OF_EACH]
    if not any(errors.values()):
        ONE_OF_EACH.parse(raw)
        return
    with pytest.raises(ConfigError) as raised:
        ONE_OF_EACH.parse(raw)
    assert errors[raised.value.key] == [raised.value.message]


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_whole_number_is_read_as_it_is_written(number: int) -> None:
    assert settings.Long("k").parse(text(number)) == number


def test_a_key_with_the_value_none_is_not_set() -> None:
    definition = settings.define(settings.String("must"), settings.Int("may", default=3))
    assert definition.parse({"must": "x", "may": None})["may"] == 3
    with pytest.raises(ConfigError, match='key "must": is required'):
        definition.parse({"must": None})


def test_all_errors_are_found_at_once() -> None:
    definition = settings.define(
        settings.String("must"),
        settings.Int("count", default=1, validator=settings.at_least(1)),
        settings.String("mode", default="a", validator=settings.one_of("a", "b")),
        settings.Int("fine", default=7),
    )
    found = {value.name: value for value in definition.validate({"count": "0", "mode": "c"})}
    assert found["must"].errors == ["is required and has no default."]
    assert found["count"].errors == ["0 is too small; the least is 1."]
    assert found["mode"].errors == ['"c" is not one of a, b.']
    assert (found["mode"].value, found["fine"].value, found["fine"].errors) == ("c", "7", [])


def test_unknown_keys_are_let_through() -> None:
    config = settings.define(settings.Int("a", default=1)).parse({"b": "x", "b.c": "y"})
    assert dict(config) == {"a": 1}
    assert config.prefixed("b.") == {"c": "y"}


def test_a_password_is_shown_nowhere() -> None:
    def picky(name: str, value: Secret) -> None:
        if len(value.reveal()) < 20:
            raise ValueError("is too short.")

    definition = settings.define(
        settings.Password("good"),
        settings.Password("short", validator=picky),
        settings.Password("preset", default="pr3set"),
    )
    raw = {"good": "s3cret", "short": "s3cret"}
    found = definition.validate(raw)
    assert [value.value for value in found] == ["[hidden]", None, "[hidden]"]
    shown = f"{found} {definition['preset']} {[definition['good'].parse('s3cret')]}"
    assert "s3cret" not in shown
    assert "pr3set" not in shown
    assert definition.parse({"good": "s3cret", "short": "x" * 20})["preset"].reveal() == "pr3set"


def test_a_validator_with_an_error_of_its_own_is_named_and_stops_nothing() -> None:
    def broken(name: str, value: Any) -> None:
        raise KeyError("oops")

    definition = settings.define(settings.String("a", validator=broken), settings.Int("b"))
    first, second = definition.validate({"a": "x", "b": "y"})
    assert "its validator failed: KeyError: 'oops'" in first.errors
    assert second.errors


class Units(Recommender):
    def valid_values(self, name: str, config: Mapping[str, Any]) -> list[Any]:
        return ["ms", "s"] if config["kind"] == "time" else []

    def visible(self, name: str, config: Mapping[str, Any]) -> bool:
        return config["kind"] == "time"


def test_a_recommender_sees_the_other_values() -> None:
    definition = settings.define(
        settings.String("unit", default=None, recommender=Units()), settings.String("kind", default="time")
    )
    unit, _ = definition.validate({})
    assert (unit.recommended, unit.visible) == (["ms", "s"], True)
    unit, _ = definition.validate({"kind": "mass"})
    assert (unit.recommended, unit.visible) == ([], False)


@pytest.mark.parametrize("returned", [None, 3, KeyError("kind")])
def test_a_recommender_that_fails_is_an_error_of_its_key(returned: Any) -> None:
    class Broken(Recommender):
        def valid_values(self, name: str, config: Mapping[str, Any]) -> list[Any]:
            if isinstance(returned, Exception):
                raise returned
            return returned

    found, other = settings.define(
        settings.String("a", default="", recommender=Broken()), settings.String("b", default="")
    ).validate({})
    assert found.errors[0].startswith("its recommender failed: ")
    assert not other.errors


def test_a_list_that_is_changed_does_not_change_the_default() -> None:
    definition = settings.define(settings.List("a", default=["x"]))
    definition.parse({})["a"].append("y")
    assert definition.parse({})["a"] == ["x"]


def test_a_setting_is_declared_once() -> None:
    with pytest.raises(ValueError, match="Setting a is declared twice"):
        settings.define(settings.Int("a"), settings.Int("a"))


def test_of_two_definitions_the_second_wins() -> None:
    both = settings.define(settings.Int("a", default=1), settings.Int("b", default=1)) | settings.define(
        settings.Int("a", default=2)
    )
    assert dict(both.parse({})) == {"a": 2, "b": 1}


def test_one_setting_is_replaced_and_only_one_that_is_there() -> None:
    definition = settings.define(settings.Int("a", default=1), settings.Int("b", default=1))
    assert dict(definition.replaced("a", default=5).parse({})) == {"a": 5, "b": 1}
    with pytest.raises(KeyError):
        definition.replaced("c", default=5)


@pytest.mark.parametrize(
    ("validator", "good", "bad"),
    [
        (settings.non_empty, "x", ""),
        (settings.one_of("A", "b", ignore_case=True), "a", "c"),
        (settings.one_of("A"), "A", "a"),
        (settings.at_least(1), 1, 0),
        (settings.between(1, 3), 3, 4),
    ],
)
def test_a_validator_says_no_with_a_value_error(validator: settings.Validator, good: Any, bad: Any) -> None:
    validator("k", good)
    with pytest.raises(ValueError, match=r"\.$"):
        validator("k", bad)


def test_choices_are_named_without_the_empty_one() -> None:
    definition = settings.define(settings.String("mode", default="", validator=settings.one_of("", "bulk", "snapshot")))
    (value,) = definition.validate({"mode": "timestamps"})
    assert value.errors == ['"timestamps" is not one of bulk, snapshot.']
