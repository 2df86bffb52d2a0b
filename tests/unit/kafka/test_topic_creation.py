"""Which settings a topic is made with, by the keys topic.creation.*."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import ConfigError
from connect.kafka.admin.new_topics import NewTopic
from connect.kafka.admin.topic_creation import TopicRules, rules_of

DEFAULT = {"default.replication.factor": "1", "default.partitions": "3"}


def rules(**keys: str) -> TopicRules:
    """Underscores stand for dots."""
    return of({**DEFAULT, **{key.replace("_", "."): value for key, value in keys.items()}})


def of(keys: Mapping[str, str]) -> TopicRules:
    return TopicRules({"name": "c", **{f"topic.creation.{key}": value for key, value in keys.items()}})


def test_without_groups_every_topic_is_made_as_the_default_says() -> None:
    made = rules(default_cleanup_policy="compact", default_partitions="-1").new_topic("any")
    assert made == NewTopic("any", -1, 1, {"cleanup.policy": "compact"})


def test_the_first_group_that_is_for_a_topic_counts_in_the_order_they_are_listed_in() -> None:
    two = rules(groups="b, a", a_include=".*", a_partitions="5", b_include="x.*,y", b_exclude="xx", b_partitions="6")
    assert [two.new_topic(name).partitions for name in ("x", "xy", "y", "xx", "yy")] == [6, 6, 6, 5, 5]


def test_whole_names_have_to_match() -> None:
    made = rules(groups="a", a_include="x", a_partitions="5", a_exclude="y")
    assert [made.new_topic(name).partitions for name in ("x", "xy", "ax")] == [5, 3, 3]


def test_a_group_takes_the_numbers_it_does_not_have_from_the_default_but_no_other_setting() -> None:
    made = rules(default_cleanup_policy="compact", groups="a", a_include="x", a_retention_ms="9").new_topic("x")
    assert made == NewTopic("x", 3, 1, {"retention.ms": "9"})


def test_a_group_without_a_pattern_is_for_no_topic() -> None:
    assert rules(groups="a", a_partitions="5").new_topic("x").partitions == 3


def test_the_default_is_the_last_whatever_its_patterns_and_the_list_say() -> None:
    made = rules(groups="default,a", a_include="x", a_partitions="5", default_include="(", default_exclude=".*")
    assert [made.new_topic(name).partitions for name in ("x", "y")] == [5, 3]


def test_a_flag_holds_for_the_patterns_behind_it_as_in_java() -> None:
    made = rules(groups="a", a_include="(?i)q,X.*", a_partitions="5")
    assert [made.new_topic(name).partitions for name in ("Q", "xy", "z")] == [5, 5, 3]


def test_there_are_rules_where_a_connector_has_keys_and_its_worker_makes_topics() -> None:
    keys = {f"topic.creation.{key}": value for key, value in DEFAULT.items()}
    assert rules_of({"name": "a", **keys}, enabled=True) is not None
    assert rules_of({"name": "a", **keys}, enabled=False) is None
    assert rules_of({"name": "a"}, enabled=True) is None
    assert rules_of({"topic.creation.default.partitions": "x"}, enabled=False) is None, "nor is it looked at"
    with pytest.raises(ConfigError, match=r"default\.replication\.factor"):
        rules_of({"topic.creation.groups": ""}, enabled=True)


NAMES = st.text("ab.-", min_size=1, max_size=4)
LETTERS = st.lists(NAMES.map(re.escape) | st.sampled_from(["a.*", "[ab]+", ".*", "a|b.b"]), min_size=1, max_size=3)


@given(
    st.lists(st.tuples(LETTERS, LETTERS | st.just([]), st.integers(1, 99)), max_size=4),
    st.lists(NAMES, min_size=1),
)
def test_any_groups_make_a_topic_as_the_first_does_that_matches_alone(
    groups: list[tuple[list[str], list[str], int]], topics: list[str]
) -> None:
    keys = {**DEFAULT, "groups": ",".join(f"g{number}" for number in range(len(groups)))}
    for number, (include, exclude, partitions) in enumerate(groups):
        keys |= {f"g{number}.include": ",".join(include), f"g{number}.partitions": str(partitions)}
        keys |= {f"g{number}.exclude": ",".join(exclude)} if exclude else {}
    made = of(keys)
    for topic in topics:
        expected = next(
            (
                partitions
                for include, exclude, partitions in groups
                if any(re.fullmatch(p, topic) for p in include) and not any(re.fullmatch(p, topic) for p in exclude)
            ),
            3,
        )
        assert made.new_topic(topic) == NewTopic(topic, expected, 1, {})
