"""A broker behind a gate that keeps a request back, cuts its connection, and lets the request through later.

To the broker it is what a network does that delays packets: the client has long sent the request again on another
connection when the first one arrives.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from pathlib import Path
from typing import Final

from connect.kafka.broker.embedded import ensure_running
from connect.ports import free_port

HOST: Final = "127.0.0.1"
#: The API keys of requests: https://kafka.apache.org/protocol#protocol_api_keys
PRODUCE: Final = 0
END_TXN: Final = 26


def start_gated_broker(data: Path) -> tuple[str, Gate]:
    """Start a broker whose second listener is behind a gate. Whoever does stops it by its folder of data.

    Returns:
        the address of the broker itself, and the gate, which has an address for clients that are to be late.
    """
    plain, behind, controller = (free_port() for _ in range(3))
    gate = Gate(behind)
    running = ensure_running(
        data,
        port=plain,
        settings={
            "listeners": f"PLAINTEXT://{HOST}:{plain},LATE://{HOST}:{behind},CONTROLLER://{HOST}:{controller}",
            # The same key once more, and the last one counts: the embedded broker finds its port by the first.
            "advertised\\.listeners": f"PLAINTEXT://{HOST}:{plain},LATE://{HOST}:{gate.port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LATE:PLAINTEXT",
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "inter.broker.listener.name": "PLAINTEXT",
        },
    )
    return running.bootstrap_servers, gate


class Gate:
    """In front of a broker's listener, on a port of its own. Requests pass it whole, one after another.

    Attributes:
        port: where clients connect.
        kept: set once a request is kept back and its client is cut off.
    """

    def __init__(self, behind: int) -> None:
        self.kept = threading.Event()
        self._behind = behind
        self._keep: int | None = None
        self._late: tuple[socket.socket, bytes] | None = None
        self._open: list[socket.socket] = []
        self._listening = socket.create_server((HOST, 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, name="gate", daemon=True).start()

    @property
    def bootstrap_servers(self) -> str:
        """For clients."""
        return f"{HOST}:{self.port}"

    def keep_next(self, api: int) -> None:
        """Keep back the next request of this kind, and cut off its client."""
        self.kept.clear()
        self._keep = api

    def let_through(self) -> bytes:
        """Send the kept request to the broker, on the connection that it was meant for. Returns the response."""
        assert self._late is not None
        broker, request = self._late
        broker.settimeout(30)
        broker.sendall(request)
        return _frame(broker)

    def close(self) -> None:
        """End all connections."""
        for each in [self._listening, *self._open]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            broker = socket.create_connection((HOST, self._behind))
            self._open += [client, broker]
            threading.Thread(target=self._requests, args=(client, broker), daemon=True).start()
            threading.Thread(target=self._responses, args=(broker, client), daemon=True).start()

    def _requests(self, client: socket.socket, broker: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while request := _frame(client):
                (api,) = struct.unpack_from(">h", request, 4)
                if api == self._keep:
                    self._keep, self._late = None, (broker, request)
                    client.shutdown(socket.SHUT_RDWR)
                    self.kept.set()
                    return
                broker.sendall(request)
            broker.shutdown(socket.SHUT_RDWR)

    def _responses(self, broker: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while response := self._next(broker):
                client.sendall(response)

    def _next(self, broker: socket.socket) -> bytes:
        """The next response, unless it is to a request that was kept back."""
        head = broker.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL)
        return b"" if not head or (self._late is not None and self._late[0] is broker) else _frame(broker)


def _frame(connection: socket.socket) -> bytes:
    """A whole request or response, with its length before it; nothing at the end of the connection."""
    head = connection.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return b""
    (length,) = struct.unpack(">i", head)
    return head + connection.recv(length, socket.MSG_WAITALL)
