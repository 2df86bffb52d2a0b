"""Resumable uploads to Google's storage that has less than it said."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from connect.ports import free_port
from connectors.gcs.client import GcsClient, GcsError
from connectors.gcs.keys import GcsSinkOptions
from connectors.gcs.store import GcsUpload
from connectors.objects.store import Lost

_CHUNK = 256 * 1024


class Client:
    """Answers each part with how many bytes it has, in turn."""

    def __init__(self, counts: Sequence[int]) -> None:
        self._counts = list(counts)
        self.sent: list[tuple[str, bytes]] = []

    def upload(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(status_code=200, headers={"Location": "http://upload"})

    def request(self, *_: Any, headers: dict[str, str], data: bytes = b"", **__: Any) -> Any:
        self.sent.append((headers["Content-Range"], data))
        count = self._counts.pop(0)
        return SimpleNamespace(status_code=308, headers={"Range": f"bytes=0-{count - 1}"} if count else {})


def upload(client: Any, *, conditional: bool = True) -> GcsUpload:
    resource = {"name": "k", "contentType": "text/plain"}
    return GcsUpload(client, "bucket b", resource, 0, "rules", "t", conditional=conditional)


def test_an_end_that_is_not_taken_is_an_error_and_not_asked_without_end() -> None:
    client = Client([_CHUNK, _CHUNK])
    sending = upload(client)
    sending.part(b"x" * _CHUNK)
    with pytest.raises(GcsError, match="and takes no more"):
        sending.complete(9, 10)
    assert [content for content, _ in client.sent] == [f"bytes 0-{_CHUNK - 1}/*", f"bytes */{_CHUNK}"]


def test_bytes_that_are_gone_again_are_not_replaced_by_others() -> None:
    client = Client([2 * _CHUNK, 2 * _CHUNK, _CHUNK, _CHUNK])
    sending = upload(client)
    sending.part(b"x" * 2 * _CHUNK)
    for why in ("takes no more", "that it had acknowledged", "that it had acknowledged"):
        with pytest.raises(GcsError, match=why):
            sending.part(b"y" * _CHUNK)
    assert [content for content, _ in client.sent[2:]] == ["bytes */*", "bytes */*"]


@pytest.mark.promise("P1")
@pytest.mark.parametrize(("conditional", "said"), [(True, None), (False, {"connect-rules": "rules"})])
def test_an_upload_that_the_store_has_forgotten_is_lost(conditional: bool, said: dict[str, str] | None) -> None:
    class Forgetful(Client):
        def request(self, *_: Any, **__: Any) -> Any:
            raise GcsError(410, "no such upload", lost=True)

        def metadata(self, _: str) -> dict[str, str] | None:
            return said

    sending = upload(Forgetful(()), conditional=conditional)
    with pytest.raises(Lost, match="no such upload"):
        sending.part(b"x" * _CHUNK)
    with pytest.raises(Lost, match="no such upload"):
        sending.complete(9, 10)


@pytest.mark.promise("P8")
def test_the_address_of_an_upload_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever has it may write to the upload, without other credentials."""
    keys = {"gcs.bucket.name": "b", "gcs.credentials.default": "false", "gcs.retry.backoff.ms": "0"}
    client = GcsClient(GcsSinkOptions.parse(keys))
    with caplog.at_level("INFO"), pytest.raises(requests.ConnectionError):
        client.request("upload_part", "PUT", f"http://127.0.0.1:{free_port()}/upload?upload_id=hush", data=b"x")
    client.discard()
    assert "hush" not in caplog.text
