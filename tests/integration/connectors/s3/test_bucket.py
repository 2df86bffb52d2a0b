"""A bucket of a real server: credentials, failures, pages."""

import http.server
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from connect import ConfigError
from connect.ports import free_port
from connectors.objects.store import Failure
from connectors.s3.bucket import Bucket, BucketOptions
from connectors.s3.bucket.failures import failure
from tests.servers.s3 import ACCESS_KEY, SECRET_KEY, S3Bucket, S3Proxy, S3Server


def bucket_of(config: Mapping[str, str]) -> Bucket:
    quick = {"s3.part.retries": "0", **config}
    return Bucket(BucketOptions.parse(quick), config)


def failed(bucket: Bucket, work: Callable[[], Any]) -> Failure:
    with pytest.raises((ClientError, BotoCoreError, OSError)) as caught:
        work()
    return failure(caught.value, bucket.settings, "writing a")


@pytest.fixture
def put() -> Callable[[Bucket], Any]:
    return lambda bucket: bucket.request("put_object", Key="a", Body=b"1")


def test_writes_and_lists_in_the_order_of_bytes_over_several_pages(s3_bucket: S3Bucket) -> None:
    bucket = bucket_of(s3_bucket.config)
    names = ["topics/b", "topics/a+0", "topics/ü=1/x y", "topics/a", "other"]
    for name in names:
        bucket.request("put_object", Key=name, Body=b"1")
    expected = sorted((name for name in names if name.startswith("topics/")), key=str.encode)
    assert [each["Key"] for each in bucket.pages("topics/")] == expected
    assert [each["Key"] for each in bucket.pages("topics/", expected[1])] == expected[2:]
    measured = {operation for operation, seconds in bucket.times.measured() if seconds > 0}
    assert measured == {"put_object", "list_objects_v2"}
    assert bucket.times.measured() == []
    bucket.close()


def test_others_names_of_the_same_keys_reach_it(
    s3: S3Server, s3_bucket: S3Bucket, put: Callable[[Bucket], Any]
) -> None:
    bucket = bucket_of(
        {
            "aws.s3.bucket.name": s3_bucket.name,
            "aws.s3.endpoint": s3.endpoint,
            "aws.s3.region": "US_EAST_1",
            "aws_access_key_id": ACCESS_KEY,
            "aws_secret_access_key": SECRET_KEY,
        }
    )
    put(Bucket(bucket.settings, s3_bucket.config))
    assert bucket.settings.region == "us-east-1"
    assert s3_bucket.keys() == ["a"]


def test_a_wrong_secret_is_said(s3_bucket: S3Bucket, put: Callable[[Bucket], Any]) -> None:
    bucket = bucket_of({**s3_bucket.config, "aws.secret.access.key": "an-old-secret"})
    found = failed(bucket, lambda: put(bucket))
    assert (found.kind, found.passing) == ("credentials", False)
    assert "Check aws.secret.access.key" in found.sentence
    assert "old-secret" not in found.sentence
    assert not bucket.discard()  # the configuration is what it was: asking again with the same is of no use


def test_what_a_missing_bucket_a_dead_host_and_no_answer_are(
    s3: S3Server, s3_bucket: S3Bucket, put: Callable[[Bucket], Any]
) -> None:
    missing = bucket_of({**s3_bucket.config, "s3.bucket.name": "not-there"})
    assert failed(missing, lambda: put(missing))[:2] == ("missing", False)
    nobody = bucket_of({**s3_bucket.config, "store.url": f"http://who:secret@127.0.0.1:{free_port()}"})
    found = failed(nobody, lambda: put(nobody))
    assert found[:2] == ("unreachable", True)
    assert "secret" not in found.sentence
    existing = bucket_of(s3_bucket.config)
    put(existing)
    conflict = failed(existing, lambda: existing.request("put_object", Key="a", Body=b"2", IfNoneMatch="*"))
    assert conflict[:2] == ("conflict", False)
    unnamed = bucket_of({**s3_bucket.config, "aws.access.key.id": "nobody"})
    assert failed(unnamed, lambda: put(unnamed))[:2] == ("credentials", False)


def test_a_server_that_hangs_is_a_timeout(cannot_have: Any, put: Callable[[Bucket], Any]) -> None:
    server = S3Proxy()
    try:
        bucket = bucket_of({**server.bucket("hanging").config, "s3.request.timeout.ms": "300"})
        server.suspend()
        assert failed(bucket, lambda: put(bucket))[:2] == ("timeout", True)
        server.resume()
        put(bucket)
    finally:
        server.close()


class _Roles(http.server.BaseHTTPRequestHandler):
    """Gives out the credentials of a role that expire soon, as Amazon's service does."""

    asked: ClassVar[list[dict[str, list[str]]]] = []

    def do_POST(self) -> None:
        self.asked.append(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        # Botocore renews what ends within ten minutes before each request.
        ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 120))
        answer = (
            '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>'
            f"<AccessKeyId>{ACCESS_KEY}</AccessKeyId><SecretAccessKey>{SECRET_KEY}</SecretAccessKey>"
            f"<SessionToken></SessionToken><Expiration>{ends}</Expiration></Credentials></AssumeRoleResult>"
            "</AssumeRoleResponse>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def roles() -> Iterator[str]:
    _Roles.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Roles) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_role_is_assumed_and_renewed_by_itself(s3_bucket: S3Bucket, roles: str, put: Callable[[Bucket], Any]) -> None:
    own = {"aws.access.key.id": "of-the-user", "aws.secret.access.key": "of-the-user"}
    role = {"aws.sts.role.arn": "arn:aws:iam::1:role/x", "aws.sts.role.external.id": "ours"}
    bucket = bucket_of({**s3_bucket.config, **own, **role, "aws.sts.config.endpoint": roles})
    put(bucket)
    put(bucket)
    assert len(_Roles.asked) >= 2
    assert _Roles.asked[0]["RoleArn"] == ["arn:aws:iam::1:role/x"]
    assert _Roles.asked[0]["ExternalId"] == ["ours"]


def test_a_role_is_asked_for_through_the_proxy(roles: str, put: Callable[[Bucket], Any]) -> None:
    """It takes requests of any kind, and knows of roles only."""
    own = {"aws.access.key.id": "of-the-user", "aws.secret.access.key": "of-the-user"}
    away = {"store.url": "http://store.invalid", "aws.sts.config.endpoint": "http://roles.invalid"}
    role = {"s3.bucket.name": "b", "aws.sts.role.arn": "arn:aws:iam::1:role/x"}
    found = failed(bucket := bucket_of({**own, **away, **role, "s3.proxy.url": roles}), lambda: put(bucket))
    assert [asked["RoleArn"] for asked in _Roles.asked] == [["arn:aws:iam::1:role/x"]]
    assert "501" in found.sentence  # of the request for the object, which comes to the proxy, too


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"aws.access.key.id": "x", "aws.secret.access.key": ""}, "aws.secret.access.key"),
        ({"s3.sse.customer.key": "short"}, "s3.sse.customer.key"),
        ({"s3.acl.canned": "mine"}, "s3.acl.canned"),
        ({"store.url": "127.0.0.1:9000"}, "store.url"),
        ({"s3.sse.kms.key.id": "k"}, "s3.sse.kms.key.id"),
        ({"s3.credentials.provider.class": "com.example.Mine"}, "s3.credentials.provider.class"),
        ({"s3.wan.mode": "true"}, "s3.wan.mode"),
    ],
)
def test_keys_that_are_wrong_are_named(s3_bucket: S3Bucket, config: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        bucket_of({**s3_bucket.config, **config})
    assert caught.value.key == key


@pytest.mark.slow
def test_objects_get_their_class_and_list_of_access_and_a_read_only_store_refuses(
    s3_gateway: S3Server, put: Callable[[Bucket], Any]
) -> None:
    there = s3_gateway.bucket()
    bucket = bucket_of({**there.config, "s3.storage.class": "STANDARD"})
    bucket.request("put_object", Key="a", Body=b"1", Tagging="x=1", **bucket.settings.to_write())
    assert there.client.get_object_tagging(Bucket=there.name, Key="a")["TagSet"] == [{"Key": "x", "Value": "1"}]
    s3_gateway.kill()
    s3_gateway.start(read_only=True)
    try:
        assert failed(bucket, lambda: put(bucket))[:2] == ("refused", False)
    finally:
        s3_gateway.kill()
        s3_gateway.start()
