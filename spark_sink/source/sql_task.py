"""The task of the source of a query: a streaming query, or one that is run repeatedly."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

from spark_sink.source.batches import BatchWriter, check_columns
from spark_sink.source.polls import Polls
from spark_sink.source.records import RowShape
from spark_sink.source.settings import OPTION, STREAM, SqlSourceOptions
from spark_sink.source.task import SourceProgress, SourceQueryTask

log = logging.getLogger("connect.spark")

_VIEW = "source"
_LOOK_AGAIN_S: Final = 0.2
_STOP_S: Final = 3.0


class SqlSourceTask(SourceQueryTask):
    """See `SourceQueryTask`. Offsets are those of the last written row, by the columns that show which rows are new."""

    options_class = SqlSourceOptions
    options: SqlSourceOptions

    def check(self) -> None:
        self._streams = self.options.mode == STREAM

    def has_checkpoint(self, name: str) -> bool:
        return super().has_checkpoint(name) if self._streams else True  # polls need none but their offset

    def partition(self) -> dict[str, Any]:
        return {"query": "query"}

    def first(self) -> dict[str, Any]:
        return {}

    def writes_here(self) -> bool:
        return not self._streams or super().writes_here()  # polls are ours, wherever Spark is

    def start_query(self) -> Any:
        return self._start_stream() if self._streams else self._start_polls()

    def offset_of(self, progress: SourceProgress) -> dict[str, Any] | None:
        if not self._streams or progress.batch < 0:
            return None  # polls tell it themselves
        return {"batch": progress.batch}

    def _start_stream(self) -> Any:
        options, spark = self.options, self.session.spark
        if options.source_format:
            reader = spark.readStream.format(options.source_format.strip())
            if options.source_schema:
                reader = reader.schema(options.source_schema)
            reader.options(**options.config.prefixed(OPTION)).load().createOrReplaceTempView(_VIEW)
        rows = spark.sql(options.query)
        shape = self._shape(rows.schema)
        return self.stream(rows, self.writer(shape), options.output_mode)

    def _start_polls(self) -> Any:
        options = self.options
        writer: BatchWriter | None = None

        def write(rows: Any, batch: int) -> None:
            nonlocal writer
            shape = self._shape(rows.schema)
            if writer is None or writer.shape != shape:
                writer = self.writer(shape)
            writer(rows, batch)

        polls = Polls(
            self.session.spark,
            options.query,
            options.incrementing_column,
            options.timestamp_column,
            options.timestamp_delay_ms,
            self.offset,
            write,
            self.store,
        )
        once = self.running.trigger != "interval"
        return PolledQuery(polls.once, options.poll_interval, self.may_begin, self.session.spark, once=once)

    def _shape(self, schema: Any) -> RowShape:
        options = self.options
        told = [column for column in (options.timestamp_column, options.incrementing_column) if column]
        order = dict.fromkeys([*told, *options.order_by])
        values = self.columns([field.name for field in schema.fields])
        shape = RowShape(options.topic, tuple(options.key_fields), values, tuple(order), self.partition())
        check_columns(schema, shape)
        return shape


class PolledQuery:
    """Runs polls on a thread of its own, with the interface of a StreamingQuery: it is supervised like one.

    Args:
        poll: one poll; its errors end the query.
        interval: seconds from the start of one poll to that of the next.
        may_begin: whether a poll may begin now.
        spark: the session of the polls; a running one is interrupted there when the query is stopped.
        once: end after the first poll.
    """

    recentProgress: tuple[Any, ...] = ()  # noqa: N815 - Spark's name, here and below

    def __init__(
        self,
        poll: Callable[[], None],
        interval: float,
        may_begin: Callable[[], bool],
        spark: Any,
        *,
        once: bool = False,
    ) -> None:
        self._poll = poll
        self._interval = interval
        self._may_begin = may_begin
        self._spark = spark
        self._once = once
        self._tag = f"poll-{uuid.uuid4().hex}"
        self._over = threading.Event()
        self._ended = threading.Event()
        self._busy = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="polls", daemon=True)
        self._thread.start()

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it runs."""
        return not self._ended.is_set()

    @property
    def status(self) -> dict[str, Any]:
        """Whether a poll is running at this moment."""
        return {"isTriggerActive": self._busy}

    def exception(self) -> Exception | None:
        """The error that ended it, if any."""
        return self._error

    def awaitTermination(self, seconds: float) -> bool:  # noqa: N802
        """Wait this long for its end, and return whether it has ended."""
        return self._ended.wait(seconds)

    def stop(self) -> None:
        """End it, and a running poll."""
        self._over.set()
        if self._busy:
            try:
                self._spark.interruptTag(self._tag)
            except Exception as error:  # the session goes in any case
                log.debug("A poll could not be interrupted: %s", error)
        self._ended.wait(_STOP_S)

    def _run(self) -> None:
        due = time.monotonic()
        try:
            while not self._over.is_set():
                if time.monotonic() < due or not self._may_begin():
                    self._over.wait(min(_LOOK_AGAIN_S, max(0.01, due - time.monotonic())))
                    continue
                due = time.monotonic() + self._interval
                self._do()
                if self._once:
                    return
        except Exception as error:  # Spark and plug-ins raise anything
            if not self._over.is_set():
                self._error = error
        finally:
            self._ended.set()

    def _do(self) -> None:
        self._busy = True
        self._spark.addTag(self._tag)
        try:
            self._poll()
        finally:
            self._busy = False
            self._spark.removeTag(self._tag)
