"""Source connectors on Spark in real workers: the offsets are the worker engine's, and each record comes once."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from connect.kafka.broker.embedded import Broker
from spark_sink.session.cluster import Cluster
from tests.integration.connectors.elasticsearch.source.conftest import new_elasticsearch_index
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import Pool, PoolWorker, a_pool
from tests.integration.spark_sink.executors import EXECUTOR, below, stopped
from tests.integration.spark_sink.source_feeds import JSON, Feed, feed_of

__all__ = ["new_elasticsearch_index"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

#: Spark starts with each task, and again with each kill: seconds, on a machine that is busy with other tests.
WITHIN = 180


@pytest.fixture
def pool(broker: Broker, tmp_path: Path, shared_spark: object) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


@pytest.fixture
def feed(request: pytest.FixtureRequest, tmp_path: Path) -> Feed:
    return feed_of(request.param, request, tmp_path)


def _config(feed: Feed, topic: str, **changes: str) -> dict[str, str]:
    spark = {"engine": "spark", "spark.master": "local[2]", "tasks.max": "4"}
    return {"name": "lines", **feed.config(topic), **JSON, **spark, **changes}


def _numbers(feed: Feed, seen: Committed) -> Counter[int]:
    return Counter(map(feed.number, list(seen.values)))


@pytest.mark.parametrize("feed", ["timestamp+incrementing", "objects", "index"], indirect=True)
def test_engines_take_turns(pool: Pool, feed: Feed, new_topic: Callable[..., str]) -> None:
    (worker,) = pool.start(1)
    topic = new_topic(name=f"{pool.name}-line")
    with closing(Committed(pool.bootstrap, topic)) as seen:
        feed.insert(feed.many)
        worker.create("lines", _config(feed, topic))
        for engine in ("worker", "spark"):
            pool.until(lambda: len(seen.values) >= feed.count, "all records are there", within=WITHIN)
            worker.do("PUT", "/connectors/lines/stop")
            pool.until(lambda: not worker.do("GET", "/connectors/lines/status")["tasks"], "it has stopped")
            feed.insert(feed.many if engine == "spark" else 3000)
            worker.do("PUT", "/connectors/lines/config", _config(feed, topic, engine=engine))
            worker.do("PUT", "/connectors/lines/resume")
        pool.until(lambda: len(seen.values) >= feed.count, "all records are there", within=WITHIN)
        assert _numbers(feed, seen) == Counter(range(feed.count))
        worker.do("PUT", "/connectors/lines/stop")
        pool.until(lambda: not worker.do("GET", "/connectors/lines/status")["tasks"], "it has stopped")
        worker.do("DELETE", "/connectors/lines/offsets")


def _kill_below(worker: PoolWorker, what: str) -> None:
    """Kill -9 of the processes below a worker whose command line has this."""
    for process in below(_of(worker), what):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _of(worker: PoolWorker) -> psutil.Process:
    assert worker.process is not None
    return psutil.Process(worker.process.pid)


@pytest.mark.promise("P1", "P2", "P10")
@pytest.mark.parametrize(
    ("feed", "exactly_once"),
    [("incrementing", False), ("incrementing", True), ("objects", True), ("index", True)],
    indirect=["feed"],
)
def test_killed_at_any_moment(
    pool: Pool, feed: Feed, new_topic: Callable[..., str], seed: int, exactly_once: bool
) -> None:
    """What is killed: the JVM, executors' Python, the task's process, the worker."""
    chance = random.Random(seed)
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, restart_policy="on", **settings)
    topic = new_topic(name=f"{pool.name}-line")
    support = "required" if exactly_once else "requested"
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("lines", _config(feed, topic, **{"exactly.once.support": support}))
        for victim in ("java", "pyspark.daemon", "task", "worker"):
            feed.insert(feed.many)
            wanted = feed.count - chance.randint(1, feed.many)
            pool.until(lambda wanted=wanted: len(seen.values) >= wanted, "records come", within=WITHIN)
            if victim == "task":
                worker.kill_tasks()
            elif victim == "worker":
                worker.kill()
                worker.start()
                pool.until(worker.ready, "the worker answers")
            else:
                _kill_below(worker, victim)
        pool.until(
            # Some came twice, perhaps; to count them all costs a second of CPU.
            lambda: len(seen.values) >= feed.count and len(_numbers(feed, seen)) >= feed.count,
            "all records are there",
            within=WITHIN,
        )
        pool.until(lambda: worker.runs("lines", 1), "it runs", within=WITHIN)
        assert set(_numbers(feed, seen)) == set(range(feed.count))
        if exactly_once:
            assert max(_numbers(feed, seen).values()) == 1, "a record came twice"
    worker.do("PUT", "/connectors/lines/stop")
    pool.until(lambda: not worker.do("GET", "/connectors/lines/status")["tasks"], "it has stopped")
    assert worker.do("GET", "/connectors/lines/offsets")["offsets"]
    worker.do("DELETE", "/connectors/lines/offsets")  # with what writers have noted, of which connectors know nothing
    assert worker.do("GET", "/connectors/lines/offsets")["offsets"] == []


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("feed", ["incrementing"], indirect=True)
def test_a_cluster_that_loses_an_executor(
    pool: Pool, feed: Feed, new_topic: Callable[..., str], cluster: Cluster, seed: int
) -> None:
    """Spark runs the splits of the lost executor again: those that are in Kafka already are left out."""
    chance = random.Random(seed)
    (worker,) = pool.start(1, restart_policy="on", exactly_once_source_support="enabled")
    topic = new_topic(name=f"{pool.name}-line")
    changes = {"spark.master": cluster.url, "spark.executor.memory": "512m", "exactly.once.support": "required"}
    with closing(Committed(pool.bootstrap, topic)) as seen:
        feed.insert(feed.many)
        worker.create("lines", _config(feed, topic, **changes))
        for _ in range(2):
            feed.insert(2 * feed.many)
            wanted = feed.count - chance.randint(feed.many, 2 * feed.many)
            pool.until(lambda wanted=wanted: len(seen.values) >= wanted, "records come", within=WITHIN)
            executors = below(psutil.Process(), EXECUTOR)
            assert executors, "executors run on the cluster"
            chance.choice(executors).kill()
        pool.until(lambda: len(seen.values) >= feed.count, "all records are there", within=WITHIN)
        assert _numbers(feed, seen) == Counter(range(feed.count))


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("feed", ["incrementing"], indirect=True)
def test_splits_that_are_written_twice_at_the_same_time(
    pool: Pool, feed: Feed, new_topic: Callable[..., str], cluster: Cluster, seed: int, tmp_path: Path
) -> None:
    """Speculative execution: another executor begins a split that takes long, and only one of both commits it."""
    chance = random.Random(seed)
    events = tmp_path / "events"
    events.mkdir()
    changes = {
        "spark.master": cluster.url,
        "spark.executor.memory": "512m",
        "exactly.once.support": "required",
        "spark.speculation": "true",
        "spark.speculation.minTaskRuntime": "100ms",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
    }

    def begun_again() -> int:
        files = [file for file in events.rglob("*") if file.is_file()]
        return sum(file.read_text(errors="replace").count('"Speculative":true') for file in files)

    (worker,) = pool.start(1, exactly_once_source_support="enabled")
    topic = new_topic(name=f"{pool.name}-line")
    with closing(Committed(pool.bootstrap, topic)) as seen:
        feed.insert(feed.many)
        worker.create("lines", _config(feed, topic, **changes))
        pool.until(lambda: len(seen.values) >= feed.count, "all records are there", within=WITHIN)
        for _ in range(10):
            feed.insert(feed.many)
            time.sleep(chance.uniform(0.2, 1.5))  # somewhere in the batch
            slow = chance.choice(below(psutil.Process(), EXECUTOR))
            with stopped(slow, "pyspark.daemon"):
                pool.until(lambda: len(seen.values) >= feed.count, "all records are there", within=WITHIN)
            if begun_again():
                break
        feed.insert(feed.many)
        pool.until(lambda: len(seen.values) >= feed.count, "all records are there", within=WITHIN)
        assert worker.runs("lines", 1), "it needed no restart"
        assert _numbers(feed, seen) == Counter(range(feed.count))
    pool.until(begun_again, "splits were begun a second time")


@pytest.mark.promise("P1", "P3", "P10")
@pytest.mark.parametrize("feed", ["incrementing"], indirect=True)
def test_a_driver_that_hangs_while_its_executors_run_on(
    pool: Pool, feed: Feed, new_topic: Callable[..., str], cluster: Cluster, seed: int
) -> None:
    """Its successor begins what it had under way; its executors, on other machines, commit no record a second time."""
    chance = random.Random(seed)
    pool.start(2, exactly_once_source_support="enabled")
    topic = new_topic(name=f"{pool.name}-line")
    changes = {
        "spark.master": cluster.url,
        "spark.executor.memory": "512m",
        "spark.cores.max": "1",  # the other is its successor's
        "exactly.once.support": "required",
    }
    with closing(Committed(pool.bootstrap, topic)) as seen:
        feed.insert(feed.many)
        pool.up[0].create("lines", _config(feed, topic, **changes))
        pool.until(lambda: len(seen.values) >= feed.count, "all records are there", within=WITHIN)
        feed.insert(4 * feed.many)
        wanted = feed.count - chance.randint(feed.many, 3 * feed.many)
        pool.until(lambda: len(seen.values) >= wanted, "it is in the middle of a batch", within=WITHIN)
        owner = pool.up[0].states("lines")["0"][1]
        frozen = next(worker for worker in pool.workers if worker.id == owner)
        other = next(worker for worker in pool.workers if worker is not frozen)
        with stopped(_of(frozen)):
            pool.until(lambda: other.states("lines")["0"][1] == other.id, "it moves", within=WITHIN)
            pool.until(lambda: len(seen.values) >= feed.count, "its successor ends the batch", within=WITHIN)
        pool.until(frozen.ready, "it is back in the group")
        feed.insert(feed.many)
        pool.until(lambda: len(seen.values) >= feed.count, "all records are there", within=WITHIN)
        pool.until(lambda: frozen.runs("lines", 1), "it runs", within=WITHIN)
        assert _numbers(feed, seen) == Counter(range(feed.count))
