"""A control pipe: typed messages over a pair of connected sockets. Sending is thread-safe, receiving is for one thread.

Plug-in code runs at one of its ends and may write anything: what arrives is a message, or `Garbled`, and never larger
than `LARGEST`.
"""

from __future__ import annotations

import math
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from connect.errors import ConnectError
from connect.worker.messages import AnyMessage, Message

_LENGTH = struct.Struct(">I")
#: In bytes: far above what is sent. It is a limit of memory: a byte can stand for an object of seventy.
LARGEST = 1 << 25
#: Characters. What has all of them, and a trace beside it, still is a record that Kafka takes (1 MiB by default).
MOST: Final = 1 << 17
#: How long bytes beside descriptors may wait for the other end.
_TAKEN_WITHIN_S: Final = 5.0
_decoder = msgspec.msgpack.Decoder(AnyMessage)
_encoder = msgspec.msgpack.Encoder()
_NOT_TAKEN = "The other end of the control pipe does not read."


def cut(words: str, most: int = MOST) -> str:
    """Text that fits into a message; of a longer one the beginning and the end, where a trace has its error.

    An error may quote a whole record, and bytes that are not text.
    """
    if len(words) > most:
        half = most // 2
        words = f"{words[:half]}\n[... {len(words) - 2 * half:,} characters are left out ...]\n{words[-half:]}"
    # Half of a surrogate pair is how Python has a byte of a file's name that is not text.
    return words if words.isascii() else words.encode("utf-8", "backslashreplace").decode()


class Garbled(Exception):
    """What arrived on a control pipe is not a message: plug-in code wrote to it."""


class Channel:
    """One end of a control pipe.

    The other end's death shows as `EOFError` from `receive`, or as `BrokenPipeError` from `send`.

    Attributes:
        size: bytes of the message that was received last.
    """

    def __init__(self, end: socket.socket) -> None:
        self.size = 0
        self._socket = end
        self._sending = threading.RLock()
        self._is_sending = False
        self._later: deque[bytes] = deque()  # of the thread that sends: what the collector has it log meanwhile
        self._buffer = bytearray()

    @classmethod
    def pair(cls) -> tuple[Channel, socket.socket]:
        """A channel for this process, and the socket to give to the other one."""
        mine, theirs = socket.socketpair()
        return cls(mine), theirs

    def fileno(self) -> int:
        """For `selectors`."""
        return self._socket.fileno()

    def send(self, message: Message, timeout: float | None = None) -> None:
        """Send one message. Blocks while the other end does not read and the pipe is full.

        Args:
            message: what to send.
            timeout: seconds that it may block; with 0 it is sent at once or not at all.

        Raises:
            TimeoutError: the pipe did not take it in time. If a part was sent, this end can send nothing more.
            ConnectError: it is larger than `LARGEST`; nothing was sent.
            OSError: the other end is closed.
        """
        data = _encoder.encode(message)
        if len(data) > LARGEST:
            raise ConnectError(
                f"A control pipe takes messages of up to {LARGEST >> 20} MiB; this {type(message).__name__} has"
                f" {len(data) >> 20} MiB. The connector must send less at once."
            )
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        if not self._sending.acquire(timeout=-1 if timeout is None else timeout):
            raise TimeoutError(_NOT_TAKEN)
        try:
            self._send_in_turn(deadline, _LENGTH.pack(len(data)) + data)
        finally:
            self._sending.release()

    def send_descriptors(self, data: bytes, descriptors: Sequence[socket.socket]) -> None:
        """Send bytes, with open sockets beside the first of them, to an end that knows what they are.

        Raises:
            TimeoutError, BlockingIOError: the other end does not read.
            OSError: the other end is closed.
        """
        with self._sending:
            open_ends = [each.fileno() for each in descriptors]
            sent = socket.send_fds(self._socket, [data], open_ends, flags=socket.MSG_DONTWAIT)
            self._send_until(time.monotonic() + _TAKEN_WITHIN_S, data[sent:])

    def _send_in_turn(self, deadline: float, data: bytes) -> None:
        """Send a message; after the one that this thread is sending, if it is.

        While it does, the garbage collector or a signal may run a plug-in's code on it, which logs: asyncio says that a
        task was destroyed, aiohttp that a session was not closed.
        """
        self._later.append(data)
        if self._is_sending:
            return
        while self._later:
            self._is_sending = True
            try:
                while self._later:
                    self._send_until(deadline, self._later.popleft())
            except BaseException:
                self._later.clear()
                raise
            finally:
                self._is_sending = False

    def _send_until(self, deadline: float, data: bytes) -> None:
        sent = 0
        while sent < len(data):
            try:
                sent += self._socket.send(memoryview(data)[sent:], socket.MSG_DONTWAIT)
            except BlockingIOError:
                if self._has_room(deadline):
                    continue
                if sent:  # nothing can follow half a message
                    self._socket.shutdown(socket.SHUT_WR)
                raise TimeoutError(_NOT_TAKEN) from None

    def _has_room(self, deadline: float) -> bool:
        """Wait until the pipe accepts more. Returns whether it does before the deadline."""
        if (end := self._socket.fileno()) < 0:
            raise BrokenPipeError("This end of the control pipe is closed.")
        poll = select.poll()  # select() itself knows no file descriptor above 1023
        poll.register(end, select.POLLOUT)
        left = deadline - time.monotonic()
        return bool(poll.poll(None if left == math.inf else max(0.0, left) * 1000)) and time.monotonic() < deadline

    def receive(self) -> AnyMessage:
        """Wait for the next message.

        Raises:
            EOFError: the other end is closed.
            Garbled: what arrived is not a message.
        """
        while True:
            message = self._take()
            if message is not None:
                return message
            self._fill()

    def receive_ready(self) -> Iterator[AnyMessage]:
        """The messages of one read, after `selectors` reported that there is something to read.

        Raises:
            EOFError: the other end is closed; earlier messages were yielded first.
            Garbled: what arrived is not a message.
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
        if length > LARGEST:
            raise Garbled(f"a message of {length} bytes, where {LARGEST} is the most")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        try:
            message: AnyMessage = _decoder.decode(bytes(self._buffer[_LENGTH.size : end]))
        except Exception as error:  # also of text that is not UTF-8, and of values nested too deeply
            raise Garbled(f"{error}") from error
        del self._buffer[:end]
        self.size = length
        return message

    def close(self) -> None:
        """Close this end."""
        self._socket.close()
