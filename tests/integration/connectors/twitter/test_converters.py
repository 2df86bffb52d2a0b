"""Posts go through every converter, with all that may come along; others' readers understand them."""

import io
import json
from collections.abc import Callable
from typing import Any

import fastavro
import pytest

from connect.testing import SourceRun
from tests.servers.twitter import TwitterServer
from tests.unit.converters.registry.memory_registry import MemoryRegistry

Run = Callable[..., SourceRun]
CONVERTERS = {
    "json": "org.apache.kafka.connect.json.JsonConverter",
    "avro": "io.confluent.connect.avro.AvroConverter",
    "protobuf": "io.confluent.connect.protobuf.ProtobufConverter",
    "json schema": "io.confluent.connect.json.JsonSchemaConverter",
}


def _posts(x: TwitterServer) -> None:
    first = x.post("the first #kafka", by="bob")
    x.includes["media"]["3_1"] = {
        "media_key": "3_1",
        "type": "video",
        "width": 10,
        "height": 5,
        "variants": [{"bit_rate": 632_000, "content_type": "video/mp4", "url": "https://video.example/1"}],
    }
    x.includes["polls"]["9"] = {
        "id": "9",
        "end_datetime": "2026-01-02T03:04:05.000Z",
        "options": [{"position": 1, "label": "yes", "votes": 2}],
    }
    x.includes["places"]["abc"] = {"id": "abc", "full_name": "Berlin", "geo": {"type": "Feature", "bbox": [1, 2, 3, 4]}}
    x.post(
        "all of it #kafka",
        attachments={"media_keys": ["3_1"], "poll_ids": ["9"]},
        geo={"place_id": "abc", "coordinates": {"type": "Point", "coordinates": [13.4, 52.5]}},
        referenced_tweets=[{"type": "quoted", "id": str(first)}],
        edit_controls={"edits_remaining": 5, "is_edit_eligible": True, "editable_until": "2026-01-01T00:30:00.000Z"},
        note_tweet={"text": "longer", "entities": {"cashtags": [{"start": 0, "end": 3, "tag": "AAPL"}]}},
        context_annotations=[{"domain": {"id": "1", "name": "n"}, "entity": {"id": "2", "name": "m"}}],
        withheld={"copyright": False, "country_codes": ["DE"]},
    )


@pytest.mark.parametrize("includes", ["resolve", "arrays"])
@pytest.mark.parametrize("form", sorted(CONVERTERS))
def test_posts_go_through_a_converter(x: TwitterServer, run: Run, form: str, includes: str) -> None:
    _posts(x)
    with (
        MemoryRegistry() as registry,
        run(
            twitter_mode="search",
            expansions="all",
            twitter_includes=includes,
            key_converter="org.apache.kafka.connect.storage.StringConverter",
            value_converter=CONVERTERS[form],
            value_converter_schema_registry_url=registry.url,
        ) as running,
    ):
        running.poll_until(2)
        values = [message.value for message in running.messages]
        assert len(registry.schemas) == (form != "json"), "one schema for all posts"
        if form == "json":
            post = json.loads(values[1])["payload"]
        elif form == "avro":
            post = _read_avro(values[1], json.loads(registry.schemas[0]["schema"]))
        elif form == "json schema":
            post = json.loads(values[1][5:])
        else:
            assert b"Berlin" in values[1]
            return
    place, media = (
        (post["place"], post["media"])
        if includes == "resolve"
        else (post["includes"]["places"][0], post["includes"]["media"])
    )
    assert place["full_name"] == "Berlin"
    assert media[0]["variants"][0]["bit_rate"] == 632_000
    assert post["geo"]["coordinates"]["coordinates"] == [13.4, 52.5]
    assert post["text"] == "all of it #kafka"


def _read_avro(value: bytes, schema: Any) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(value[5:]), fastavro.parse_schema(schema), None)
