"""Bodies of requests take no more room than there is, and whoever stalls gives way."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from rest.body_room import SMALL, CrowdedError, Room, TooLargeError, whole_body

MIB = 2**20


class Sender:
    """Sends a body, as much of it as it is told to."""

    def __init__(self) -> None:
        self._parts: asyncio.Queue[tuple[bytes, bool]] = asyncio.Queue()
        self.asked = 0

    def send(self, size: int, *, more: bool = True) -> None:
        self._parts.put_nowait((b"x" * size, more))

    async def receive(self) -> dict[str, Any]:
        self.asked += 1
        body, more = await self._parts.get()
        return {"type": "http.request", "body": body, "more_body": more}


def scope(length: int | None = None) -> dict[str, Any]:
    return {"headers": [] if length is None else [(b"content-length", str(length).encode())]}


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))


async def quiet() -> None:
    """Let others run until they wait."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_body_takes_room_until_it_is_answered() -> None:
    async def test() -> None:
        room, sender = Room(8 * MIB), Sender()
        sender.send(MIB)
        sender.send(MIB, more=False)
        with suppress(LookupError), room.body(scope(), sender.receive) as receive:
            assert len(await whole_body(receive)) == 2 * MIB
            assert room.free == 6 * MIB + SMALL
            raise LookupError
        assert room.free == 8 * MIB

    run(test)


def test_small_bodies_come_in_whatever_else_does() -> None:
    async def test() -> None:
        room, large = Room(MIB, patience=0), Sender()
        large.send(MIB, more=False)
        with room.body(scope(), large.receive) as receive:
            await whole_body(receive)
            with ExitStack() as others:
                for _ in range(20):
                    small = Sender()
                    small.send(SMALL, more=False)
                    assert len(await whole_body(others.enter_context(room.body(scope(), small.receive)))) == SMALL

    run(test)


def test_what_says_that_it_is_too_large_is_not_read() -> None:
    async def test() -> None:
        sender = Sender()
        with Room(MIB).body(scope(MIB + 1), sender.receive) as receive, pytest.raises(TooLargeError, match="1 MiB"):
            await receive()
        assert sender.asked == 0
        with Room(MIB).body(scope(), sender.receive) as receive:
            sender.send(MIB)
            sender.send(1)
            with pytest.raises(TooLargeError):
                await whole_body(receive)

    run(test)


def test_who_has_waited_longest_for_its_client_gives_way() -> None:
    async def test() -> None:
        room = Room(4 * MIB)
        senders = [Sender() for _ in range(4)]

        async def read(sender: Sender) -> int:
            with room.body(scope(), sender.receive) as receive:
                return len(await whole_body(receive))

        reading = []
        for sender in senders[:3]:
            sender.send(MIB + SMALL)
            reading.append(asyncio.ensure_future(read(sender)))
            await quiet()
        assert room.free == MIB
        senders[0].send(1)  # who trickles is not younger for it
        await quiet()
        senders[3].send(2 * MIB + SMALL)
        reading.append(asyncio.ensure_future(read(senders[3])))
        with pytest.raises(CrowdedError):
            await reading[0]
        await quiet()
        assert not any(each.done() for each in reading[1:])
        for sender in senders[1:]:
            sender.send(0, more=False)
        assert await asyncio.gather(*reading[1:]) == [MIB + SMALL, MIB + SMALL, 2 * MIB + SMALL]
        assert room.free == 4 * MIB

    run(test)


def test_a_body_that_is_worked_on_gives_no_way_and_is_waited_for() -> None:
    async def test() -> None:
        room = Room(2 * MIB)
        first, second = Sender(), Sender()
        first.send(2 * MIB, more=False)
        second.send(MIB, more=False)
        worked_on = ExitStack()
        await whole_body(worked_on.enter_context(room.body(scope(), first.receive)))
        with room.body(scope(), second.receive) as receive:
            waiting = asyncio.ensure_future(whole_body(receive))
            await quiet()
            assert not waiting.done()
            worked_on.close()
            assert len(await waiting) == MIB

    run(test)


def test_who_finds_no_room_is_told_so_after_a_while() -> None:
    async def test() -> None:
        room = Room(MIB, patience=0.01)
        first, second = Sender(), Sender()
        first.send(MIB, more=False)
        second.send(MIB, more=False)
        with room.body(scope(), first.receive) as worked_on, room.body(scope(), second.receive) as receive:
            await whole_body(worked_on)
            with pytest.raises(CrowdedError):
                await whole_body(receive)
        assert room.free == MIB

    run(test)
