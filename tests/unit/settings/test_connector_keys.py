import pytest

from connect.settings.connector_keys import COMMON, SINK, SOURCE, topic_creation, topics_at_fault


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
    default = {"topic.creation.default.replication.factor": "-1", "topic.creation.default.partitions": "3"}
    assert errors(topic_creation(default), default) == {}
    assert errors(topic_creation(used | default), default) == {
        "topic.creation.big.include": ["is required and has no default."]
    }
