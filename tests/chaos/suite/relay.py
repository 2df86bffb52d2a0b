"""Links of TCP that can be cut, held, delayed, lossy and slow: a network in user space, which needs no root.

What is real here is what an application meets: connections that are reset or refused, answers that are late, and
connections on which nothing moves while neither side hears that they are dead. What is not here is what the kernel
hides: packets. Loss is what TCP makes of it, pauses of 0.2 s that double (RFC 6298, retransmission).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

HOST: Final = "127.0.0.1"
#: What one piece has at most, in bytes, and how many wait in one direction of a connection.
PIECE: Final = 1 << 16
WAITING: Final = 16
RETRANSMISSION_S: Final = 0.2
#: `SO_LINGER` on, for no time: closing sends RST.
_RESET: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Weather:
    """What a link does to what passes.

    Attributes:
        delay: seconds in each direction.
        loss: the share of pieces that come only after a retransmission.
        rate: bytes a second in each direction; 0 for no bound.
        holds: nothing passes, and nothing closes: both ends are half open.
        refuses: every new connection is reset.
    """

    delay: float = 0.0
    loss: float = 0.0
    rate: float = 0.0
    holds: bool = False
    refuses: bool = False

    def __str__(self) -> str:
        said = [f"{self.delay:g} s late"] if self.delay else []
        said += [f"{self.loss:.0%} lost"] if self.loss else []
        said += [f"{self.rate:g} bytes/s"] if self.rate else []
        return ", ".join([*said, *(["held"] if self.holds else []), *(["refused"] if self.refuses else [])]) or "fair"


FAIR: Final = Weather()


class Relay:
    """One link: a port of its own in front of another address. Made by `Network.relay`.

    Attributes:
        port: where clients connect.
    """

    def __init__(self, network: Network, target: tuple[str, int], chance: random.Random) -> None:
        self.port = 0
        self.weather = FAIR
        self._network = network
        self._target = target
        self._chance = chance
        self._changed = asyncio.Event()
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        """Where clients connect, as host:port."""
        return f"{HOST}:{self.port}"

    def set(self, weather: Weather) -> None:
        """Change the weather, for connections that are open as well."""
        self._network.call(self._set, weather)

    def reset(self) -> None:
        """End every connection by RST, at both ends. New ones are made as the weather allows."""
        self._network.call(self._reset)

    def cut(self) -> None:
        """End every connection and refuse new ones, until `set` says otherwise."""
        self.set(Weather(refuses=True))
        self.reset()

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, HOST, 0, limit=PIECE)
        self.port = self._server.sockets[0].getsockname()[1]

    def _set(self, weather: Weather) -> None:
        self.weather = weather
        self._changed.set()
        self._changed = asyncio.Event()

    def _reset(self) -> None:
        for writer in list(self._open):
            _abort(writer)
        self._set(self.weather)  # who waits looks up, and finds that it is closed

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.weather.refuses:
            _abort(writer)
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target, limit=PIECE)
        except OSError:
            _abort(writer)
            return
        ends = {writer, far_writer}
        self._open |= ends
        try:
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))
        except (OSError, asyncio.CancelledError):
            pass  # it was cut, or the run is over
        finally:
            self._open -= ends
            for each in ends:
                _abort(each)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on one direction, up to its end. Pieces are under way side by side, and keep their order."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(WAITING)
        sending = asyncio.create_task(self._send(waiting, writer))
        try:
            piece = b"-"
            while piece:
                piece = await reader.read(PIECE)
                await _first(waiting.put((asyncio.get_running_loop().time(), piece)), sending)
            await sending
        finally:
            sending.cancel()

    async def _send(self, waiting: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while True:
            at, piece = await waiting.get()
            pause = self.weather.delay
            lost = RETRANSMISSION_S
            while self._chance.random() < self.weather.loss and lost < 4:
                pause, lost = pause + lost, lost * 2
            if (left := at + pause - loop.time()) > 0:
                await asyncio.sleep(left)
            while self.weather.holds:
                await self._changed.wait()
            if writer.transport.is_closing():
                raise ConnectionResetError
            if not piece:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            while piece:
                part = piece[: max(1, int(rate / 20))] if (rate := self.weather.rate) else piece
                if rate:
                    await asyncio.sleep(len(part) / rate)
                writer.write(part)
                await writer.drain()
                piece = piece[len(part) :]

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in list(self._open):
            _abort(writer)


class Network:
    """All links of a run, in one thread."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = random.Random(chance.random())
        self._relays: list[Relay] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relays", daemon=True)
        self._thread.start()

    def relay(self, port: int) -> Relay:
        """A link in front of this port of this machine. Whether anybody listens there shows when a client comes."""
        made = Relay(self, (HOST, port), self._chance)
        self._await(made.listen())
        self._relays.append(made)
        return made

    def calm(self) -> None:
        """Fair weather on every link."""
        for each in self._relays:
            each.set(FAIR)

    def call(self, what: Callable[..., None], *arguments: Any) -> None:
        """Have something done in the thread of the links, and wait for it."""

        async def do() -> None:
            what(*arguments)

        self._await(do())

    def close(self) -> None:
        """End all links."""
        if not self._loop.is_running():
            return
        for each in self._relays:
            self.call(each.close)
        self._await(self._cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @staticmethod
    async def _cancel_all() -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _await(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)


async def _first(wanted: Coroutine[Any, Any, None], other: asyncio.Task[None]) -> None:
    """Await what is wanted, unless the other ends before: then raise what it raised, or that the connection is gone."""
    task = asyncio.ensure_future(wanted)
    try:
        await asyncio.wait({task, other}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            other.result()
            raise ConnectionResetError
    finally:
        task.cancel()


def _abort(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
