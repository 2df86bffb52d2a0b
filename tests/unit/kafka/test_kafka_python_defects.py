"""What kafka-python does wrong itself, and does well with us."""

import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from types import SimpleNamespace

import pytest
from kafka import errors
from kafka.net.inet import KafkaNetSocket

from connect.errors import ConnectError
from connect.kafka.clients import kafka_python_defects
from connect.kafka.clients.kafka_python_defects import fix
from connect.kafka.clients.kafka_python_settings import connected_client, kafka_python_settings


def test_what_a_broker_says_before_it_hangs_up_is_heard(authority: tuple[str, ssl.SSLContext]) -> None:
    """A refused login is such an answer: with TLS both are there at once, mostly."""
    from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

    fix()
    trusted, serving = authority
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # as ours: Python 3.13's default is stricter than Java
    trusting.load_verify_locations(cafile=trusted)
    trusting.check_hostname = False
    for secured in (False, True):
        ours, theirs = socket.socketpair()
        if secured:
            secure = partial(serving.wrap_socket, theirs, server_side=True)
            with ThreadPoolExecutor(1) as pool:
                other = pool.submit(secure)
                ours = trusting.wrap_socket(ours)
                theirs = other.result(10)
        theirs.sendall(b"the login is refused")
        theirs.close()
        ours.setblocking(False)
        transport = SimpleNamespace(_sock=ours)
        receive = (KafkaSSLTransport if secured else KafkaTCPTransport)._sock_recv
        assert receive(transport) == (b"the login is refused", None)
        assert isinstance(receive(transport)[1], errors.KafkaConnectionError)
        ours.close()


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
@pytest.mark.parametrize("broker", ["refuses", "hangs up", "is silent"])
def test_a_socket_whose_connection_fails_is_closed(broker: str, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []

    def kept(_maker: KafkaNetSocket, *kinds: int) -> socket.socket:
        made.append(socket.socket(*kinds))
        return made[-1]

    monkeypatch.setattr(KafkaNetSocket, "socket", kept)
    monkeypatch.setattr(kafka_python_defects, "HANDSHAKE_S", 0.3)
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = listener.getsockname()[1]
        if broker == "refuses":
            listener.close()
        elif broker == "hangs up":
            threading.Thread(target=_hang_up, args=(listener,), daemon=True).start()
        settings = {"bootstrap.servers": f"127.0.0.1:{port}", "security.protocol": protocol}
        with pytest.raises(ConnectError):
            connected_client(kafka_python_settings(settings), 0.5)
    assert made
    # A TLS socket takes over the plain one it is made of.
    assert [each for each in made if each.fileno() != -1] == []


def _hang_up(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            listener.accept()[0].close()
