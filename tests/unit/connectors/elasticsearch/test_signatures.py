"""Signatures of requests to Amazon's service: whose credentials they are made with."""

from collections.abc import Callable

import pytest

from connectors.elasticsearch.cluster import OpenSearchOptions
from connectors.elasticsearch.cluster.signatures import signer
from tests.servers.http_gate import Answer, HttpGate

ROLE = (
    '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>'
    "<AccessKeyId>AKID-OF-THE-ROLE</AccessKeyId><SecretAccessKey>hush</SecretAccessKey><SessionToken>t</SessionToken>"
    "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
)


def test_a_role_is_assumed_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://sts.example")
    asked: list[bytes] = []

    def rule(method: str, path: str, body: bytes, forward: Callable[[], Answer]) -> Answer:
        asked.append(body)
        return Answer(200, ROLE.encode(), {"Content-Type": "text/xml"})

    with HttpGate("http://sts.example") as gate:
        gate.rule = rule
        config = {
            "connection.url": "https://search.example",
            "aws.region": "eu-central-1",
            "aws.access_key_id": "AKID",
            "aws.secret_access_key": "hush",
            "aws.sts.role.arn": "arn:aws:iam::123456789012:role/search",
            "proxy.host": "127.0.0.1",
            "proxy.port": str(gate.port),
            "proxy.username": "me",
            "proxy.password": "p@ss",
        }
        signed = signer(OpenSearchOptions.parse(config))("POST", "https://search.example/_bulk", b"")
    assert b"Action=AssumeRole" in asked[0]
    assert gate.seen[0]["host"] == "sts.example"
    assert gate.seen[0]["proxy-authorization"] == "Basic bWU6cEBzcw=="
    assert "Credential=AKID-OF-THE-ROLE/" in signed["Authorization"]
