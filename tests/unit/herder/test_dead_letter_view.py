"""How dead letters are shown, told apart and chosen."""

import pytest

from connect.herder.dead_letter_view import Bytes, DeadLetterView, fingerprint
from connect.herder.dead_letters import Wanted
from connect.kafka.admin.replay_marks import _joined, _parsed
from connect.kafka.reading.read_range import StoredRecord
from connect.pipeline.error_headers import ErrorContext
from connect.telemetry.redaction import redactor


def lying(key=b"k", timestamp=1000, **context) -> StoredRecord:
    headers = ErrorContext(**context).headers() if context else []
    return StoredRecord("dead", 0, 5, timestamp, "CreateTime", key, b"v", headers)


@pytest.mark.parametrize(
    ("data", "most", "shown"),
    [
        (b"abc", None, Bytes(3, text="abc")),
        (b"", 2, Bytes(0, text="")),
        (b"abc", 2, Bytes(3, text="ab", cut=True)),
        ("aä".encode(), 2, Bytes(3, text="a", cut=True)),
        (b"\xff\xfe", 1, Bytes(2, base64="/w==", cut=True)),
        (b"\xffabcdefg", 7, Bytes(8, base64="/2FiY2RlZg==", cut=True)),
        (None, 5, None),
    ],
)
def test_bytes_are_text_where_they_can_be(data, most, shown) -> None:
    assert Bytes.of(data, most) == shown


def test_whole_bytes_come_back() -> None:
    for data in (b"", b"abc", "ä".encode(), b"\xff\x00"):
        assert Bytes.of(data).data() == data


def test_errors_that_differ_in_numbers_and_quoted_values_are_of_one_kind() -> None:
    def of(message, **more):
        return fingerprint(ErrorContext(stage="S", exception="E", message=message, **more))

    same = ["no id in 5 at 'x'", "no id in 7.5 at 'yz'", 'no id in 0xff at "q"']
    assert len({of(message) for message in same}) == 1
    assert of("no 0d9ae4f0-1111-2222-3333-444455556666") == of("no 0d9ae4f0-9999-2222-3333-444455556666")
    assert of("no id") != of("no name")
    assert of("no id") != of("no id", class_name="C")
    assert of(None) == of("")


@pytest.mark.parametrize(
    ("wanted", "takes"),
    [
        (Wanted(), True),
        (Wanted(stage="value_converter"), True),
        (Wanted(stage="TRANSFORMATION"), False),
        (Wanted(error="dataexception: NO"), True),
        (Wanted(error="other"), False),
        (Wanted(key="k"), True),
        (Wanted(key="kk"), False),
        (Wanted(since=1000, until=1000), True),
        (Wanted(since=1001), False),
        (Wanted(until=999), False),
        (Wanted(places=frozenset([(0, 5)])), True),
        (Wanted(places=frozenset([(1, 5)])), False),
        (Wanted(connector="orders"), True),
        (Wanted(connector="other"), False),
    ],
)
def test_filters(wanted, takes) -> None:
    one = lying(stage="VALUE_CONVERTER", exception="DataException", message="no JSON", connector="orders")
    _, context = ErrorContext.split(one.headers)
    assert wanted.takes(one, context) is takes


def test_a_letter_without_headers_is_anybodys_and_of_no_stage() -> None:
    assert Wanted(connector="orders").takes(lying(), None)
    assert not Wanted(stage="VALUE_CONVERTER").takes(lying(), None)
    assert not Wanted(error="x").takes(lying(), None)


def test_secrets_are_hidden_in_errors_and_payloads_are_the_users() -> None:
    redactor.remember(["hunter2222"])
    one = lying(key=b"hunter2222", stage="S", message="with hunter2222", stacktrace="at hunter2222")
    letter = DeadLetterView.of(one, whole=True)
    assert (letter.error.message, letter.error.stacktrace) == ("with [hidden]", "at [hidden]")
    assert letter.key.text == "hunter2222"


def test_marks_are_ranges() -> None:
    assert _parsed("5,7-9") == [(5, 6), (7, 10)]
    assert _parsed(None) == _parsed("") == _parsed("x") == _parsed("5-") == []
    assert _joined([(7, 10), (0, 3), (3, 4), (8, 12), (20, 21)]) == [(0, 4), (7, 12), (20, 21)]
