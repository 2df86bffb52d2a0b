"""Links: what passes them, and what they do to it."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.chaos.suite.relay import FAIR, Network, Relay, Weather
from tests.support.waiting import until


class Echo:
    """Sends back what it gets."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=[client], daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with closing(client):
            try:
                while data := client.recv(1 << 16):
                    client.sendall(data)
            except OSError:
                pass

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@pytest.fixture
def link() -> Iterator[Relay]:
    echo, network = Echo(), Network(random.Random(1))
    yield network.relay(echo.port)
    network.close()
    echo.close()


def connected(link: Relay) -> socket.socket:
    return socket.create_connection(("127.0.0.1", link.port), timeout=20)


def asked(connection: socket.socket, data: bytes = b"hello") -> bytes:
    connection.sendall(data)
    found = b""
    while len(found) < len(data) and (piece := connection.recv(1 << 16)):
        found += piece
    return found


def test_everything_passes_in_its_order(link: Relay) -> None:
    data = random.Random(2).randbytes(3_000_000)
    with connected(link) as connection:
        sender = threading.Thread(target=connection.sendall, args=[data])
        sender.start()
        found = b""
        while len(found) < len(data):
            found += connection.recv(1 << 16)
        sender.join()
        assert found == data
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""  # an end passes as well


def test_a_cut_ends_connections_and_refuses_new_ones(link: Relay) -> None:
    with connected(link) as connection:
        assert asked(connection) == b"hello"
        link.cut()
        with pytest.raises(ConnectionError):
            asked(connection)
    with pytest.raises(ConnectionError), connected(link) as connection:
        asked(connection)
    link.set(FAIR)
    with connected(link) as connection:
        assert asked(connection) == b"hello"


def test_a_reset_lets_new_connections_through(link: Relay) -> None:
    with connected(link) as connection:
        asked(connection)
        link.reset()
        with pytest.raises(ConnectionError):
            asked(connection)
    with connected(link) as connection:
        assert asked(connection) == b"hello"


def test_half_open_connections_hear_nothing_and_go_on_later(link: Relay) -> None:
    with connected(link) as connection:
        asked(connection)
        link.set(Weather(holds=True))
        connection.sendall(b"kept")
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(10)
        link.set(FAIR)
        connection.settimeout(20)
        assert connection.recv(10) == b"kept"


def test_a_held_connection_may_turn_out_to_be_dead(link: Relay) -> None:
    with connected(link) as connection:
        asked(connection)
        link.set(Weather(holds=True))
        connection.sendall(b"never arrives")
        link.reset()
        link.set(FAIR)
        with pytest.raises(ConnectionError):
            connection.recv(10)


def test_delay_is_for_each_direction(link: Relay) -> None:
    with connected(link) as connection:
        asked(connection)
        link.set(Weather(delay=0.15))
        began = time.monotonic()
        assert asked(connection) == b"hello"
        assert time.monotonic() - began >= 0.3


def test_lost_pieces_come_after_a_retransmission(link: Relay) -> None:
    with connected(link) as connection:
        asked(connection)
        link.set(Weather(loss=0.9))
        began = time.monotonic()
        assert asked(connection) == b"hello"
        assert time.monotonic() - began >= 0.2


def test_a_slow_link_passes_so_many_bytes_a_second(link: Relay) -> None:
    with connected(link) as connection:
        link.set(Weather(rate=100_000))
        began = time.monotonic()
        assert asked(connection, b"x" * 60_000) == b"x" * 60_000
        assert time.monotonic() - began >= 0.5


def test_a_target_that_is_away_is_a_connection_that_ends() -> None:
    network = Network(random.Random(1))
    gone = socket.create_server(("127.0.0.1", 0))
    link = network.relay(gone.getsockname()[1])
    gone.close()
    try:
        with pytest.raises(ConnectionError), connected(link) as connection:
            until(lambda: asked(connection), 5)
    finally:
        network.close()
