"""What stands between a connector and its store: passes bytes on, slows them down, cuts them off, counts requests."""

import re
import socket
import threading
import time
from typing import Self

_REQUEST = re.compile(rb"(?:^|\r\n\r\n)(GET|HEAD|PUT|POST|DELETE) (\S+) HTTP/1\.1\r\n")


class Between:
    """A forwarder on loopback to another port.

    Attributes:
        cut_after: the connection is cut when so many bytes of one came from the store; each time once, then not again.
        bytes_per_s: how fast the store's answers come; None for as they come.
        takes_per_s: how fast the store takes what is sent to it; None for as it does.
        refusing: whether new connections are closed at once.
        requests: method and path of each that was sent.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cut_after: list[int] = []
        self.bytes_per_s: int | None = None
        self.takes_per_s: int | None = None
        self.refusing = False
        self.requests: list[tuple[str, str]] = []
        self.passed = 0
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def count(self, method: str, part: str) -> int:
        """How many requests of this kind there were."""
        return sum(1 for each, path in self.requests if each == method and part in path)

    def close(self) -> None:
        self._closed = True
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refusing:
                client.close()
                continue
            store = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._send, args=(client, store), daemon=True).start()
            threading.Thread(target=self._answer, args=(client, store), daemon=True).start()

    def _send(self, client: socket.socket, store: socket.socket) -> None:
        try:
            while data := client.recv(1 << 16 if self.takes_per_s is None else 1 << 12):
                if self.takes_per_s is not None:
                    time.sleep(len(data) / self.takes_per_s)
                self.requests += [(m[1].decode(), m[2].decode()) for m in _REQUEST.finditer(data)]
                store.sendall(data)
            store.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _answer(self, client: socket.socket, store: socket.socket) -> None:
        came = 0
        try:
            while not self._closed and (data := store.recv(1 << 16 if self.bytes_per_s is None else 1 << 12)):
                came += len(data)
                if self.cut_after and came >= self.cut_after[0]:
                    self.cut_after.pop(0)
                    break
                if self.bytes_per_s is not None:
                    time.sleep(len(data) / self.bytes_per_s)
                self.passed += len(data)
                client.sendall(data)
        except OSError:
            pass
        for each in (client, store):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()
