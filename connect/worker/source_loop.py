"""The loop of a source task: poll, transform, convert, send; `connect.delivery.source` decides when records count."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from connect.api.source import SourceTask
from connect.data.batch import SourceBatch
from connect.delivery.meter import SourceMeter
from connect.delivery.source import Output
from connect.delivery.traced_meters import source_meter
from connect.errors import ConnectError, RetriableError
from connect.pipeline import Chain
from connect.plugins.lifetime import Lifetime
from connect.worker.control import Control, Stopping
from connect.worker.loop import Loop
from connect.worker.progress import ProgressReport

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

#: How long after a poll that brought nothing the next one comes: a share of the time since something came, so that a
#: source that is quiet for long costs little. One whose polls wait by themselves is left to its own pace. While records
#: are under way their acknowledgements are looked for more often.
_IDLE_SHARE = 0.1
_WAITED_S = 0.5
_IDLE_S = (0.01, 2.0)
_UNDER_WAY_S = 0.2
_RETRY_S = 1.0
#: Of the graceful time, what is given to the broker for what is under way; the rest is for the task's `stop`.
_FINISH_SHARE = 0.6


class SourceLoop(Loop):
    """Runs one source task in its process, see `Loop`.

    Args:
        task: created, with its context set, not started.
        config: the task's configuration.
        chain: what the output runs; closed at the end.
        open_output: called once, before the task starts, with callbacks for the output's results.
        control, report: see `Loop`.
        graceful: seconds that the worker waits for the end before it kills.
    """

    log = logging.getLogger("connect.worker.source")

    def __init__(
        self,
        task: SourceTask,
        config: Mapping[str, str],
        chain: Chain,
        open_output: Callable[[SourceMeter], Output],
        control: Control,
        report: ProgressReport,
        graceful: float,
    ) -> None:
        super().__init__(control, report)
        self._task = task
        self._life = Lifetime(task)
        self._config = config
        self._chain = chain
        self._open_output = open_output
        self._graceful = graceful
        self._output: Output | None = None
        self._put_off = ""  # why the last poll is to be tried again
        self._moved_at = 0.0  # when something came last
        self._meter = source_meter(report.registry, report.labels, report.traces)
        self._meter.watch(chain)

    def measure(self, report: ProgressReport) -> None:
        report.errors = self._chain.policy.counts.errors
        self._meter.errors(self._chain.policy.counts)
        if self._output is not None:
            producer = self._output.producer
            report.records = self._output.written
            self._meter.progress(report.records, producer.deliveries.outstanding, producer.deliveries.bytes)

    # For the watchdog, see `connect.worker.watchdog.Watched`.

    def moved(self) -> object:
        if self._output is None:
            return None
        return self._output.producer.sent - self._output.producer.deliveries.rows

    def waiting(self) -> str:
        if self._output is not None and (waiting := self._output.waiting()):
            return waiting
        return f"the source cannot be read: {self._put_off}" if self._put_off else ""

    def failing(self) -> tuple[float, str] | None:
        return None if self._output is None else self._output.failing()

    def _start(self) -> bool:
        self._output = self._open_output(self._meter)
        self._life.start(self._config)
        self._paused = self._control.paused
        self._moved_at = time.monotonic()
        return self._paused

    def _turn(self) -> None:
        output = self._output
        assert output is not None
        output.serve()
        began = time.monotonic()
        if not self._paused and self._once(output):
            self._moved_at = time.monotonic()
        else:
            self._control.wait(self._idle(output, began))

    def _idle(self, output: Output, polled_at: float) -> float:
        """How long to wait after a poll without records."""
        now = time.monotonic()
        pause = min(max(_IDLE_S[0], (now - self._moved_at) * _IDLE_SHARE), _IDLE_S[1])
        if output.has_unfinished:
            pause = min(pause, _UNDER_WAY_S)
        took = now - polled_at
        return 0.0 if took >= _WAITED_S else max(0.0, pause - took)

    def _once(self, output: Output) -> bool:
        """Move one batch. False when there was none."""
        self._control.await_lease()  # what was sent may have been waited for, or stored, longer than the lease
        began = time.monotonic()
        self._control.set_activity("poll")
        try:
            polled = self._task.poll()
        except RetriableError as error:
            self._put_off = str(error)
            self._waiter.waits(self._put_off, what=error.waits_for)
            self._control.wait(_RETRY_S)
            return True
        self._put_off = ""
        self._waiter.goes_on()
        batch = polled if isinstance(polled, SourceBatch) else SourceBatch.of(polled or ())
        if not len(batch):
            output.polled()
            return False
        self._report.read += len(batch)
        self._meter.polled(batch, time.monotonic() - began)
        self._control.set_activity("The pipeline")
        encoded = output.encode(batch)
        self._control.await_lease()  # the poll, and retries in the chain, may have outlasted the lease
        self._report.used(encoded.topics)
        output.send(batch, encoded)
        return True

    def _pause(self) -> bool:
        if self._output is not None:
            self._output.pause()
        return True

    def _resume(self) -> bool:
        return True

    def _last_steps(self) -> Sequence[Callable[[], object]]:
        return (self._finish, self._life.end, self._chain.close, self._close, self._meter.ends)

    def _fails(self, error: BaseException) -> None:
        self._meter.ends(type(error).__name__)

    def _finish(self) -> None:
        if self._output is None:
            return
        try:
            self._output.finish(self._graceful * _FINISH_SHARE)
        except Stopping:
            raise ConnectError("What was sent last does not count; it is read again.") from None

    def _close(self) -> None:
        if self._output is not None:
            self._output.close()
