"""Commits say which connector wrote them, and which offsets they have."""

import json
from typing import Any

import pyarrow as pa
import pytest

from connect import TopicPartition

VALUE = {"id": pa.int64(), "day": pa.string()}
KEY = {"id": pa.int64()}
RANGES = {TopicPartition("t", 1): (3, 5), TopicPartition("t", 0): (None, 2)}
SAID = {"connector": "c", "offsets": {"t": {"0": [None, 2], "1": [3, 5]}}}
CONF = "spark.databricks.delta.commitInfo.userMetadata"


def notes(tables: Any) -> list[Any]:
    return [json.loads(commit["userMetadata"]) for commit in tables.commits() if "userMetadata" in commit]


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"mode": "upsert"},
        {"mode": "upsert", "scd.type": "2"},
        {"mode": "overwrite", "partition.by": "day"},
        {"mode": "overwrite", "replace.where": "day = 'a'"},
    ],
    ids=["append", "upsert", "versions", "partitions", "condition"],
)
def test_every_mode_says_it(tables: Any, keys: dict[str, str]) -> None:
    batch = tables.batch(VALUE, [{"key": {"id": 1}, "value": {"id": 1, "day": "a"}}], KEY)
    tables.writer(**keys)(batch, 0, RANGES)
    assert notes(tables) == [SAID]
    assert tables.operations()[0] == "CREATE TABLE"
    assert tables.spark.conf.get(CONF, None) is None
    history = tables.spark.sql(f"DESCRIBE HISTORY delta.`{tables.path()}` LIMIT 1").collect()
    assert json.loads(history[0]["userMetadata"]) == SAID


@pytest.mark.slow
def test_what_the_user_has_said_for_the_session_stays(tables: Any) -> None:
    tables.spark.conf.set(CONF, '"mine"')
    try:
        for number, keys in enumerate([{}, {"mode": "upsert"}]):
            batch = tables.batch(VALUE, [{"key": {"id": number}, "value": {"id": number, "day": "a"}}], KEY)
            tables.writer(str(number), **keys)(batch, 0, RANGES)
        assert tables.spark.conf.get(CONF) == '"mine"'
    finally:
        tables.spark.conf.unset(CONF)
    assert notes(tables) == ["mine"] * 3


@pytest.mark.slow
def test_without_offsets_nothing_is_said(tables: Any) -> None:
    tables.writer()(tables.batch(VALUE, [{"value": {"id": 1, "day": "a"}}]), 0)
    assert notes(tables) == []
