"""A user's regular expression may take forever: it holds up nobody else."""

import ast
import os
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from connect.errors import ConnectError
from connect.herder import topic_patterns
from connect.herder.topic_patterns import TopicPatterns
from connect.worker.processes import start_server

ROOT = Path(__file__).parents[3]
#: What makes a pattern of a user's text, or of a connector's configuration.
MAKES = {"java_regex", "subscription"}
#: Rooms whose code runs in the worker's process.
WORKER = ("rest", "connect/herder", "connect/group", "connect/peers", "connect/storage", "connect/telemetry")
#: Patterns of the worker's own file, by who runs it, for names of bounded length: origins.
ITS_OWN = {"rest/edge.py"}
SLOW, NAME = "(a+)+b?!", "a" * 60


@pytest.fixture
def patterns() -> Iterator[TopicPatterns]:
    start_server()
    made = TopicPatterns()
    yield made
    made.close()


def test_no_users_pattern_is_run_where_it_holds_up_a_worker() -> None:
    found = set()
    for room in WORKER:
        for file in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and MAKES & {alias.name for alias in node.names}:
                    found.add(str(file.relative_to(ROOT)))
    assert found == ITS_OWN


def test_a_pattern_chooses_whole_names(patterns: TopicPatterns) -> None:
    choose = patterns.chooser("orders", "orders-\\p{Digit}|o.*")
    assert choose({"orders-1", "orders-12", "shop", "o"}) == ["o", "orders-1", "orders-12"]
    many = {f"orders-{number}" for number in range(12_000)}
    assert len(choose(many)) == 12_000


def test_a_pattern_that_does_not_end_is_given_up_and_others_go_on(
    patterns: TopicPatterns, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = patterns.chooser("others", "a+")
    assert others([NAME]) == [NAME]
    monkeypatch.setattr(topic_patterns, "PATIENCE_S", 2.0)
    slow = patterns.chooser("slow", SLOW)
    with pytest.raises(
        ConnectError, match=r"connector slow.*topics.regex: matching takes too long. Write a pattern without"
    ):
        slow([NAME])
    monkeypatch.setattr(topic_patterns, "PATIENCE_S", 30.0)
    assert others([NAME, "b"]) == [NAME]
    began = time.process_time(), len(psutil.Process(os.getpid()).children(recursive=True))
    with pytest.raises(ConnectError, match="too long"):  # nobody is asked again for the same names
        slow([NAME])
    assert len(psutil.Process(os.getpid()).children(recursive=True)) == began[1]
    assert slow(["b"]) == []


def test_a_pattern_that_is_none_is_told(patterns: TopicPatterns) -> None:
    with pytest.raises(ConnectError, match=r'topics.regex: .*"\(" is not a regular expression'):
        patterns.chooser("orders", "(")(["a"])
