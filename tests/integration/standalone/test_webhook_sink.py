"""The sink of docs/webhook-sink.md, with the configuration of that page, in `connect standalone`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.kafka.broker.embedded import Broker
from tests.integration.standalone.conftest import Standalone
from tests.servers.webhook import Webhook, webhook
from tests.support.worker_process import WorkerProcess

PAGE = (Path(__file__).parents[3] / "docs" / "webhook-sink.md").read_text("utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\s*```\w+\n(.*?)```", PAGE, re.DOTALL))
TOKEN = "t0ken-51x"


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with webhook() as server:
        yield server


@pytest.fixture
def start(standalone: Standalone, topic: str, hook: Webhook) -> Callable[[], WorkerProcess]:
    """Runs the connector of the page on a topic and a server of the test's own."""

    def run() -> WorkerProcess:
        folder = standalone.folder
        providers = {"config.providers": "file", "config.providers.file.class": "FileConfigProvider"}
        standalone.worker({"plugin.path": ".", **providers})
        (folder / "secrets.properties").write_text(f"token={TOKEN}\n")
        (folder / "webhook.py").write_text(FILES["webhook.py"])
        written = FILES["webhook.properties"]
        for here, there in {
            "/etc/connect/secrets.properties": str(folder / "secrets.properties"),
            "https://hooks.example/orders": hook.url,
            "topics=orders": f"topics={topic}",
            "orders-dead": f"{topic}-dead",
        }.items():
            assert here in written
            written = written.replace(here, there)
        more = "errors.deadletterqueue.topic.replication.factor=1\nretry.backoff.ms=100\n"
        (folder / "webhook.properties").write_text(written + more)
        return standalone.start("webhook.properties")

    return run


def produce(broker: Broker, topic: str, *values: Any) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, json.dumps(value).encode())
    assert producer.flush(30) == 0


@pytest.mark.quick
@pytest.mark.promise("P1", "P5")
def test_batches_arrive_in_spite_of_503_and_a_bad_record_is_a_dead_letter(
    start: Callable[[], WorkerProcess], hook: Webhook, broker: Broker, topic: str, read: Callable[..., Any]
) -> None:
    hook.token, hook.bad, hook.unavailable = TOKEN, {"order": 77}, 2
    produce(broker, topic, *({"order": number} for number in range(200)))
    running = start()
    good = [{"order": number} for number in range(200) if number != 77]
    running.until(lambda: len(hook.values) >= len(good))
    (dead,) = read(broker.bootstrap_servers, f"{topic}-dead", 1)
    assert json.loads(dead.value()) == {"order": 77}
    headers = {name: value.decode() for name, value in dead.headers()}
    assert headers["__connect.errors.exception.message"] == "127.0.0.1 answers 422 Unprocessable Entity."
    assert running.stop() == 0
    assert hook.values == good, "each once and in order"
    assert hook.unavailable == 0
    assert len(hook.requests) < 20, "in batches"
    produce(broker, topic, {"order": 200})
    running = start()
    running.until(lambda: {"order": 200} in hook.values)
    assert running.stop() == 0
    assert hook.values == [*good, {"order": 200}], "what is committed does not come again"


@pytest.mark.promise("P8", "P9")
def test_a_wrong_token_fails_the_task_with_what_to_do_and_without_the_token(
    start: Callable[[], WorkerProcess], hook: Webhook, broker: Broker, topic: str
) -> None:
    hook.token = "another"
    produce(broker, topic, {"order": 1})
    running = start()
    running.until_logged(
        "127.0.0.1 answers 401 Unauthorized. Check webhook.url and webhook.token, or what webhook.token.class returns."
    )
    assert running.stop() == 0
    assert hook.values == []
    assert TOKEN not in running.log
