"""A standalone herder inside the test, with its log and its statuses."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.herder.model import TargetState
from connect.herder.worker_herder import standalone
from connect.settings.resolver import Resolver
from connect.settings.worker_keys import STANDALONE
from connect.storage import MemoryOffsetStore
from connect.telemetry.redaction import RedactingFilter, redactor
from tests.support.waiting import until

PLUGINS = str(Path(__file__).with_name("plugins"))
STRING = "org.apache.kafka.connect.storage.StringConverter"
WITHIN_S = 60.0


class Herd:
    """A herder, and waiting for what it does."""

    def __init__(self, broker: Any, properties: Mapping[str, str], offsets: MemoryOffsetStore) -> None:
        raw = {
            "bootstrap.servers": broker.bootstrap_servers,
            "key.converter": STRING,
            "value.converter": STRING,
            "plugin.path": PLUGINS,
            "offset.flush.interval.ms": "200",
            "offset.storage.file.filename": "unused",
            "restart.policy": "off",  # what failed is to be seen; where it comes back by itself, tests say so
            **properties,
        }
        resolver = Resolver.from_worker_config(raw)
        resolved = resolver.resolve(raw)
        redactor.remember(resolved.values[key] for key in resolved.secret_keys)
        raw = resolved.values
        self.herder = standalone(raw, STANDALONE.parse(raw), resolver, offsets)
        self.herder.start()
        self.stopped = False

    def run(self, name: str, **config: str) -> None:
        """Run a connector that nobody validated."""
        config = {"name": name, "tasks.max": "1", **{key.replace("__", "."): value for key, value in config.items()}}
        self.herder.run_checked(name, config, TargetState.STARTED).result(WITHIN_S)

    def task(self, name: str, number: int = 0) -> Any:
        return next((s for s in self.herder.worker.statuses.tasks(name) if s.task == number), None)

    def state(self, name: str, number: int = 0) -> str | None:
        status = self.task(name, number)
        return status.state.value if status else None

    def connector(self, name: str) -> Any:
        return self.herder.worker.statuses.connector(name)

    def await_state(self, name: str, state: str, number: int = 0) -> str:
        """Wait for a task to be so; gives its trace."""
        self.until(lambda: self.state(name, number) == state, lambda: str(self.task(name, number)))
        return self.task(name, number).trace or ""

    def await_connector(self, name: str, state: str) -> str:
        self.until(lambda: (found := self.connector(name)) and found.state.value == state, lambda: self.connector(name))
        return self.connector(name).trace or ""

    def until(self, holds: Callable[[], Any], words: Callable[[], Any] = str) -> Any:
        return until(holds, WITHIN_S, words, every=0.02)

    def await_lines(self, file: Path, lines: list[str]) -> None:
        self.until(
            lambda: file.exists() and file.read_text().splitlines() == lines,
            lambda: file.read_text()[:2000] if file.exists() else "no file",
        )

    def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            self.herder.stop()


@pytest.fixture
def herd(broker: Any, caplog: pytest.LogCaptureFixture) -> Iterator[Callable[..., Herd]]:
    """Makes herders: `herd(on=strict_broker, task__shutdown__graceful__timeout__ms="500")`."""
    made: list[Herd] = []
    caplog.set_level("INFO")
    redacting = RedactingFilter(redactor)  # as on every handler of a worker
    caplog.handler.addFilter(redacting)

    def make(on: Any = None, offsets: MemoryOffsetStore | None = None, **properties: str) -> Herd:
        properties = {key.replace("__", "."): value for key, value in properties.items()}
        made.append(Herd(on or broker, properties, offsets or MemoryOffsetStore()))
        return made[-1]

    yield make
    for one in made:
        one.stop()
    caplog.handler.removeFilter(redacting)


@pytest.fixture
def write() -> Callable[..., None]:
    """Writes values to a topic: `write(broker, topic, [b"a", b"b"])`."""

    def values(on: Any, topic: str, items: list[bytes]) -> None:
        producer = Producer({"bootstrap.servers": on.bootstrap_servers, "linger.ms": 1})
        for item in items:
            producer.produce(topic, item, partition=0)
        assert producer.flush(30) == 0

    return values
