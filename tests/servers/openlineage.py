"""A receiver of OpenLineage's events over HTTP: it keeps what comes, and refuses what it is told to."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self


class OpenLineageReceiver:
    """The server, in threads of this process.

    Attributes:
        events: that came, in order.
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        events = self.events

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/api/v1/lineage"
                events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(201)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def file(self, folder: Path) -> str:
        """A file that leads clients here."""
        file = folder / "openlineage.yml"
        file.write_text(f"transport:\n  type: http\n  url: {self.url}\n")
        return str(file)

    def of(self, job: str) -> list[dict[str, Any]]:
        """The events of a job."""
        return [event for event in list(self.events) if event["job"]["name"] == job]

    def kinds(self, job: str) -> list[str]:
        return [event["eventType"] for event in self.of(job)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
