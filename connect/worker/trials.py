"""The worker's side of a trial: starts its process, collects what it says, and ends it (P6).

Code of plug-ins runs there: it may hang, crash, write anything or any amount. Time and bytes are bounded here.
"""

from __future__ import annotations

import select
import time
from dataclasses import dataclass, field
from typing import Final

import msgspec

from connect.errors import ConnectError
from connect.pipeline.error_kinds import ErrorKind
from connect.pipeline.outcome import SeenOutcome
from connect.worker import messages, trial_process
from connect.worker.channel import Garbled, cut
from connect.worker.processes import ChildProcess, how_it_ended
from connect.worker.remote_log import write_log
from connect.worker.said import TAPPED_SIZE
from connect.worker.trial_process import TrialSpec

#: Bytes of records that one trial may show.
_ROOM: Final = 1 << 22
#: Characters of what is said in one line.
_LINE: Final = 1_000
_REASONS: Final = 20

_decoder: Final = msgspec.json.Decoder(SeenOutcome)


class WrongTrialError(ConnectError):
    """The configuration, or a sample, cannot be tried as it is: nothing ran."""


@dataclass(slots=True)
class TrialResult:
    """What a trial has shown.

    Attributes:
        records: in their order. Of a trial that was ended those that it had finished.
        reasons: why there are no more, in sentences; empty where nothing is missing.
    """

    records: list[SeenOutcome] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


def run_trial(spec: TrialSpec, seconds: float) -> TrialResult:
    """Run a trial, and wait for its end: at most this long, then its process is killed.

    Raises:
        WrongTrialError: the configuration or a sample is wrong.
    """
    child = ChildProcess(trial_process.main, msgspec.msgpack.encode(spec))
    listening = _Listening(child, len(spec.samples) or spec.limit)
    try:
        ended = listening.until(time.monotonic() + seconds)
    finally:
        child.kill()  # it may have left threads, or not want to end
        code = child.reap()
    result = listening.result
    if not ended:
        result.reasons.append(f"The trial took more than {seconds:g} s and was ended.{listening.doing}")
    elif not listening.finished:
        result.reasons.append(how_it_ended(code).replace("The task's", "The trial's") + listening.doing)
    return result


class _Listening:
    """Collects the messages of one trial's process."""

    def __init__(self, child: ChildProcess, records: int) -> None:
        self.result = TrialResult()
        self.finished = False
        self.doing = ""
        self._child = child
        self._left = records
        self._room = _ROOM

    def until(self, deadline: float) -> bool:
        """Listen until the trial ends. Returns whether that was before the deadline, on the monotonic clock."""
        # Of the process too: a program that a plug-in has started may hold the pipe open after its end.
        poll, pipe = select.poll(), self._child.channel.fileno()
        poll.register(pipe, select.POLLIN)
        poll.register(self._child.gone, select.POLLIN)
        while not self.finished:
            ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not ready or time.monotonic() >= deadline:
                return False
            if pipe not in dict(ready):
                break
            try:
                for message in self._child.channel.receive_ready():
                    self._take(message)
            except EOFError:
                break
            except Garbled:
                self.finished = True
                self._say("The trial's process wrote what is not a message to its control pipe, and was ended.")
        return True

    def _take(self, message: messages.AnyMessage) -> None:
        match message:
            case messages.Trying(what):
                self.doing = f" It was {cut(what, _LINE)}."
            case messages.Tapped(error=str(error)) if error:
                self._say(error)
            case messages.Tapped(record=record):
                self._show(record)
            case messages.Failed(summary, _, ErrorKind.CONFIGURATION):
                raise WrongTrialError(cut(summary))
            case messages.Failed(summary):
                self.finished = True
                self._say(f"{summary.removesuffix('.')}.")
            case messages.Stopped():
                self.finished = True
            case messages.Log():
                write_log(message, "trial")

    def _show(self, record: bytes) -> None:
        if len(record) > TAPPED_SIZE or self._left <= 0:
            return
        self._left -= 1
        if len(record) > self._room:
            self._room = 0
            self._say(f"The records after the first {len(self.result.records)} are too large to be shown with them.")
            return
        try:
            self.result.records.append(_decoder.decode(record))
            self._room -= len(record)
        except (msgspec.MsgspecError, RecursionError):
            self._say("The trial's process wrote a record that cannot be read.")

    def _say(self, reason: str) -> None:
        if reason not in self.result.reasons and len(self.result.reasons) < _REASONS:
            self.result.reasons.append(cut(reason, _LINE))
