"""How objects are encrypted, and the ways to a store: keys of its own, of a key service, of the user; proxies."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from connect import ConnectError
from tests.integration.connectors.s3.sink_runs import await_committed, numbers, sink_run
from tests.integration.connectors.s3.source_runs import numbers as numbers_read
from tests.integration.connectors.s3.source_runs import source_run
from tests.servers.http_gate import Answer, HttpGate
from tests.servers.s3 import Moto, S3Bucket

KEY = base64.b64encode(bytes(range(32))).decode()
OTHER_KEY = base64.b64encode(bytes(32)).decode()
_CUSTOMER = "x-amz-server-side-encryption-customer-"


@pytest.fixture(scope="module")
def moto() -> Iterator[Moto]:
    server = Moto()
    yield server
    server.close()


@pytest.fixture
def bucket(moto: Moto) -> S3Bucket:
    return moto.bucket()


class CustomerKeys:
    """What Amazon's store does with a key of the user's own (SSE-C), before a store that takes no notice of one.

    Every request for an object, and for each part of one, brings the key that it was begun with.
    """

    def __init__(self, gate: HttpGate) -> None:
        self.keys: dict[str, str] = {}
        self._gate = gate

    def __call__(self, method: str, path: str, body: bytes, forward: Callable[[], Answer]) -> Answer:
        name, _, query = path.partition("?")
        if name.count("/") < 2:  # the bucket itself
            return forward()
        headers = self._gate.headers
        key = headers.get(f"{_CUSTOMER}key", "")
        if key and (headers.get(f"{_CUSTOMER}algorithm"), headers.get(f"{_CUSTOMER}key-md5")) != ("AES256", _sum(key)):
            return _refused(400, "InvalidArgument")
        if (method == "PUT" and "partNumber=" not in query) or query == "uploads":
            self.keys[name] = key
        needs_key = method in {"GET", "HEAD"} or "partNumber=" in query
        if needs_key and self.keys.get(name, "") != key:
            return _refused(403 if key else 400, "AccessDenied" if key else "InvalidRequest")
        return forward()


def _sum(key: str) -> str:
    return base64.b64encode(hashlib.md5(base64.b64decode(key), usedforsecurity=False).digest()).decode()


def _refused(status: int, code: str) -> Answer:
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{code}</Message></Error>'
    return Answer(status, body.encode(), {"Content-Type": "application/xml"})


def rows(count: int, width: int = 0) -> list[dict[str, Any]]:
    return [{"n": n, "x": "x" * width} for n in range(count)]


@pytest.mark.parametrize("how", [pytest.param(0, id="in one piece"), pytest.param(700, id="in parts")])
@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({"s3.ssea.name": "AES256"}, {"ServerSideEncryption": "AES256"}),
        ({"s3.ssea.name": "aws:kms"}, {"ServerSideEncryption": "aws:kms"}),
        (
            {"s3.ssea.name": "aws:kms", "s3.sse.kms.key.id": "a-key"},
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "a-key"},
        ),
        ({"s3.ssea.name": "aws:kms:dsse"}, {"ServerSideEncryption": "aws:kms:dsse"}),
    ],
    ids=["its own key", "the key service's", "one of the key service", "twice"],
)
def test_the_store_encrypts_as_it_is_asked(
    bucket: S3Bucket, config: dict[str, str], found: dict[str, str], how: int
) -> None:
    count = 10_000 if how else 10
    with sink_run(bucket, {"flush.size": str(count), "s3.part.size": str(5 << 20), **config}, timeout=60) as run:
        run.put(*rows(count, how))
        await_committed(run, count)
    (key,) = bucket.keys()
    told = bucket.client.head_object(Bucket=bucket.name, Key=key)
    assert {name: told.get(name) for name in ("ServerSideEncryption", "SSEKMSKeyId") if name in told} == found
    assert ("-" in told["ETag"]) == bool(how)
    assert numbers(bucket) == list(range(count))


@pytest.mark.parametrize("width", [pytest.param(0, id="in one piece"), pytest.param(700, id="in parts")])
def test_a_key_of_the_users_own_goes_with_every_request_and_only_it_reads_again(bucket: S3Bucket, width: int) -> None:
    count = 10_000 if width else 10
    with HttpGate(bucket.server.endpoint, all_headers=True, but=_CUSTOMER) as gate:
        gate.rule = store = CustomerKeys(gate)
        config = {"store.url": gate.url, "s3.sse.customer.key": KEY}
        more = {"flush.size": str(count), "s3.part.size": str(5 << 20)}
        with sink_run(bucket, {**config, **more}, timeout=60) as run:
            run.put(*rows(count, width))
            await_committed(run, count)
        assert set(store.keys.values()) == {KEY}
        dotted = {name.replace(".", "__"): value for name, value in config.items()}
        with source_run(bucket, **dotted) as reading:
            reading.poll_until(count)
            assert numbers_read(reading) == list(range(count))
        for wrong in (OTHER_KEY, ""):
            with source_run(bucket, **{**dotted, "s3__sse__customer__key": wrong}) as reading:
                with pytest.raises(ConnectError, match="AccessDenied|InvalidRequest"):
                    reading.poll_until(1)
                assert not reading.records


def test_all_requests_go_through_a_proxy_with_its_user(s3_bucket: S3Bucket) -> None:
    login = base64.b64encode(b"who:a pass:word@").decode()
    with HttpGate(s3_bucket.server.endpoint, all_headers=True) as proxy:
        config = {
            # Nobody but the proxy finds it.
            "store.url": f"http://store.invalid:{s3_bucket.server.port}",
            "s3.proxy.url": proxy.url,
            "s3.proxy.user": "who",
            "s3.proxy.password": "a pass:word@",
        }
        with sink_run(s3_bucket, {"flush.size": "3", **config}) as run:
            run.put(*rows(3))
            await_committed(run, 3)
        assert proxy.seen
        assert {request.get("proxy-authorization") for request in proxy.seen} == {f"Basic {login}"}
    assert numbers(s3_bucket) == [0, 1, 2]


def test_the_bucket_is_part_of_the_hosts_name_where_paths_are_not_wanted(bucket: S3Bucket) -> None:
    with HttpGate(bucket.server.endpoint, all_headers=True) as proxy:
        config = {
            "store.url": "http://s3.amazonaws.com",
            "s3.path.style.access.enabled": "false",
            "s3.proxy.url": proxy.url,
        }
        with sink_run(bucket, {"flush.size": "3", **config}) as run:
            run.put(*rows(3))
            await_committed(run, 3)
        assert {request["host"] for request in proxy.seen} == {f"{bucket.name}.s3.amazonaws.com"}
    assert len(bucket.keys()) == 1
    assert numbers(bucket) == [0, 1, 2]
