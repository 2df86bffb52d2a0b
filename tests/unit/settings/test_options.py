"""Settings as attributes of a class: types, values, inheritance, what others call them."""

import pickle
import re
from typing import assert_type

import pytest

from connect import ConfigError, settings


class Writing(
    settings.Options, aliases={"insert.table": "table"}, without_effect={"pool.*": "there is one connection"}
):
    batch_size = settings.Int("batch.size", default=10, validator=settings.at_least(1), doc="Rows.", group="Writing")
    pause = settings.Long("pause.ms", default=1500, convert=settings.seconds)
    table = settings.String("table", default=None)


class Network(settings.Options):
    url = settings.String("url")
    password = settings.Password("password", default=None)


def _pattern(written: str) -> re.Pattern[str]:
    try:
        return re.compile(written)
    except re.error as error:
        raise ValueError(f'"{written}" is not a pattern: {error}.') from None


class SinkOptions(Network, Writing):
    batch_size = Writing.batch_size.replaced(default=500)
    topics = settings.String("topics", default="a.*", convert=_pattern)
    fields = settings.List("fields", default=[], convert=frozenset[str])


def test_values_are_attributes_with_their_types() -> None:
    options = SinkOptions.parse({"url": "http://x", "insert.table": "t", "pause.ms": "20", "fields": "a,b"})
    assert assert_type(options.url, str) == "http://x"
    assert assert_type(options.batch_size, int) == 500
    assert assert_type(options.pause, float) == 0.02
    assert assert_type(options.table, str | None) == "t"
    assert assert_type(options.password, settings.Secret | None) is None
    assert assert_type(options.topics, re.Pattern[str]).pattern == "a.*"
    assert assert_type(options.fields, frozenset[str]) == {"a", "b"}
    assert_type(SinkOptions.pause, settings.Setting[float])


def test_an_instance_holds_its_values_itself_so_that_reading_one_calls_nothing() -> None:
    options = Writing.parse({})
    assert vars(options)["batch_size"] == 10
    assert vars(pickle.loads(pickle.dumps(options)))["pause"] == 1.5


def test_the_definition_is_what_define_makes() -> None:
    definition = SinkOptions.definition()
    assert [each.name for each in definition] == [
        "url", "password", "batch.size", "pause.ms", "table", "topics", "fields",
    ]  # fmt: skip
    assert definition["batch.size"].default == 500
    assert definition["batch.size"].group == "Writing"
    assert definition["pause.ms"].default == 1500
    assert definition.parse({"url": "u", "pause.ms": "7"})["pause.ms"] == 7
    assert Writing.definition()["batch.size"].default == 10
    assert definition.remarks({"pool.size": "3"}) == [("pool.size", "has no effect: there is one connection.")]
    assert settings.Options.definition().parse({}) == {}


def test_a_parsed_configuration_is_taken_as_it_is() -> None:
    both = SinkOptions.definition() | settings.define(settings.Int("more", default=1))
    parsed = both.parse({"url": "u", "batch.size": "3"})
    options = SinkOptions.parse(parsed)
    assert options.batch_size == 3
    assert options.config is parsed


@pytest.mark.parametrize(
    ("config", "key", "why"),
    [
        ({}, "url", "is required and has no default."),
        ({"url": "u", "batch.size": "3k"}, "batch.size", '"3k" is not a whole number. Write 3000.'),
        ({"url": "u", "batch.size": "0"}, "batch.size", "0 is too small; the least is 1."),
        (
            {"url": "u", "topics": "("},
            "topics",
            '"(" is not a pattern: missing ), unterminated subpattern at position 0.',
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_key(config: dict[str, str], key: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SinkOptions.parse(config)
    assert (caught.value.key, caught.value.message) == (key, why)
    assert [(v.name, v.errors) for v in SinkOptions.definition().validate(config) if v.errors] == [(key, [why])]


def test_a_key_is_declared_once() -> None:
    with pytest.raises(ValueError, match=r"Setting table is declared twice\."):

        class _Twice(Writing):
            other = settings.Int("table", default=1)


def test_an_alias_is_of_a_setting() -> None:
    with pytest.raises(ValueError, match="cannot be another name of"):

        class _Wrong(Writing, aliases={"chair": "tables"}):
            pass


def test_a_setting_of_a_subclass_is_no_alias_of_its_base() -> None:
    class _Own(Writing):
        own = settings.String("insert.table", default=None)

    options = _Own.parse({"insert.table": "t"})
    assert (options.own, options.table) == ("t", None)


def test_settings_without_an_attribute_are_in_the_definition_and_by_key() -> None:
    class _More(Writing, more=[settings.String(f"ssl.{name}", default=None) for name in ("key", "ca")]):
        own = settings.Int("own", default=1)

    assert [each.name for each in _More.definition()][-3:] == ["own", "ssl.key", "ssl.ca"]
    assert _More.parse({"ssl.ca": "x"}).config["ssl.ca"] == "x"


def test_the_class_has_no_values() -> None:
    with pytest.raises(AttributeError, match="batch.size has no value here"):
        _ = Writing.__new__(Writing).batch_size
