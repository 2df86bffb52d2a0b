"""What is imported when, and what is said where a package is missing."""

import subprocess
import sys

import pytest

from connect import ConnectError
from connectors.elasticsearch.cluster import Cluster, ElasticsearchOptions, OpenSearchOptions


def test_naming_the_connectors_and_validating_loads_no_client() -> None:
    code = (
        "import sys; from connectors.elasticsearch import sink;"
        "sink.ElasticsearchSinkConnector().validate({'connection.url': 'http://a'});"
        "sink.OpenSearchSinkConnector().validate({'connection.url': 'http://a'});"
        "print(sorted({'elasticsearch', 'elastic_transport', 'opensearchpy', 'urllib3', 'boto3'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("options", "module", "extra"),
    [(ElasticsearchOptions, "elastic_transport", "elasticsearch"), (OpenSearchOptions, "opensearchpy", "opensearch")],
)
def test_a_client_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch,
    options: type[ElasticsearchOptions | OpenSearchOptions],
    module: str,
    extra: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"connectors.elasticsearch.cluster.{extra}_link", raising=False)
    settings = options.parse({"connection.url": "http://a"})
    with pytest.raises(
        ConnectError, match=rf"^The package {module} is missing\. Install connect-runtime\[{extra}\]\.$"
    ):
        Cluster(settings)


def test_signatures_need_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    settings = OpenSearchOptions.parse({"connection.url": "http://a", "aws.region": "eu-central-1"})
    with pytest.raises(ConnectError, match=r"connect-runtime\[s3\]"):
        Cluster(settings)
