"""RegexRouter and TopicNameMatches take Java's regular expressions, and replace what Java replaces."""

import random
from collections.abc import Iterable

import pytest

from connect.data import SinkRecord
from tests.support.java import Oracle

from .compare import disagreements
from .java import Case
from .regexes import ROUTES, TOPICS, route

_RECORDS = [SinkRecord(topic, None) for topic in TOPICS]


def cases(routes: Iterable[tuple[str, str]]) -> list[Case]:
    made = []
    for regex, replacement in routes:
        made.append(Case("RegexRouter", {"regex": regex, "replacement": replacement}, _RECORDS))
        made.append(Case("predicates.TopicNameMatches", {"pattern": regex}, _RECORDS))
    return made


def test_topics_are_matched_and_renamed_alike(java: Oracle) -> None:
    assert disagreements(java, cases(ROUTES)) == []


@pytest.mark.slow
def test_generated_expressions_match_and_rename_alike(java: Oracle, seed: int) -> None:
    chance = random.Random(f"regexes {seed}")
    assert disagreements(java, cases(route(chance) for _ in range(1500))) == []
