"""A schema registry in memory, with Confluent's REST interface: what registering, looking up and reading need."""

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote, urlsplit


class MemoryRegistry:
    """Serves on a port of its own.

    Attributes:
        schemas: by id, from 1.
        subjects: for each the ids of its versions.
    """

    def __init__(self) -> None:
        self.schemas: list[dict[str, Any]] = []
        self.subjects: dict[str, list[int]] = {}
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(lambda path, _: registry.get(path))

            def do_POST(self) -> None:
                self._answer(registry.post)

            def _answer(self, found: Callable[[str, Any], tuple[int, Any]]) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, answer = found(urlsplit(self.path).path, json.loads(body) if body else None)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def register(self, subject: str, text: str, kind: str, references: list[dict[str, Any]] | None = None) -> int:
        schema = {"schema": text, "schemaType": kind, **({"references": references} if references else {})}
        return self.post(f"/subjects/{subject}/versions", schema)[1]["id"]

    def text(self, number: int) -> str:
        return self.schemas[number - 1]["schema"]

    def get(self, path: str) -> tuple[int, Any]:
        if found := re.fullmatch(r"/schemas/ids/(\d+)", path):
            number = int(found[1])
            if number > len(self.schemas):
                return 404, {"error_code": 40403, "message": f"Schema {number} not found"}
            return 200, self.schemas[number - 1]
        if found := re.fullmatch(r"/subjects/(.+)/versions/(\w+)", path):
            versions = self.subjects.get(unquote(found[1]), [])
            if not versions:
                return 404, {"error_code": 40401, "message": f"Subject '{found[1]}' not found."}
            version = len(versions) if found[2] == "latest" else int(found[2])
            return 200, self._version(unquote(found[1]), version)
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def post(self, path: str, schema: Any) -> tuple[int, Any]:
        if found := re.fullmatch(r"/subjects/(.+)/versions", path):
            if schema not in self.schemas:
                self.schemas.append(schema)
            number = self.schemas.index(schema) + 1
            versions = self.subjects.setdefault(unquote(found[1]), [])
            if number not in versions:
                versions.append(number)
            return 200, {"id": number}
        subject = unquote(path.removeprefix("/subjects/"))
        for version, number in enumerate(self.subjects.get(subject, []), 1):
            if self.schemas[number - 1] == schema:
                return 200, self._version(subject, version)
        return 404, {"error_code": 40403, "message": "Schema not found"}

    def _version(self, subject: str, version: int) -> dict[str, Any]:
        number = self.subjects[subject][version - 1]
        return {"subject": subject, "version": version, "id": number, **self.schemas[number - 1]}
