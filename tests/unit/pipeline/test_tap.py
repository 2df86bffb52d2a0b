"""Single records are watched on their way through a chain, which does what it does otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from connect import Predicate, Transformation
from connect.data.batch import SinkBatch, SourceBatch
from connect.data.record import SinkRecord, SourceRecord
from connect.pipeline import sink_chain, source_chain
from connect.pipeline.chain import Chain
from connect.pipeline.outcome import SeenOutcome
from connect.pipeline.samples import sample
from connect.pipeline.seen import SeenRecord
from connect.pipeline.steps import Transform
from connect.pipeline.tap import Tap
from connect.pipeline.tap_masks import FieldMasks
from connect.plugins import Plugins

WORKER = {"key.converter": "StringConverter", "value.converter": "JsonConverter"}
PLAIN = {**WORKER, "value.converter.schemas.enable": "false", "errors.tolerance": "all"}


class Edit(Transformation):
    """Changes a record as it is told."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self.change = change
        self.calls = 0

    def apply(self, record: Any) -> Any:
        self.calls += 1
        return self.change(record)


class PureEdit(Edit):
    pure = True


class Odd(Predicate):
    def test(self, record: Any) -> bool:
        return bool(record.value["n"] % 2)


def no_wait(_: float) -> None:
    raise AssertionError("it waited")


def tapped(*steps: Any, records: int = 1, seconds: float = 60) -> tuple[Chain, list[SeenOutcome]]:
    chain = sink_chain(Plugins(), PLAIN, {"errors.tolerance": "all"}, no_wait)
    chain.steps += steps
    chain.tap = Tap()
    seen: list[SeenOutcome] = []
    chain.tap.open(records, seconds, seen.append)
    return chain, seen


def orders(value: Any) -> SinkRecord:
    record = sample("sink", {"value": value, "key": "k"}, "orders")
    assert isinstance(record, SinkRecord)
    return record


def batch(*values: Any) -> SinkBatch:
    return SinkBatch.of([orders(value) for value in values])


def numbers(count: int) -> SinkBatch:
    return batch(*({"n": number} for number in range(count)))


def changed(field: str, value: Any) -> Callable[[Any], Any]:
    return lambda record: record.replace(value={**record.value, field: value})


def test_each_step_says_what_it_made_of_the_record() -> None:
    chain, seen = tapped(Transform(Edit(changed("m", 1)), alias="more"), Transform(Edit(lambda record: record)))
    result = chain.run(numbers(1))
    assert [record.value for record in result.records()] == [{"n": 0, "m": 1}]
    (outcome,) = seen
    assert [(step.title, step.verdict) for step in outcome.steps] == [
        ("key converter StringConverter", "changed"),
        ("value converter JsonConverter", "changed"),
        ("header converter SimpleHeaderConverter", "unchanged"),
        ("transformation more (Edit)", "changed"),
        ("transformation Edit", "unchanged"),
    ]
    assert outcome.verdict == "kept"
    assert outcome.before.value == {"text": '{"n":0}'}
    assert outcome.after is not None
    assert outcome.after.value == {"n": 0, "m": 1}
    assert [(change.path, change.after) for change in outcome.steps[3].changes] == [("value.m", 1)]


@pytest.mark.parametrize("kind", [Edit, PureEdit])
def test_the_chain_does_what_it_does_otherwise(kind: type[Edit]) -> None:
    """Nothing is run twice, whatever is watched: records are dropped, fail and are chosen by a predicate."""

    def change(record: Any) -> Any:
        if record.value["n"] == 3:
            raise ValueError("three")
        return None if record.value["n"] == 5 else record.replace(value={"n": record.value["n"] * 10 + 1})

    results = []
    for watched in (0, 1000):
        edits = kind(change), kind(changed("odd", True))
        chain, _ = tapped(Transform(edits[0]), Transform(edits[1], Odd()), records=watched)
        results.append(([record.value for record in chain.run(numbers(9)).records()], [one.calls for one in edits]))
    assert results[0] == results[1]
    assert [value["n"] for value in results[0][0]] == [1, 11, 21, 41, 61, 71, 81]


def test_a_record_is_followed_where_others_are_dropped() -> None:
    chain, seen = tapped(
        Transform(Edit(lambda record: None if record.value["n"] < 6 else record), alias="late"),
        Transform(Edit(changed("seen", True)), alias="mark"),
        records=3,
    )
    chain.run(numbers(9))
    assert [outcome.verdict for outcome in seen] == ["dropped", "dropped", "kept"]
    assert [outcome.steps[-1].alias for outcome in seen] == ["late", "late", "mark"]
    assert [outcome.before.value for outcome in seen] == [{"text": f'{{"n":{number}}}'} for number in (0, 3, 6)]
    assert seen[2].after is not None
    assert seen[2].after.value == {"n": 6, "seen": True}


def test_a_record_that_fails_says_where_and_why() -> None:
    def fails(record: Any) -> Any:
        raise ValueError(f"no {record.value['n']}")

    chain, seen = tapped(Transform(PureEdit(fails), alias="bad"), Transform(Edit(lambda record: record)))
    assert len(chain.run(numbers(2))) == 0
    (outcome,) = seen
    assert outcome.verdict == "failed"
    assert outcome.after is None
    step = outcome.steps[-1]
    assert step.title == "transformation bad (PureEdit)"
    assert step.error is not None
    assert (step.error.class_name, step.error.message) == ("ValueError", "no 0")
    chain, seen = tapped()
    chain.run(SinkBatch.of([orders({}).replace(value=b'{"')]))
    assert [step.stage for step in seen[0].steps] == ["KEY_CONVERTER", "VALUE_CONVERTER"]
    assert seen[0].verdict == "failed"


def test_a_value_that_is_changed_in_place_is_seen_as_changed() -> None:
    def in_place(record: Any) -> Any:
        record.value["n"] = 7
        return record

    chain, seen = tapped(Transform(Edit(in_place), alias="rude"))
    chain.run(numbers(1))
    assert [(one.path, one.before, one.after) for one in seen[0].steps[-1].changes] == [("value.n", 0, 7)]


def test_a_tap_ends_with_its_records_or_its_time() -> None:
    chain, seen = tapped(records=5)
    for _ in range(4):
        chain.run(numbers(10))
    assert len(seen) == 5  # three of the first batch, two of the next
    chain, seen = tapped(seconds=0)
    chain.run(numbers(10))
    assert seen == []


def test_several_watch_at_once_and_each_gets_its_number() -> None:
    chain, seen = tapped(records=1)
    others: list[SeenOutcome] = []
    assert chain.tap is not None
    chain.tap.open(5, 60, others.append)
    chain.run(numbers(10))
    assert (len(seen), len(others)) == (1, 3)
    chain.run(numbers(10))
    assert (len(seen), len(others)) == (1, 5)


def test_a_reader_that_fails_does_not_reach_the_task() -> None:
    chain, _ = tapped()

    def fails(_: SeenOutcome) -> None:
        raise OSError("gone")

    assert chain.tap is not None
    chain.tap.open(1, 60, fails)
    assert len(chain.run(numbers(1))) == 1


def test_what_cannot_be_copied_ends_the_look_and_not_the_task() -> None:
    class Stubborn(dict):  # type: ignore[type-arg]
        def __deepcopy__(self, memo: object) -> None:
            raise TypeError("no copies")

    chain, seen = tapped(Transform(Edit(lambda record: record.replace(value=Stubborn(n=1)))))
    assert [record.value for record in chain.run(numbers(1)).records()] == [{"n": 1}]
    assert seen == []


def test_a_source_ends_in_bytes() -> None:
    chain = source_chain(Plugins(), PLAIN, {}, no_wait)
    chain.tap = Tap()
    seen: list[SeenOutcome] = []
    chain.tap.open(1, 60, seen.append)
    chain.run(SourceBatch.of([SourceRecord("orders", {"n": 1})]))
    assert seen[0].before.value == {"n": 1}
    assert seen[0].after is not None
    assert json.loads(seen[0].after.value["text"]) == {"n": 1}


def test_what_patterns_name_is_masked_wherever_it_is_shown() -> None:
    chain, seen = tapped(
        Transform(Edit(changed("api_TOKEN", "t0k3n"))), Transform(Edit(changed("db", {"password": "pw2"})))
    )
    chain.run(batch({"n": 1, "db": {"password": "pw1", "host": "h"}, "list": [{"Secret": "s3"}]}))
    masked = FieldMasks(["*password*", "*secret*", "*token*"]).masked(seen[0])
    text = msgspec.json.encode(masked).decode()
    for secret in ("t0k3n", "pw1", "pw2", "s3"):
        assert secret not in text
    assert masked.before.value == {
        "text": '{"n":1,"db":{"password":"[hidden]","host":"h"},"list":[{"Secret":"[hidden]"}]}'
    }
    assert masked.after is not None
    assert masked.after.value["db"] == {"password": "[hidden]"}
    assert masked.after.value["n"] == 1
    open_to_all = FieldMasks([]).masked(seen[0])
    assert open_to_all == seen[0]


def shown(value: Any, *patterns: str) -> Any:
    record = SeenRecord("orders", 0, None, None, value, [])
    return FieldMasks(patterns).masked(SeenOutcome("kept", record, [], record)).before.value


def test_bytes_without_fields_are_shown_as_text_or_by_their_size() -> None:
    assert shown({"text": "plain text"}, "*password*") == {"text": "plain text"}
    assert shown({"text": "Struct{Password=pw}"}, "*password*") == {"bytes": 19}
    assert shown({"text": "Struct{Api_Key=pw}"}, "*api?key*") == {"bytes": 18}
    assert shown({"text": "Struct{Password=pw}"}) == {"text": "Struct{Password=pw}"}
    assert shown({"base64": "AAEC"}, "*password*") == {"bytes": 3}
    assert shown({"base64": "AAEC"}) == {"base64": "AAEC"}


def test_long_values_are_cut() -> None:
    assert shown("x" * 5000) == "x" * 4000 + "… (5000 characters)"
    assert len(shown(list(range(600)))) == 501
    assert len(shown({str(number): number for number in range(600)})) == 501
