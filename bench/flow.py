"""How long records stop flowing into targets when a worker is lost: told by the targets, not by a status.

A record with a time stamp is written steadily into the topics of file sinks. What counts is when a record that was
written after the loss is in the target: until then nothing flows, whatever a status says.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

_LOOK_S = 0.05
_TAIL = 64  # bytes at the end of a file, of which the last line is less


class NothingFlows(Exception):
    """No record came in time. The message says into which targets."""


class Ticks(threading.Thread):
    """Writes a record into each topic, again and again: the moment at which it does, by `time.monotonic`.

    Args:
        every: seconds between two rounds.
    """

    def __init__(self, bootstrap: str, topics: Sequence[str], every: float) -> None:
        super().__init__(daemon=True)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
        self._topics = topics
        self._every = every
        self._may = threading.Lock()
        self._ended = threading.Event()
        #: The moment of the last round.
        self.last = 0.0

    def run(self) -> None:
        while not self._ended.wait(self._every):
            with self._may:
                self.last = time.monotonic()
                for topic in self._topics:
                    self._producer.produce(topic, stamp(self.last))
                self._producer.flush()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nothing is written meanwhile."""
        with self._may:
            yield

    @contextmanager
    def running(self) -> Iterator["Ticks"]:
        """Written meanwhile, and not afterwards."""
        self.start()
        try:
            yield self
        finally:
            self._ended.set()
            self.join()


def stamp(moment: float) -> bytes:
    """What a record says of the moment at which it was written: exactly that, whoever compares it later."""
    return repr(moment).encode()


def newest(target: Path) -> float:
    """The stamp of the last whole line of a file; 0 while there is none."""
    try:
        with target.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return 0.0
    # The first of them may be cut off, the last is not ended yet.
    whole = [line for line in lines[:-1] if line]
    return float(whole[-1]) if whole else 0.0


def await_since(targets: Mapping[str, Path], since: float, within: float) -> dict[str, float]:
    """When each target had a record that was written at `since` or later, by `time.monotonic`.

    Raises:
        NothingFlows: not all had one in time.
    """
    deadline = time.monotonic() + within
    found: dict[str, float] = {}
    while True:
        for name, target in targets.items():
            if name not in found and newest(target) >= since:
                found[name] = time.monotonic()
        if len(found) == len(targets):
            return found
        if time.monotonic() > deadline:
            dry = sorted(targets.keys() - found.keys())
            raise NothingFlows(f"no record within {within:g} s in {len(dry)} targets, such as {dry[0]}")
        time.sleep(_LOOK_S)


def lose(
    ticks: Ticks, targets: Mapping[str, Path], kill: Callable[[], None], within: float
) -> tuple[float, list[float]]:
    """Kill what fills these targets at a moment at which nothing is under way to them.

    Returns:
        That moment, by `time.monotonic`, and for each target the seconds from then until a record that was written
        after it had arrived, the least first.

    Raises:
        NothingFlows: not all had one in time.
    """
    with ticks.held():
        # All that was written is there, so that whoever is killed cannot bring a later record any more.
        await_since(targets, ticks.last, within)
        kill()
        killed = time.monotonic()
    arrived = await_since(targets, killed, within)
    return killed, sorted(at - killed for at in arrived.values())
