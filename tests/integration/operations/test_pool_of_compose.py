"""The pool of config/operations/compose, with its files, on servers of this machine; and its page for Prometheus.

Alerts and dashboard are held against the catalogue of metrics in unit tests. Here they are held against what two
workers say while records flow.
"""

import json
import urllib.request
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from connect.kafka.broker.embedded import Broker
from connect.settings.properties import load
from tests.integration.distributed.pool import TOPICS, Pool
from tests.servers.postgresql import PostgresDatabase
from tests.servers.s3 import S3Bucket
from tests.support.exposed import OF_SCRAPES, read
from tests.support.monitoring import EXPRESSIONS

ROOT = Path(__file__).parents[3]
COMPOSE = ROOT / "config" / "operations" / "compose"
#: What a pool shows only in trouble, after changes, or of records whose source gave them a timestamp; and what
#: Prometheus makes itself.
SELDOM = {
    "connect_task_stalled",
    "connect_task_restarts_total",
    "connect_task_parked_records_total",
    "connect_source_age_seconds_bucket",
    "up",
}


def connector(name: str, changes: Mapping[str, str]) -> dict[str, str]:
    """The configuration in a file; what it says of other servers and topics is changed."""
    config: dict[str, str] = json.loads((COMPOSE / f"{name}.json").read_text(encoding="utf-8"))["config"]
    return {**config, **{key: value for key, value in changes.items() if key in config}}


def series(port: int) -> dict[str, set[frozenset[str]]]:
    """The labels of the series of each name."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    found: dict[str, set[frozenset[str]]] = defaultdict(set)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name].add(frozenset(sample.labels))
    return found


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    """Two workers with the file of compose.yaml; only names, and where they and the broker are, are others."""
    made = Pool(f"compose-{uuid.uuid4().hex[:8]}", tmp_path, broker.bootstrap_servers)
    own = {f"{what}.storage.topic": f"{made.name}-{what}" for what in TOPICS}
    written = {key: value for key, value in load(COMPOSE / "worker.properties").items() if key != "listeners"}
    made.settings = {**written, **own, "bootstrap.servers": broker.bootstrap_servers, "group.id": made.name}
    made.settings |= {"offset.flush.interval.ms": "500", "metrics.lag.interval.ms": "500"}
    try:
        yield made
    finally:
        made.close()


def test_made_up_orders_become_rows_and_objects_and_all_that_is_watched_is_there(
    pool: Pool, postgres_database: PostgresDatabase, s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTGRES_PASSWORD", postgres_database.password)
    monkeypatch.setenv("S3_SECRET_KEY", s3_bucket.config["aws.secret.access.key"])
    topic = f"orders_{uuid.uuid4().hex[:8]}"
    secrets = {"aws.secret.access.key"}
    here = {
        "kafka.topic": topic,
        "topics": topic,
        "connection.url": postgres_database.jdbc_url,
        "connection.user": postgres_database.user,
        "rotate.schedule.interval.ms": "1000",
        **{key: value for key, value in s3_bucket.config.items() if key not in secrets},
    }
    first, second = pool.start(2)
    for name in ("orders", "orders-to-postgresql", "orders-to-s3"):
        first.create(name, connector(name, here))
    pool.until(lambda: all(first.runs(f"orders-to-{target}", 2) for target in ("postgresql", "s3")), "all tasks run")

    def rows() -> int:
        # The table is there when the sink has made it.
        (here_is,) = postgres_database.execute(f"SELECT to_regclass('{topic}')")[0]
        return postgres_database.execute(f"SELECT count(*) FROM {topic}")[0][0] if here_is else 0

    pool.until(lambda: rows() > 100, "orders become rows")
    columns = {
        name
        for (name,) in postgres_database.execute(
            f"SELECT column_name FROM information_schema.columns WHERE table_name = '{topic}'"
        )
    }
    assert {"orderid", "address_city"} <= columns
    pool.until(lambda: any(key.endswith(".parquet") for key in s3_bucket.keys()), "orders become objects")  # noqa: SIM118

    asked = {selector for text in EXPRESSIONS.values() for selector in read(text).selectors}
    missing: set[str] = set()

    def all_there() -> bool:
        nonlocal missing
        found: dict[str, set[frozenset[str]]] = defaultdict(set)
        for worker in (first, second):
            for name, labels in series(worker.port).items():
                found[name] |= labels
        missing = {selector.metric for selector in asked} - found.keys() - SELDOM
        for selector in asked:
            wanted = {label for label, _, _ in selector.matchers} - OF_SCRAPES
            if any(not wanted <= labels for labels in found.get(selector.metric, ())):
                missing.add(f"{selector.metric}: {sorted(wanted)}")
        return not missing

    try:
        pool.until(all_there, "both workers expose what alerts and dashboard ask for")
    except AssertionError as error:
        raise AssertionError(f"neither worker exposes {sorted(missing)}") from error
    # The passwords came from the environment, and stand nowhere.
    said: list[Any] = [first.get("/connectors?expand=info"), first.log, second.log]
    assert s3_bucket.config["aws.secret.access.key"] not in json.dumps(said)
