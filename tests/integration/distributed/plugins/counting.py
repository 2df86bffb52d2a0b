"""A source of numbers, up to the one that stands in a file, which may say itself where its transactions end."""

from collections.abc import Mapping
from pathlib import Path

from connect import ConnectError, ExactlyOnceSupport, SourceConnector, SourceRecord, SourceTask, settings

GROUP = 7  # numbers of one transaction


def dropped(number: int) -> bool:
    """Whether the task drops the transaction with this number."""
    return number // GROUP % 3 == 2


class CountingTask(SourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        self.upto = Path(config["folder"]) / "upto"
        self.topic = config["topic"]
        self.size = int(config.get("batch.size", "10"))
        stored = self.context.offset({"of": "numbers"})
        self.next = 0 if stored is None else stored["next"]

    def poll(self) -> list[SourceRecord] | None:
        upto = int(self.upto.read_text() or 0) if self.upto.exists() else 0
        numbers = range(self.next, min(upto, self.next + self.size))
        if not numbers:
            return None
        batch = [
            SourceRecord(self.topic, str(n), source_partition={"of": "numbers"}, source_offset={"next": n + 1})
            for n in numbers
        ]
        if self.context.transaction is not None:
            for number, record in zip(numbers, batch, strict=True):
                if number % GROUP == GROUP - 1:
                    end = self.context.transaction.abort if dropped(number) else self.context.transaction.commit
                    end(record)
        self.next = numbers[-1] + 1
        return batch


class CountingSource(SourceConnector):
    """`folder` has the file `upto`. `says` is its answer about exactly-once: supported, unsupported, nothing, fails."""

    settings = settings.define(
        settings.String("folder", doc="Where `upto` is."),
        settings.String("topic", doc="Where numbers go."),
        settings.Int("batch.size", default=10, doc="Numbers in a poll."),
        settings.String("says", default="supported", doc="See the class."),
    )
    task = CountingTask

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        match config.get("says", "supported"):
            case "supported":
                return ExactlyOnceSupport.SUPPORTED
            case "unsupported":
                return ExactlyOnceSupport.UNSUPPORTED
            case "nothing":
                return None
        raise ConnectError("told to fail")

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> bool:
        return config.get("says", "supported") == "supported"
