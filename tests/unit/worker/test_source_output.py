"""When the offsets of a source task are written."""

from typing import Any

import pytest

from connect.errors import ConnectError
from connect.worker import source_output
from connect.worker.source_output import OpenOutput


class Control:
    """Knows the keys of the offsets topic; the lease may have ended by then."""

    lease = True

    def ask_offset_keys(self, partitions: list[Any]) -> list[list[bytes]]:
        return [[b"key"] for _ in partitions]

    def holds_lease(self) -> bool:
        return self.lease


class Producer:
    """Notes what is written."""

    written: list[Any]

    def __init__(self, *_: Any) -> None:
        self.written.clear()

    def write(self, records: Any, _: float) -> None:
        self.written.append(records)


@pytest.mark.promise("P3")
def test_offsets_are_not_stored_when_the_lease_ended_while_the_worker_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Producer, "written", [], raising=False)
    monkeypatch.setattr(source_output, "TopicProducer", Producer)
    opening, control = object.__new__(OpenOutput), Control()
    task: Any = type("Task", (), {"offsets_topic": "offsets", "own_offsets": False, "worker_config": {}})
    opening._task, opening._control, opening._store_timeout = task, control, 5.0  # type: ignore[assignment]
    store = opening._store()
    store([({"file": "a"}, {"position": 1})])
    assert Producer.written == [[(b"key", b'{"position":1}')]]
    control.lease = False
    with pytest.raises(ConnectError, match="lease"):
        store([({"file": "a"}, {"position": 2})])
    assert len(Producer.written) == 1
