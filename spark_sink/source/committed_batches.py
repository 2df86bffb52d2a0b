r"""Which batches of a query are in Kafka: each writer notes it in the transaction of the batch itself.

A batch is divided among writers, each with a transactional id of its own. A writer's commit contains its records and
the batch's number, under the key that Connect gives source partitions:

    ["orders",{"writer":3}]        {"batch":17,"stream":"000001-5e0c…/query","writers":8,"by":"[\"id\"]"}
    ["orders",{"writer":"run"}]    {"run":"9f…","writers":8}

Spark repeats a batch that was not finished when its driver ended. A writer that has committed that batch does nothing.
Nobody of an earlier run can commit anything once a new run has begun:

- the new run first claims the transactional id of runs and writes its name under "run", then has the brokers fence
every
  writer's id; that aborts the open transactions of earlier writers, and their producers are refused from then on;
- a writer claims its id and only then reads the name of the run, and its own last commit. A late one finds another run
  there and leaves.

So nothing changes while a new run reads. If a batch was divided differently when it was begun (another number of
writers, another key), it is repeated as it was begun; the next one is divided as configured.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from connect.errors import ConnectError, FencedError
from connect.kafka.reading.newest import NewestRecords
from connect.kafka.writing.fencing import fence
from connect.kafka.writing.transactional import TransactionalProducer
from connect.storage.offsets import key, to_json
from spark_sink.source.clients import SourceClients

log = logging.getLogger(__name__)

WRITER: Final = "writer"
_RUN: Final = "run"
#: Longer than transactions last whose end nobody hastens.
_PATIENCE_S: Final = 85.0
_FENCED_WITHIN_S: Final = 60.0


@dataclass(frozen=True)
class Partitioning:
    """How a batch is divided among writers.

    Attributes:
        writers: how many.
        by: the columns whose equal rows stay together; empty for whole rows.
    """

    writers: int
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class CommittedBatch:
    """A writer's last committed batch of a stream, and how it was divided."""

    batch: int
    stream: str
    partitioning: Partitioning

    def to_json(self) -> bytes:
        """In the form of the topic."""
        by = json.dumps(self.partitioning.by)  # text, because offsets are flat
        told = {"batch": self.batch, "stream": self.stream, "writers": self.partitioning.writers, "by": by}
        return to_json(told).encode()

    @classmethod
    def of(cls, value: bytes | None) -> CommittedBatch | None:
        """From the form of the topic; None for nothing, or something else."""
        try:
            found = json.loads(value or b"null")
            by = tuple(map(str, json.loads(found["by"])))
            return cls(int(found["batch"]), str(found["stream"]), Partitioning(int(found["writers"]), by))
        except (ValueError, TypeError, KeyError):
            return None


@dataclass(frozen=True)
class Run:
    """One run of a query, as its writers know it.

    Attributes:
        connector: its name.
        prefix: of transactional ids.
        topic: for committed batches.
        stream: the checkpoint that numbers the batches.
        id: of the run.
    """

    connector: str
    prefix: str
    topic: str
    stream: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def writer_id(self, writer: int) -> str:
        """The transactional id of a writer."""
        return f"{self.prefix}-{writer}"

    @property
    def own_id(self) -> str:
        """The transactional id of runs."""
        return f"{self.prefix}-run"

    def key(self, writer: int | str) -> bytes:
        """The key of a writer's committed batch."""
        return key(self.connector, {WRITER: writer})

    @property
    def own_key(self) -> bytes:
        """The key of the run's name."""
        return self.key(_RUN)

    def is_named_in(self, value: bytes | None) -> bool:
        """Whether the value under `own_key` names this run."""
        try:
            return bool(json.loads(value or b"null")[_RUN] == self.id)
        except (ValueError, TypeError, KeyError):
            return False


class CommittedBatches:
    """The driver's side: begins a run, and provides what its writers need. For one thread at a time.

    It travels to where Spark calls for each batch; what it has read travels with it, its clients do not.
    """

    def __init__(self, run: Run, clients: SourceClients) -> None:
        self.run = run
        self._clients = clients
        self._known: dict[int, CommittedBatch] = {}
        self._ends: dict[int, int] = {}
        self._topic: NewestRecords | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_topic": None}

    def begin(self, partitioning: Partitioning, keep_going: Callable[[], None]) -> None:
        """Begin the run: earlier runs can commit nothing from now on.

        Args:
            partitioning: how batches are divided.
            keep_going: called while waiting; raises to end the wait.

        Raises:
            ConnectError: the brokers refuse, or do not answer.
        """
        producer = self._clients.transactional(self.run.own_id, keep_going)
        try:
            producer.claim()
            before = self._read()
            most = max(partitioning.writers, _writers(before), *(writer + 1 for writer in self._known), 1)
            self._write_run(producer, most, keep_going)
        finally:
            producer.close()
        began = time.monotonic()
        fence(self._clients.java(), [self.run.writer_id(writer) for writer in range(most)], _FENCED_WITHIN_S)
        log.debug("fenced %d writers in %.3f s", most, time.monotonic() - began)
        if not self.run.is_named_in(self._read()):
            raise another_run(self.run)

    def refresh(self) -> Mapping[int, int]:
        """Check that the run is still current; returns the offsets up to which that was checked, by partition.

        Committed batches are not read again: this run knows what its writers commit.

        Raises:
            FencedError: another run has begun.
            ConnectError: the topic cannot be read.
        """
        found = self._reader().look(self.run.own_key.__eq__, _PATIENCE_S, self._ends)
        if any(not self.run.is_named_in(value) for value in found.values.values()):
            raise another_run(self.run)
        self._ends |= found.ends
        return dict(self._ends)

    def partitioning_of(self, batch: int, partitioning: Partitioning) -> Partitioning:
        """How to divide a batch: as it was begun, else as given.

        Raises:
            ConnectError: a later batch is committed, so the checkpoint is not the newest one.
        """
        mine = [committed for committed in self._known.values() if committed.stream == self.run.stream]
        if any(committed.batch > batch for committed in mine):
            raise ConnectError(
                f"Batch {batch} of {self.run.connector} is to be written, and a later one is in Kafka already: the"
                " checkpoint was deleted, or an old one was put in its place. Alter or reset the connector's offsets to"
                " start over."
            )
        return next((committed.partitioning for committed in mine if committed.batch == batch), partitioning)

    def done(self, batch: int) -> frozenset[int]:
        """The writers that have committed a batch."""
        return frozenset(
            writer
            for writer, committed in self._known.items()
            if committed.stream == self.run.stream and committed.batch == batch
        )

    @property
    def has_any(self) -> bool:
        """Whether anything of the run's checkpoint is committed."""
        return any(committed.stream == self.run.stream for committed in self._known.values())

    def close(self) -> None:
        """Close the clients."""
        if self._topic is not None:
            self._topic.close()
            self._topic = None

    def _write_run(self, producer: TransactionalProducer, writers: int, keep_going: Callable[[], None]) -> None:
        value = to_json({_RUN: self.run.id, "writers": writers}).encode()
        producer.begin()
        producer.write(self.run.topic, [(self.run.own_key, value)])
        producer.commit(keep_going)

    def _read(self) -> bytes | None:
        """Read writers' commits; returns the value under the key of runs, None where there is no newer one."""
        prefix = self.run.key(0).removesuffix(b"0}]")
        found = self._reader().look(lambda each: each.startswith(prefix), _PATIENCE_S, self._ends)
        self._ends |= found.ends
        for name, value in found.values.items():
            writer = json.loads(name)[1][WRITER]
            if not isinstance(writer, int):
                continue
            committed = CommittedBatch.of(value)
            if committed is None:
                self._known.pop(writer, None)
            else:
                self._known[writer] = committed
        return found.values.get(self.run.own_key)

    def _reader(self) -> NewestRecords:
        if self._topic is None:
            self._topic = self._clients.newest(self.run.topic)
        return self._topic


def another_run(run: Run) -> FencedError:
    """The error of a run that is no longer current."""
    return FencedError(f"Another run of {run.connector} has begun, on this worker or another one. This one ends.")


def _writers(value: bytes | None) -> int:
    try:
        return int(json.loads(value or b"null")["writers"])
    except (ValueError, TypeError, KeyError):
        return 0
