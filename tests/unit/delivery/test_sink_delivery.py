"""What a put gets where a record of its batch was parked: nothing behind it, nothing before it is durable."""

from collections.abc import Mapping
from typing import Any

import pytest

from connect.api.sink import SinkTask
from connect.data.batch import SinkBatch
from connect.data.values import Values
from connect.delivery.error_outputs import NoErrorOutputs
from connect.delivery.sink import SinkDelivery
from connect.errors import ConfigError, FencedError, RetriableError
from connect.pipeline import Chain, ErrorPolicy, Failure


class Target(SinkTask):
    """Refuses batches with "bad", and once, for now, those that begin with "busy"."""

    def __init__(self, parking: "Parking") -> None:
        self.puts: list[list[str]] = []
        self._parking = parking
        self._busy = 1

    def start(self, config: Mapping[str, str]) -> None: ...

    def put(self, batch: SinkBatch) -> None:
        assert self._parking.durable
        values = list(batch.values)
        if "bad" in values:
            raise ValueError("bad")
        if values[0] == "busy" and self._busy:
            self._busy -= 1
            raise RetriableError("busy")
        self.puts.append(values)


class Parking(NoErrorOutputs):
    """Parks what fails, and what is "behind" a parked record. What is parked is durable when it has settled."""

    def __init__(self) -> None:
        self.parked: list[str] = []
        self.durable = True

    def park(self, failure: Failure) -> Any:
        self._write(failure.record.value)
        return True

    def hold_back(self, batch: SinkBatch) -> SinkBatch:
        behind = [row for row, value in enumerate(batch.values) if value == "behind" and self.parked]
        for row in behind:
            self._write(batch.values[row])
        return batch.take([row for row in range(len(batch)) if row not in behind])

    def settle(self) -> None:
        self.durable = True

    def _write(self, value: str) -> None:
        self.parked.append(value)
        self.durable = False


def delivered(*values: str) -> tuple[list[list[str]], list[str]]:
    """What was put and what was parked of a batch, put again as long as it is refused for now."""
    parking = Parking()
    task = Target(parking)
    policy = ErrorPolicy(park=parking.park, hold_back=parking.hold_back)
    delivery = SinkDelivery(task, Chain([], policy), lambda: None, parking, halve=True)
    refused = delivery.put(SinkBatch("t", Values(list(values)), offsets=list(range(len(values)))))
    while refused is not None:
        refused = delivery.put(refused.rest)
    return task.puts, parking.parked


def test_a_put_that_is_repeated_has_nothing_behind_a_parked_record() -> None:
    assert delivered("bad", "busy", "behind", "4") == ([["busy", "4"]], ["bad", "behind"])


def test_nothing_is_put_before_what_was_parked_is_durable() -> None:
    assert delivered("bad", "2", "behind", "4") == ([["2"], ["4"]], ["bad", "behind"])


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    "error",
    [
        FencedError("taken over"),
        ConnectionRefusedError("no server"),
        PermissionError("no right"),
        ConfigError("k", "no"),
    ],
)
def test_an_error_that_is_no_records_fault_gives_up_no_record(error: Exception) -> None:
    class Away(Target):
        def put(self, batch: SinkBatch) -> None:
            raise error

    parking = Parking()
    policy = ErrorPolicy(tolerate=True, dead_letter=parking.park)
    delivery = SinkDelivery(Away(parking), Chain([], policy), lambda: None, parking, halve=True)
    with pytest.raises(type(error)):
        delivery.put(SinkBatch("t", Values(["1", "2", "3"]), offsets=[0, 1, 2]))
    assert not parking.parked
