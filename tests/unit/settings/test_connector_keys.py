import pytest

from connect.settings.connector_keys import (
    COMMON,
    SINK,
    SOURCE,
    topic_creation,
    topic_creation_doubts,
    topics_at_fault,
)

DEFAULT = {"topic.creation.default.replication.factor": "-1", "topic.creation.default.partitions": "3"}


def errors(definition, config: dict[str, str]) -> dict[str, list[str]]:
    return {found.name: found.errors for found in definition.validate(config) if found.errors}


def test_a_name_and_a_class_are_enough() -> None:
    for definition in (COMMON, SOURCE, SINK):
        assert errors(definition, {"name": "a", "connector.class": "B"}) == {}
        assert set(errors(definition, {})) == {"name", "connector.class"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "a\nb"),
        ("name", "\x85"),
        ("name", " "),
        ("tasks.max", "0"),
        ("tasks.max", "two"),
        ("transforms", "a,b,a"),
        ("transforms", "a,"),
        ("predicates", "p, p"),
        ("errors.tolerance", "some"),
        ("errors.retry.timeout", "-2"),
        ("config.action.reload", "stop"),
    ],
)
def test_a_wrong_value_is_refused(key: str, value: str) -> None:
    good = {"name": "a", "connector.class": "B"}
    assert errors(SINK, good | {key: value}).keys() == {key}


def test_a_name_may_hold_any_letters() -> None:
    assert errors(COMMON, {"name": "täglich / 日報 #1", "connector.class": "B"}) == {}


def test_a_broken_pattern_of_topics_is_refused() -> None:
    assert errors(SINK, {"name": "a", "connector.class": "B", "topics.regex": "a("}).keys() == {"topics.regex"}


@pytest.mark.parametrize(
    ("config", "at_fault"),
    [
        ({"topics": "a"}, []),
        ({"topics.regex": "a.*"}, []),
        ({}, ["topics"]),
        ({"topics": " , "}, ["topics"]),
        ({"topics": "a", "topics.regex": "b"}, ["topics.regex"]),
        ({"topics": "a, dead", "errors.deadletterqueue.topic.name": "dead"}, ["topics"]),
    ],
)
def test_a_sink_has_topics_or_a_pattern(config: dict[str, str], at_fault: list[str]) -> None:
    assert [key for key, _ in topics_at_fault(config)] == at_fault


def test_topic_creation_needs_its_default_as_soon_as_it_is_used() -> None:
    assert len(topic_creation({"name": "a"})) == 0
    used = {"topic.creation.groups": "big", "topic.creation.big.include": "x.*", "topic.creation.big.partitions": "0"}
    assert errors(topic_creation(used), used).keys() == {
        "topic.creation.default.replication.factor",
        "topic.creation.default.partitions",
        "topic.creation.big.partitions",
    }
    assert errors(topic_creation(DEFAULT), DEFAULT) == {}
    assert errors(topic_creation(used | DEFAULT), DEFAULT) == {}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("default.partitions", "0", "not a number of partitions"),
        ("default.partitions", "-2", "not a number of partitions"),
        ("default.partitions", "many", "not a whole number"),
        ("default.replication.factor", "99999", ""),
        ("a.replication.factor", "0", "not a number of replicas"),
        ("a.include", "x(,y", r'"x(" is not a regular expression'),
        ("a.exclude", "[", '"[" is not a regular expression'),
    ],
)
def test_a_wrong_value_of_topic_creation_is_refused(key: str, value: str, message: str) -> None:
    config = DEFAULT | {"topic.creation.groups": "a", f"topic.creation.{key}": value}
    found = errors(topic_creation(config), config)
    assert found.keys() == {f"topic.creation.{key}"}
    assert message in found[f"topic.creation.{key}"][0]


def test_the_patterns_of_the_default_group_are_not_looked_at_as_in_java() -> None:
    config = DEFAULT | {"topic.creation.default.include": "x("}
    assert errors(topic_creation(config), config) == {}
    assert [key for key, _ in topic_creation_doubts(config)] == ["topic.creation.default.include"]


def test_what_has_no_effect_in_topic_creation_is_a_doubt() -> None:
    config = DEFAULT | {
        "topic.creation.groups": "default, a",
        "topic.creation.b.partitions": "3",
        "topic.creation.a.cleanup.policy": "compact",
    }
    assert topic_creation_doubts(config) == [
        ("topic.creation.a.include", "is not set, so the group is for no topic. Set it."),
        ("topic.creation.groups", 'names "default", which always is, and the last. Take it out.'),
        ("topic.creation.b.partitions", 'has no effect: "b" is not among topic.creation.groups. Add it there.'),
    ]
    assert topic_creation_doubts(DEFAULT | {"topic.creation.groups": "a", "topic.creation.a.include": "x"}) == []
