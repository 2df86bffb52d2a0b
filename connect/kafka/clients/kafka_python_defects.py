"""Defects of kafka-python (3.0.12) that are fixed here while it has them."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any

#: Of a broker, as long as for the connection itself: the default of socket.connection.setup.timeout.ms.
HANDSHAKE_S = 10.0


@cache
def fix() -> None:
    """Change kafka-python's classes for the whole process, once: before the first client is made.

    - A broker that refuses a login says so and closes the connection. If both are there when the socket is read,
      kafka-python drops the answer, and a wrong password looks like an unavailable broker. What has arrived is
      processed, and the end is read the next time.
    - A broker that takes a connection and is silent in the TLS handshake is waited for without end. Now for
      `HANDSHAKE_S`.
    - A socket whose connection fails, or is given up, is left to the garbage collector. It is closed at once.
    """
    from kafka.net.inet import KafkaNetSocket
    from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

    KafkaSSLTransport.handshake = _handshake
    for transport in (KafkaTCPTransport, KafkaSSLTransport):
        transport._sock_recv = _with_last_words(transport._sock_recv)
        transport.handshake = _closing(transport.handshake, lambda transport: transport._close)
    KafkaNetSocket.sock_connect = _closing(KafkaNetSocket.sock_connect, lambda _maker, _net, sock, *_: sock.close)


async def _handshake(transport: Any) -> None:
    end = time.monotonic() + HANDSHAKE_S
    while True:
        try:
            transport._sock.do_handshake()
            return
        except ssl.SSLWantReadError:
            await transport._net.wait_read(transport._sock, timeout_at=end)
        except ssl.SSLWantWriteError:
            await transport._net.wait_write(transport._sock, timeout_at=end)


def _with_last_words(receive: Callable[[Any], tuple[bytes, Exception | None]]) -> Callable[[Any], Any]:
    def received(transport: Any) -> tuple[bytes, Exception | None]:
        data, error = receive(transport)
        return data, None if data else error

    return received


def _closing(
    step: Callable[..., Coroutine[Any, Any, Any]], close_of: Callable[..., Callable[[], None]]
) -> Callable[..., Any]:
    async def done(*args: Any, **kwargs: Any) -> Any:
        try:
            return await step(*args, **kwargs)
        except BaseException:  # GeneratorExit where the client is closed meanwhile
            close_of(*args)()
            raise

    return done
