"""More connections than a worker has descriptors for: it goes on answering, and says so in two lines."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest

FULL = "connections to the REST API are open, which is the limit"
ROOM = "There is room for connections to the REST API again. Connections that were closed for others: "
NONE_LEFT = "The REST API cannot accept connections: Too many open files."
TAKEN = "The REST API accepts connections again. Failed attempts: "


@pytest.fixture
def half_requests() -> Iterator:
    """Opens connections to a port, each with the beginning of a request, and keeps them."""
    with ExitStack() as kept:

        def connect(port: int, count: int) -> list[socket.socket]:
            made = [kept.enter_context(socket.create_connection(("127.0.0.1", port), 30)) for _ in range(count)]
            for each in made:
                each.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n")
            return made

        yield connect


@pytest.mark.promise("P6")
def test_more_connections_than_descriptors_are_no_flood(workers, half_requests) -> None:
    worker = workers.start(descriptors=80)
    half_requests(worker.port, 100)
    for _ in range(3):
        assert worker.ask("GET", "/health")[0] == 200
    worker.until_logged(ROOM)
    assert worker.log.count(FULL) == worker.log.count(ROOM) == 1
    assert int(worker.log.partition(ROOM)[2].partition(".")[0]) >= 50
    assert "Traceback" not in worker.log
    assert "socket.accept()" not in worker.log


@pytest.mark.promise("P6")
def test_a_worker_without_a_descriptor_left_says_so_once_and_waits(workers, half_requests) -> None:
    worker = workers.start()
    process = psutil.Process(worker.process.pid)
    limits = process.rlimit(psutil.RLIMIT_NOFILE)
    process.rlimit(psutil.RLIMIT_NOFILE, (process.num_fds(), limits[1]))
    half_requests(worker.port, 20)
    worker.until_logged(NONE_LEFT)
    process.rlimit(psutil.RLIMIT_NOFILE, limits)
    assert worker.ask("GET", "/health")[0] == 200
    worker.until_logged(TAKEN)
    assert worker.log.count(NONE_LEFT) == worker.log.count(TAKEN) == 1
    assert 1 <= int(worker.log.partition(TAKEN)[2].partition(".")[0]) <= 30  # one a second
    assert "Traceback" not in worker.log
