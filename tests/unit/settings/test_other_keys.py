"""Keys of other projects: other names of settings, and those that do nothing here."""

import pytest

from connect import settings
from connect.settings import Alias, WithoutEffect

SETTINGS = settings.define(
    settings.String("user", default=None),
    settings.String("mode", default="append"),
    settings.List("urls", default=[]),
    settings.Int("size", default=1),
    settings.String("dialect.name", default=""),
    aliases={
        "username": "user",
        "login": "user",
        "insert.mode": Alias("mode", words={"insert": "append"}),
        "host": Alias("urls", value=lambda host, config: f"http://{host}:{config.get('port') or 9200}"),
    },
    without_effect={
        "pool.*": "there is one connection",
        "pool.size": WithoutEffect("there is one connection", unless=("1",)),
        "dialect.*": "it is not known",
        "size": "nothing is counted",
    },
)


@pytest.mark.parametrize(
    ("written", "key", "value"),
    [
        ({"username": "me"}, "user", "me"),
        ({"username": "me", "user": "ours"}, "user", "ours"),
        ({"username": "me", "user": ""}, "user", "me"),
        ({"username": "", "login": "second"}, "user", "second"),
        ({"username": "first", "login": "second"}, "user", "first"),
        ({"insert.mode": " INSERT "}, "mode", "append"),
        ({"insert.mode": "upsert"}, "mode", "upsert"),
        ({"host": "a", "port": "1"}, "urls", ["http://a:1"]),
        ({}, "user", None),
    ],
)
def test_a_value_is_read_under_another_name_and_ours_wins(written, key, value):
    assert SETTINGS.parse(written)[key] == value
    found = {each.name: each.value for each in SETTINGS.validate(written)}
    assert found[key] == settings.definition.text(value)


def test_what_was_parsed_has_our_names_beside_theirs():
    written = {"username": "me", "other": "x"}
    assert SETTINGS.parse(written).raw == {"username": "me", "other": "x", "user": "me"}
    assert written == {"username": "me", "other": "x"}


def test_a_key_without_effect_is_named_with_its_reason():
    written = {"pool.max": "3", "pool.size": "5", "dialect.other": "x", "size": "2", "user": "me", "unknown": "1"}
    assert SETTINGS.remarks(written) == [
        ("pool.max", "has no effect: there is one connection."),
        ("pool.size", "has no effect: there is one connection."),
        ("dialect.other", "has no effect: it is not known."),
        ("size", "has no effect: nothing is counted."),
    ]


@pytest.mark.parametrize(
    "written", [{"pool.size": "1"}, {"pool.max": ""}, {"pool.max": None}, {"dialect.name": "x"}, {"username": "me"}]
)
def test_what_does_something_or_asks_for_nothing_else_is_not_named(written):
    assert SETTINGS.remarks(written) == []


@pytest.mark.parametrize(
    ("key", "known"), [("user", True), ("login", True), ("pool.x", True), ("pool", False), ("x", False)]
)
def test_settings_aliases_and_keys_without_effect_are_known(key, known):
    assert SETTINGS.knows(key) is known


def test_the_key_that_a_value_stands_under_is_told():
    assert SETTINGS.written_as("user", {"login": "me"}) == "login"
    assert SETTINGS.written_as("user", {"login": "me", "user": "ours"}) == "user"
    assert SETTINGS.written_as("user", {}) == "user"


def test_of_two_definitions_the_second_wins_in_others_keys_too():
    both = SETTINGS | settings.define(
        settings.String("login", default=None), settings.Int("pool.size", default=7), aliases={"sizes": "pool.size"}
    )
    assert both.parse({"login": "me", "sizes": "3"})["user"] is None
    assert both.parse({"sizes": "3"})["pool.size"] == 3
    assert both.parse({"username": "me"})["user"] == "me"
    assert both.replaced("user", default="x").knows("username")


@pytest.mark.parametrize("aliases", [{"a": "b"}, {"user": "mode"}])
def test_an_alias_is_no_setting_and_of_one(aliases):
    with pytest.raises(ValueError, match="cannot be another name of"):
        SETTINGS.with_others(aliases=aliases)
