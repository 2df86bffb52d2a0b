"""Numbered records: written into the topic that all sinks read, and given to the systems that sources read."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import Producer

from tests.chaos.topic import QUIET
from tests.support.waiting import until

from .checks import Place

KEYS: Final = 20
#: One record of so many cannot be converted.
POISON_EVERY: Final = 500
POISON: Final = b"poison "
_SCHEMA: Final = {
    "type": "struct",
    "optional": False,
    "fields": [
        {"field": "n", "type": "int64", "optional": False},
        {"field": "k", "type": "string", "optional": False},
    ],
}


def value_of(number: int) -> bytes:
    """The value of a record: JSON with its schema, or poison."""
    if is_poison(number):
        return POISON + str(number).encode()
    return json.dumps({"schema": _SCHEMA, "payload": {"n": number, "k": key_of(number)}}).encode()


def key_of(number: int) -> str:
    return f"k{number % KEYS}"


def is_poison(number: int) -> bool:
    return number % POISON_EVERY == POISON_EVERY // 2


def number_of(value: bytes) -> int:
    """The number of a value as `value_of` makes it."""
    return int(value[len(POISON) :]) if value.startswith(POISON) else int(json.loads(value)["payload"]["n"])


class Steady:
    """Does something so many times a second, in a thread, until `finish`.

    Attributes:
        errors: what `step` raised; each step is tried again.
    """

    def __init__(self, name: str, step: Callable[[], Any], per_second: float) -> None:
        self.errors: list[str] = []
        self._step = step
        self._pause = 1 / per_second
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Do no more. Waits for the step under way."""
        self._enough.set()
        if self._thread.is_alive():
            self._thread.join(60)

    def _run(self) -> None:
        following = time.monotonic()
        while not self._enough.is_set():
            try:
                self._step()
            except Exception as error:  # whatever the other side raises while it is away
                self.errors.append(f"{type(error).__name__}: {error}")
                self._enough.wait(0.5)
            following = max(following + self._pause, time.monotonic() - 1)
            self._enough.wait(max(0.0, following - time.monotonic()))


class Feed:
    """Writes records into one topic, each once, and keeps where it went.

    The partition is the key's, by the number of partitions of now: order of a key across a change of that number is
    promised by nobody.

    Attributes:
        partitions: how many the topic has; raise it when some were added.
    """

    def __init__(
        self, bootstrap: str, topic: str, partitions: int, per_second: float, record: Callable[[int], tuple[str, bytes]]
    ) -> None:
        self.topic = topic
        self.partitions = partitions
        self._places: dict[int, Place] = {}
        self._lock = threading.Lock()
        self._record = record
        self._per_second = per_second
        self._next = 0
        self._left = 0
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 20,
                "message.timeout.ms": 0,
                "topic.metadata.refresh.interval.ms": 2000,
                **QUIET,
            }
        )
        self._steady = Steady(f"feed {topic}", self._step, per_second)

    @property
    def places(self) -> dict[int, Place]:
        """Partition and offset of each record that the brokers have acknowledged until now: a copy."""
        with self._lock:
            return dict(self._places)

    def forget(self) -> None:
        """Forget the places: the topic is another one from now on."""
        with self._lock:
            self._places.clear()

    def start(self) -> None:
        self._steady.start()

    def pause(self) -> None:
        """Write no more, and wait until all is acknowledged."""
        self._steady.finish()
        self._left = self._producer.flush(120)

    def go_on(self) -> None:
        """Go on after `pause`, with the next number."""
        self._steady = Steady(f"feed {self.topic}", self._step, self._per_second)
        self._steady.start()

    def widen(self, partitions: int) -> None:
        """Write into more partitions, once the producer knows of them."""
        until(lambda: len(self._producer.list_topics(self.topic, 10).topics[self.topic].partitions) >= partitions, 30)
        self.partitions = partitions

    def finish(self) -> int:
        """Write no more. Returns how many records there are.

        Raises:
            AssertionError: the brokers have not acknowledged all.
        """
        self.pause()
        assert self._left == 0, f"{self._left} records of {self.topic} were not acknowledged"
        return self._next

    def _step(self) -> None:
        number = self._next
        key, value = self._record(number)
        partition = (int(key[1:]) if key[1:].isdigit() else 0) % self.partitions
        self._producer.produce(self.topic, value, key, partition, on_delivery=self._delivered(number))
        self._next += 1
        self._producer.poll(0)

    def _delivered(self, number: int) -> Callable[[Any, Any], None]:
        def note(error: Any, message: Any) -> None:
            if error is None:
                with self._lock:
                    self._places[number] = (message.partition(), message.offset())
            else:
                self._steady.errors.append(str(error))

        return note


def main_record(number: int) -> tuple[str, bytes]:
    """What the topic has that all sinks read."""
    return key_of(number), value_of(number)
