"""Keys that no object can have: their records go to the error policy, and the others are written."""

import pytest

from connect import DataError, SinkRecord
from connectors.azure import AzureBlobSinkConnector
from connectors.gcs import GcsSinkConnector
from connectors.objects.sink.connector import ObjectSinkConnector
from connectors.s3.sink import S3SinkConnector
from tests.unit.connectors.objects.in_memory import ObjectRun

POLICY = {"errors.tolerance": "all", "errors.log.enable": "true"}
BY_FIELD = {"partitioner.class": "field", "partition.field.name": "f", "partition.field.format.path": "false"}
BY_KEY = {"file.name.template": "{{key}}", "format.output.type": "jsonl", "file.compression.type": "none"}

S3, GCS, AZURE = S3SinkConnector, GcsSinkConnector, AzureBlobSinkConnector


@pytest.mark.parametrize(
    ("connector", "name", "why"),
    [
        (S3, "x" * 1025, "it has 1,025 bytes in UTF-8, and the store allows 1,024"),
        (S3, "\u00e9" * 513, "it has 1,026 bytes in UTF-8, and the store allows 1,024"),
        (S3, "a/../b", 'a part of it between slashes is "." or ".."'),
        (S3, ".", 'a part of it between slashes is "." or ".."'),
        (S3, "a\0b", "it has the character U+0000"),
        (S3, "a\x1fb", "it has the character U+001F"),
        (S3, "\ud800", "it has half a character (a lone surrogate)"),
        (S3, "", "it is empty, or ends with a slash like a folder"),
        (S3, "a/", "it is empty, or ends with a slash like a folder"),
        (GCS, "x" * 1025, "it has 1,025 bytes in UTF-8, and the store allows 1,024"),
        (GCS, "a\nb", "it has the character U+000A"),
        (GCS, "..", "the store reserves it"),
        (GCS, ".well-known/acme-challenge/x", "the store reserves it"),
        (AZURE, "x" * 1025, "it has 1,025 characters, and the store allows 1,024"),
        (AZURE, "a/" * 254 + "b", "it has 255 parts between slashes, and the store allows 254"),
        (AZURE, "a\x81", "it has the character U+0081"),
        (AZURE, "..", 'a part of it between slashes is "." or ".."'),
    ],
)
def test_a_key_that_no_object_can_have_is_its_records_fault(
    connector: type[ObjectSinkConnector], name: str, why: str
) -> None:
    with ObjectRun({**BY_KEY, **POLICY}, connector) as run:
        run.put(*(SinkRecord("test", {"n": n}, key=key) for n, key in enumerate(["a", name, "b"])))
        run.await_committed(3)
        ((record, error),) = run.errant
    assert record.offset == 1
    assert f'{why}. The name is made from the topic "test" and from its key ({{{{key}}}}).' in str(error)
    assert run.contents == {"a": b'{"value":{"n":0}}\n', "b": b'{"value":{"n":2}}\n'}


@pytest.mark.parametrize(
    ("connector", "name"),
    [
        (S3, "x" * 1024),
        (S3, "a\tb"),
        (S3, "..."),
        (GCS, "x" * 1024),
        (GCS, "a/../b"),
        (AZURE, "\u00e9" * 1024),
        (AZURE, "a/" * 253 + "b"),
    ],
)
def test_what_a_store_can_just_have_is_written(connector: type[ObjectSinkConnector], name: str) -> None:
    with ObjectRun(BY_KEY, connector) as run:
        run.put(SinkRecord("test", {"n": 0}, key=name))
        run.await_committed(1)
    assert list(run.contents) == [name]


def test_the_files_beside_the_object_and_the_digits_of_its_offset_count_too() -> None:
    beside = {"store.kafka.keys": "true", "keys.format.class": "string", "filename.offset.zero.pad.width": "0"}
    fixed = len("topics/test/" + "/test+0+0.keys.txt")
    with ObjectRun({**BY_FIELD, **beside, **POLICY, "flush.size": "1"}) as run:
        run.put(*(SinkRecord("test", {"f": "x" * (1024 - fixed)}, key="k") for _ in range(11)))
        run.await_committed(11)
        assert [record.offset for record, _ in run.errant] == [10]
    assert max(map(len, run.contents)) == 1024


def test_without_a_policy_the_task_names_the_record_and_the_field() -> None:
    refused = pytest.raises(
        DataError,
        match=r'topic test, partition 0, offset 0 .* 1,024\. .* topic "test" and from "f" \(partition\.field\.name\)\.',
    )
    with ObjectRun({**BY_FIELD, "flush.size": "1"}) as run, refused:
        run.put({"f": "x" * 2000})


def test_dots_in_the_folder_of_the_configuration_are_its_own_matter() -> None:
    with ObjectRun({**BY_FIELD, "topics.dir": "./a", "flush.size": "1"}) as run:
        run.put({"f": "b"})
        run.await_committed(1)
    assert list(run.contents) == ["./a/test/b/test+0+0000000000.json"]
