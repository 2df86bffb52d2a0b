"""What every flow can say: its connector, what was written, what arrived."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tests.chaos.suite.checks import Place
from tests.chaos.suite.feed import Feed, Steady, is_poison, number_of
from tests.chaos.suite.reader import Reader, Topics, new_topic
from tests.chaos.suite.targets import Targets


@dataclass
class Surroundings:
    """What flows are made in.

    Attributes:
        folder: for files.
        bootstrap: the brokers, for clients that no fault is to meet.
        exactly_once: whether the pool's sources deliver exactly once.
        feed: writes what all sinks read.
    """

    folder: Path
    bootstrap: str
    exactly_once: bool
    targets: Targets
    topics: Topics
    reader: Reader
    feed: Feed


class Flow(ABC):
    """One connector, `name`, and its system.

    Attributes:
        once: whether nothing may arrive twice in this run.
        ordered: whether records of a partition arrive in their order.
        on_spark: whether it is one with engine=spark.
        excused_lost, excused_repeated: numbers that a fault deleted before they could be read, or had sent again.
    """

    name: ClassVar[str]
    is_sink: ClassVar[bool]
    ordered: ClassVar[bool] = True
    on_spark: ClassVar[bool] = False

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self.once = False
        self.excused_lost: set[int] = set()
        self.excused_repeated: set[int] = set()
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Make what the connector needs: topics, tables, buckets. May raise `targets.Unavailable`."""

    @abstractmethod
    def config(self) -> dict[str, str]:
        """The connector's configuration, but for its engine."""

    def whole_config(self) -> dict[str, str]:
        """The connector's configuration."""
        return self.config() | (self._spark() if self.on_spark else {})

    def _spark(self) -> dict[str, str]:
        keys = {"engine": "spark", "spark.master": "local[1]"}
        if self.is_sink:
            checkpoints = (self.around.folder / f"checkpoint-{self.name}").as_uri()
            keys |= {"checkpoint.location": checkpoints, "trigger.interval.ms": "1000"}
        return keys

    @abstractmethod
    def written(self) -> Collection[int]:
        """What has to arrive."""

    @abstractmethod
    def arrived(self) -> list[int]:
        """What has arrived, in its order, repeated ones too. Raises what clients raise while the target is away."""

    @abstractmethod
    def places(self) -> Mapping[int, Place]:
        """Where each record is, or was, in the topic or source that it came from."""

    def count(self) -> int:
        """How many different records have arrived: what `arrived` says, where that is cheap."""
        return len(set(self.arrived()))

    def progress(self) -> tuple[int, int]:
        """How many records were written, and how many arrived."""
        return len(self.written()), self.count()

    def start(self) -> None:  # noqa: B027  a sink is given nothing
        """Begin to give the source records."""

    def finish(self) -> None:  # noqa: B027
        """Give the source no more. Afterwards `written` is final."""


class SinkFlow(Flow):
    """A sink that reads the topic that all sinks read.

    Attributes:
        letters: whether records that cannot be converted are its dead letters; else they arrive as texts.
    """

    is_sink = True
    letters: ClassVar[bool] = True

    def prepare(self) -> None:
        self.set_up()
        if self.letters:
            self.around.topics.create(new_topic(self.error_topic))
            self.around.reader.follow(self.error_topic, 1)

    def set_up(self) -> None:
        """Make what the sink writes into."""

    @property
    def group(self) -> str:
        return f"connect-{self.name}"

    @property
    def feed(self) -> Feed:
        """What it reads."""
        return self.around.feed

    @property
    def error_topic(self) -> str:
        return f"dead-{self.name}"

    def sink_config(self) -> dict[str, str]:
        """The keys that all have."""
        config = {"topics": self.feed.topic, "name": self.name}
        if self.letters:
            config |= {
                "errors.tolerance": "all",
                "errors.deadletterqueue.topic.name": self.error_topic,
                "errors.deadletterqueue.topic.replication.factor": "3",
                "errors.deadletterqueue.context.headers.enable": "true",
                "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            }
        return config

    def written(self) -> Collection[int]:
        numbers = list(self.feed.places)
        return [n for n in numbers if not is_poison(n)] if self.letters else numbers

    def poison(self) -> set[int]:
        """What has to be a dead letter."""
        return {n for n in self.feed.places if is_poison(n)} if self.letters else set()

    def dead(self) -> list[int]:
        """The dead letters that there are."""
        return [number_of(record.value) for record in list(self.around.reader.records[self.error_topic])]

    def places(self) -> Mapping[int, Place]:
        return self.feed.places


class SourceFlow(Flow):
    """A source whose records go into a topic of its own with one partition."""

    is_sink = False
    #: Whether its offsets say exactly where to go on.
    exact: ClassVar[bool] = True
    per_second: ClassVar[float] = 3.0
    #: How many records it is given at a time.
    piece: ClassVar[int] = 10

    def prepare(self) -> None:
        self.given = 0
        self.once = self.exact and self.around.exactly_once
        self._steady = Steady(f"feed {self.name}", self._give, self.per_second)
        self.around.topics.create(new_topic(self.topic))
        self.around.reader.follow(self.topic, 1)
        self.set_up()

    def set_up(self) -> None:
        """Make what the source reads from."""

    @property
    def topic(self) -> str:
        return f"from-{self.name}"

    @abstractmethod
    def give(self, numbers: range) -> None:
        """Put these records where the source reads; called again with the same ones after it raised."""

    @abstractmethod
    def number(self, value: bytes) -> int:
        """The number of a record in the topic."""

    def before(self, offsets: Any) -> int | None:
        """Up to which number, not included, the stored offsets say that all is in the topic; None: they do not say."""
        return None

    def written(self) -> Collection[int]:
        return range(self.given)

    def arrived(self) -> list[int]:
        return [self.number(record.value) for record in list(self.around.reader.records[self.topic])]

    def count(self) -> int:
        return min(len(self.around.reader.records[self.topic]), self.given)

    def places(self) -> Mapping[int, Place]:
        return {number: (0, number) for number in self.written()}

    def start(self) -> None:
        self._steady.start()

    def finish(self) -> None:
        self._steady.finish()

    @property
    def troubles(self) -> list[str]:
        """What giving raised; each was tried again."""
        return self._steady.errors

    def _give(self) -> None:
        self.give(range(self.given, self.given + self.piece))
        self.given += self.piece
