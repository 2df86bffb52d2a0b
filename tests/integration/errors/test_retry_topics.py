"""Records that fail wait in retry topics and are tried again, while those behind them go on."""

import time
import uuid

import pytest

from connect.pipeline.error_headers import ErrorContext, ParkedHeaders

CONVERTER = {"value__converter": "picky.PickyConverter"}


def retries(tiers: str, **more: str) -> dict[str, str]:
    return {"errors__retry__topics": tiers, "errors__tolerance": "all", **more}


@pytest.fixture
def name() -> str:
    return f"sink-{uuid.uuid4().hex[:8]}"


@pytest.mark.promise("P1", "P5")
def test_a_record_that_fails_waits_and_comes_back_as_it_was(
    picky, produce, all_of, lines_of, new_topic, committed, name, tmp_path
):
    topic = new_topic(partitions=3)
    config = {"value__converter__gate": str(tmp_path / "gate"), **CONVERTER}
    run = picky(name, topic, **retries("1s"), **config)
    more = {"headers": [("h", b"\xff"), ("h", None)], "timestamp": 1_600_000_000_000}
    before = time.time() * 1000
    produce(topic, (b"k", b"1"), (b"k", b"bad"), (b"k", b"2"), partition=2, **more)
    run.until(lambda: lines_of() == [f"{topic} k 1", f"{topic} k 2"], lines_of)
    (parked,) = all_of(f"connect-retry-{name}-1s", 1)
    assert (parked.key(), parked.value(), parked.partition()) == (b"k", b"bad", 2)
    own, place = ParkedHeaders.split(parked.headers())
    assert own == more["headers"]
    assert (place.topic, place.partition, place.offset, place.timestamp) == (topic, 2, 1, 1_600_000_000_000)
    assert (place.attempt, place.parked) == (1, 1)
    assert place.due >= before + 1000
    run.until(lambda: committed(name, topic)[2] == 3)
    (tmp_path / "gate").touch()
    run.until(lambda: lines_of() == [f"{topic} k 1", f"{topic} k 2", f"{topic} k bad"], lines_of)
    assert time.time() * 1000 >= before + 1000
    run.until(lambda: committed(name, f"connect-retry-{name}-1s")[2] == 1)


@pytest.mark.promise("P5")
def test_after_the_last_tier_it_is_a_dead_letter_of_where_it_came_from_first(
    picky, produce, all_of, lines_of, new_topic, committed, name
):
    topic, queue = new_topic(), f"dead-{name}"
    dead = {
        "errors__deadletterqueue__topic__name": queue,
        "errors__deadletterqueue__topic__replication__factor": "1",
        "errors__deadletterqueue__context__headers__enable": "true",
    }
    run = picky(name, topic, **retries("200ms,400ms"), **CONVERTER, **dead)
    more = {"headers": [("h", b"\xff")], "timestamp": 1_600_000_000_000}
    produce(topic, (b"k", b"1"), (b"k", b"bad"), **more)
    (letter,) = all_of(queue, 1)
    assert (letter.key(), letter.value(), letter.timestamp()[1]) == (b"k", b"bad", 1_600_000_000_000)
    own, context = ErrorContext.split(letter.headers())
    assert own == more["headers"]
    assert (context.topic, context.partition, context.offset) == (topic, 0, 1)
    for tier, attempt in (("200ms", 1), ("400ms", 2)):
        (parked,) = all_of(f"connect-retry-{name}-{tier}", 1)
        assert ParkedHeaders.split(parked.headers())[1].attempt == attempt
        run.until(lambda tier=tier: committed(name, f"connect-retry-{name}-{tier}") == {0: 1})
    assert lines_of() == [f"{topic} k 1"]


def test_a_record_that_the_task_reports_is_parked_too(picky, produce, lines_of, new_topic, name, tmp_path, all_of):
    topic = new_topic()
    run = picky(name, topic, how="report", **retries("300ms,400ms,500ms,600ms"))
    produce(topic, (b"k", b"bad"), (b"k", b"1"))
    all_of(f"connect-retry-{name}-300ms", 1)
    (tmp_path / "gate").touch()
    run.until(lambda: lines_of() == [f"{topic} k 1", f"{topic} k bad"], lines_of)


@pytest.mark.promise("P7")
def test_many_records_come_back_and_none_twice(picky, produce, lines_of, new_topic, name, tmp_path, committed):
    topic = new_topic()
    config = {"value__converter__gate": str(tmp_path / "gate"), **CONVERTER}
    run = picky(name, topic, **retries("500ms,600ms,700ms,800ms,900ms,1s,2s,3s,4s"), **config)
    for part in range(5):
        produce(topic, *((b"k", f"bad {part * 500 + number}".encode()) for number in range(500)))
    run.until(lambda: committed(name, topic) == {0: 2500})
    (tmp_path / "gate").touch()
    run.until(lambda: len(lines_of()) >= 2500, lambda: len(lines_of()))
    assert sorted(lines_of()) == sorted(f"{topic} k bad {number}" for number in range(2500))
