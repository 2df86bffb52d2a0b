"""A server of Google Cloud Storage's JSON API, as far as an uploader needs it, with Google's tokens beside it.

fake-gcs-server takes the bytes of a resumable upload as they come; this one keeps Google's rules for them: a chunk
begins where the last one ended (what it repeats is skipped), has a multiple of 256 KiB unless it is the last, may be
taken in part, and the answer, or that to a question, says how much is there. Conditions are looked at when an upload
begins and when it ends. Every request needs a token that `/token` gave for an assertion signed with the account's key.
"""

import json
import threading
import uuid
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from tests.servers.object_stores import Objects

UNIT = 256 * 1024


@dataclass
class _Upload:
    bucket: str
    resource: dict[str, Any]
    condition: str | None
    content: bytearray = field(default_factory=bytearray)
    done: bool = False


class GoogleStorage:
    """The server, in threads of this process.

    Attributes:
        refuse: statuses with which the next requests for objects are refused.
        take: of the next chunks, how many bytes are taken; the rest has to be sent again.
        revoked: whether no assertion is worth a token any more.
        repeated: how many bytes came that were there already.
        uploads: resumable uploads that are not complete.
    """

    def __init__(self) -> None:
        self.refuse: list[int] = []
        self.take: list[int] = []
        self.revoked = False
        self.repeated = 0
        self.uploads: dict[str, _Upload] = {}
        self.objects: dict[tuple[str, str], tuple[bytes, dict[str, Any]]] = {}
        self._buckets: set[str] = set()
        self._tokens: set[str] = set()
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._lock = threading.RLock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.port: int = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bucket(self) -> "GoogleBucket":
        """A new, empty bucket."""
        name = f"test-{uuid.uuid4().hex[:12]}"
        self._buckets.add(name)
        return GoogleBucket(self, name)

    def account(self) -> str:
        """The credentials of a service account, as Google's file has them."""
        pem = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return json.dumps(
            {
                "type": "service_account",
                "project_id": "tests",
                "private_key_id": "1",
                "private_key": pem.decode(),
                "client_email": "tester@tests.example",
                "token_uri": f"{self.url}/token",
            }
        )

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], Any]:
        """The status, headers and JSON of the response."""
        parts = urlsplit(target)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        with self._lock:
            if parts.path == "/token":
                return self._token(body)
            if headers.get("Authorization", "").removeprefix("Bearer ") not in self._tokens:
                return 401, {}, _error("Invalid Credentials")
            if self.refuse:
                return self.refuse.pop(0), {}, _error("a refusal that was asked for")
            if "upload_id" in asked:
                return self._resume(method, asked["upload_id"], headers, body)
            *_, bucket, _, key = [*parts.path.partition("/b/")[2].split("/"), ""][:3]
            if bucket not in self._buckets:
                return 404, {}, _error("The specified bucket does not exist.")
            if parts.path.startswith("/upload/"):
                return self._upload(bucket, asked, headers, body)
            found = self.objects.get((bucket, unquote(key)))
            return (404, {}, _error("No such object")) if found is None else (200, {}, found[1])

    def _token(self, body: bytes) -> tuple[int, dict[str, str], Any]:
        from base64 import urlsafe_b64decode

        signed, _, signature = parse_qs(body.decode())["assertion"][0].rpartition(".")
        raw = urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
        self._key.public_key().verify(raw, signed.encode(), padding.PKCS1v15(), SHA256())
        if self.revoked:
            return 400, {}, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
        token = uuid.uuid4().hex
        self._tokens.add(token)
        return 200, {}, {"access_token": token, "token_type": "Bearer", "expires_in": 3600}

    def _upload(self, bucket: str, asked: dict[str, str], headers: Any, body: bytes) -> tuple[int, dict[str, str], Any]:
        condition = asked.get("ifGenerationMatch")
        if asked["uploadType"] == "resumable":
            resource = json.loads(body)
            if self._fails(bucket, resource["name"], condition):
                return 412, {}, _error("At least one of the pre-conditions you specified did not hold.")
            identity = uuid.uuid4().hex
            resource["contentType"] = headers["X-Upload-Content-Type"]
            self.uploads[identity] = _Upload(bucket, resource, condition)
            return (
                200,
                {"Location": f"http://{headers['Host']}/upload/storage/v1/b/{bucket}/o?upload_id={identity}"},
                {},
            )
        head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
        described, media = BytesParser().parsebytes(head + body).get_payload()  # type: ignore[misc]
        resource = json.loads(described.get_payload(decode=True))  # type: ignore[union-attr]
        content = media.get_payload(decode=True)  # type: ignore[union-attr]
        resource["contentType"] = media.get_content_type()  # type: ignore[union-attr]
        return self._made(bucket, resource, content, condition)  # type: ignore[arg-type]

    def _resume(self, method: str, identity: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], Any]:
        upload = self.uploads.get(identity)
        if upload is None:
            return 404, {}, _error("No such upload")
        if method == "DELETE":
            del self.uploads[identity]
            return 499, {}, {}
        if upload.done:
            return 200, {}, upload.resource
        content, _, total = headers["Content-Range"].removeprefix("bytes ").partition("/")
        if content != "*":
            first, last = map(int, content.split("-"))
            there = len(upload.content)
            if first > there or last - first + 1 != len(body):
                return 503, {}, _error(f"a chunk from {first} does not follow {there} bytes")
            self.repeated += there - first
            new = body[there - first :]
            if total == "*" and (len(upload.content) + len(new)) % UNIT:
                return 400, {}, _error("a chunk that is not the last has to be a multiple of 256 KiB")
            upload.content += new[: self.take.pop(0)] if self.take and new else new
        if total != "*" and len(upload.content) == int(total):
            upload.done = True
            return self._made(upload.bucket, upload.resource, bytes(upload.content), upload.condition)
        count = len(upload.content)
        return 308, {"Range": f"bytes=0-{count - 1}"} if count else {}, {}

    def _made(
        self, bucket: str, resource: dict[str, Any], content: bytes, condition: str | None
    ) -> tuple[int, dict[str, str], Any]:
        if self._fails(bucket, resource["name"], condition):
            return 412, {}, _error("At least one of the pre-conditions you specified did not hold.")
        self.objects[bucket, resource["name"]] = content, resource
        return 200, {}, resource

    def _fails(self, bucket: str, key: str, condition: str | None) -> bool:
        return condition == "0" and (bucket, key) in self.objects


class GoogleBucket(Objects):
    connector = "io.confluent.connect.gcs.GcsSinkConnector"
    part_size = "gcs.part.size"
    retries = {"gcs.part.retries": "0"}  # noqa: RUF012

    def __init__(self, server: GoogleStorage, name: str) -> None:
        self.server: GoogleStorage = server  # type: ignore[assignment]
        self._name = name
        self.config = {"gcs.bucket.name": name, "gcs.credentials.json": server.account(), **self.at(server.port)}

    def at(self, port: int) -> dict[str, str]:
        return {"gcs.endpoint": f"http://127.0.0.1:{port}"}

    def keys(self) -> list[str]:
        return sorted(key for bucket, key in list(self.server.objects) if bucket == self._name)

    def get(self, key: str) -> bytes:
        return self.server.objects[self._name, key][0]

    def put(self, key: str, content: bytes) -> None:
        self.server.objects[self._name, key] = content, {"name": key}

    def described(self, key: str) -> tuple[str, dict[str, str]]:
        resource = self.server.objects[self._name, key][1]
        return resource["contentType"], resource.get("metadata", {})


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message}}


def _handler(storage: GoogleStorage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, said = storage.answer(self.command, self.path, self.headers, body)
            content = json.dumps(said).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _respond  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
