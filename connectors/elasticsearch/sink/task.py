"""The sink tasks: records as documents, in bulk requests beside consumption."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from connect import ConnectError, DataError, Offsets, RetriableError, SinkBatch, SinkRecord, SinkTask, TopicPartition
from connect.kit import backoff
from connectors.elasticsearch.cluster import Cluster, Failure, failure
from connectors.elasticsearch.cluster.client import LONGEST_PAUSE
from connectors.elasticsearch.sink.choices import FAIL, IGNORE, POLICY, REPORT, SCRIPT, WARN
from connectors.elasticsearch.sink.delivery import Delivery, Refused
from connectors.elasticsearch.sink.fitting import Fitted, Fitting
from connectors.elasticsearch.sink.keys import ElasticsearchSinkOptions, OpenSearchSinkOptions
from connectors.elasticsearch.sink.lines import Part, Writer
from connectors.elasticsearch.sink.outbox import Outbox, Request
from connectors.elasticsearch.sink.resources import Resources

log = logging.getLogger(__name__)

#: How long `put` waits for room, in seconds, before it says that the cluster is slow; and when requests fail.
_PATIENCE: Final = 3.0
_PATIENCE_IN_TROUBLE: Final = 0.5
_END: Final = 1.0
#: Seconds between lines in the log about records that came again.
_SAY_AGAIN: Final = 60.0


class ElasticsearchSinkTask(SinkTask):
    """Writes records as documents.

    `put` makes bulk requests, which threads send while the next records are consumed; it waits where too many do.
    Requests with transient failures are retried. `pre_commit` waits until everything accepted is written. Errors are
    raised by the next call.
    """

    options: ClassVar[type[ElasticsearchSinkOptions | OpenSearchSinkOptions]] = ElasticsearchSinkOptions
    settings = ElasticsearchSinkOptions.definition()

    def start(self, config: Mapping[str, str]) -> None:
        self._options = options = self.options.parse(config)
        self._writer = Writer(options)
        self._cluster = Cluster(options)
        self.context.exit_stack.callback(self._cluster.close)
        self._metrics = f"{options.product.lower()}_"
        self._resources = Resources(options, self._cluster)
        self._fitting = Fitting(options, self._cluster)
        self._outbox = Outbox(
            self._send,
            threads=options.in_flight,
            most=options.batch_size,
            most_bytes=options.bulk_bytes,
            linger=options.linger,
            # Of a request of which a part is sent again, what comes behind would be, too: a script must not run twice.
            alone=options.method == SCRIPT,
        )
        self._delivery = Delivery(options, self._cluster, self._outbox.wait)
        self._retries = self._cluster.retries(self.context.timeout)
        self._failed: Exception | None = None
        self._conflicts: Counter[str] = Counter()
        self._conflicts_due = 0.0
        self._look_for_resources()

    def put(self, batch: SinkBatch) -> None:
        self._settle()
        if not len(batch):
            return
        self._wait_for_room()
        parts, wrong = self._writer.parts(batch)
        fitted: list[Fitted] = []
        for topic, target, schema, part in parts:
            try:
                self._resources.ensure(target, topic, schema)
                fitted.append(self._fitting.fitted(topic, target, part))
            except ConnectError:
                raise
            except Exception as error:
                raise self._refused(failure(error), error, target) from error
        self._retries.worked()
        # Not before: a batch that comes again because a request failed would report its records again.
        reporter = self.context.errant_records
        settled = [
            (topic, target, schema, each.settle(reporter))
            for (topic, target, schema, _), each in zip(parts, fitted, strict=True)
        ]
        self._write(batch, settled, wrong)

    def _write(self, batch: SinkBatch, parts: list[Part], wrong: dict[int, DataError]) -> None:
        for row, why in sorted(wrong.items()):
            self._cannot_write(batch.slice(row, row + 1).records()[0], why)
        for topic, target, _, part in parts:
            lines, bad = self._writer.lines(topic, target, part)
            for row, why in sorted(bad.items()):
                self._cannot_write(part.slice(row, row + 1).records()[0], why)
            if lines.items:
                self._outbox.add(lines)

    def pre_commit(self, offsets: Offsets) -> Offsets:
        done = self._outbox.flush(self._options.flush_timeout)
        self._settle()
        if not done:
            raise ConnectError(
                f"{self._cluster.where} has not taken {self._outbox.records} records within "
                f"{self._options.flush_timeout:g} s (flush.timeout.ms). {self._delivery.trouble}".strip()
            )
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        gone = set(partitions)
        for lines in self._outbox.withdraw():
            # As they are: fields that named their index may be left out of documents.
            if (left := lines.without(gone)).items:
                self._outbox.add(left)

    def stop(self) -> None:
        self._outbox.end(_END)
        self._tell()

    # Inside.

    def _look_for_resources(self) -> None:
        """Check at once that the configured resources exist, if the cluster is available."""
        try:
            self._resources.check()
        except ConnectError:
            raise
        except Exception as error:
            found = failure(error)
            if not found.passing:
                raise ConnectError(f"{self._cluster.where}: {found.sentence}") from error
            log.warning("%s: %s It is asked again with the first records.", self._cluster.where, found.sentence)

    def _send(self, request: Request) -> None:
        self._delivery.send(request)

    def _wait_for_room(self) -> None:
        options = self._options
        for patience in (_PATIENCE_IN_TROUBLE, _PATIENCE - _PATIENCE_IN_TROUBLE):
            if self._outbox.room(options.buffered_records, options.buffered_bytes, patience):
                self._settle()
                return
            if self._delivery.trouble:
                break
        self._settle()
        self.context.timeout(round(backoff(options.backoff, LONGEST_PAUSE, 1) * 1000))
        raise RetriableError(
            f"{self._cluster.where} is slower than records come: {self._outbox.records} wait. "
            f"{self._delivery.trouble}".strip(),
            waits_for=self._cluster.where,
        )

    def _settle(self) -> None:
        """Report results, and raise errors."""
        for each in self._tell():
            if self._failed is None:
                try:
                    self._was_refused(each)
                except Exception as error:
                    # Once is not enough: offsets behind that record are never to be committed.
                    self._failed = error
        if (failed := self._failed or self._outbox.error) is not None:
            raise failed

    def _tell(self) -> list[Refused]:
        told = self._delivery.told()
        metrics, name = self.context.metrics, self._metrics
        for what, counts in (("written", told.written), ("deleted", told.deleted), ("conflicting", told.conflicts)):
            for target, count in counts.items():
                metrics.count(f"{name}records_{what}_total", count, target=target)
        if told.conflicts and self._options.conflicts == IGNORE:
            self._say_conflicts(told.conflicts)
        for seconds in told.seconds:
            metrics.observe(f"{name}request_seconds", seconds, operation="bulk")
        for kind, count in told.errors.items():
            self._count_error(kind, count)
        return told.refused

    def _say_conflicts(self, conflicts: Counter[str]) -> None:
        """Conflicts are expected after a crash; else a topic was recreated, or another program writes documents."""
        self._conflicts.update(conflicts)
        if time.monotonic() >= self._conflicts_due:
            self._conflicts_due = time.monotonic() + _SAY_AGAIN
            for target, count in self._conflicts.items():
                log.info("%s: %d records left out, as their documents are there in no older version", target, count)
            self._conflicts.clear()

    def _count_error(self, kind: str, count: float = 1) -> None:
        label = {"class": kind}
        self.context.metrics.count(f"{self._metrics}errors_total", count, **label)

    def _refused(self, found: Failure, error: Exception, target: str) -> ConnectError:
        """The error to raise for a failed request about a target."""
        self._count_error(found.kind)
        said = f"{self._cluster.where}, {target}: {found.sentence}"
        if not found.passing:
            return ConnectError(said)
        return self._retries.failed(said)

    def _cannot_write(self, record: SinkRecord, why: DataError) -> None:
        """A record that cannot become a document."""
        self._count_error("malformed")
        if self._options.drop_invalid:
            log.warning("%s is left out (drop.invalid.message): %s", _where(record), why)
            if self.context.errant_records is None:
                return
        self._hand_over(record, DataError(f"{_where(record)}: {why}"))

    def _was_refused(self, refused: Refused) -> None:
        """A record that the cluster refused."""
        conflict = refused.failure.kind == "conflict"
        word = self._options.conflicts if conflict else self._options.malformed
        error = DataError(
            f"{self._cluster.where}, {refused.target}: {_where(refused.record)}: {refused.failure.sentence}"
        )
        if word in (IGNORE, WARN):
            log.log(logging.WARNING if word == WARN else logging.DEBUG, "%s It is left out.", error)
            if not conflict and self.context.errant_records is not None:
                self.context.errant_records.report(refused.record, error)
        elif word == FAIL:
            raise error
        else:
            assert word in (REPORT, POLICY)
            self._hand_over(refused.record, error)

    def _hand_over(self, record: SinkRecord, error: DataError) -> None:
        if self.context.errant_records is None:
            raise error
        self.context.errant_records.report(record, error)


class OpenSearchSinkTask(ElasticsearchSinkTask):
    """The same for OpenSearch."""

    options = OpenSearchSinkOptions
    settings = OpenSearchSinkOptions.definition()


def _where(record: SinkRecord) -> str:
    return f"{record.original_topic}-{record.original_partition}@{record.original_offset}"
