"""A control pipe:

typed messages over a pair of connected sockets. Sending is safe from any thread, receiving from one.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import msgspec

from connect.worker.messages import AnyMessage, Message

_LENGTH = struct.Struct(">I")
_LARGEST = 1 << 28  # far above what is sent; what claims to be larger is no message of ours
_decoder = msgspec.msgpack.Decoder(AnyMessage)
_encoder = msgspec.msgpack.Encoder()


class Garbled(Exception):
    """What came through a control pipe is no message: plug-in code wrote to it, or said what cannot be said."""


class Channel:
    """One end of a control pipe.

    The other end's death shows as `EOFError` from `receive`, or as `BrokenPipeError` from `send`.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._sending = threading.Lock()
        self._buffer = bytearray()

    @classmethod
    def pair(cls) -> tuple[Channel, socket.socket]:
        """A channel for this process, and the socket to give to the other one."""
        mine, theirs = socket.socketpair()
        return cls(mine), theirs

    def fileno(self) -> int:
        """For `selectors`."""
        return self._socket.fileno()

    def send(self, message: Message) -> None:
        """Send one message. Blocks while the other end does not read and the pipe is full."""
        data = _encoder.encode(message)
        with self._sending:
            self._socket.sendall(_LENGTH.pack(len(data)) + data)

    def receive(self) -> AnyMessage:
        """Wait for the next message.

        Raises:
            EOFError: the other end is closed.
            Garbled: what came is no message.
        """
        while True:
            message = self._take()
            if message is not None:
                return message
            self._fill()

    def receive_ready(self) -> Iterator[AnyMessage]:
        """The messages that one read brings, after `selectors` said that there is something to read.

        Raises:
            EOFError: the other end is closed; messages that came before were yielded first.
            Garbled: what came is no message.
        """
        self._fill()
        while (message := self._take()) is not None:
            yield message

    def _fill(self) -> None:
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            raise EOFError("The other end of the control pipe is closed.")
        self._buffer += data

    def _take(self) -> AnyMessage | None:
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > _LARGEST:
            raise Garbled(f"a message of {length} bytes")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        try:
            message: AnyMessage = _decoder.decode(bytes(self._buffer[_LENGTH.size : end]))
        except msgspec.DecodeError as error:
            raise Garbled(str(error)) from error
        del self._buffer[:end]
        return message

    def close(self) -> None:
        """Close this end."""
        self._socket.close()
