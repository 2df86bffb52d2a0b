import pytest

from connect.pipeline.error_headers import ErrorContext, ParkedHeaders, duration_ms, retry_topic

CONTEXT = ErrorContext(
    topic="orders",
    partition=3,
    offset=12,
    connector="sink",
    task=1,
    stage="VALUE_CONVERTER",
    class_name="org.apache.kafka.connect.json.JsonConverter",
    exception="org.apache.kafka.connect.errors.DataException",
    message="böse",
    stacktrace="at x",
)
PARKED = ParkedHeaders(topic="orders", partition=3, offset=12, timestamp=None, attempt=1, parked=2, due=99)


def test_a_dead_letter_has_the_headers_of_kafka_connect_in_its_order() -> None:
    assert CONTEXT.headers() == [
        ("__connect.errors.topic", b"orders"),
        ("__connect.errors.partition", b"3"),
        ("__connect.errors.offset", b"12"),
        ("__connect.errors.connector.name", b"sink"),
        ("__connect.errors.task.id", b"1"),
        ("__connect.errors.stage", b"VALUE_CONVERTER"),
        ("__connect.errors.class.name", b"org.apache.kafka.connect.json.JsonConverter"),
        ("__connect.errors.exception.class.name", b"org.apache.kafka.connect.errors.DataException"),
        ("__connect.errors.exception.message", "böse".encode()),
        ("__connect.errors.exception.stacktrace", b"at x"),
    ]


@pytest.mark.parametrize("own", [[], [("a", b"1"), ("a", None)], CONTEXT.headers()])
def test_own_headers_come_back_as_they_were(own: list[tuple[str, bytes | None]]) -> None:
    second = ErrorContext(
        stage="TASK_PUT", source_partition={"file": "ä"}, source_offset={"position": 5}, omitted="big"
    )
    for context in (CONTEXT, second):
        assert ErrorContext.split([*own, *context.headers()]) == (own, context)
    assert ParkedHeaders.split(PARKED.after(own, CONTEXT)) == (own, PARKED)
    parked = PARKED.after(own, CONTEXT)
    behind = len(parked) - len(own) - len(CONTEXT.headers())
    assert ErrorContext.split(parked[:-behind]) == (own, CONTEXT)


def test_a_record_without_such_headers_is_left_alone() -> None:
    assert ErrorContext.split([("a", b"1")]) == ([("a", b"1")], None)
    assert ErrorContext.split(None) == ([], None)
    for headers in (None, [("__connect.retry.topic", b"t")]):
        with pytest.raises(ValueError, match="missing or broken"):
            ParkedHeaders.split(headers)


def test_an_error_may_quote_what_is_no_text() -> None:
    (message,) = [
        value for name, value in ErrorContext(message="\ud83d is no name").headers() if name.endswith("message")
    ]
    assert message == b"\\ud83d is no name"


def test_tiers() -> None:
    assert retry_topic("connect-retry-sink", "5s") == "connect-retry-sink-5s"
    assert [duration_ms(text) for text in ("500ms", "5s", "1m", "2h", "1d")] == [
        500,
        5000,
        60_000,
        7_200_000,
        86_400_000,
    ]
    for wrong in ("", "5", "s", "0s", "-1s", "1.5m", "5 s"):
        with pytest.raises(ValueError, match="not a duration"):
            duration_ms(wrong)
