"""P1, P10: every sink runs on Spark while its task is killed; what it writes to has each record once."""

import json
import random
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psycopg
import pytest

from connect.plugins.builtin import BUILT_IN
from connect.plugins.ref import PluginKind
from tests.integration.connectors.s3.sink_runs import Numbers
from tests.servers.rest_api import RestApi, rest_api
from tests.support.spark_keepers import shared
from tests.support.waiting import until

from . import topic as topics
from .attacks import Attacks
from .worker import Worker, running

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker
    from tests.servers.object_stores import Objects
    from tests.servers.postgresql import PostgresDatabase
    from tests.servers.s3 import S3Bucket
    from tests.servers.search_server import SearchServer

PARTITIONS = 2
AT_A_TIME = 1000
A_BATCH = 125  # there are more than an attack waits for
#: The sink that is quickest to look at is killed twice, the others once: each start of a query takes seconds.
KILLS = {"FileStreamSinkConnector": 2}
#: One that keeps a ledger, and one that keeps records back: their Spark is their task's, and dies with it. The others
#: share one, which lives on, and whose keeper ends the query of a task that was killed.
WITH_THEIR_OWN = {"FileStreamSinkConnector", "S3SinkConnector"}
#: Spark needs seconds to start, many times as long where the machine is busy.
WITHIN_S = 240

JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


class Target(NamedTuple):
    """Where a sink writes to.

    Attributes:
        config: of the sink.
        numbers: of the records that are there, each as often as it is there.
        keeps_order: whether the records of a partition stand there in their order.
    """

    config: dict[str, str]
    numbers: Callable[[], list[int]]
    keeps_order: bool = False


def lines(file: Path) -> Target:
    def numbers() -> list[int]:
        whole = file.read_text().rpartition("\n")[0].splitlines() if file.exists() else []
        return [json.loads(line)["n"] for line in whole]

    config = {"connector.class": "FileStreamSink", "file": str(file), "exactly.once": "true"}
    return Target(config, numbers, keeps_order=True)


def table(database: "PostgresDatabase") -> Target:
    def numbers() -> list[int]:
        try:
            return [n for (n,) in database.execute("SELECT n FROM numbers")]
        except psycopg.errors.UndefinedTable:
            return []

    config = {
        "connector.class": "JdbcSink",
        "connection.url": database.jdbc_url,
        "connection.user": database.user,
        "connection.password": database.password,
        "table.name.format": "numbers",
        "auto.create": "true",
        "schemaless.inference": "true",
        "exactly.once": "true",
    }
    return Target({**config, **JSON}, numbers)


def index(server: "SearchServer", connector: str, topic: str) -> Target:
    config = {"connector.class": connector, "connection.url": server.url, "key.ignore": "true"}
    return Target({**config, **JSON}, lambda: [each["n"] for each in server.documents(topic).values()])


def objects(bucket: "S3Bucket") -> Target:
    """With files that are larger than a batch, for which the sink keeps records back in a worker."""
    return Target({"connector.class": "S3Sink", "flush.size": "1000000", **bucket.config, **JSON}, Numbers(bucket))


def blobs(bucket: "Objects") -> Target:
    """The same for stores that are not S3."""

    def found() -> list[int]:
        return [json.loads(line)["n"] for key in bucket.keys() for line in bucket.get(key).splitlines()]  # noqa: SIM118

    config = {"connector.class": bucket.connector, "flush.size": "1000000", **bucket.config, **JSON}
    return Target(config, found)


def requests(api: RestApi) -> Target:
    """With an address for each record: a request that comes again replaces the one before."""

    def numbers() -> list[int]:
        with api.lock:
            return list({seen.path: seen.values[0]["n"] for seen in api.accepted}.values())

    config = {
        "connector.class": "HttpSink",
        "http.url": f"{api.url}/{{topic}}/{{partition}}/{{offset}}",
        "http.authorization.type": "none",
    }
    return Target({**config, **JSON}, numbers)


@pytest.fixture
def api() -> Iterator[RestApi]:
    with rest_api() as server:
        yield server


TARGETS = {
    "FileStreamSinkConnector": lambda request, _: lines(request.getfixturevalue("tmp_path") / "out.txt"),
    "JdbcSinkConnector": lambda request, _: table(request.getfixturevalue("postgres_database")),
    "ElasticsearchSinkConnector": lambda request, topic: index(
        request.getfixturevalue("elasticsearch"), "ElasticsearchSink", topic
    ),
    "OpenSearchSinkConnector": lambda request, topic: index(
        request.getfixturevalue("opensearch"), "OpenSearchSink", topic
    ),
    "S3SinkConnector": lambda request, _: objects(request.getfixturevalue("s3_bucket")),
    "GcsSinkConnector": lambda request, _: blobs(request.getfixturevalue("fake_gcs").bucket()),
    "AzureBlobSinkConnector": lambda request, _: blobs(request.getfixturevalue("azurite").bucket()),
    "HttpSinkConnector": lambda request, _: requests(request.getfixturevalue("api")),
}


@pytest.fixture(scope="module")
def worker(broker: "Broker", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """One for all sinks."""
    folder = tmp_path_factory.mktemp("worker")
    with running(Worker(folder, broker.bootstrap_servers, task_shutdown_graceful_timeout_ms="5000")) as made:
        yield made


@pytest.fixture(scope="module")
def shared_spark() -> Iterator[dict[str, str]]:
    """The keys of those that share a Spark."""
    with shared(f"sinks-{uuid.uuid4().hex[:8]}") as keys:
        yield keys


def test_no_sink_is_left_out() -> None:
    classes = {ref.target.rpartition(":")[2] for ref in BUILT_IN if ref.kind is PluginKind.SINK}
    # Spark's writes tables: test_spark_table.py. Iceberg's does without Spark: test_iceberg.py of spark_sink.
    assert classes.symmetric_difference(TARGETS) == {"SparkSinkConnector", "IcebergSinkConnector"}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("sink", TARGETS)
def test_what_a_sink_writes_to_has_each_record_once_however_often_its_task_is_killed(
    worker: Worker,
    shared_spark: dict[str, str],
    broker: "Broker",
    chance: random.Random,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    sink: str,
) -> None:
    bootstrap, topic = broker.bootstrap_servers, f"numbers-{uuid.uuid4().hex[:10]}"
    target = TARGETS[sink](request, topic)
    topics.create(bootstrap, topic, PARTITIONS)
    worker.put(
        sink,
        {
            **target.config,
            **({} if sink in WITH_THEIR_OWN else shared_spark),
            "engine": "spark",
            "spark.master": "local[2]",
            "topics": topic,
            "checkpoint.location": (tmp_path / "checkpoints").as_uri(),
            "trigger.interval.ms": "0",
            "max.records.per.batch": str(A_BATCH),
        },
    )
    attacks = Attacks(worker, sink, chance, lambda: None)

    def there() -> int:
        return len(target.numbers())

    kills = KILLS.get(sink, 1)
    for turn in range(kills):
        awaited = there() + chance.randrange(1, AT_A_TIME // 2)
        values = [json.dumps({"n": n}).encode() for n in range(turn * AT_A_TIME, (turn + 1) * AT_A_TIME)]
        topics.fill(bootstrap, topic, [values[p::PARTITIONS] for p in range(PARTITIONS)])

        def moment(awaited: int = awaited) -> None:
            until(lambda: there() >= awaited, WITHIN_S, lambda: f"{awaited} are there\n{worker.last_words()}")

        attacks.strike(attacks.kill_task, moment)
    count = kills * AT_A_TIME

    def all_is_committed() -> bool:
        return topics.committed(bootstrap, f"connect-{sink}", topic, PARTITIONS) == [count // PARTITIONS] * PARTITIONS

    until(all_is_committed, WITHIN_S, lambda: f"all is committed\n{worker.last_words()}", every=0.1, progress=there)
    found = target.numbers()
    assert sorted(found) == list(range(count))
    if target.keeps_order:
        assert sorted(found, key=lambda n: n % PARTITIONS) == sorted(found, key=lambda n: (n % PARTITIONS, n))
    worker.delete(sink)
