from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import Converter, HeaderConverter, Predicate, SchemaAndValue, Transformation, schema
from connect.api.converter import RawHeaders
from connect.converters import LongConverter, StringConverter
from connect.data.batch import SinkBatch, SourceBatch
from connect.data.column import Column, Plain
from connect.data.headers import NO_HEADERS, Header, Headers
from connect.data.values import Text, Values
from connect.errors import DataError
from connect.pipeline import Chain, ErrorPolicy, RecordError, Stage
from connect.pipeline.steps import Decode, DecodeHeaders, Encode, EncodeHeaders, Transform


def sink_batch(values: list[Any], **columns: Any) -> SinkBatch:
    return SinkBatch("t", Values(values), offsets=list(range(len(values))), **columns)


def tolerant() -> ErrorPolicy:
    return ErrorPolicy(tolerate=True, pause=lambda seconds: None)


# Converters.


def test_decoding_keys_leaves_values_alone_and_the_other_way_round() -> None:
    raw = sink_batch([b"v"], keys=Values.raw([b"k"]))
    keys = Decode(StringConverter(), is_key=True).run(raw)
    assert (keys.keys.to_list(), keys.values.to_list()) == (["k"], [b"v"])
    both = Decode(StringConverter(), is_key=False).run(keys)
    assert (both.keys.to_list(), both.values.to_list()) == (["k"], ["v"])
    assert raw.values.to_list() == [b"v"]


def test_text_that_was_decoded_is_encoded_back() -> None:
    batch = SourceBatch("t", Text([b"a", None, "ä".encode()]))
    encoded = Encode(StringConverter(), is_key=False).run(batch)
    assert encoded.values.to_list() == [b"a", None, "ä".encode()]


def test_a_failure_says_whether_it_was_key_or_value_and_which_class() -> None:
    chain = Chain([Decode(LongConverter(), is_key=True)], ErrorPolicy(pause=lambda seconds: None))
    with pytest.raises(RecordError, match="key converter LongConverter failed"):
        chain.run(sink_batch([b"v"], keys=Values.raw([b"short"])))
    assert Decode(LongConverter(), is_key=False).stage is Stage.VALUE_CONVERTER


@given(st.lists(st.one_of(st.none(), st.binary(max_size=9)), max_size=30))
def test_a_batch_of_bytes_decodes_as_its_records_do_one_by_one(data: list[bytes | None]) -> None:
    good = [(row, item) for row, item in enumerate(data) if item is None or len(item) == 8]
    out = Chain([Decode(LongConverter(), is_key=False)], tolerant()).run(sink_batch(data))
    assert out.offsets.to_list() == [row for row, _ in good]
    assert out.values.to_list() == [LongConverter().to_connect_data("t", item).value for _, item in good]


class Noting(Converter):
    """Reads the headers of a record, and writes one more."""

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        return SchemaAndValue(None, [(each.key, each.value) for each in headers] if headers else [])

    def from_connect_data(self, topic: str, schema: Any, value: Any, headers: Headers | None = None) -> bytes | None:
        return b"v"

    def from_connect_batch_with_headers(
        self, topics: Column[str], values: Values, headers: Column[RawHeaders]
    ) -> tuple[Sequence[bytes | None], Column[RawHeaders]]:
        added: list[RawHeaders] = [[*(each or ()), ("id", b"7")] for each in headers]
        return self.from_connect_batch(topics, values), Plain(added)


def test_a_converter_sees_headers_as_they_lie_in_kafka() -> None:
    raw: list[Any] = [[("a", b"1"), ("a", None)], None]
    read = Decode(Noting(), is_key=False).run(sink_batch([b"x", b"y"], headers=Plain(raw)))
    assert read.values.to_list() == [[("a", b"1"), ("a", None)], []]
    assert Decode(Noting(), is_key=False).run(sink_batch([b"x"])).values.to_list() == [[]]


def test_what_a_converter_writes_into_headers_goes_along_and_changes_no_list_of_others() -> None:
    own: list[Any] = [("a", b"1")]
    batch = SourceBatch("t", Values([1, 2]), headers=Plain([own, None]))  # type: ignore[list-item]
    encoded = Encode(Noting(), is_key=False).run(batch)
    assert encoded.headers.to_list() == [[("a", b"1"), ("id", b"7")], [("id", b"7")]]
    assert own == [("a", b"1")]


# Headers.


class Shouting(HeaderConverter):
    """Upper case in, lower case out. Counts what it is asked for."""

    never_fails: ClassVar[bool] = True

    def __init__(self) -> None:
        self.asked = 0

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        self.asked += 1
        if data == b"bad":
            raise DataError("bad")
        return SchemaAndValue(schema.STRING, (data or b"").decode().upper())

    def from_connect_header(self, topic: str, key: str, schema: Any, value: Any) -> bytes | None:
        self.asked += 1
        return value.lower().encode()


class Careful(Shouting):
    never_fails = False


RAW_HEADERS = [[("a", b"x"), ("a", b"y")], None, [("b", b"z")]]


def test_headers_of_a_converter_that_never_fails_wait_until_somebody_looks() -> None:
    converter = Shouting()
    batch = sink_batch([1, 2, 3]).with_columns(headers=Plain(RAW_HEADERS))
    out = DecodeHeaders(converter).run(batch).slice(0, 2)
    assert converter.asked == 0
    assert out.records()[0].headers == Headers([Header("a", "X", schema.STRING), Header("a", "Y", schema.STRING)])
    assert out.records()[1].headers is NO_HEADERS
    assert converter.asked == 3  # all of the batch, once


def test_headers_of_another_converter_are_decoded_at_once_so_that_the_bad_record_is_found() -> None:
    converter = Careful()
    batch = sink_batch([1, 2, 3]).with_columns(headers=Plain([[("a", b"x")], [("a", b"bad")], None]))
    out = Chain([DecodeHeaders(converter)], tolerant()).run(batch)
    assert out.values.to_list() == [1, 3]
    assert converter.asked > 0


@pytest.mark.parametrize("converter", [Shouting(), Careful()])
def test_no_headers_cost_nothing(converter: Shouting) -> None:
    out = DecodeHeaders(converter).run(sink_batch([1, 2]))
    assert out.headers.constant
    encoded = EncodeHeaders(converter).run(SourceBatch("t", Values([1, 2])))
    assert encoded.headers.to_list() == [None, None]
    assert encoded.headers.constant
    assert converter.asked == 0


def test_headers_are_encoded_in_their_order_and_none_stays_none() -> None:
    headers = [Headers([Header("a", "X"), Header("a", "Y")]), NO_HEADERS]
    encoded = EncodeHeaders(Shouting()).run(SourceBatch("t", Values([1, 2]), headers=headers))
    assert encoded.headers.to_list() == [[("a", b"x"), ("a", b"y")], None]


# Transformations.


class Increment(Transformation):
    pure = True

    def __init__(self) -> None:
        self.batches = 0
        self.seen: list[int] = []
        self.closed = 0

    def apply(self, record: Any) -> Any:
        self.seen.append(record.value)
        return None if record.value == 13 else record.replace(value=record.value + 1)

    def apply_batch(self, batch: Any) -> Any:
        self.batches += 1
        return super().apply_batch(batch)

    def close(self) -> None:
        self.closed += 1


class Remembering(Increment):
    pure = False


class Even(Predicate):
    def __init__(self) -> None:
        self.closed = 0

    def test(self, record: Any) -> bool:
        return record.value % 2 == 0

    def close(self) -> None:
        self.closed += 1


@given(st.lists(st.integers(0, 30), max_size=30), st.booleans(), st.booleans())
def test_a_transformation_sees_the_records_that_its_predicate_chooses_and_no_others(
    values: list[int], negate: bool, pure: bool
) -> None:
    transformation = Increment() if pure else Remembering()
    out = Chain([Transform(transformation, Even(), negate=negate)], tolerant()).run(sink_batch(values))
    chosen = [value for value in values if (value % 2 == 0) != negate]
    assert transformation.seen == chosen
    expected = [(row, value + 1 if value in chosen else value) for row, value in enumerate(values)]
    if 13 in chosen:
        expected = [(row, changed) for row, changed in expected if values[row] != 13]
    assert list(zip(out.offsets, out.values, strict=True)) == expected


def test_a_predicate_that_chooses_all_or_none_keeps_the_batch_whole() -> None:
    transformation = Increment()
    step = Transform(transformation, Even())
    step.run(sink_batch([2, 4]))
    assert transformation.batches == 1
    odd = sink_batch([1, 3])
    assert step.run(odd) is odd


def test_a_transformation_that_is_not_pure_is_run_record_by_record() -> None:
    assert Transform(Increment()).apply_one is None
    assert Transform(Remembering()).apply_one is not None


def test_a_predicate_that_fails_counts_as_its_transformation() -> None:
    class Odd(Even):
        def test(self, record: Any) -> bool:
            if record.value == 7:
                raise ValueError("seven")
            return True

    policy = tolerant()
    out = Chain([Transform(Increment(), Odd())], policy).run(sink_batch([5, 7, 9]))
    assert out.values.to_list() == [6, 10]
    assert policy.counts.skipped == 1


def test_transformation_and_predicate_are_closed() -> None:
    transformation, predicate = Increment(), Even()
    Transform(transformation, predicate).close()
    assert (transformation.closed, predicate.closed) == (1, 1)


class EveryThirdGoes(Transformation):
    """Drops numbers that three divides and marks the others; pure."""

    pure = True

    def apply(self, record: Any) -> Any:
        return None if record.value["n"] % 3 == 0 else record.replace(value={"n": -record.value["n"]})


class IsEven(Predicate):
    def test(self, record: Any) -> bool:
        return bool(record.value["n"] % 2 == 0)


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize("pure", [False, True])
def test_records_that_a_predicate_spares_stay_in_their_places(negate: bool, pure: bool) -> None:
    transformation = EveryThirdGoes()
    step = Transform(transformation, IsEven(), negate=negate)
    batch = SinkBatch("t", Values([{"n": n} for n in range(1, 10)]), offsets=list(range(1, 10)))
    changed = step.run(batch)
    expected = [step._apply_one(record) for record in batch]
    assert list(changed) == [record for record in expected if record is not None]
    assert list(changed.offsets) == [record.offset for record in changed]


class Texts(Transformation):
    def apply(self, record: Any) -> Any:
        return "a text"


@pytest.mark.parametrize("pure", [True, False])
def test_a_transformation_that_returns_no_record_is_named(pure: bool) -> None:
    transformation = Texts()
    transformation.pure = pure  # type: ignore[misc]
    chain = Chain([Transform(transformation, alias="a")], ErrorPolicy(pause=lambda seconds: None))
    with pytest.raises(
        RecordError, match="transformation .*Texts.* record, or None to drop it; here is a str"
    ) as raised:
        chain.run(sink_batch(["v"]))
    assert raised.value.__cause__.__class__ is TypeError
