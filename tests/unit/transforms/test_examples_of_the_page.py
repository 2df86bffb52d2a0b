"""docs/transformations.md: its examples, a configuration and what it makes of a value, are what happens."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from connect import SinkRecord

from .forms import with_config

PAGE = (Path(__file__).parents[3] / "docs" / "transformations.md").read_text(encoding="utf-8")
_EXAMPLE = re.compile(r"    (?:([a-z.]+=\S.*?)  +)?(\S.*?)  +->  (.*?)( +\(V2\))?")
#: Two examples show change events, of which the page leaves parts out; these are in the tests of their transformations.
OF_EVENTS = {"ByLogicalTableRouter", "EventRouter"}


def examples() -> list[Any]:
    """For each: the class, its configuration, what goes in, what comes out."""
    found, kind = [], ""
    for number, line in enumerate(PAGE.splitlines(), 1):
        if named := re.match(r"<!-- settings: (\S+) -->", line):
            kind = named[1]
        elif (match := _EXAMPLE.fullmatch(line)) and kind.partition(":")[2] not in OF_EVENTS:
            keys, given, result, v2 = match.groups()
            config = dict(one.split("=", 1) for one in re.split(r", (?=[a-z.]+=)", keys or "") if one)
            config |= {"field.syntax.version": "V2"} if v2 else {}
            found.append(pytest.param(kind, config, given, result, id=f"line {number}"))
    return found


def test_there_are_some() -> None:
    assert len(examples()) >= 20
    assert PAGE.count("  ->  ") - len(examples()) == len(OF_EVENTS)


@pytest.mark.parametrize(("kind", "config", "given", "result"), examples())
def test_an_example_is_what_happens(kind: str, config: dict[str, str], given: str, result: str) -> None:
    made = with_config(resolve_name(kind), config)
    topic, value = ("orders", json.loads(given)) if given[0] in '{["' else (given, None)
    after = made.apply(SinkRecord(topic, value, offset=7, timestamp=0))
    assert after is not None
    said = {
        "topic": after.topic,
        "key": shown(after.key),
        "value": shown(after.value),
        "headers": {header.key: header.value for header in after.headers},
    }
    header = re.fullmatch(r"(.*), header (\w+): (.*)", result)
    if header:
        assert said["headers"] == {header[2]: json.loads(header[3])}
        result = header[1]
    if what := re.fullmatch(r"(topic|key) (.*)", result):
        assert said[what[1]] == (what[2] if what[1] == "topic" else json.loads(what[2]))
    elif value is None:
        assert said["topic"] == result
    else:
        assert said["value"] == json.loads(re.sub(r"(\d{4}-\d\d-\d\d [\d:]+ UTC)", r'"\1"', result))


def shown(value: Any) -> Any:
    """A value as the page writes it."""
    if isinstance(value, dict):
        return {name: shown(each) for name, each in value.items()}
    if isinstance(value, datetime.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    return value
