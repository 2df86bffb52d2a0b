"""Plans as numbered batches; with exactly-once each is stored before it is carried out, and then with its end.

A batch that was not finished when its driver ended is carried out again with the same splits: those that are in Kafka
already are left out (`spark_sink.source.committed_batches`). Its plan is under a source partition of its own, in the
same write as the offsets that it leads to:

    {"writer":"plan"}    {"stream":"5e0c…","batch":7,"done":false,"splits":"[…]","offsets":"[…]","before":"[…]",…}

It is dropped where somebody has changed those offsets since, or the connector's own keys: it does not belong to them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from connect.api.splits import ReadPlan
from connect.errors import ConnectError
from connect.telemetry.redaction import names_a_secret
from spark_sink.source.committed_batches import WRITER

log = logging.getLogger("connect.spark")

PARTITION: Final = {WRITER: "plan"}
_MOST_CHARS: Final = 700_000  # brokers take records of 1 MB

_Entries = Sequence[tuple[dict[str, Any], dict[str, Any] | None]]
_Ask = Callable[[Sequence[Mapping[str, Any]]], list[Mapping[str, Any] | None]]
_Store = Callable[[_Entries], None]


class Batch(NamedTuple):
    """A plan with its number."""

    number: int
    plan: ReadPlan


class Batches:
    """Numbers the plans of a connector that delivers at least once: they are kept nowhere.

    Args:
        store: makes offsets durable. Raises ConnectError.
    """

    def __init__(self, store: _Store) -> None:
        self._store = store
        self._next = 0

    def unfinished(self) -> Batch | None:
        """The batch that an earlier driver has left unfinished."""
        return None

    def begin(self, plan: ReadPlan) -> Batch:
        """Number a plan, which is carried out now."""
        return Batch(self._next, plan)

    def end(self, batch: Batch) -> None:
        """All of a batch is written: store its offsets."""
        self._store(batch.plan.offsets)
        self._next = batch.number + 1


class StoredBatches(Batches):
    """The same for one that delivers exactly once.

    Args:
        store, ask: of offsets.
        config: the task's, of which `own` are the connector's own keys.

    Attributes:
        stream: what numbers the batches.
    """

    def __init__(self, store: _Store, ask: _Ask, config: Mapping[str, str], own: Callable[[str], bool]) -> None:
        super().__init__(store)
        self._ask = ask
        self._of = _digest(config, own)
        self._unfinished: Batch | None = None
        found = ask([PARTITION])[0]
        self.stream = uuid.uuid4().hex
        if found is None:
            return
        number, done = int(found["batch"]), bool(found["done"])
        if not done:
            self._unfinished = self._still_valid(found, number)
        if done or self._unfinished is not None:
            self.stream = str(found["stream"])
            self._next = number + 1 if done else number

    def unfinished(self) -> Batch | None:
        return self._unfinished

    def begin(self, plan: ReadPlan) -> Batch:
        batch = super().begin(plan)
        before = self._ask([partition for partition, _ in plan.offsets])
        told = {
            "splits": json.dumps(list(plan.splits)),
            "offsets": json.dumps(list(plan.offsets)),
            "before": json.dumps(before),
            "of": self._of,
        }
        if (size := sum(map(len, told.values()))) > _MOST_CHARS:
            raise ConnectError(
                f"The connector plans {len(plan.splits)} splits that take {size} characters, and with exactly-once a "
                f"plan has at most {_MOST_CHARS}: the connector is at fault. Deliver at least once, or run it with "
                "engine=worker."
            )
        self._store([(dict(PARTITION), {**self._told(batch.number), "done": False, **told})])
        return batch

    def end(self, batch: Batch) -> None:
        self._store([*batch.plan.offsets, (dict(PARTITION), {**self._told(batch.number), "done": True})])
        self._unfinished, self._next = None, batch.number + 1

    def _told(self, number: int) -> dict[str, Any]:
        return {"stream": self.stream, "batch": number}

    def _still_valid(self, found: Mapping[str, Any], number: int) -> Batch | None:
        """The stored plan; None where it no longer belongs to the offsets or the configuration."""
        offsets = [(dict(partition), offset) for partition, offset in json.loads(found["offsets"])]
        if found["of"] != self._of:
            why = "the connector's configuration has changed"
        elif self._ask([partition for partition, _ in offsets]) != json.loads(found["before"]):
            why = "its offsets have been changed"
        else:
            return Batch(number, ReadPlan(json.loads(found["splits"]), offsets))
        log.warning(
            "Batch %d was not finished, and %s since: it is dropped. What of it is in Kafka is written again.",
            *(number, why),
        )
        return None


def _digest(config: Mapping[str, str], own: Callable[[str], bool]) -> str:
    chosen = {key: value for key, value in config.items() if own(key) and not names_a_secret(key)}
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:16]
