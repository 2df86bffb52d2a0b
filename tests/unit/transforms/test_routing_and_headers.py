"""RegexRouter, DropHeaders, InsertHeader and the predicates."""

from typing import Any

import pytest

from connect import (
    Batch,
    ConfigError,
    Header,
    Headers,
    Predicate,
    Schema,
    SinkBatch,
    SinkRecord,
    Transformation,
    Values,
)
from connect.data.column import Constant, Dictionary
from connect.data.schema import INT16, STRING
from transforms.headers import DropHeaders, InsertHeader
from transforms.predicates import HasHeaderKey, RecordIsTombstone, TopicNameMatches
from transforms.regex_router import RegexRouter

from .forms import configured, forms


def _topics(topics: Any) -> SinkBatch:
    return SinkBatch(topics, Values([None] * len(topics)), offsets=list(range(len(topics))))


def _rerouted(topic: str, regex: str, replacement: str) -> str:
    router = configured(RegexRouter, regex=regex, replacement=replacement)
    batch = router.apply_batch(_topics([topic]))
    assert router.apply(SinkRecord(topic, None)).topic == batch.topics[0]
    return batch.topics[0]


@pytest.mark.parametrize(
    ("topic", "regex", "replacement", "expected"),
    [
        ("ab", "(.*)", "x-$1", "x-ab"),
        ("tq", "(?<n>t.)(x)?", "${n}-$2|$0", "tq-|tq"),
        ("tq", "t(.)", "$12", "q2"),
        ("tq", "t(.)", r"\$1", "$1"),
        ("tq", "t(.)", r"\x$1", "xq"),
        ("tqx", "t(.)", "$1", "tqx"),  # not the whole name
        ("ab", "a|ab", "X", "Xb"),  # the whole matches, the first find is shorter
        ("", "", "z", "z"),
    ],
)
def test_topics_are_renamed_as_java_does(topic: str, regex: str, replacement: str, expected: str) -> None:
    assert _rerouted(topic, regex, replacement) == expected


@pytest.mark.parametrize("replacement", ["$2", "$", "$x", "${zz}", "${n", "a\\"])
def test_a_replacement_that_cannot_work_is_refused_at_once(replacement: str) -> None:
    with pytest.raises(ConfigError, match='key "replacement"'):
        configured(RegexRouter, regex="t(.)", replacement=replacement)


def test_a_broken_pattern_is_refused() -> None:
    with pytest.raises(ConfigError, match='key "regex"'):
        configured(RegexRouter, regex="(", replacement="")


def test_where_a_record_was_consumed_stays() -> None:
    router = configured(RegexRouter, regex="(.*)", replacement="new-$1")
    batch = router.apply_batch(_topics(["a", "b"]))
    assert [(r.topic, r.original_topic) for r in batch] == [("new-a", "a"), ("new-b", "b")]


def test_few_topics_stay_few() -> None:
    router = configured(RegexRouter, regex="(.*)", replacement="x")
    assert router.apply_batch(_topics(Constant("a", 5))).topics.constant
    several = router.apply_batch(_topics(Dictionary([0, 1, 0], ["a", "b"]))).topics
    assert isinstance(several, Dictionary)
    assert list(several) == ["x", "x", "x"]


def test_a_batch_in_which_nothing_changes_is_the_same() -> None:
    batch = _topics(["a", "b"])
    assert configured(RegexRouter, regex="c", replacement="x").apply_batch(batch) is batch
    assert configured(DropHeaders, headers="h").apply_batch(batch) is batch


_HEADERS = Headers([Header("x", "old", STRING), Header("y", 1), Header("x", "new", STRING)])


def _through(transformation: Transformation, headers: Headers) -> Headers:
    record = SinkRecord("t", "v", headers=headers)
    changed = transformation.apply_batch(SinkBatch.of([record, record]))
    constant = transformation.apply_batch(SinkBatch("t", Values(["v"]), offsets=[0], headers=Constant(headers, 1)))
    assert list(changed.headers) == [transformation.apply(record).headers] * 2
    assert list(constant.headers) == [changed.headers[0]]
    return changed.headers[0]


def test_headers_are_dropped_by_name() -> None:
    assert _through(configured(DropHeaders, headers="x,z"), _HEADERS) == Headers([Header("y", 1)])


def test_a_header_is_added_behind_the_others() -> None:
    added = _through(configured(InsertHeader, header="x", value_literal="300"), _HEADERS)
    assert added == Headers([*_HEADERS, Header("x", 300, INT16)])


@pytest.mark.parametrize("headers", ["", "x,"])
def test_dropping_needs_names(headers: str) -> None:
    with pytest.raises(ConfigError, match='key "headers"'):
        configured(DropHeaders, headers=headers)


def _test(predicate: type[Predicate], batch: Batch[Any], **config: str) -> list[bool]:
    made = predicate()
    made.configure(made.settings.parse(config))
    found = made.test_batch(batch)
    assert found == [made.test(record) for record in batch]
    return found


def test_records_are_chosen_by_header() -> None:
    records = [SinkRecord("t", None, headers=headers) for headers in (_HEADERS, Headers(), Headers([Header("X", 1)]))]
    assert _test(HasHeaderKey, SinkBatch.of(records), name="x") == [True, False, False]
    constant = SinkBatch("t", Values([1, 2]), offsets=[0, 1], headers=Constant(_HEADERS, 2))
    assert _test(HasHeaderKey, constant, name="y") == [True, True]


def test_records_are_chosen_by_topic() -> None:
    for topics in (["ab", "xab", "ab"], Dictionary([0, 1, 0], ["ab", "xab"])):
        assert _test(TopicNameMatches, _topics(topics), pattern="a.*") == [True, False, True]
    assert _test(TopicNameMatches, _topics(Constant("ab", 2)), pattern="a") == [False, False]


def test_tombstones_are_chosen() -> None:
    assert _test(RecordIsTombstone, SinkBatch("t", Values([None, 0, ""]), offsets=[0, 1, 2])) == [True, False, False]
    struct = Schema.struct({"a": STRING})
    for batch in forms([SinkRecord("t", value, struct) for value in ({"a": "x"}, None)]):
        assert _test(RecordIsTombstone, batch) == [False, True]
        assert _test(RecordIsTombstone, batch.take([0])) == [False]


@pytest.mark.parametrize(
    ("predicate", "config"),
    [
        (HasHeaderKey, {}),
        (HasHeaderKey, {"name": ""}),
        (TopicNameMatches, {"pattern": ""}),
        (TopicNameMatches, {"pattern": "("}),
    ],
)
def test_predicates_say_what_is_missing(predicate: type[Predicate], config: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        predicate.settings.parse(config)
