"""What connectors read and write besides topics, as lineage names it."""

from pathlib import Path

import pytest

from connect.api.connector import Connector
from connectors.azure import AzureBlobSinkConnector
from connectors.file import FileStreamSinkConnector, FileStreamSourceConnector
from connectors.gcs import GcsSinkConnector
from connectors.jdbc.sink import JdbcSinkConnector
from connectors.jdbc.source import JdbcSourceConnector
from connectors.mirror import MirrorHeartbeatConnector
from connectors.s3.sink import S3SinkConnector
from spark_sink.sink.connector import SparkSinkConnector

POSTGRES = {"connection.url": "jdbc:postgresql://db:5433/shop?user=me&password=secret"}


@pytest.mark.parametrize(
    ("connector", "config", "expected"),
    [
        (FileStreamSinkConnector, {"file": "/tmp/out.txt"}, [("file", "/tmp/out.txt")]),
        (FileStreamSinkConnector, {}, []),
        (FileStreamSourceConnector, {"file": "in.txt", "topic": "t"}, [("file", str(Path.cwd() / "in.txt"))]),
        (JdbcSinkConnector, POSTGRES, [("postgres://db:5433", "shop.a"), ("postgres://db:5433", "shop.b")]),
        (
            JdbcSinkConnector,
            {**POSTGRES, "table.name.format": "kafka_${topic}", "connection.user": "me"},
            [("postgres://db:5433", "shop.kafka_a"), ("postgres://db:5433", "shop.kafka_b")],
        ),
        (
            JdbcSourceConnector,
            {
                "connection.url": "jdbc:mariadb://db/shop",
                "table.whitelist": "orders",
                "mode": "bulk",
                "topic.prefix": "p-",
            },
            [("mysql://db:3306", "shop.orders")],
        ),
        (S3SinkConnector, {"s3.bucket.name": "lake", "topics.dir": "raw"}, [("s3://lake", "raw")]),
        (GcsSinkConnector, {"gcs.bucket.name": "lake"}, [("gs://lake", "topics")]),
        (
            AzureBlobSinkConnector,
            {"azblob.container.name": "lake", "azblob.account.name": "me"},
            [("wasbs://lake@me.blob.core.windows.net", "topics")],
        ),
        (
            AzureBlobSinkConnector,
            {
                "azblob.container.name": "lake",
                "azblob.connection.string": "DefaultEndpointsProtocol=https;AccountName=me;AccountKey=secret==",
            },
            [("wasbs://lake@me.blob.core.windows.net", "topics")],
        ),
        (
            AzureBlobSinkConnector,
            {
                "azblob.container.name": "lake",
                "azblob.connection.string": "BlobEndpoint=https://me.blob.core.windows.net/;"
                "SharedAccessSignature=sv=1&sig=secret",
            },
            [("wasbs://lake@me.blob.core.windows.net", "topics")],
        ),
        (SparkSinkConnector, {"table": "/lake/orders"}, [("file", "/lake/orders")]),
        (SparkSinkConnector, {"table": "s3a://lake/${topic}"}, [("s3://lake", "a"), ("s3://lake", "b")]),
        (SparkSinkConnector, {"table": "shop.orders", "checkpoint.location": "/c"}, [("spark", "shop.orders")]),
        (MirrorHeartbeatConnector, {}, []),
    ],
)
def test_datasets_have_the_names_of_openlineage(
    connector: type[Connector], config: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    found = list(connector.datasets({"name": "c", "topics": "a,b", **config}))
    assert [(namespace, name) for namespace, name in found] == expected
    assert "secret" not in str(found)
