"""The pages of the sinks of Google and Azure say what the code does, and their keys are checked."""

from pathlib import Path

import pytest

from connect.plugins.builtin import BUILT_IN
from connectors.azure import AzureBlobSinkConnector
from connectors.gcs import GcsSinkConnector
from connectors.objects.sink.connector import ObjectSinkConnector

DOCS = Path(__file__).parents[4] / "docs" / "connectors"
GCS = {"gcs.bucket.name": "b"}
AZURE = {"azblob.account.name": "me", "azblob.container.name": "lake"}


@pytest.mark.parametrize(
    ("connector", "page", "task"),
    [
        (GcsSinkConnector, "gcs-sink.md", "io.confluent.connect.gcs.GcsSinkTask"),
        (AzureBlobSinkConnector, "azure-blob-sink.md", "io.confluent.connect.azure.blob.AzureBlobStorageSinkTask"),
    ],
)
def test_the_page_names_the_connector_as_it_is_found(
    connector: type[ObjectSinkConnector], page: str, task: str
) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(f":{connector.__name__}")]
    assert ref.task == task
    assert all(f"`{name}`" in text for name in (ref.name, *ref.aliases))
    assert all(f"`{connector.task.kind}_{what}" in text for what in ("records_written_total", "open_files"))


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"gcs.bucket.name": ""}, "gcs.bucket.name"),
        ({"gcs.endpoint": "storage.example"}, "gcs.endpoint"),
        ({"gcs.part.size": "1000"}, "gcs.part.size"),
        ({"gcs.credentials.path": "/a", "gcs.credentials.json": "{}"}, "gcs.credentials.json"),
        ({"gcs.compression.type": "gzip", "gcs.compression.level": "12"}, "gcs.compression.level"),
        ({"partitioner.class": "field"}, "partition.field.name"),
        ({"format.class": "com.example.Mine"}, "format.class"),
    ],
)
def test_what_is_wrong_for_google_is_said_at_its_key(changes: dict[str, str], key: str) -> None:
    wrong = [value.name for value in GcsSinkConnector().validate({**GCS, **changes}) if value.errors]
    assert wrong == [key]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"azblob.account.name": ""}, "azblob.account.name"),
        ({"azblob.container.name": "A--b"}, "azblob.container.name"),
        ({"azblob.block.size": "209715200"}, "azblob.block.size"),
        ({"azblob.account.key": "a", "azblob.sas.token": "b"}, "azblob.sas.token"),
        ({"azblob.connection.string": "a", "azblob.account.key": "b"}, "azblob.account.key"),
        ({"azblob.retry.type": "NEVER"}, "azblob.retry.type"),
        ({"az.compression.type": "gzip", "az.compression.level": "12"}, "az.compression.level"),
    ],
)
def test_what_is_wrong_for_azure_is_said_at_its_key(changes: dict[str, str], key: str) -> None:
    wrong = [value.name for value in AzureBlobSinkConnector().validate({**AZURE, **changes}) if value.errors]
    assert wrong == [key]


def test_a_connection_string_is_enough() -> None:
    config = {"azblob.connection.string": "AccountName=me;AccountKey=eA=="}
    assert [value.name for value in AzureBlobSinkConnector().validate(config) if value.errors] == []


@pytest.mark.parametrize(
    ("connector", "config"),
    [
        (GcsSinkConnector, {**GCS, "connector.class": "io.aiven.kafka.connect.gcs.GcsSinkConnector"}),
        (
            AzureBlobSinkConnector,
            {
                "connector.class": "io.aiven.kafka.connect.azure.sink.AzureBlobSinkConnector",
                "azure.storage.connection.string": "AccountName=me;AccountKey=eA==",
                "azure.storage.container.name": "lake",
            },
        ),
    ],
)
def test_a_configuration_of_aivens_keeps_its_names_of_files(
    connector: type[ObjectSinkConnector], config: dict[str, str]
) -> None:
    plan = connector.task.plan({**config, "format.output.type": "jsonl", "file.name.prefix": "raw/"})
    assert type(plan.names).__name__ == "Templates"
    assert plan.fields == ("value",)
