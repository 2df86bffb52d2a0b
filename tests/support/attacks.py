"""What somebody without a login may do to a worker's REST API, in tests and measurements of them."""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

SLOW = b"GET /connectors HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
MIB = 2**20


def raw(port: int, request: bytes, timeout: float = 30) -> tuple[int, bytes]:
    """Send these bytes. Returns status and all of the answer; if that says so, the connection has to be closed."""
    with socket.create_connection(("127.0.0.1", port), timeout) as client:
        client.sendall(request)
        answer = b""
        while not _whole(answer) and (got := client.recv(65536)):
            answer += got
        if b"connection: close" in answer.lower():
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(65536) == b""
        return int(answer.split(b" ", 2)[1]), answer


def _whole(answer: bytes) -> bool:
    head, ended, body = answer.partition(b"\r\n\r\n")
    if not ended:
        return False
    length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return not length or len(body) >= int(length[0].partition(b":")[2])


def post(path: str, headers: Mapping[str, str], size: int, body: bytes = b"") -> bytes:
    """The beginning of a POST whose body has so many bytes."""
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {size}\r\n\r\n".encode() + body


@dataclass
class Crowd:
    """Connections that are held by somebody who never finishes.

    Attributes:
        opened: how many there have been.
        sent: bytes that the worker, or the kernel for it, took.
        sent_at: when the last of them were.
    """

    port: int
    again: int
    opened: int = 0
    sent: int = 0
    sent_at: float = 0.0
    _ended: threading.Event = field(default_factory=threading.Event)

    def stalls(self, seconds: float = 1.0) -> bool:
        """Whether nobody has sent anything for a while."""
        return time.monotonic() > self.sent_at + seconds

    def run(self, count: int, beginning: bytes, body: int) -> None:
        """Open so many: each sends its beginning and so much of a body as is taken, and then nothing."""
        selector = selectors.DefaultSelector()
        left: dict[socket.socket, int] = {}
        begun, replaced, due, began = 0, 0, 0.0, time.monotonic()
        chunk = memoryview(b" " * 65536)
        try:
            while not self._ended.is_set():
                now = time.monotonic()
                due += self.again * (now - began)
                began = now
                more = min(int(due), begun - replaced - len(left))
                replaced, due = replaced + more, min(due - more, 1.0)
                for _ in range(min(100, count + replaced - begun)):
                    begun += 1
                    client = socket.socket()
                    client.setblocking(False)
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)  # what is sent is with the worker
                    if client.connect_ex(("127.0.0.1", self.port)) not in (0, errno.EINPROGRESS):
                        client.close()
                        begun -= 1
                        continue
                    left[client] = -1
                    selector.register(client, selectors.EVENT_WRITE | selectors.EVENT_READ)
                for key, events in selector.select(0.05):
                    client = key.fileobj
                    assert isinstance(client, socket.socket)
                    try:
                        if events & selectors.EVENT_READ and not client.recv(65536):
                            raise ConnectionResetError
                        if left[client] < 0:
                            client.sendall(beginning)
                            self.opened += 1
                            left[client] = body
                        elif left[client]:
                            sent = client.send(chunk[: left[client]])
                            self.sent += sent
                            self.sent_at = time.monotonic()
                            left[client] -= sent
                        if not left[client]:
                            selector.modify(client, selectors.EVENT_READ)
                    except BlockingIOError:
                        pass
                    except OSError:
                        selector.unregister(client)
                        client.close()
                        del left[client]
        finally:
            for client in left:
                client.close()
            selector.close()


@contextmanager
def crowd(port: int, count: int, beginning: bytes = SLOW, body: int = 0, *, again: int = 0) -> Iterator[Crowd]:
    """So many connections that stall, as long as this lasts. Of those that are closed `again` a second come again."""
    made = Crowd(port, again)
    thread = threading.Thread(target=made.run, args=(count, beginning, body), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made._ended.set()
        thread.join(30)


def took(ask: Callable[[], int], count: int, pause: float = 0.0) -> tuple[list[float], set[int]]:
    """How long so many requests take, one after another, in seconds, sorted; and what was answered."""
    found, statuses = [], set()
    for _ in range(count):
        began = time.monotonic()
        statuses.add(ask())
        found.append(time.monotonic() - began)
        time.sleep(pause)
    return sorted(found), statuses
