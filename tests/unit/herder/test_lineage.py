"""What is told of a task's run, and that nobody waits for it."""

from __future__ import annotations

import msgspec
import pytest

from connect.herder.lineage import Lineage
from connect.worker.messages import TaskSpec

KEYS = "openlineage.integration."
ON = {f"{KEYS}enabled": "true"}


def spec(kind: str = "sink", worker: dict[str, str] | None = None, **more: str) -> TaskSpec:
    empty = dict.fromkeys((name for name in TaskSpec.__struct_fields__ if name not in TaskSpec.__struct_defaults__), "")
    return msgspec.structs.replace(
        TaskSpec(**empty),  # type: ignore[arg-type]
        connector="orders",
        task=3,
        kind=kind,
        connector_config={f"{KEYS}{key.replace('__', '.')}": value for key, value in more.items()},
        worker_config={"bootstrap.servers": " kafka1:9092 , kafka2:9092", **(worker or {})},
    )


class Heard(Lineage):
    """It keeps what would be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, str | None]] = []
        self.said: list[str] = []

    def _send(self, run: object, kind: str, error: str | None = None) -> None:
        self.heard.append((kind, error))

    def _tell(self, words: str) -> None:
        self.said.append(words)


def test_a_run_is_told_from_its_start_to_its_end() -> None:
    lineage, task = Heard(), spec(worker=ON)
    lineage.running(task, [])
    lineage.running(task, [])  # it was resumed
    lineage.uses(task, ["a"])
    lineage.uses(task, ["a"])
    lineage.uses(task, ["a", "b"])
    lineage.ended(task, "no space left")
    lineage.ended(task, None)
    assert lineage.heard == [("START", None), ("RUNNING", None), ("RUNNING", None), ("FAIL", "no space left")]


def test_without_the_key_nothing_is_told() -> None:
    lineage, task = Heard(), spec(worker=ON, enabled="false")
    lineage.running(task, [])
    lineage.uses(task, ["a"])
    lineage.ended(task, None)
    assert lineage.heard == []


def test_a_worker_s_key_that_is_wrong_is_said() -> None:
    lineage = Heard()
    lineage.running(spec(worker={**ON, f"{KEYS}tags": "orders"}), [])
    assert lineage.heard == []
    assert '"orders" is not a name and a value' in lineage.said[0]


@pytest.mark.parametrize(("kind", "read"), [("sink", "kafka://kafka1:9092"), ("source", "file")])
def test_a_sink_reads_topics_and_a_source_writes_them(kind: str, read: str) -> None:
    from connect.herder.lineage import _Run, event
    from connect.settings.lineage_keys import lineage_options

    task = spec(kind, worker={**ON, "group.id": "pool"}, job__description="Orders.")
    options = lineage_options(task.worker_config, task.connector_config)
    run = _Run("0198f0b4-0000-7000-8000-000000000000", options, task, [("file", "/in")], {"a"})
    made = event(run, "RUNNING", None)
    assert [each.namespace for each in made.inputs or []] == [read]
    assert {each.name for each in [*(made.inputs or []), *(made.outputs or [])]} == {"a", "/in"}
    assert (made.job.namespace, made.job.name) == ("pool", "orders.3")
    assert made.job.facets is not None
    assert set(made.job.facets) == {"jobType", "documentation"}
