"""Source connectors that deliver exactly once, in pools whose processes die, freeze and come back (KIP-618)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from .committed import Committed
from .plugins.counting import dropped
from .pool import SESSION_S, TURNS, Pool, PoolWorker, a_pool

COUNTING = "counting.CountingSource"


class Numbers:
    """How far the counting source may count."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.upto = 0

    def grow(self, count: int) -> None:
        self.upto += count
        new = self.folder / "upto.new"
        new.write_text(str(self.upto))
        new.rename(self.folder / "upto")

    def all(self) -> list[str]:
        return [str(number) for number in range(self.upto)]


@pytest.fixture
def numbers(tmp_path: Path) -> Numbers:
    return Numbers(tmp_path)


def source(pool: Pool, folder: Path, **more: str) -> dict[str, str]:
    config = {"connector.class": COUNTING, "folder": str(folder), "topic": f"{pool.name}-numbers"}
    return {**config, **{key.replace("_", "."): value for key, value in more.items()}}


def started(pool: Pool, count: int = 1, **settings: str) -> list[PoolWorker]:
    return pool.start(count, exactly_once_source_support="enabled", restart_policy="on", **settings)


def family(worker: PoolWorker) -> list[psutil.Process]:
    """A worker's processes: itself, its fork server, and what that has forked."""
    assert worker.process is not None
    process = psutil.Process(worker.process.pid)
    return [process, *process.children(recursive=True)]


def owner(pool: Pool, name: str) -> PoolWorker:
    worker_id = pool.until(lambda: pool.up[0].states(name).get("0"), "somebody has the task")[1]
    return next(worker for worker in pool.workers if worker.id == worker_id)


@pytest.mark.quick
@pytest.mark.promise("P10")
@pytest.mark.parametrize("boundary", ["poll", "interval"])
def test_each_number_appears_once_and_in_order(
    pool: Pool, committed: Callable[[str], Committed], numbers: Numbers, boundary: str
) -> None:
    (worker,) = started(pool)
    seen = committed(f"{pool.name}-numbers")
    numbers.grow(1000)
    more = {"transaction_boundary": boundary, "transaction_boundary_interval_ms": "300"}
    worker.create("count", source(pool, numbers.folder, **more))
    pool.until(lambda: len(seen.values) >= 1000, "all are there")
    worker.do("POST", "/connectors/count/restart?includeTasks=true")
    numbers.grow(1000)
    pool.until(lambda: len(seen.values) >= 2000, "the others as well")
    assert seen.values == numbers.all()
    assert worker.get("/connectors/count/offsets")["offsets"] == [
        {"partition": {"of": "numbers"}, "offset": {"next": 2000}}
    ]


def test_a_task_says_where_transactions_end_and_drops_some(
    pool: Pool, committed: Callable[[str], Committed], numbers: Numbers
) -> None:
    (worker,) = started(pool)
    seen = committed(f"{pool.name}-numbers")
    numbers.grow(700)
    worker.create("count", source(pool, numbers.folder, transaction_boundary="connector"))
    wanted = [text for text in numbers.all() if not dropped(int(text))]
    pool.until(lambda: len(seen.values) >= len(wanted), "those that are not dropped")
    # Half of a transaction: it is not to be seen, and is read again by the next task.
    numbers.grow(3)
    worker.do("POST", "/connectors/count/restart?includeTasks=true")
    numbers.grow(697)
    wanted = [text for text in numbers.all() if not dropped(int(text))]
    pool.until(lambda: len(seen.values) >= len(wanted), "those that are not dropped")
    assert seen.values == wanted
    # What was dropped was read nevertheless.
    offsets = worker.get("/connectors/count/offsets")["offsets"]
    assert offsets == [{"partition": {"of": "numbers"}, "offset": {"next": 1400}}]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.promise("P10", "P3")
@pytest.mark.parametrize("boundary", ["poll", "interval", "connector"])
def test_processes_are_killed_at_any_moment(
    pool: Pool, committed: Callable[[str], Committed], numbers: Numbers, seed: int, boundary: str
) -> None:
    chance = random.Random(seed)
    settings = {"restart_policy_initial_delay_ms": "100", "restart_policy_max_delay_ms": "1000"}
    started(pool, 2, **settings)
    seen = committed(f"{pool.name}-numbers")
    more = {"transaction_boundary": boundary, "transaction_boundary_interval_ms": "50", "batch_size": "11"}
    pool.up[0].create("count", source(pool, numbers.folder, **more))
    keeps = boundary != "connector"
    for kills in range(TURNS):
        before = len(seen.values)
        numbers.grow(3_000)  # a transaction takes some milliseconds: the rest has to come through in the end
        goal = before + chance.randrange(1, 600)
        pool.until(lambda: len(seen.values) >= goal, f"number {goal} of round {kills}")  # noqa: B023
        victim = owner(pool, "count")
        if chance.random() < 0.3:
            victim.kill()
            victim.start()
        else:
            # Its fork server is among them: then all tasks and connectors of the worker die.
            with suppress(psutil.NoSuchProcess):
                chance.choice(pool.until(lambda: family(victim)[1:], "it has processes")).kill()  # noqa: B023
    wanted = [text for text in numbers.all() if keeps or not dropped(int(text))]
    last = len(wanted) - (0 if keeps else 7)  # the last transaction may be half
    pool.until(lambda: len(seen.values) >= last, "all come through", within=240)
    assert seen.values[:last] == wanted[:last]
    assert len(seen.values) == len(set(seen.values))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.promise("P3", "P10")
def test_a_frozen_task_writes_nothing_that_is_seen_after_its_successor_began(
    pool: Pool, committed: Callable[[str], Committed], numbers: Numbers
) -> None:
    started(pool, 2)
    seen = committed(f"{pool.name}-numbers")
    pool.up[0].create("count", source(pool, numbers.folder, transaction_boundary="interval"))
    for _ in range(2):
        goal = len(seen.values) + 500
        numbers.grow(100_000)
        pool.until(lambda: len(seen.values) >= goal, "it counts")  # noqa: B023
        frozen = owner(pool, "count")
        other = next(worker for worker in pool.workers if worker is not frozen)
        processes = family(frozen)
        for process in processes:
            process.suspend()
        try:
            moved = ("RUNNING", other.id)
            pool.until(lambda: other.states("count").get("0") == moved, "it moves", within=SESSION_S * 4)  # noqa: B023
            goal = len(seen.values) + 500
            pool.until(lambda: len(seen.values) >= goal, "the successor counts")  # noqa: B023
        finally:
            for process in processes:
                process.resume()
        pool.until(frozen.ready, "it is back in the group")
    pool.until(lambda: len(seen.values) >= numbers.upto, "all come through", within=120)
    assert seen.values == numbers.all()


def test_what_a_killed_task_left_open_is_aborted_soon(
    pool: Pool, committed: Callable[[str], Committed], numbers: Numbers
) -> None:
    """Whoever reads what is committed does not wait until the transaction's time is out, though nobody succeeds."""
    (worker,) = pool.start(1, exactly_once_source_support="enabled")
    seen = committed(f"{pool.name}-numbers")
    more = {"transaction_boundary": "interval", "transaction_boundary_interval_ms": "600000"}
    worker.create("count", source(pool, numbers.folder, **more))
    pool.until(lambda: worker.runs("count", 1), "it runs")
    numbers.grow(1000)

    def end(isolation: str) -> int:
        consumer = Consumer({"bootstrap.servers": pool.bootstrap, "group.id": "ends", "isolation.level": isolation})
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(f"{pool.name}-numbers", 0), timeout=30)[1])
        finally:
            consumer.close()

    pool.until(lambda: end("read_uncommitted") >= 1000, "it has written")
    assert end("read_committed") == 0
    assert worker.process is not None
    of_worker = psutil.Process(worker.process.pid)
    for process in set(of_worker.children(recursive=True)) - set(of_worker.children()):  # what was forked for it
        process.kill()
    pool.until(lambda: worker.states("count").get("0", ("",))[0] == "FAILED", "it is dead")
    pool.until(lambda: end("read_committed") > 1000, "the transaction is over", within=20)
    assert seen.values == []
    pool.until(lambda: "aborted the transaction that the task left open" in worker.log, "the worker hears of it")


def test_a_pool_is_switched_over_worker_by_worker(
    pool: Pool, committed: Callable[[str], Committed], numbers: Numbers
) -> None:
    pool.start(2)
    seen = committed(f"{pool.name}-numbers")
    pool.up[0].create("count", source(pool, numbers.folder))
    for level in ("preparing", "enabled"):
        for worker in pool.workers:
            numbers.grow(200)
            pool.until(lambda: len(seen.values) >= numbers.upto, "all come through")
            worker.stop()
            worker.start(exactly_once_source_support=level)
            pool.until(worker.ready, "it is back")
            # The leader can be asked for changes, whoever that is by now.
            asked = pool.workers[0]
            config = asked.get("/connectors/count/config")
            asked.do("PUT", "/connectors/count/config", {**config, "changed": f"{level}-{worker.id}"})
            pool.until(lambda: asked.runs("count", 1), "it runs")  # noqa: B023
    numbers.grow(200)
    pool.until(lambda: len(seen.values) >= numbers.upto, "all come through")
    assert seen.values == numbers.all()


def test_a_connector_with_a_topic_of_its_own_goes_on_from_the_shared_one_and_back(
    pool: Pool, committed: Callable[[str], Committed], numbers: Numbers
) -> None:
    (worker,) = started(pool)
    seen = committed(f"{pool.name}-numbers")
    plain = source(pool, numbers.folder)
    own = {**plain, "offsets.storage.topic": f"{pool.name}-own"}
    for config in (plain, own, plain):
        worker.do("PUT", "/connectors/count/config", config)
        numbers.grow(200)
        pool.until(lambda: len(seen.values) >= numbers.upto, "all come through")
        wanted = [{"partition": {"of": "numbers"}, "offset": {"next": numbers.upto}}]
        pool.until(lambda: worker.get("/connectors/count/offsets")["offsets"] == wanted, "it is stored")  # noqa: B023
    assert seen.values == numbers.all()


def test_offsets_in_a_topic_of_its_own_are_reset(
    pool: Pool, committed: Callable[[str], Committed], numbers: Numbers
) -> None:
    (worker,) = started(pool)
    seen = committed(f"{pool.name}-numbers")
    numbers.grow(200)
    worker.create("count", source(pool, numbers.folder, offsets_storage_topic=f"{pool.name}-own"))
    pool.until(lambda: len(seen.values) >= numbers.upto, "all come through")
    worker.do("PUT", "/connectors/count/stop")
    pool.until(lambda: worker.runs("count", 0, "STOPPED"), "it is stopped")
    worker.do("DELETE", "/connectors/count/offsets")
    assert worker.get("/connectors/count/offsets")["offsets"] == []
    worker.do("PUT", "/connectors/count/resume")
    pool.until(lambda: len(seen.values) >= 2 * numbers.upto, "all come once more")
    assert seen.values == 2 * numbers.all()


REQUIRED = {"exactly_once_support": "required"}


@pytest.mark.parametrize(
    ("more", "key", "said"),
    [
        (REQUIRED, None, ""),
        ({**REQUIRED, "says": "unsupported"}, "exactly.once.support", "does not support exactly-once semantics"),
        ({**REQUIRED, "says": "nothing"}, "exactly.once.support", "does not implement the API"),
        ({**REQUIRED, "says": "fails"}, "exactly.once.support", "told to fail"),
        ({"says": "unsupported"}, None, ""),
        ({"transaction_boundary": "connector"}, None, ""),
        (
            {"transaction_boundary": "connector", "says": "nothing"},
            "transaction.boundary",
            "does not support connector-defined transaction boundaries",
        ),
    ],
)
def test_what_speaks_against_exactly_once_is_said_before(
    exactly: Pool, name: str, tmp_path: Path, more: dict[str, str], key: str | None, said: str
) -> None:
    config = {**source(exactly, tmp_path, **more), "name": name}
    found = exactly.up[0].do("PUT", f"/connector-plugins/{COUNTING}/config/validate", config)
    errors = {each["value"]["name"]: each["value"]["errors"] for each in found["configs"] if each["value"]["errors"]}
    assert set(errors) == ({key} if key else set())
    assert said in " ".join(errors.get(key or "", [""]))


def test_exactly_once_cannot_be_required_of_a_worker_that_does_not_do_it(two: Pool, name: str, tmp_path: Path) -> None:
    answer = two.up[0].ask("PUT", f"/connectors/{name}/config", source(two, tmp_path, **REQUIRED))
    assert answer.status == 400
    assert "This worker does not have exactly-once source support enabled." in answer.body["message"]


@pytest.fixture(scope="module")
def exactly(broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A worker that delivers exactly once, which several tests share."""
    with a_pool(broker.bootstrap_servers, tmp_path_factory.mktemp("exactly")) as made:
        started(made)
        yield made


def test_sinks_run_as_ever(pool: Pool, tmp_path: Path) -> None:
    (worker,) = started(pool)
    lines, out = tmp_path / "in", tmp_path / "out"
    lines.write_text("a\nb\n")
    topic = f"{pool.name}-lines"
    worker.create("in", {"connector.class": "FileStreamSource", "file": str(lines), "topic": topic})
    consumer = {"consumer.override.isolation.level": "read_committed"}
    worker.create("out", {"connector.class": "FileStreamSink", "file": str(out), "topics": topic, **consumer})
    pool.until(lambda: out.exists() and out.read_text() == "a\nb\n", "the lines arrive")


def test_a_leader_that_was_fenced_claims_the_config_topic_again(pool: Pool, name: str, tmp_path: Path) -> None:
    """Somebody else wrote as the leader: one change fails, and may be asked for again."""
    (worker,) = started(pool)
    worker.create(name, source(pool, tmp_path))
    pool.until(lambda: worker.runs(name, 1), "it runs")  # nothing else is to be written now
    other = Producer({"bootstrap.servers": pool.bootstrap, "transactional.id": f"connect-cluster-{pool.name}"})
    other.init_transactions(30)
    refused = worker.ask("PUT", f"/connectors/{name}/config", source(pool, tmp_path, changed="1"))
    assert refused.status == 500
    assert worker.ask("PUT", f"/connectors/{name}/config", source(pool, tmp_path, changed="1")).status == 200
    pool.until(lambda: worker.runs(name, 1), "it runs")
