"""The control pipe: whole messages, whatever the pipe makes of their bytes."""

import gc
import socket
import struct
import threading
from collections.abc import Iterator

import msgspec
import pytest

from connect.pipeline.error_kinds import ErrorKind
from connect.worker import messages
from connect.worker.channel import Channel, Garbled


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    mine, theirs = Channel.pair()
    yield mine, theirs
    mine.close()
    theirs.close()


def framed(message: messages.Message) -> bytes:
    data = msgspec.msgpack.encode(message)
    return struct.pack(">I", len(data)) + data


EVERY_KIND: list[messages.Message] = [
    messages.Renew(12.5),
    messages.Pause(),
    messages.Resume(),
    messages.Stop(),
    messages.Offsets(1, [{"position": 7}, None]),
    messages.Stored(2, "disk full"),
    messages.Running(True),
    messages.Paused(False),
    messages.Failed("it broke", "Traceback ...", ErrorKind.PASSING),
    messages.Stopped(),
    messages.AskOffsets(3, [{"file": "ä.txt"}]),
    messages.StoreOffsets(4, [({"file": "a"}, {"position": 1}), ({"file": "b"}, None)]),
    messages.Membership("connect-orders", "member-1"),
    messages.Progress(1, 2, -1, 0, []),
    messages.Stalled("put has not returned for 301 s."),
    messages.Alive(1.5),
    messages.Log(20, "connect", "hello", None, 1.0),
    messages.Call(5, "orders", messages.StartConnector("m:C", None, {"a": "b"}, [], "worker")),
    messages.Answer(5, {"task_class": "m:C"}),
    messages.Reconfigure("orders"),
    messages.ConnectorFailed("orders", "gone", "trace"),
]


@pytest.mark.parametrize("message", EVERY_KIND, ids=lambda message: type(message).__name__)
def test_every_message_arrives_as_it_was_sent(ends, message):
    mine, theirs = ends
    Channel(theirs).send(message)
    assert mine.receive() == message


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64])
def test_messages_come_whole_however_the_bytes_come(ends, size):
    mine, theirs = ends
    data = b"".join(map(framed, EVERY_KIND))

    def drip() -> None:
        for start in range(0, len(data), size):
            theirs.sendall(data[start : start + size])

    writer = threading.Thread(target=drip)
    writer.start()
    assert [mine.receive() for _ in EVERY_KIND] == EVERY_KIND
    writer.join()


def test_one_read_yields_what_is_whole_and_keeps_the_rest(ends):
    mine, theirs = ends
    first, second = framed(messages.Renew(1.0)), framed(messages.Renew(2.0))
    theirs.sendall(first + second[:5])
    assert list(mine.receive_ready()) == [messages.Renew(1.0)]
    theirs.sendall(second[5:])
    assert list(mine.receive_ready()) == [messages.Renew(2.0)]


def test_a_message_larger_than_the_pipe_passes(ends):
    mine, theirs = ends
    large = messages.Log(20, "connect", "x" * 3_000_000, None, 0.0)
    writer = threading.Thread(target=Channel(theirs).send, args=[large])
    writer.start()
    assert mine.receive() == large
    writer.join()


def test_the_other_ends_close_shows_after_its_last_words(ends):
    mine, theirs = ends
    other = Channel(theirs)
    other.send(messages.Stopped())
    other.close()
    assert mine.receive() == messages.Stopped()
    with pytest.raises(EOFError):
        mine.receive()
    with pytest.raises(EOFError):
        list(mine.receive_ready())
    with pytest.raises(BrokenPipeError):
        mine.send(messages.Stop())


def test_half_a_message_before_the_end_is_no_message(ends):
    mine, theirs = ends
    theirs.sendall(framed(messages.Stopped())[:-1])
    theirs.close()
    with pytest.raises(EOFError):
        mine.receive()


def test_what_is_said_while_a_message_is_sent_comes_behind_it(ends, monkeypatch):
    """As by a `__del__` that the garbage collector calls there."""
    mine, theirs = ends
    sender = Channel(theirs)
    send_until, said = sender._send_until, [messages.Log(40, "aiohttp.client", "Unclosed", None, 1.0), messages.Pause()]

    def collected(deadline: float, data: bytes) -> None:
        while said:
            sender.send(said.pop(0), timeout=5)
        send_until(deadline, data)

    monkeypatch.setattr(sender, "_send_until", collected)
    both = (messages.Renew(1.0), messages.Stop())
    thread = threading.Thread(target=lambda: list(map(sender.send, both)), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    came = [mine.receive() for _ in range(4)]
    expected = [messages.Renew(1.0), messages.Log(40, "aiohttp.client", "Unclosed", None, 1.0)]
    assert came == [*expected, messages.Pause(), messages.Stop()]


def test_objects_that_log_when_they_are_collected_stop_no_pipe(ends):
    mine, theirs = ends
    mine._socket.settimeout(10)
    sender = Channel(theirs)

    class Session:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            if threading.current_thread() is thread:  # the other one reads
                sender.send(messages.Stalled("Unclosed session"))

    def work() -> None:
        for number in range(2000):
            Session()
            sender.send(messages.Renew(float(number)))

    thread = threading.Thread(target=work, daemon=True)
    thresholds = gc.get_threshold()
    gc.set_threshold(50)
    try:
        thread.start()
        seen = []
        while len(seen) < 2000:
            if isinstance(message := mine.receive(), messages.Renew):
                seen.append(message.until)
        assert seen == [float(number) for number in range(2000)]
        thread.join(10)
        assert not thread.is_alive()
    finally:
        gc.set_threshold(*thresholds)


def test_many_threads_may_send_at_once(ends):
    mine, theirs = ends
    other = Channel(theirs)
    threads, each = 4, 60  # of messages larger than the pipe, which takes them in pieces

    def say(number: int) -> None:
        for count in range(each):
            other.send(messages.Log(20, str(number), "x" * (count * 9973 % 300_000), None, count))

    writers = [threading.Thread(target=say, args=[number]) for number in range(threads)]
    for writer in writers:
        writer.start()
    heard: dict[str, list[float]] = {}
    for _ in range(threads * each):
        message = mine.receive()
        assert isinstance(message, messages.Log)
        heard.setdefault(message.logger, []).append(message.created)
    for writer in writers:
        writer.join()
    assert heard == {str(number): list(range(each)) for number in range(threads)}


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">I", 4) + b"\xff" * 4,
        b"\xff" * 64,  # a length that nothing has
        struct.pack(">I", 3) + msgspec.msgpack.encode([1, 2]),
        framed(messages.Renew(1.0)).replace(b"Renew", b"Renow"),
    ],
)
def test_what_is_no_message_is_called_so(ends, data):
    mine, theirs = ends
    theirs.sendall(data)
    with pytest.raises(Garbled):
        mine.receive()


@pytest.mark.parametrize("timeout", [None, 0, 1.0])
def test_what_is_closed_takes_nothing_and_says_so_in_the_same_way(
    ends: tuple[Channel, socket.socket], timeout: float | None
) -> None:
    ours, _ = ends
    ours.close()
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the moment
        ours.send(messages.Stop(), timeout)
