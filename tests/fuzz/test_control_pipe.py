"""The control pipe: whatever a task's process writes to it, its worker goes on, and what it keeps can be shown."""

from __future__ import annotations

import math
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connect.errors import ConnectError
from connect.group.wire import Metadata, decode_metadata, encode_metadata
from connect.group.work import TaskId
from connect.herder.measures import CpuShare
from connect.herder.task_figures import TaskFigures
from connect.telemetry.exposition import families, text
from connect.telemetry.metrics import Registry
from connect.worker import messages
from connect.worker.channel import LARGEST, Channel, Garbled
from connect.worker.supervisor import Supervisor, TaskProcess
from tests.fuzz.damage import NUMBERS, damaged
from tests.fuzz.running import Fuzz

pytestmark = pytest.mark.quick

KINDS: dict[str, type[messages.Message]] = {kind.__name__: kind for kind in get_args(messages.AnyMessage)}
FLOATS = st.one_of(st.floats(), st.sampled_from([0.0, 1.5, 1e300, -1e300, math.nan, math.inf, 1e17]))
INTS = st.integers(-(1 << 63), (1 << 64) - 1) | st.integers(-2, 100)
TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["connect", "a.b", "." * 3000, "a" * 3000, 'a"\n} 1\n', "connect_x_total", "outcome", "le"]),
)
EXTENSION = msgspec.msgpack.Ext(5, b"x")
ANY: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), INTS, FLOATS, TEXTS, st.binary(max_size=4), st.just(EXTENSION)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.integers(0, 9), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    [
        *["connect_task_commits_total", "connect_sink_put_seconds", "connect_task_batch_records", "kafka_connect_x"],
        "a b",
        "",
    ]
)
BUCKETS = st.tuples(
    st.lists(FLOATS, max_size=3).map(sorted) | st.just([0.1, 1.0]), st.lists(INTS, max_size=4), FLOATS, FLOATS, FLOATS
)
SAMPLES = st.tuples(
    NAMES,
    st.sampled_from(["counter", "gauge", "histogram", "x"]),
    st.dictionaries(TEXTS | st.just("outcome"), TEXTS | st.just("success"), max_size=2),
    FLOATS | BUCKETS,
)
FIELDS = {
    "metrics": st.lists(SAMPLES, max_size=3),
    "topics": st.lists(TEXTS, max_size=3),
    "partitions": st.lists(st.dictionaries(TEXTS, ANY, max_size=2), max_size=2),
    "entries": st.lists(st.tuples(st.dictionaries(TEXTS, ANY, max_size=2), st.none() | ANY), max_size=2),
    "kind": st.sampled_from(["unknown", "passing", "x"]) | ANY,
    "trace": TEXTS | st.none(),
}
#: A histogram of more counts than it has buckets.
TORN = ["a_seconds", "histogram", {}, [[1.0], [1, 2, 3], 1.0, 1.0, 1.0]]
BY_TYPE = {"IntType": INTS, "FloatType": FLOATS, "StrType": TEXTS, "BoolType": st.booleans()}


def spoken(kind: type[messages.Message]) -> st.SearchStrategy[bytes]:
    """Messages of a kind, nearly always of the right types."""
    declared = msgspec.inspect.type_info(kind).fields  # type: ignore[attr-defined]
    fields = {each.name: FIELDS.get(each.name, BY_TYPE.get(type(each.type).__name__, ANY)) for each in declared}
    return st.fixed_dictionaries(fields).map(lambda values: said(kind.__name__, **values))


def said(kind: str, /, **fields: Any) -> bytes:
    """A message, right or wrong."""
    return msgspec.msgpack.encode({"type": kind, **fields})


def framed(data: bytes) -> bytes:
    """A message as it is written."""
    return struct.pack(">I", len(data)) + data


PIECES = [*NUMBERS, *(bytes([code]) for code in range(0xC0, 0xE0))]
PIECES += [b"\xdd\x7f\xff\xff\xff", b"\x91" * 2000, b"\xa1\xff"]
MESSAGES = st.one_of([spoken(kind) for kind in KINDS.values()])
PIPES = st.one_of(
    st.lists(MESSAGES.map(framed), max_size=6).map(b"".join),
    damaged(st.lists(MESSAGES.map(framed), max_size=3).map(b"".join), PIECES),
    damaged(MESSAGES, PIECES).map(framed),
    st.binary(max_size=40),
)


class Child:
    """Stands in for a process: all that its worker does to it."""

    def __init__(self) -> None:
        self.channel, self.theirs = Channel.pair()
        self.killed = False
        self.pid = 0

    def kill(self) -> None:
        self.killed = True


class Listener:
    """Keeps what a herder keeps of a task."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.figures = TaskFigures("sink")
        self.cpu = CpuShare()
        self.moment = 0.0

    def task_said(self, task: TaskProcess, message: messages.AnyMessage) -> None:
        match message:
            case messages.Progress():
                self.registry.merge(task.id, message.metrics)
                self.figures.take(message.metrics)
            case messages.Alive(cpu):
                self.moment += 60
                self.cpu.take(self.moment, cpu)
            case messages.AskOffsets() | messages.AskOffsetKeys() | messages.AskToBegin() | messages.StoreOffsets():
                task.send(messages.Stored(message.question))

    def task_ended(self, task: TaskProcess, error: str | None, trace: str | None) -> None:
        pass


SPEC = messages.TaskSpec("a", 0, "sink", "m:C", None, {}, {}, {}, [], [], paused=False, lease_until=0.0, log_level=20)


@contextmanager
def a_task() -> Iterator[tuple[Supervisor, TaskProcess, Child, Listener]]:
    """A supervisor whose thread does not run, and a task of it."""
    child, listener = Child(), Listener()
    task = TaskProcess(SPEC, child, listener)  # type: ignore[arg-type]
    supervisor = Supervisor()
    supervisor._selector.register(child.channel.fileno(), 1)
    try:
        yield supervisor, task, child, listener
    finally:
        child.channel.close()
        child.theirs.close()
        supervisor._selector.close()
        os.close(supervisor._wake_read)
        os.close(supervisor._wake_write)


def test_whatever_a_process_writes_its_worker_goes_on(fuzz: Fuzz) -> None:
    @given(PIPES)
    @example(framed(said("Failed", summary="x")[:-1] + b"\xa1\xff"))
    @example(framed(said("AskOffsets", question=1, partitions=[{"a": None}])[:-1] + b"\x91" * 5000 + b"\x01"))
    @example(framed(said("Alive", cpu=0)) + framed(said("Alive", cpu=1e300)))
    @example(framed(said("Progress", records=0, read=0, lag=0, errors=0, metrics=[TORN])))
    @example(framed(said("Log", level=1 << 63, logger="." * 100_000, text="x", trace=None, created=math.nan)))
    def holds(data: bytes) -> None:
        with a_task() as (supervisor, task, child, listener):
            child.theirs.sendall(data)
            child.theirs.shutdown(socket.SHUT_WR)
            while supervisor._read(task):
                pass
            fuzz.met["ended" if child.killed else "taken"] += 1
            assert task._failure is not None or not child.killed
            text(families(listener.registry.snapshot(), {}))
            listener.figures.figures()
            if listener.cpu.cores is not None:
                told = Metadata("u", 0, loads={TaskId("a", 0): listener.cpu.cores})
                decode_metadata(encode_metadata(told, "sessioned"))

    fuzz.check(holds, examples=60)


def test_a_length_of_gigabytes_costs_no_memory() -> None:
    mine, theirs = Channel.pair()
    theirs.sendall(struct.pack(">I", 1 << 31) + b"x" * 1000)
    with pytest.raises(Garbled, match="a message of 2147483648 bytes"):
        mine.receive()
    assert len(mine._buffer) < 2000
    with pytest.raises(ConnectError, match="up to 32 MiB"):
        mine.send(messages.Log(20, "a", "x" * (LARGEST + 1), None, 0.0))
    mine.close()
    theirs.close()
