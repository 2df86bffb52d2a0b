"""What is imported when, and what is said where a package is missing."""

import subprocess
import sys

import pytest

from connect import ConnectError
from connect.settings import Definition
from connectors.elasticsearch.cluster import ELASTICSEARCH, OPENSEARCH, Cluster, ClusterSettings


def test_naming_the_connectors_and_validating_loads_no_client() -> None:
    code = (
        "import sys; from connectors.elasticsearch import sink;"
        "sink.ElasticsearchSinkConnector().validate({'connection.url': 'http://a'});"
        "sink.OpenSearchSinkConnector().validate({'connection.url': 'http://a'});"
        "print(sorted({'elasticsearch', 'elastic_transport', 'opensearchpy', 'urllib3', 'boto3'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("definition", "module", "extra"),
    [(ELASTICSEARCH, "elastic_transport", "elasticsearch"), (OPENSEARCH, "opensearchpy", "opensearch")],
)
def test_a_client_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, definition: Definition, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"connectors.elasticsearch.cluster.{extra}_link", raising=False)
    settings = ClusterSettings.of(definition.parse({"connection.url": "http://a"}))
    with pytest.raises(
        ConnectError, match=rf"^The package {module} is missing\. Install connect-runtime\[{extra}\]\.$"
    ):
        Cluster(settings)


def test_signatures_need_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    settings = ClusterSettings.of(OPENSEARCH.parse({"connection.url": "http://a", "aws.region": "eu-central-1"}))
    with pytest.raises(ConnectError, match=r"connect-runtime\[s3\]"):
        Cluster(settings)
