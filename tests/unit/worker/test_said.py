"""What a task's process tells its worker: only what can be kept and shown comes through, and only so much of it."""

import math

import pytest

from connect.telemetry.metrics import Buckets, Sample
from connect.worker import messages
from connect.worker.channel import cut
from connect.worker.said import MOST, Asked, Said


def told(*samples: Sample) -> messages.Progress:
    return messages.Progress(1, 2, -1, 0, list(samples))


def metrics(message: messages.AnyMessage | None) -> list[Sample]:
    assert isinstance(message, messages.Progress)
    return message.metrics


GOOD = [
    Sample("connect_x_total", "counter", {"task": "0"}, 1.0),
    Sample("lag", "gauge", {}, math.nan),
    Sample("a_seconds", "histogram", {}, Buckets((0.1, 1.0), (1, 0, 2), 3.0)),
]


def test_what_a_registry_of_ours_tells_comes_through() -> None:
    assert metrics(Said().fit(told(*GOOD))) == GOOD


@pytest.mark.parametrize(
    "sample",
    [
        Sample('a 1\nb{x="', "gauge", {}, 1.0),
        Sample("a", "gauge", {'x"} 1\nb{y': "z"}, 1.0),
        Sample("a", "gauge", {"x": "y" * 2000}, 1.0),
        Sample("a", "histogram", {"le": "1"}, Buckets((1.0,), (1, 1), 1.0)),
        Sample("a", "histogram", {}, 1.0),
        Sample("a", "gauge", {}, Buckets((1.0,), (1, 1), 1.0)),
        Sample("a", "histogram", {}, Buckets((1.0,), (1, 1, 1), 1.0)),
        Sample("a", "histogram", {}, Buckets((2.0, 1.0), (1, 1, 1), 1.0)),
        Sample("a", "histogram", {}, Buckets((1.0,), (-1, 1), 1.0)),
        Sample("a", "histogram", {}, Buckets((math.inf,), (1, 1), 1.0)),
    ],
)
def test_what_would_break_the_page_does_not(sample: Sample) -> None:
    assert metrics(Said().fit(told(sample, *GOOD))) == GOOD


def test_series_and_topics_are_bounded_and_those_that_are_known_go_on() -> None:
    said = Said()
    series = [Sample("a", "gauge", {"x": str(number)}, 1.0) for number in range(MOST + 10)]
    assert metrics(said.fit(told(*series))) == series[:MOST]
    assert metrics(said.fit(told(series[-1], series[0]))) == [series[0]]
    topics = [f"t{number}" for number in range(MOST + 10)]
    assert said.fit(messages.UsedTopics(["x" * 300, *topics])) == messages.UsedTopics(topics[:MOST])


@pytest.mark.parametrize("number", [math.nan, math.inf, -1.0, 1e300])
def test_times_that_no_clock_shows_are_not_taken(number: float) -> None:
    assert Said().fit(messages.Alive(number)) is None
    assert Said().fit(messages.Waiting(number, "the database is away")) is None


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("http://spark:4040", True),
        ("", True),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("http://" + "a" * 9999, False),
    ],
)
def test_a_page_is_one_that_a_browser_may_be_sent_to(url: str, taken: bool) -> None:
    assert (Said().fit(messages.Page(url)) is not None) is taken


def test_questions_that_are_open_are_bounded_until_they_are_answered() -> None:
    asked = Asked(100)
    assert asked.takes(1, 60)
    assert asked.takes(1, 40)
    assert not asked.takes(2, 1)
    asked.answered(1)
    asked.answered(7)
    assert asked.takes(3, 99)
    assert not asked.takes(3, 1)


def test_long_words_keep_their_beginning_and_their_end() -> None:
    assert cut("short") == "short"
    assert cut("a\udcff") == "a\\udcff"
    words = cut("begin" + "." * 1000 + "end", 100)
    assert words.startswith("begin.")
    assert words.endswith(".end")
    assert "[... 908 characters are left out ...]" in words
