"""Records of a source that cannot be converted, or that Kafka refuses, are dead letters before offsets move on."""

import json
import uuid

import pytest

from connect.pipeline.error_headers import ErrorContext
from connect.storage import MemoryOffsetStore

from .conftest import PLUGINS
from .test_dead_letters import dead


def values(messages):
    return sorted(message.value() for message in messages)


@pytest.mark.promise("P1", "P5")
def test_a_source_record_that_fails_is_a_dead_letter_with_where_it_was_read(herd, new_topic, all_of):
    topic, queue, offsets = new_topic(), f"dead-{uuid.uuid4().hex[:8]}", MemoryOffsetStore()
    run = herd(plugin__path=PLUGINS, offsets=offsets)
    more = {"value__converter": "picky.PickyConverter", "values": "one bad-1 huge two bad-2 three", **dead(queue)}
    run.run(
        "list",
        connector__class="picky.ListSource",
        topic=topic,
        producer__override__max__request__size="100000",
        **more,
    )
    assert values(all_of(topic, 3)) == [b"one", b"three", b"two"]
    letters = {json.loads(letter.key())["payload"]: letter for letter in all_of(queue, 3)}
    assert set(letters) == {"bad-1", "huge", "bad-2"}
    assert json.loads(letters["bad-1"].value())["payload"] == "bad-1"
    own, context = ErrorContext.split(letters["bad-1"].headers())
    assert own == [("h", b"bad-1")]
    assert (context.topic, context.stage, context.class_name) == (topic, "VALUE_CONVERTER", "picky.PickyConverter")
    assert (context.source_partition, context.source_offset) == ({"list": "words"}, {"next": 2})
    assert letters["huge"].value() is None
    _, context = ErrorContext.split(letters["huge"].headers())
    assert (context.stage, context.source_offset) == ("KAFKA_PRODUCE", {"next": 3})
    assert "too large" in context.omitted
    run.until(lambda: run.state("list") == "RUNNING")
    run.until(lambda: stored(offsets) == {"next": 6}, lambda: stored(offsets))


@pytest.mark.promise("P1", "P5")
def test_of_records_for_several_topics_the_refused_one_is_the_dead_letter(herd, new_topic, all_of):
    topic, queue = new_topic(), f"dead-{uuid.uuid4().hex[:8]}"
    other = new_topic(name=f"{topic}-other")
    run = herd(plugin__path=PLUGINS)
    more = {"value__converter": "picky.PickyConverter", "values": "one other/huge other/two three", **dead(queue)}
    run.run(
        "list",
        connector__class="picky.ListSource",
        topic=topic,
        producer__override__max__request__size="100000",
        **more,
    )
    assert values(all_of(topic, 2)) == [b"one", b"three"]
    assert values(all_of(other, 1)) == [b"two"]
    (letter,) = all_of(queue, 1)
    assert json.loads(letter.key())["payload"] == "other/huge"
    _, context = ErrorContext.split(letter.headers())
    assert (context.topic, context.stage, context.source_offset) == (other, "KAFKA_PRODUCE", {"next": 2})


@pytest.mark.promise("P1", "P9")
def test_a_source_whose_dead_letter_is_not_taken_fails_and_stores_no_offset(herd, new_topic):
    topic, queue, offsets = new_topic(), new_topic(config={"max.message.bytes": "100"}), MemoryOffsetStore()
    run = herd(plugin__path=PLUGINS, offsets=offsets)
    more = {"value__converter": "picky.PickyConverter", "values": "bad-1 one", **dead(queue)}
    run.run("list", connector__class="picky.ListSource", topic=topic, **more)
    assert f'"{queue}"' in run.await_state("list", "FAILED")
    assert stored(offsets) is None


def stored(offsets):
    return offsets.get("list", [{"list": "words"}])[0]
