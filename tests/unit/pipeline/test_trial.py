"""Records tried step by step: what each step did, and that nothing else happens."""

import datetime as dt
import json
from decimal import Decimal

import pytest

from connect import ConfigError, DataError, Predicate, RetriableError, Transformation
from connect.api import StoppedAt
from connect.data import Header, Headers, Schema, Type, logical
from connect.data.schema import INT32, INT64, OPTIONAL_STRING, STRING
from connect.pipeline import sink_chain, source_chain
from connect.pipeline.chain import Chain
from connect.pipeline.policy import ErrorPolicy
from connect.pipeline.samples import sample
from connect.pipeline.seen import Change, Snapshot, changes, plain
from connect.pipeline.steps import Transform
from connect.pipeline.trial import Trial
from connect.plugins import Plugins

WORKER = {"key.converter": "StringConverter", "value.converter": "JsonConverter"}
PLAIN = {**WORKER, "value.converter.schemas.enable": "false"}


class Edit(Transformation):
    """Changes a record as it is told. Not pure: it counts what it sees."""

    def __init__(self, change=None):
        self.change = change or (lambda record: record)
        self.seen = 0

    def apply(self, record):
        self.seen += 1
        return self.change(record)


class Has(Predicate):
    def __init__(self, field):
        self.field = field

    def test(self, record):
        return self.field in record.value


def trial(*steps, worker=PLAIN, **config):
    chain = sink_chain(Plugins(), worker, {key.replace("_", "."): value for key, value in config.items()}, fail)
    return Trial(Chain([*chain.steps, *steps], chain.policy), "dead")


def fail(seconds):
    raise AssertionError("a trial waited")


def run(tried, **fields):
    return tried.run(sample("sink", fields, "orders"))


def found(step):
    return [(change.sign, change.path, change.before, change.after) for change in step.changes if change.sign == "~"]


def test_each_step_says_what_it_changed_and_the_others_that_they_did_not():
    edit = Edit(lambda record: record.replace(topic="other", value={"id": 5}))
    outcome = run(trial(Transform(edit, alias="edit"), Transform(Edit(), alias="idle")), key="k", value={"id": "5"})
    assert [step.verdict for step in outcome.steps] == ["changed", "changed", "unchanged", "changed", "unchanged"]
    assert outcome.steps[3].seen().title == "transformation edit (Edit)"
    assert found(outcome.steps[3]) == [("~", "topic", "orders", "other"), ("~", "value.id", "5", 5)]
    assert outcome.verdict == "kept"
    assert outcome.after.record.value == {"id": 5}
    assert outcome.before.record.value == b'{"id":"5"}'


def test_where_it_was_consumed_stays_with_a_record_that_goes_elsewhere():
    outcome = run(trial(Transform(Edit(lambda record: record.replace(topic="other")))), value=1, offset=42)
    assert outcome.after.record.original_topic == "orders"
    assert outcome.after.record.original_offset == 42


def test_who_dropped_a_record_is_said_and_no_later_step_sees_it():
    later = Edit()
    outcome = run(trial(Transform(Edit(lambda _: None), alias="filter"), Transform(later)), value={})
    assert outcome.verdict == "dropped"
    assert outcome.steps[-1].alias == "filter"
    assert outcome.after is None
    assert later.seen == 0


@pytest.mark.parametrize(
    ("negate", "verdicts"), [(False, ["unchanged", "passed by"]), (True, ["passed by", "unchanged"])]
)
@pytest.mark.parametrize("pure", [False, True])
def test_a_predicate_that_does_not_choose_a_record_is_named(negate, verdicts, pure):
    edit = type("Pure", (Edit,), {"pure": pure})()
    tried = trial(Transform(edit, Has("id"), negate=negate))
    assert [run(tried, value=value).steps[-1].verdict for value in ({"id": 1}, {"no": 1})] == verdicts
    assert edit.seen == 1


def test_a_transformation_that_remembers_sees_the_records_in_turn():
    edit = Edit()
    tried = trial(Transform(edit))
    for number in range(3):
        run(tried, value=number)
    assert edit.seen == 3


@pytest.mark.parametrize(
    ("raised", "advice"),
    [
        (ValueError("no\nnumber"), "The record would be sent to topic dead, and the task would fail"),
        (RetriableError("away"), "A task would retry it"),
        (SystemExit(3), "The record would be sent to topic dead, and the task would fail"),
        (ConfigError("url", "refused"), "The task would fail, whatever errors.tolerance says"),
    ],
)
def test_what_a_step_raises_is_told_with_its_stage_and_nothing_is_tried_again(raised, advice):
    def throw(record):
        raise raised

    edit = Edit(throw)
    outcome = run(trial(Transform(edit, alias="cast"), errors_retry_timeout="-1"), value={})
    failure = outcome.steps[-1].failure
    assert (outcome.verdict, failure.stage, failure.class_name) == (
        "failed",
        "TRANSFORMATION",
        type(raised).__name__ if type(raised).__module__ == "builtins" else f"connect.errors.{type(raised).__name__}",
    )
    assert "\n" not in failure.message
    assert failure.advice.startswith(advice)
    assert "throw" in failure.trace
    assert edit.seen == 1


def test_the_error_of_a_transformation_that_says_where_it_stopped_is_its_own():
    class Resuming(Transformation):
        resumes = True

        def apply(self, record):
            raise NotImplementedError

        def apply_batch(self, batch):
            raise StoppedAt(0, batch.slice(0, 0), DataError("no such customer"))

    (*_, last) = run(trial(Transform(Resuming(), alias="ask")), value={}).steps
    assert (last.failure.class_name, last.failure.message) == ("connect.errors.DataError", "no such customer")
    assert last.failure.reported_as == "org.apache.kafka.connect.errors.DataException"


def test_a_record_that_would_be_tolerated_is_told_so():
    outcome = run(trial(errors_tolerance="all"), value="{")
    assert outcome.steps[-1].failure.stage == "VALUE_CONVERTER"
    assert "sent to topic dead, and the task would go on" in outcome.steps[-1].failure.advice
    assert outcome.steps[-1].failure.reported_as == "org.apache.kafka.connect.errors.DataException"


def test_a_record_that_would_wait_is_told_so():
    chain = sink_chain(Plugins(), PLAIN, {}, fail)
    outcome = run(Trial(chain, retry_topic="later-5s"), value="{")
    assert outcome.steps[-1].failure.advice.startswith("The record would wait in topic later-5s and be retried.")


def test_a_source_ends_in_bytes():
    chain = source_chain(Plugins(), WORKER, {}, fail)
    value = {"schema": {"type": "int32", "optional": False}, "payload": 5}
    outcome = Trial(chain).run(sample("source", {"key": "k", "value": value, "headers": {"n": 1}}, "t"))
    assert outcome.before.record.value_schema == INT32
    assert json.loads(outcome.after.record.value) == value
    assert outcome.after.headers() == [("n", b"1", None)]
    told = outcome.plain()
    assert json.loads(told["after"]["value"]["text"]) == value
    json.dumps(told)


def test_a_step_that_adds_or_takes_away_headers_says_which():
    headers = Headers([Header("a", 1, INT32), Header("a", 2, INT32), Header("b", "x")])
    before = sample("source", {"value": 1}, "t").replace(headers=headers)
    after = before.replace(headers=Headers([Header("a", 1, INT32), Header("a", 2, INT64), Header("c", None)]))
    assert changes(Snapshot(before, frozenset()), Snapshot(after, frozenset())) == [
        Change("headers.a[1]", 2, 2, "INT32", "INT64"),
        Change("headers.b", "x"),
        Change("headers.c", after=None),
    ]


def values(before, after, before_schema=None, after_schema=None):
    record = sample("source", {"value": 1}, "t")
    one = record.replace(value=before, value_schema=before_schema)
    other = record.replace(value=after, value_schema=after_schema)
    return changes(Snapshot(one, frozenset()), Snapshot(other, frozenset()))


def test_fields_are_told_one_by_one_however_deep():
    assert values({"a": {"b": [1, {"c": 2}]}, "d": 1}, {"a": {"b": [1, {"c": 3}, 4]}, "e": 1}) == [
        Change("value.a.b[1].c", 2, 3),
        Change("value.a.b[2]", after=4),
        Change("value.d", 1),
        Change("value.e", after=1),
    ]


def test_another_type_is_a_change_though_the_values_are_equal():
    assert values({"n": 1}, {"n": 1.0}) == [Change("value.n", 1, 1.0)]
    assert values({"n": 1}, {"n": True}) == [Change("value.n", 1, True)]
    assert values({"n": Decimal("1.0")}, {"n": "1.0"}) == [Change("value.n", "1.0", "1.0")]


def test_a_schema_that_changes_alone_is_told_where_it_does():
    one, other = Schema.struct({"a": INT32, "b": STRING}), Schema.struct({"a": INT64, "b": STRING}, name="N")
    assert values({"a": 1, "b": ""}, {"a": 1, "b": ""}, one, other) == [
        Change("value", {"a": 1, "b": ""}, {"a": 1, "b": ""}, "STRUCT", "N:STRUCT"),
        Change("value.a", 1, 1, "INT32", "INT64"),
    ]
    assert values("x", "x", STRING, OPTIONAL_STRING) == [Change("value", "x", "x", "STRING", "STRING?")]


def test_values_that_json_does_not_have_are_written_as_text():
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    value = {"b": b"\xff", "t": b"t", "d": Decimal("1.50"), "at": moment, "on": dt.date(2026, 1, 2), 3: (1,)}
    assert plain(value) == {
        "b": {"base64": "/w=="},
        "t": {"text": "t"},
        "d": "1.50",
        "at": "2026-01-02T02:04:05.006Z",
        "on": "2026-01-02",
        "3": [1],
    }
    struct = Schema.struct({"at": logical.TIMESTAMP, "tags": Schema.array(Schema(Type.BYTES))})
    assert values({"at": moment, "tags": [b"a"]}, {"at": moment, "tags": [b"a"]}, struct, struct) == []


def test_every_step_is_closed():
    closed = []
    edit = Edit()
    edit.close = lambda: closed.append("edit")
    has = Has("a")
    has.close = lambda: closed.append("has")
    Trial(Chain([Transform(edit, has)], ErrorPolicy())).close()
    assert closed == ["edit", "has"]
