"""A sink and a converter that do not take values which begin with "bad", until a file called the gate is there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from connect import (
    Converter,
    DataError,
    Headers,
    RetriableError,
    SchemaAndValue,
    SinkBatch,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
)


class PickyTask(SinkTask):
    """Appends a line for each record to `file`: topic, key and value.

    `how` is what it does about a bad record: `report` it, `late` report it with the next records, or `raise`. Before it
    raises, it writes nothing. A value that begins with "wait" is refused for now while the gate is missing.
    """

    atomic = True

    def start(self, config: Mapping[str, str]) -> None:
        self.config = config
        self.file = Path(config["file"])
        self.gate = Path(config.get("gate", "/nowhere"))
        self.late: list[Any] = []

    def put(self, batch: SinkBatch) -> None:
        how = self.config.get("how", "raise")
        late, self.late = (self.late, []) if len(batch) else ([], self.late)
        for record, error in late:
            self.context.errant_records.report(record, error)
        lines = []
        for record in batch:
            if not self.gate.exists() and str(record.value).startswith("wait"):
                self.context.timeout(50)
                raise RetriableError("not now.")
            if self.gate.exists() or not str(record.value).startswith("bad"):
                lines.append(f"{record.topic} {record.key} {record.value}\n")
                continue
            error = DataError(f"{record.value} is bad")
            if how == "raise":
                raise error
            if how == "late":
                self.late.append((record, error))
            else:
                self.context.errant_records.report(record, error)
        with self.file.open("a") as out:
            out.write("".join(lines))

    def pre_commit(self, offsets: Mapping[Any, int]) -> Mapping[Any, int]:
        return {} if self.late else offsets


class PickySink(SinkConnector):
    """See `PickyTask`."""

    task = PickyTask


class PickyConverter(Converter):
    """Strings, as above; `gate` is its setting."""

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        self.gate = Path(config.get("gate", "/nowhere"))

    def to_connect_data(self, topic: str, data: bytes | None, headers: Any = None) -> SchemaAndValue:
        text = None if data is None else data.decode()
        if text is not None and text.startswith("bad") and not self.gate.exists():
            raise DataError(f"{text} is bad")
        return SchemaAndValue(None, text)

    def from_connect_data(self, topic: str, schema: Any, value: Any, headers: Any = None) -> bytes | None:
        if str(value).startswith("bad") and not self.gate.exists():
            raise DataError(f"{value} is bad")
        return None if value is None else str(value).encode()


class ListTask(SourceTask):
    """Reads the words of `values`, in polls of two. One such as `more/word` goes to a topic with that suffix."""

    def start(self, config: Mapping[str, str]) -> None:
        self.words, self.topic = config["values"].split(), config["topic"]
        stored = self.context.offset({"list": "words"})
        self.next = stored["next"] if stored else 0

    def poll(self) -> list[SourceRecord] | None:
        records = []
        for number, word in list(enumerate(self.words))[self.next : self.next + 2]:
            suffix, slash, text = word.rpartition("/")
            topic = f"{self.topic}-{suffix}" if slash else self.topic
            value = text.replace("huge", "x" * 200_000)
            place = {"key": word, "source_partition": {"list": "words"}, "source_offset": {"next": number + 1}}
            records.append(SourceRecord(topic, value, headers=Headers().add("h", word), **place))
        self.next += len(records)
        return records or None

    def stop(self) -> None: ...


class ListSource(SourceConnector):
    """See `ListTask`."""

    task = ListTask
