"""What a pool measures: every worker shows all of it, and says of whom it has no answer."""

from __future__ import annotations

import signal
import urllib.request
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families

from .pool import SESSION_S, Pool, PoolWorker, steady

SINK = {"connector.class": "FileStreamSink", "tasks.max": "2"}


def page(worker: PoolWorker) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    with urllib.request.urlopen(f"{worker.url}metrics", timeout=30) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def total(worker: PoolWorker, name: str, **labels: str) -> float:
    found = page(worker).items()
    return sum(value for (one, has), value in found if one == name and labels.items() <= dict(has).items())


def measured(worker: PoolWorker, name: str) -> Any:
    return worker.get("/connectors?expand=metrics")[name]["metrics"]


def test_every_worker_shows_the_figures_of_all(pool: Pool, tmp_path: Path) -> None:
    first, second = pool.start(2)
    pool.up[0].create("moved", steady(tmp_path, 4))
    pool.until(lambda: pool.shared(1, 4), "both have tasks")

    def all_there() -> bool:
        return all(
            [task["id"] for task in measured(worker, "moved")["tasks"]] == [0, 1, 2, 3] for worker in (first, second)
        )

    pool.until(all_there)
    found = measured(first, "moved")
    assert {task["worker_id"] for task in found["tasks"]} == {first.id, second.id}
    assert found["unreachable"] == []
    assert found["metrics"]["connector-metrics"]["status"] == "running"
    assert all(task["metrics"]["connector-task-metrics"]["status"] == "running" for task in found["tasks"])
    assert found["worker_id"] == pool.owners()["moved"]
    # Each one's page has its own tasks.
    assert total(first, "connect_worker_tasks") + total(second, "connect_worker_tasks") == 4
    # One that is frozen is named, and keeps nobody waiting.
    second.signal(signal.SIGSTOP)
    found = pool.until(
        lambda: (now := measured(first, "moved"))["unreachable"] and now, "it is missed", within=SESSION_S
    )
    assert [worker["worker_id"] for worker in found["unreachable"]] == [second.id]
    assert {task["worker_id"] for task in found["tasks"]} == {first.id}
    second.signal(signal.SIGCONT)


def test_rebalances_are_counted_by_what_began_them(pool: Pool, tmp_path: Path) -> None:
    first, *_ = pool.start(1)
    assert total(first, "connect_rebalances_total", cause="start") == 1
    group = "kafka_connect_connect_worker_rebalance_metrics_"
    assert total(first, f"{group}leader_name", leader_name=first.url) == 1
    before = total(first, f"{group}completed_rebalances_total")
    first.create("moved", steady(tmp_path, 2))
    pool.until(lambda: pool.shared(1, 2))
    assert total(first, "connect_rebalances_total", cause="configuration") >= 1
    others = total(first, "connect_rebalances_total", cause="member")
    pool.start(1)
    pool.until(lambda: pool.shared(1, 2) and len(set(pool.owners().values())) == 2, "the second one has work")
    assert total(first, "connect_rebalances_total", cause="member") > others
    completed = total(first, f"{group}completed_rebalances_total")
    assert completed > before
    assigned = "kafka_connect_connect_coordinator_metrics_assigned_"
    counts = [
        [total(worker, f"{assigned}{what}", client_id=worker.id) for worker in pool.workers]
        for what in ("connectors", "tasks")
    ]
    assert (sum(counts[0]), sum(counts[1])) == (1, 2)
    assert completed == total(first, "connect_rebalances_total") == total(first, "connect_rebalance_seconds_count")
    pool.until(lambda: total(first, f"{group}rebalancing") == 0)
    assert total(first, f"{group}epoch") >= 2


def test_every_worker_tells_the_lag_that_the_owner_sees(two: Pool, name: str, tmp_path: Path) -> None:
    first, second = two.workers
    first.create(name, {**SINK, "topics": name, "file": str(tmp_path / "out")})
    producer = Producer({"bootstrap.servers": two.bootstrap})
    for _ in range(30):
        producer.produce(name, b"line")
    assert producer.flush(30) == 0
    two.until(lambda: first.runs(name, 2))

    def caught_up(worker: PoolWorker) -> bool:
        lag = worker.get(f"/connectors/{name}/lag")
        return lag is not None and sum(one["current_offset"] or 0 for one in lag["partitions"]) == 30 and not lag["lag"]

    two.until(lambda: caught_up(first) and caught_up(second))
    looks = [worker.get(f"/connectors/{name}/lag")["partitions"][0]["looks"] for worker in (first, second)]
    assert looks[0] == looks[1]  # both are the owner's
    assert first.ask("GET", f"/connectors/no-{name}/lag").status == 404


def test_the_last_hour_of_a_connector_is_known_from_all_workers(two: Pool, name: str, new_topic: Any) -> None:
    new_topic(name=name)
    first, second = two.workers
    rate = {"connector.class": "Datagen", "kafka.topic": name, "quickstart": "orders", "rate": "50", "tasks.max": "2"}
    first.create(name, rate)

    def written(worker: PoolWorker) -> set[str]:
        series = (worker.get(f"/connectors/{name}/timeseries") or {"series": []})["series"]
        return {one["worker_id"] for one in series if one["records_per_second"][-1] > 10}

    for worker in (first, second):
        two.until(lambda: written(worker) == {first.id, second.id}, "both tell their rates")  # noqa: B023

    def together(worker: PoolWorker) -> bool:
        line = worker.get("/connectors?expand=timeseries")[name]["timeseries"]
        return "unreachable" not in line and (line["records_per_second"][-1] or 0) > 35  # each of them has 25

    for worker in (first, second):
        two.until(lambda: together(worker), "the list of both adds them up")  # noqa: B023
    answer = first.get(f"/connectors/{name}/timeseries")
    assert answer["every_ms"] == 10_000
    assert answer["unreachable"] == []
    assert all(one["tasks"][-1] == 1 for one in answer["series"])
    assert all(one["lag"][-1] is None for one in answer["series"])  # a source
