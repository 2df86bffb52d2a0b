"""Records of tasks on their way, for those who look: asked of the tasks of this worker, collected as they come."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

import msgspec

from connect.herder.errors import BusyError
from connect.pipeline.outcome import SeenOutcome
from connect.worker import messages
from connect.worker.supervisor import TaskProcess

#: Those who look at a time: each look costs the task that shows its records, and holds a connection of the REST API.
AT_ONCE: Final = 32
#: How long the pipe of a task may take.
_TAKEN_WITHIN_S: Final = 0.1

_decoder: Final = msgspec.json.Decoder(SeenOutcome)


@dataclass(frozen=True, slots=True)
class TappedRecord:
    """A record of a task. `at` in ms since the epoch, when it had passed the chain."""

    task: int
    at: int
    seen: SeenOutcome


@dataclass(slots=True)
class Tapping:
    """What one user looks at. Close it.

    Attributes:
        full: done once all records have come, or no more will.
        records: those that have come.
        refused: for each task that shows none, why.
    """

    question: int
    left: int
    tasks: set[int]
    full: Future[None] = field(default_factory=Future)
    records: list[TappedRecord] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)


class Taps:
    """Safe to use from many threads. Nothing here blocks, but for a moment where a task does not read."""

    def __init__(self) -> None:
        self._open: dict[int, Tapping] = {}
        self._questions = itertools.count(1)
        self._lock = threading.Lock()

    def open(self, processes: dict[int, TaskProcess], records: int, seconds: float) -> Tapping:
        """Look at so many records of these tasks, for at most this long.

        Raises:
            BusyError: as many look already as may at a time.
        """
        with self._lock:
            if len(self._open) >= AT_ONCE:
                raise BusyError(f"{AT_ONCE} look at records of this worker's tasks already. Try again in a moment.")
            tapping = Tapping(next(self._questions), records, set(processes))
            self._open[tapping.question] = tapping
        for number, process in processes.items():
            # At once, unless another message is on its way to the task.
            if not process.offer(messages.OpenTap(tapping.question, records, seconds), _TAKEN_WITHIN_S):
                self._refuse(tapping, number, "It shows no records: it does not read what its worker tells it.")
        if not processes:
            tapping.full.set_result(None)
        return tapping

    def close(self, tapping: Tapping) -> None:
        """Nobody looks any longer. Its records do not change afterwards."""
        with self._lock:
            self._open.pop(tapping.question, None)

    def take(self, number: int, answer: messages.Tapped) -> None:
        """A task answers. It runs code of plug-ins, so it may answer anything."""
        tapping = self._open.get(answer.question)
        if tapping is None or number not in tapping.tasks:
            return
        if answer.error:
            self._refuse(tapping, number, answer.error)
            return
        try:
            seen = _decoder.decode(answer.record)
        except msgspec.MsgspecError:
            return
        with self._lock:
            if tapping.left > 0 and answer.question in self._open:
                tapping.records.append(TappedRecord(number, int(time.time() * 1000), seen))
                tapping.left -= 1
                if not tapping.left:
                    tapping.full.set_result(None)

    def _refuse(self, tapping: Tapping, number: int, why: str) -> None:
        with self._lock:
            tapping.refused[number] = why
            if tapping.refused.keys() == tapping.tasks and not tapping.full.done():
                tapping.full.set_result(None)
