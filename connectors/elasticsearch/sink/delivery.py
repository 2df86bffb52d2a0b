"""Sends bulk requests: retried where that helps, with the outcome of each record."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from connect import ConnectError, RetriableError, SinkRecord, Waiter
from connect.kit import RetryBudget
from connectors.elasticsearch.cluster import Cluster, Failure, failure, item_failure
from connectors.elasticsearch.sink.keys import SinkOptions
from connectors.elasticsearch.sink.lines import is_deletion
from connectors.elasticsearch.sink.outbox import Request

_CONFLICT: Final = 409
#: What is said of a record whose document is there in its own version.
_SAME: Final = re.compile(r"current version \[(\d+)\] is higher or equal to the one provided \[\1\]")


@dataclass
class Refused:
    """A record that the cluster refused."""

    target: str
    record: SinkRecord
    failure: Failure


@dataclass
class Told:
    """What has happened since the last call.

    Attributes:
        written, deleted: documents by target.
        seconds: the duration of each request.
        errors: by class.
        conflicts: records whose document existed in the same or a newer version, by target.
        refused: records for the error policy.
    """

    written: Counter[str] = field(default_factory=Counter)
    deleted: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    conflicts: Counter[str] = field(default_factory=Counter)
    refused: list[Refused] = field(default_factory=list)

    def add(self, more: Told) -> None:
        """Add later results."""
        self.written.update(more.written)
        self.deleted.update(more.deleted)
        self.seconds += more.seconds
        self.errors.update(more.errors)
        self.conflicts.update(more.conflicts)
        self.refused += more.refused


class Delivery:
    """Sends requests. `send` is thread-safe, `told` is for the task's thread.

    Args:
        wait: waits this many seconds; False when the task ends.

    Attributes:
        trouble: why requests are being retried, empty when they are not.
    """

    def __init__(self, options: SinkOptions, cluster: Cluster, wait: Callable[[float], bool]) -> None:
        self.options = options
        self.where = cluster.where
        self.trouble = ""
        self._cluster = cluster
        self._wait = wait
        self._params = {"pipeline": options.pipeline} if options.pipeline else {}
        self._lock = threading.Lock()
        self._told = Told()
        self._waiter = Waiter()

    def told(self) -> Told:
        """The results since the last call."""
        with self._lock:
            told, self._told = self._told, Told()
        return told

    def send(self, request: Request) -> None:
        """Send a request until each record is written, or refused.

        Raises:
            ConnectError: it cannot be written, and no record is at fault.
        """
        told = Told()
        try:
            _Sending(self, request, told).send()
        finally:
            with self._lock:
                self._told.add(told)

    def bulk(self, body: bytes) -> list[dict[str, dict[str, Any]]]:
        """One request. Raises what the cluster's client raises."""
        return self._cluster.bulk(body, params=self._params)

    def goes_on(self) -> None:
        """The cluster accepts requests again."""
        self.trouble = ""
        self._waiter.goes_on()

    def retries(self) -> RetryBudget:
        """How often a request is retried."""
        return self._cluster.retries()

    def again(self, retries: RetryBudget, found: Failure, error: BaseException | None) -> None:
        """Wait before another try.

        Raises:
            ConnectError: there were enough, or the task ends.
        """
        raised = retries.failed(found.sentence)
        if not isinstance(raised, RetriableError):
            raise ConnectError(f"{self.where}: {raised}") from error
        self.trouble = str(raised)
        self._waiter.waits(f"{self.where}: {self.trouble}", what=self.where)
        if not self._wait(retries.due - time.monotonic()):
            raise ConnectError(f"{self.where}: the task ends. {found.sentence}") from error


class _Sending:
    """One request, until it is settled. Items are identified by their positions in it."""

    def __init__(self, delivery: Delivery, request: Request, told: Told) -> None:
        self._delivery = delivery
        self._request = request
        self._told = told
        self._items = request.items()
        self._unanswered = False  # an earlier try, of which some or all may have been written

    def send(self) -> None:
        self._send(list(range(len(self._items))))

    def _send(self, indexes: list[int]) -> None:
        delivery = self._delivery
        retries = delivery.retries()
        while indexes:
            began = time.monotonic()
            try:
                answer = delivery.bulk(b"".join([self._items[index] for index in indexes]))
            except Exception as error:  # clients raise anything
                found = failure(error)
                self._told.errors[found.kind] += 1
                if found.sentence.startswith("413") or found.kind == "malformed":
                    self._in_halves(indexes, found)
                    return
                if not found.passing:
                    raise ConnectError(f"{delivery.where}: {found.sentence}") from error
                self._unanswered = True
                delivery.again(retries, found, error)
                continue
            finally:
                self._told.seconds.append(time.monotonic() - began)
            left, why = self._sort(indexes, answer)
            if why is None:
                break
            if len(left) < len(indexes):
                retries.worked()  # the cluster only has too much to do
            delivery.again(retries, why, None)
            indexes = left
        delivery.goes_on()

    def _in_halves(self, indexes: list[int], found: Failure) -> None:
        """Send it in halves: it is too large, or one record spoils it for all: an id that is too long, for example."""
        if len(indexes) == 1:
            self._refuse(indexes[0], found)
            return
        half = len(indexes) // 2
        self._send(indexes[:half])
        self._send(indexes[half:])

    def _sort(self, indexes: list[int], answer: list[dict[str, dict[str, Any]]]) -> tuple[list[int], Failure | None]:
        """Count written items, note refused ones; returns those to retry, and why."""
        if not answer and len(indexes) == self._request.count:
            for part in self._request.parts:
                self._wrote(part.target, len(part.items) - part.deleted, part.deleted)
            return [], None
        again: list[int] = []
        why: Failure | None = None
        outcomes = [next(iter(each.values())) for each in answer] if answer else [{}] * len(indexes)
        for index, outcome in zip(indexes, outcomes, strict=True):
            target = self._request.at(index)[0].target
            error = outcome.get("error")
            if error is None or (self._unanswered and self._is_written(outcome)):
                deleted = is_deletion(self._items[index])
                self._wrote(target, not deleted, deleted)
                continue
            found = item_failure(outcome.get("status", 500), error)
            kind = error.get("type", "") if isinstance(error, dict) else ""
            if kind == "document_missing_exception":
                continue  # script.upsert=none
            if found.kind == "conflict" and not self._items[index].startswith(b'{"update"'):
                self._conflict(index, found)
            elif found.passing or found.kind == "conflict":
                # A conflict of an update says that another one came between.
                self._told.errors[found.kind] += 1
                again.append(index)
                why = found
            elif found.kind == "malformed":
                self._refuse(index, found)
            else:
                self._told.errors[found.kind] += 1
                raise ConnectError(f"{self._delivery.where}, {target}: {found.sentence}")
        return _with_later_ones(self._request, indexes, again), why

    def _is_written(self, outcome: dict[str, Any]) -> bool:
        """Whether an item is refused because this request wrote it already, in a try without an answer.

        Offsets are versions that no two records share; of other versions nobody knows.
        """
        if outcome.get("status") != _CONFLICT or self._delivery.options.version_header:
            return False
        reason = str(outcome["error"].get("reason")) if isinstance(outcome["error"], dict) else ""
        return _SAME.search(reason) is not None or (self._delivery.options.to_streams and "already exists" in reason)

    def _wrote(self, target: str, written: int, deleted: int) -> None:
        if written:
            self._told.written[target] += written
        if deleted:
            self._told.deleted[target] += deleted

    def _conflict(self, index: int, found: Failure) -> None:
        """The record is older than its document."""
        options = self._delivery.options
        self._told.conflicts[self._request.at(index)[0].target] += 1
        # In a data stream it is a record that came again: its id says where it was consumed.
        if options.conflicts != "ignore" and not options.to_streams:
            self._refuse(index, found)

    def _refuse(self, index: int, found: Failure) -> None:
        part, at = self._request.at(index)
        self._told.errors[found.kind] += 1
        record = part.batch.slice(part.rows[at], part.rows[at] + 1).records()[0]
        self._told.refused.append(Refused(part.target, record, found))


def _with_later_ones(request: Request, indexes: list[int], again: list[int]) -> list[int]:
    """Where order counts, later items about a document that is retried are retried too."""
    if not again or not request.ids:
        return again
    moved: set[tuple[str, bytes]] = set()
    found = []
    wanted = set(again)
    for index in indexes:
        part, at = request.at(index)
        id_ = None if part.ids is None else (part.target, part.ids[at])
        if index in wanted or (id_ is not None and id_ in moved):
            found.append(index)
            if id_ is not None:
                moved.add(id_)
    return found
