"""What the keys ask for, and what they refuse."""

import datetime as dt
from typing import Any

import pytest

from connect import ConnectError, ExactlyOnceSupport
from connectors.twitter import TwitterSourceConnector, fields, ids, keys
from connectors.twitter.rules import configured, joined, queries

TOKEN = {"topic": "posts", "twitter.bearer.token": "t"}
OAUTH = dict.fromkeys(keys.OAUTH, "x")
#: A configuration of the Java connector, as its documentation has it.
JAVA = {
    "connector.class": "com.github.jcustenborder.kafka.connect.twitter.TwitterSourceConnector",
    "twitter.oauth.consumerKey": "a",
    "twitter.oauth.consumerSecret": "b",
    "twitter.oauth.accessToken": "c",
    "twitter.oauth.accessTokenSecret": "d",
    "filter.keywords": "kafka,confluent",
    "kafka.status.topic": "twitter",
    "process.deletes": "false",
}


def _errors(config: dict[str, Any]) -> dict[str, str]:
    return {value.name: " ".join(value.errors) for value in TwitterSourceConnector().validate(config) if value.errors}


def _rules(**config: str) -> dict[str, str]:
    raw = {**TOKEN, **{key.replace("__", "."): value for key, value in config.items()}}
    return {rule.value: rule.label for rule in configured(keys.TwitterOptions.parse(raw))}


def test_keywords_are_alternatives_and_the_words_of_one_all_asked_for() -> None:
    found = _rules(filter__keywords="kafka,apache kafka,#tag,c++,it's,OR,from:bob,-no,$AAPL,汉字")
    (rule,) = found
    assert found[rule] == "keywords"
    assert rule == 'kafka OR (apache kafka) OR #tag OR "c++" OR "it\'s" OR "OR" OR "from:bob" OR "-no" OR $AAPL OR 汉字'


def test_ids_become_rules_from_them_except_for_timelines() -> None:
    assert _rules(filter__userIds="12,345") == {"from:12 OR from:345": "users"}
    assert _rules(filter__userIds="12", twitter__mode="timelines") == {}


def test_rules_have_the_names_of_their_keys() -> None:
    found = _rules(twitter__rules="a,b", twitter__rule__cats='cat, "dog"', twitter__rule__max__length="100")
    assert found == {'cat, "dog"': "cats", "a": "", "b": ""}


def test_what_is_put_together_keeps_to_the_length() -> None:
    words = [f"word{number}" for number in range(100)]
    groups = joined(words, 64)
    assert max(map(len, groups)) <= 64
    assert [word for group in groups for word in group.split(" OR ")] == words
    assert queries(["a OR b", "c"], 64) == ["(a OR b) OR (c)"]
    assert queries(["a OR b"], 64) == ["a OR b"]


@pytest.mark.parametrize("rule", ['say "no', "(a OR b", "a) OR (b", "a\nb"])
def test_a_rule_that_is_none_is_named_by_its_key(rule: str) -> None:
    assert set(_errors({**TOKEN, "twitter.rule.odd": rule})) == {"twitter.rule.odd"}


def test_an_escaped_quotation_mark_ends_nothing() -> None:
    assert _errors({**TOKEN, "twitter.rule.odd": r'"say \"no\" (" b'}) == {}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"topic": "posts", "twitter.rules": "a"}, "twitter.bearer.token"),
        ({"topic": "posts", "twitter.rules": "a", "twitter.mode": "search"}, "twitter.bearer.token"),
        ({**OAUTH, "topic": "posts", "twitter.rules": "a"}, "twitter.bearer.token"),
        (
            {"topic": "p", "twitter.rules": "a", "twitter.mode": "search", "twitter.oauth.consumerKey": "x"},
            "twitter.oauth.consumerSecret",
        ),
        (TOKEN, "twitter.rules"),
        ({**TOKEN, "twitter.rule.x": ""}, "twitter.rule.x"),
        ({**TOKEN, "twitter.mode": "timelines"}, "twitter.users"),
        ({**TOKEN, "twitter.mode": "timelines", "twitter.users": "a b"}, "twitter.users"),
        ({**TOKEN, "twitter.rules": "a", "filter.userIds": "bob"}, "filter.userIds"),
        ({**TOKEN, "twitter.rules": "a", "tweet.fields": "created_ad"}, "tweet.fields"),
        ({**TOKEN, "twitter.rules": "a", "expansions": "Author"}, "expansions"),
        ({**TOKEN, "twitter.rules": "a", "twitter.base.url": "api.x.com"}, "twitter.base.url"),
        ({**TOKEN, "twitter.rules": "a", "twitter.base.url": "https://me:secret@api.x.com"}, "twitter.base.url"),
        ({**TOKEN, "twitter.rules": "a", "twitter.start": "soon"}, "twitter.start"),
        ({**TOKEN, "twitter.rules": "a", "twitter.backfill.minutes": "6"}, "twitter.backfill.minutes"),
        ({**TOKEN, "twitter.rules": "a", "twitter.timeline.exclude": "likes"}, "twitter.timeline.exclude"),
    ],
)
def test_what_is_wrong_is_said_at_its_key(config: dict[str, str], key: str) -> None:
    found = _errors(config)
    assert set(found) == {key}
    assert "secret" not in found[key].replace("consumerSecret", "")


def test_the_java_connectors_configuration_lacks_the_bearer_token_alone() -> None:
    assert set(_errors(JAVA)) == {"twitter.bearer.token"}
    assert "do not open the filtered stream" in _errors(JAVA)["twitter.bearer.token"]
    assert _errors({**JAVA, "twitter.bearer.token": "t"}) == {}
    assert _errors({**JAVA, "twitter.mode": "search"}) == {}


def test_rules_may_be_left_to_others() -> None:
    assert _errors({**TOKEN, "twitter.rules.manage": "false"}) == {}


def test_all_fields_are_those_that_every_app_may_ask_for() -> None:
    config = {**TOKEN, "twitter.rules": "a", "tweet.fields": "all,organic_metrics,text", "expansions": ""}
    asked = fields.parameters(keys.TwitterOptions.parse(config).config)
    assert asked["tweet_fields"] == [*fields.PUBLIC["tweet.fields"], "organic_metrics"]
    assert not any("non_public" in name for names in fields.PUBLIC.values() for name in names)
    assert "expansions" not in asked


def test_a_field_that_is_newer_than_this_is_asked_for() -> None:
    assert _errors({**TOKEN, "twitter.rules": "a", "tweet.fields": "text,brand_new_thing"}) == {}


def test_a_beginning_is_the_id_before_its_time() -> None:
    noon = int(dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC).timestamp() * 1000)
    start = keys.start_id("2026-01-31T12:00:00Z")
    assert start == keys.start_id("2026-01-31T12:00:00") == ids.first_at(noon) - 1
    assert ids.made_at(ids.first_at(noon)) == noon
    assert keys.start_id("earliest") is None
    assert keys.start_id("1999-01-01") == 0


def test_exactly_once_is_for_positions_that_are_exact() -> None:
    support = TwitterSourceConnector().exactly_once_support
    assert support({"twitter.mode": "search"}) is ExactlyOnceSupport.SUPPORTED
    assert support({"twitter.mode": "timelines"}) is ExactlyOnceSupport.SUPPORTED
    assert support({}) is ExactlyOnceSupport.UNSUPPORTED


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"mode": "stream"}, {"since_id": "1", "gap_since_id": 2}),
        ({"mode": "search", "query": "a"}, {"since_id": "1"}),
        ({"mode": "search", "query": "a"}, {"until_id": "5", "newest_id": "9"}),
        ({"mode": "timeline", "user": "12"}, None),
    ],
)
def test_offsets_may_be_altered(partition: dict[str, str], offset: dict[str, Any] | None) -> None:
    assert TwitterSourceConnector().alter_offsets({}, {tuple(partition.items()): offset})


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"mode": "stream", "query": "a"}, {"since_id": "1"}),
        ({"mode": "timeline", "user": "bob"}, {"since_id": "1"}),
        ({"mode": "stream"}, {"since_id": "one"}),
        ({"mode": "stream"}, {"since_id": "99999999999999999999"}),
        ({"mode": "stream"}, {"since_id": True}),
        ({"mode": "stream"}, {"until_id": "1", "newest_id": "2"}),
        ({"mode": "search", "query": "a"}, {"since_id": "1", "until_id": "2"}),
        ({"mode": "search", "query": "a"}, {}),
    ],
)
def test_offsets_that_make_no_sense_are_refused(partition: dict[str, str], offset: dict[str, Any]) -> None:
    with pytest.raises(ConnectError):
        TwitterSourceConnector().alter_offsets({}, {tuple(partition.items()): offset})


def test_work_is_shared_out() -> None:
    connector = TwitterSourceConnector()
    connector.start({**TOKEN, "twitter.mode": "timelines", "twitter.users": "@a,b,c", "filter.userIds": "7,8"})
    assert [config["task.work"] for config in connector.task_configs(2)] == ['["a", "c", "8"]', '["b", "7"]']
    connector.start({**TOKEN, "twitter.rules": "a,b"})
    assert len(connector.task_configs(5)) == 1


def test_keys_without_effect_are_warned_of_unless_they_ask_for_nothing() -> None:
    assert keys.TwitterOptions.definition().remarks(JAVA) == []
    assert keys.TwitterOptions.definition().remarks({**JAVA, "process.deletes": "true", "twitter.debug": "true"}) == [
        ("process.deletes", "has no effect: API v2 tells of no deletions here."),
        ("twitter.debug", "has no effect: set the level of the logger connectors.twitter instead."),
    ]
