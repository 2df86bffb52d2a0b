"""docs/connectors/s3-sink.md says what the code does, and its examples are taken."""

from pathlib import Path

import pytest

from connect.plugins.builtin import BUILT_IN
from connectors.s3.sink import S3SinkConnector, keys

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "s3-sink.md").read_text(encoding="utf-8")


def test_the_page_names_the_connector_as_it_is_found() -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(":S3SinkConnector")]
    assert ref.task == "io.confluent.connect.s3.S3SinkTask"
    assert all(f"`{name}`" in PAGE for name in (ref.name, *ref.aliases))


def test_the_page_names_the_keys_of_others() -> None:
    theirs = {*keys.S3SinkOptions.definition().others.without_effect, *keys.S3SinkOptions.definition().others.aliases}
    assert [key for key in theirs if f"`{key}`" not in PAGE and "sts.role" not in key] == []


def test_a_policy_without_a_schema_to_apply_it_to_is_named() -> None:
    config = {"s3.bucket.name": "b", "format.class": "json", "schema.evolution": "add"}
    warned = {value.name: value.warnings for value in S3SinkConnector().validate(config) if value.warnings}
    assert warned == {"schema.evolution": ["has no effect: files of this format have no schema."]}
    of_avro = S3SinkConnector().validate({**config, "format.class": "avro"})
    assert [value for value in of_avro if value.warnings or value.errors] == []


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"schema.compatibility": "FULL", "schema.evolution": "add"}, "schema.compatibility"),
        ({"format.class": "com.example.Mine"}, "format.class"),
        ({"partitioner.class": "com.example.Mine"}, "partitioner.class"),
        ({"partitioner.class": "field"}, "partition.field.name"),
        ({"partitioner.class": "time"}, "path.format"),
        ({"partitioner.class": "time", "path.format": "'year=YYYY"}, "path.format"),
        ({"partitioner.class": "time", "path.format": "bbb"}, "path.format"),
        ({"partitioner.class": "time", "path.format": "MMM", "locale": "de-DE"}, "locale"),
        ({"timestamp.extractor": "Sometime"}, "timestamp.extractor"),
        ({"timezone": "Mars"}, "timezone"),
        ({"s3.compression.type": "gzip", "s3.compression.level": "12"}, "s3.compression.level"),
        ({"s3.part.size": "1000"}, "s3.part.size"),
        ({"behavior.on.null.values": "write"}, "behavior.on.null.values"),
        ({"file.name.template": "{{topic}}"}, "file.name.template"),
        ({"file.name.template": "{{key}}-{{start_offset}}"}, "file.name.template"),
        ({"file.name.template": "{{topic}}-{{partition}}-{{start_offset}}-{{what}}"}, "file.name.template"),
        ({"format.output.type": "json", "format.output.fields": "value,age"}, "format.output.fields"),
        (
            {"format.output.type": "json", "format.output.fields": "key,value", "format.output.envelope": "false"},
            "format.output.envelope",
        ),
        ({"file.max.bytes": "10", "partitioner.class": "field", "partition.field.name": "a"}, "file.max.bytes"),
        ({"s3.object.tagging.key.value.pairs": "team"}, "s3.object.tagging.key.value.pairs"),
        ({"s3.schema.partition.affix.type": "PREFIX"}, "s3.schema.partition.affix.type"),
        ({"s3.bucket.name": ""}, "s3.bucket.name"),
    ],
)
def test_what_contradicts_is_said_at_its_key(changes: dict[str, str], key: str) -> None:
    config = {"s3.bucket.name": "b", **changes}
    wrong = [value.name for value in S3SinkConnector().validate(config) if value.errors]
    assert wrong == [key]
