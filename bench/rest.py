"""A worker's REST interface, seen by a client that has nothing to do with the workers."""

import http.client
import json
import time
from typing import Any

BUSY_S = 60.0


class Rest:
    """Asks one worker.

    Args:
        port: on loopback.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.id = f"127.0.0.1:{port}"

    def get(self, path: str) -> Any:
        """The body of a good answer; None for any other, and while there is none."""
        try:
            status, body = self.ask("GET", path)
        except (OSError, http.client.HTTPException):
            return None
        return json.loads(body) if status == 200 else None

    def put(self, path: str, body: dict[str, str]) -> Any:
        """Send something until the group, which may be sharing its work again, takes it. Returns the answer's body."""
        deadline = time.monotonic() + BUSY_S
        while True:
            status, answer = self.ask("PUT", path, json.dumps(body).encode())
            if status in (200, 201):
                return json.loads(answer)
            if status != 409 or time.monotonic() > deadline:
                raise RuntimeError(f"PUT {path}: {status} {answer[:500].decode(errors='replace')}")
            time.sleep(0.05)

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """One request. Returns the status and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body is not None else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()
