"""Sample records from JSON, in each form that is taken."""

import pytest

from connect.data.schema import INT32, OPTIONAL_BYTES
from connect.pipeline.samples import SampleError, sample


def sink(**fields):
    return sample("sink", fields, "t")


@pytest.mark.parametrize(
    ("written", "data"),
    [
        (None, None),
        ("text", b"text"),
        ("", b""),
        ({"a": [1, None]}, b'{"a":[1,null]}'),
        (5, b"5"),
        (2**70, b"1180591620717411303424"),
        ({"base64": "/w=="}, b"\xff"),
        ({"text": '{"a": 1}'}, b'{"a": 1}'),
        ({"base64": "/w==", "more": 1}, b'{"base64":"/w==","more":1}'),
    ],
)
def test_a_sink_gets_bytes(written, data):
    assert sink(value=written).value == data
    assert sink(key=written).key == data
    assert sink(headers={"h": written}).headers == [("h", data)]


def test_what_a_sample_does_not_say_has_a_default():
    record = sample("sink", {}, "t", 7)
    assert (record.topic, record.partition, record.offset, record.headers) == ("t", 0, 7, None)
    assert record.timestamp == 1_767_225_600_000
    assert sink(timestamp=None).timestamp is None
    assert sink(topic="other", partition=3, offset=9).offset == 9


def test_a_source_gets_values():
    record = sample("source", {"key": "k", "value": {"a": 1}, "headers": {"h": [1]}}, "t")
    assert (record.key, record.value, record.value_schema, record.partition) == ("k", {"a": 1}, None, None)
    assert record.headers.last("h").value == [1]
    typed = sample("source", {"value": {"schema": {"type": "int32"}, "payload": 5}}, "t")
    assert (typed.value, typed.value_schema) == (5, INT32)
    assert sample("source", {"value": {"base64": "/w=="}}, "t").value_schema == OPTIONAL_BYTES


@pytest.mark.parametrize(
    "headers", [{"a": "1", "b": None}, [["a", "1"], ["b", None]], [{"key": "a", "value": "1"}, {"key": "b"}]]
)
def test_headers_have_three_forms(headers):
    assert sink(headers=headers).headers == [("a", b"1"), ("b", None)]


def test_what_kcat_prints_is_taken():
    line = {"topic": "o", "partition": 1, "offset": 5, "tstype": "create", "ts": 9, "broker": 1}
    record = sink(**line, headers=["a", "1", "a", "2"], key="k", payload="v")
    assert (record.topic, record.partition, record.offset, record.timestamp) == ("o", 1, 5, 9)
    assert (record.key, record.value, record.headers) == (b"k", b"v", [("a", b"1"), ("a", b"2")])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ([], "a record is an object"),
        ({"id": 5}, "id: is not a field of a record"),
        ({"partition": "1"}, "partition: is a whole number"),
        ({"topic": 5}, "topic: is text"),
        ({"headers": "a"}, "headers: are an object"),
        ({"headers": [["a"]]}, "headers: each of a list"),
        ({"value": {"base64": "§"}}, "value: this is not base64"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(written, said):
    with pytest.raises(SampleError, match=said):
        sample("sink", written, "t")


def test_an_envelope_that_is_none_is_refused():
    with pytest.raises(SampleError, match="^value: .*number"):
        sample("source", {"value": {"schema": {"type": "number"}, "payload": 5}}, "t")
